/**
 * Calls `body` for each item, with at most `limit` calls at once, started in order. After a failure no
 * further item starts, running ones finish, and the first failure is thrown at the end.
 */
export async function forEachConcurrently<T>(
  items: readonly T[],
  limit: number,
  body: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const index = next++;
      try {
        await body(items[index] as T, index);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
