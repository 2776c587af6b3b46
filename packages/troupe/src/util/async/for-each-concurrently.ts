/**
 * Does something for all items, at most so many at once, started in their order. One that fails does not stop
 * those that run; when all are done, the first failure is thrown. Without others at its side, it stops the rest.
 */
export async function forEachConcurrently<T>(
  items: readonly T[],
  atOnce: number,
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
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
