import { appendFileSync } from 'node:fs';

/** Whether the long drivers run in full, as `npm run test:long` has them run. */
export const RUNS_IN_FULL = process.env['TROUPE_TEST_LONG'] === '1';

/** Names the file with one line for each driver that ran a sample. `npm test` prints these lines at its end. */
export const LEFT_OUT_FILE = 'TROUPE_TEST_LEFT_OUT';

/** Whether drivers run in full that are too long for `npm run test:long`. */
const RUNS_EVERYTHING = RUNS_IN_FULL && process.env['TROUPE_TEST_FULL'] === '1';

/**
 * Number of cases of a long driver: all cases in `npm run test:long`, a sample in `npm test`, which prints the omitted number
 * at its end.
 * @param cases name of the cases, such as 'kills of a process that saves'
 * @param long number of cases in `npm run test:long`, which prints the omitted number then; all with TROUPE_TEST_FULL=1
 */
export function sampleOf(cases: string, full: number, sample: number, long = full): number {
  const count = RUNS_EVERYTHING ? full : RUNS_IN_FULL ? long : sample;
  if (count >= full) return full;
  const more = long < full && !RUNS_IN_FULL ? ` (${long} in test:long, all with TROUPE_TEST_FULL=1 too)` : '';
  leaveOut(`${count} of ${full} ${cases}${more}`);
  return count;
}

/** Distance between the points that a driver disturbs: 1 in `npm run test:long`, so that no point is left out. */
export function strideOf(points: string, stride: number): number {
  if (RUNS_IN_FULL) return 1;
  leaveOut(`1 in ${stride} ${points}`);
  return stride;
}

/**
 * Points that a driver disturbs: all of 0 to `count` - 1 in `npm run test:long`, at most `sample` in `npm test`, evenly spread.
 * @param points name of the points, such as 'bytes at which an answer is cut'
 */
export function pointsOf(points: string, count: number, sample: number): readonly number[] {
  if (RUNS_IN_FULL || count <= sample) return Array.from({ length: count }, (_, at) => at);
  leaveOut(`at most ${sample} ${points}`);
  return Array.from({ length: sample }, (_, i) => Math.floor(((i + 0.5) * count) / sample));
}

/**
 * Cases of a table: all in `npm run test:long`, `sample` in `npm test`, evenly spread from the first on.
 * @param cases name of the cases, such as 'bundlers of a program for browsers'
 */
export function casesOf<Case>(cases: string, all: readonly Case[], sample: number): readonly Case[] {
  if (RUNS_IN_FULL || all.length <= sample) return all;
  leaveOut(`${sample} of ${all.length} ${cases}`);
  const every = all.length / sample;
  return Array.from({ length: sample }, (_, i) => all[Math.floor(i * every)] as Case);
}

function leaveOut(line: string): void {
  const file = process.env[LEFT_OUT_FILE];
  if (file !== undefined) appendFileSync(file, `${line}\n`);
}
