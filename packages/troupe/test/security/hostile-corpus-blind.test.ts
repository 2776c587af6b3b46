// The same lines with a judge that lets everything run: the kernel holds, not the judge.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import type { CommandJudgement } from '../../src/permission/shell/judge-command.ts';
import type * as FindCommands from '../../src/permission/shell/find-commands.ts';
import { sampleOf, strideOf } from '../fair-sample.ts';
import { SECRET, type Listeners } from './canary-place.ts';
import { HARMLESS } from './hostile-lines.ts';
import { CORPUS_LINES, runHostileLines, startListeners } from './hostile-runs.ts';

const blind = vi.hoisted(() => ({ kind: 'read' as CommandJudgement['kind'] }));
vi.mock('../../src/permission/shell/judge-command.ts', async (original) => ({
  ...(await original<object>()),
  judgeCommand: (): CommandJudgement => ({ kind: blind.kind, danger: undefined }),
}));
vi.mock('../../src/permission/shell/find-commands.ts', async (original) => {
  const actual = await original<typeof FindCommands>();
  const one = actual.findCommands('ls');
  return { ...actual, findCommands: (): typeof one => one };
});

const count = sampleOf(
  'hostile command lines with a judge that allows all (in each mode)',
  CORPUS_LINES,
  25,
  CORPUS_LINES / 4,
);
const isRoot = process.getuid?.() === 0;
const USERS = [undefined, ...(isRoot ? [{ uid: 65_534, gid: 65_534 }] : [])];
/** A sample runs the lines of each mode as one of the users, in turns: as the other one without bwrap. */
const USER_STRIDE = isRoot
  ? strideOf('hostile command lines with a judge that allows all, as each user', 2)
  : 1;
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

describe.each([
  ['explore', 'read', 1],
  ['default', 'read', 2],
  ['dont_ask', 'read', 3],
  ['accept_edits', 'edit', 4],
  ['bypass', 'other', 5],
] as const)('in %s', (mode, kind, turn) => {
  test.each(usersOf(turn))(
    'every line runs, and none has an effect outside, as %o',
    { timeout: 3_600_000 },
    async (user) => {
      blind.kind = kind;
      const { effects, ran, refused } = await runHostileLines({ mode, user, count }, listeners);
      expect(effects).toEqual([]);
      expect([ran, refused]).toEqual([count, 0]);
    },
  );

  test.each(usersOf(turn + 1))(
    'no line has an effect outside without bwrap, as %o',
    { timeout: 3_600_000 },
    async (user) => {
      blind.kind = kind;
      const run = { mode, user, count, bwrap: '/no/such/bwrap' };
      const { effects, ran, refused, harmless } = await runHostileLines(run, listeners);
      expect(effects).toEqual([]);
      expect(refused).toBeGreaterThan(count * 0.9);
      expect(ran + refused).toBe(count);
      expect(harmless).toBe(mode === 'bypass' ? 0 : HARMLESS.length);
    },
  );
});
