/** Start positions of items counted one by one, plus the end of the last item. */
export function positionsFrom(start: number, items: readonly string[]): readonly number[] {
  return Array.from({ length: items.length + 1 }, (_, i) => start + i);
}
