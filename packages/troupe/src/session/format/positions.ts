/** Where items begin that are counted one by one, and where the last one ends. */
export function positionsFrom(start: number, items: readonly string[]): readonly number[] {
  return Array.from({ length: items.length + 1 }, (_, i) => start + i);
}
