// Needs its own process: it starts thousands, and watches the processes and files around.
// Hostile command lines through the real judge: what it lets run unasked has no effect outside.
import assert from 'node:assert/strict';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { PERMISSION_MODES } from '../../src/permission/permission-table.ts';
import { sampleOf, strideOf } from '../fair-sample.ts';
import { SECRET, type Listeners } from './canary-place.ts';
import { FURTHER_LINES } from './further-hostile-lines.ts';
import { HARMLESS, hostileLines, type Targets } from './hostile-lines.ts';
import { ODD_LINES } from './odd-hostile-lines.ts';
import { RARE_LINES } from './rare-hostile-lines.ts';
import {
  CORPUS_LINES,
  guiltyLines,
  HostilePlace,
  noticedEffects,
  runHostileLines,
  startListeners,
} from './hostile-runs.ts';

const count = sampleOf('hostile command lines (in each mode)', CORPUS_LINES, 25);
const isRoot = process.getuid?.() === 0;
const USERS = [undefined, ...(isRoot ? [{ uid: 65_534, gid: 65_534 }] : [])];
/** A sample runs the lines of each mode as one of the users, in turns: as the other one without bwrap. */
const USER_STRIDE = isRoot ? strideOf('hostile command lines as each user', 2) : 1;
const usersOf = (turn: number): typeof USERS => USERS.filter((_, i) => (i + turn) % USER_STRIDE === 0);

let listeners: readonly Listeners[];
beforeAll(async () => {
  vi.stubEnv('TROUPE_CANARY', SECRET);
  listeners = await startListeners();
});
afterAll(() => {
  vi.unstubAllEnvs();
  for (const one of listeners) one.stop();
});

test('the corpus has as many different lines as promised', () => {
  const targets = {
    out: '/o',
    cwd: '/c',
    port: 1,
    port6: 4,
    udpPort: 5,
    abstract: '6',
    token: '2',
    victim: 3,
  };
  const lines = new Set(hostileLines(targets, CORPUS_LINES));
  expect(lines.size).toBe(CORPUS_LINES);
  expect([...FURTHER_LINES, ...ODD_LINES, ...RARE_LINES].filter((make) => !lines.has(make(targets)))).toEqual(
    [],
  );
});

test.each(USERS)(
  'the harness notices the same effects without limits, as %o',
  { timeout: 120_000 },
  async (user) => {
    expect(await noticedEffects(user, listeners[0] ?? assert.fail('no listeners'))).toEqual([]);
  },
);

test.each(USERS)(
  'halving a batch finds its line with an effect without limits, as %o',
  { timeout: 120_000 },
  async (user) => {
    const [own = assert.fail('no listeners')] = listeners;
    for (const guilty of [1, 7, 24]) {
      const lines = ({ out }: Targets): readonly string[] =>
        Array.from({ length: 25 }, (_, i) => (i === guilty ? `touch ${out}/pwned` : `ls src; echo ${i}`));
      const makePlace = (): Promise<HostilePlace> => HostilePlace.make('free', own, lines, user);
      const place = await makePlace();
      const all = place.lines.map((_, i) => i);
      try {
        expect(await place.effectOf(all.filter((i) => i !== guilty))).toBeUndefined();
        expect(await place.effectOf(all)).toMatch(/^files outside, .*pwned/);
      } finally {
        place.remove();
      }
      expect(await guiltyLines(makePlace, all)).toEqual([guilty]);
    }
  },
);

describe.each(PERMISSION_MODES)('in %s', (mode) => {
  const turn = PERMISSION_MODES.indexOf(mode);

  test.each(usersOf(turn))(
    'no hostile line has an effect outside, as %o',
    { timeout: 3_600_000 },
    async (user) => {
      const { effects, ran, refused, harmless } = await runHostileLines({ mode, user, count }, listeners);
      expect(effects).toEqual([]);
      expect(ran + refused).toBe(count);
      expect(harmless).toBe(HARMLESS.length);
      expect(refused).toBeGreaterThan(0);
    },
  );

  test.each(usersOf(turn + 1))(
    'no hostile line has an effect outside without bwrap, as %o',
    { timeout: 3_600_000 },
    async (user) => {
      const run = { mode, user, count, bwrap: '/no/such/bwrap' };
      const { effects, ran, refused, harmless } = await runHostileLines(run, listeners);
      expect(effects).toEqual([]);
      expect(ran + refused).toBe(count);
      // In bypass the tool's own options hold: it requires a sandbox.
      expect(harmless).toBe(mode === 'bypass' ? 0 : HARMLESS.length);
    },
  );
});
