/** Fastest of several runs, in milliseconds. */
export async function fastest(runs: number, work: () => Promise<unknown>): Promise<number> {
  let best = Infinity;
  for (let i = 0; i < runs; i++) {
    globalThis.gc?.();
    const start = performance.now();
    await work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

/** Prints a row: the measured work, our time, the baseline, and the ratio. */
export function row(what: string, ours: number, floor: number, unit: string): void {
  const ratio = floor > 0 ? `${(ours / floor).toFixed(1)} x` : '';
  console.log(
    `${what.padEnd(58)} ${ours.toFixed(2).padStart(9)} ${floor.toFixed(2).padStart(9)} ${unit.padEnd(8)} ${ratio}`,
  );
}
