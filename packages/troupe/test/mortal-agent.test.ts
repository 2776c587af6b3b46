// Programs that are killed in the middle of a reply: the next one finds a whole history, and repeats nothing that counts.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { findHistoryFaults } from '../src/message/history.ts';
import { Msg } from '../src/message/msg.ts';
import type { PendingCall, PendingDecision } from '../src/message/pending-call.ts';
import { parseJson, type JsonValue } from '../src/util/json.ts';

const FLAGS = ['--no-warnings', '--experimental-transform-types', '--conditions=troupe:source'];

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-mortal-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Life {
  readonly signal: NodeJS.Signals | null;
  readonly text: string;
  readonly pending: readonly PendingCall[];
  readonly outer: readonly Msg[];
  readonly inner: readonly Msg[];
}

const live = (mode: string, ...decisions: readonly PendingDecision[]): Promise<Life> =>
  liveAs('mortal-agent.ts', mode, decisions);
const liveDeep = (mode: string, ...decisions: readonly PendingDecision[]): Promise<Life> =>
  liveAs('mortal-sub-agents.ts', mode, decisions);

/** Lets a program live until it ends or is killed. */
async function liveAs(program: string, mode: string, decisions: readonly PendingDecision[]): Promise<Life> {
  const script = join(import.meta.dirname, program);
  const args = [...FLAGS, script, folder, mode, JSON.stringify(decisions)];
  return new Promise((resolve, reject) => {
    const env = { ...process.env, TROUPE_LOG: 'warn' }; // a warning fails the test
    const child = execFile(process.execPath, args, { env }, (_error, stdout, stderr) => {
      if (stderr !== '') return reject(new Error(stderr));
      const told = stdout === '' ? {} : (parseJson(stdout) as unknown as Partial<Life>);
      const msgs = (list: unknown): Msg[] => ((list ?? []) as JsonValue[]).map((msg) => Msg.from(msg));
      resolve({
        signal: child.signalCode,
        text: told.text ?? '',
        pending: told.pending ?? [],
        outer: msgs(told.outer),
        inner: msgs(told.inner),
      });
    });
  });
}

const done = async (): Promise<string[]> =>
  (await readFile(join(folder, 'done.txt'), 'utf8')).trim().split('\n');
const resultsIn = (msgs: readonly Msg[]): unknown[] =>
  msgs.flatMap((msg) =>
    msg.getContentBlocks('tool_result').map(({ id, status, output }) => [id, status, output]),
  );

test('killed while three tools run, one with a side effect: that one reads "outcome unknown" and is not run again', async () => {
  const first = await live('pay');
  expect(first).toMatchObject({ signal: 'SIGKILL', text: '' });
  expect(await done()).toEqual(['look /a', 'pay']);

  const second = await live('resume');
  expect(second).toMatchObject({ signal: null, text: 'The outer agent is done.' });
  expect((await done()).filter((line) => line === 'pay')).toEqual(['pay']); // to look may be repeated
  expect(resultsIn(second.outer)).toEqual([
    ['c1', 'ok', 'seen /a'],
    ['c2', 'ok', 'slow and steady'],
    ['c3', 'interrupted', expect.stringContaining('outcome is unknown')],
  ]);
  expect(findHistoryFaults(second.outer)).toEqual([]);
});

test('killed while an approved side effect runs: it reads "outcome unknown", is not run again, and loading warns of nothing', async () => {
  const first = await live('ask-pay');
  const [pending] = first.pending;
  expect(first).toMatchObject({ signal: 'SIGKILL', text: 'May I call pay with {"path":"/c"}?' });

  const second = await live('resume', { id: pending?.id ?? '', verdict: 'allow' });
  expect(second).toMatchObject({ signal: 'SIGKILL', text: '' });
  expect(await done()).toEqual(['pay']);

  const third = await live('resume'); // a warning would fail it
  expect(third).toMatchObject({ signal: null, text: 'The outer agent is done.', pending: [] });
  expect(await done()).toEqual(['pay']);
  expect(resultsIn(third.outer)).toEqual([
    ['c1', 'interrupted', expect.stringContaining('outcome is unknown')],
  ]);
  expect(findHistoryFaults(third.outer)).toEqual([]);
});

test('killed when a nested agent has asked: allowed with other arguments, only this tool call runs, once', async () => {
  const first = await live('ask');
  const [pending] = first.pending;
  expect(first.signal).toBe('SIGKILL');
  expect(first.pending).toMatchObject([
    { agentPath: ['outer', 'inner'], call: { name: 'remove', input: { path: '/a' } } },
  ]);
  const before = await done();
  expect(before.toSorted()).toEqual(['look /inner', 'look /outer']);

  const id = String(pending?.id);
  const again = await live('resume'); // nothing was decided
  expect(again.pending).toEqual(first.pending);
  await expect(live('resume', { id: 'pending_forged', verdict: 'allow' })).rejects.toThrow(
    'was never asked for',
  );
  const second = await live('resume', { id, verdict: 'allow', input: { path: '/edited' } });
  expect(second).toMatchObject({ text: 'The outer agent is done.', pending: [] });
  expect(await done()).toEqual([...before, 'remove /edited']);
  expect(resultsIn(second.inner)).toMatchObject([
    ['i1', 'ok', 'seen /inner'],
    ['i2', 'ok', expect.stringContaining('removed')],
  ]);
  expect([...findHistoryFaults(second.outer), ...findHistoryFaults(second.inner)]).toEqual([]);
  await expect(live('resume', { id, verdict: 'allow' })).rejects.toThrow('There is no pending tool call');
  expect(await done()).toEqual([...before, 'remove /edited']);
});

test('killed when a sub-agent three deep has asked, and again in the middle of what was granted: that runs once', async () => {
  const first = await liveDeep('ask');
  expect(first).toMatchObject({
    signal: 'SIGKILL',
    pending: [{ agentPath: ['root', 'a', 'b', 'c'], call: { name: 'remove', input: { path: '/a' } } }],
  });
  expect(await done()).toEqual(['look /first']);
  const id = String(first.pending[0]?.id);

  const granted: PendingDecision = { id, verdict: 'allow', input: { path: '/edited' } };
  expect(await liveDeep('die', granted)).toMatchObject({ signal: 'SIGKILL', text: '' });
  expect(await done()).toEqual(['look /first', 'remove /edited']);

  await expect(liveDeep('resume', granted)).rejects.toThrow('has been decided already');
  const last = await liveDeep('resume');
  expect(last).toMatchObject({ signal: null, text: 'The root is done.', pending: [] });
  expect(await done()).toEqual(['look /first', 'remove /edited']);
  expect(resultsIn(last.outer)).toEqual([
    ['r1', 'interrupted', expect.stringContaining('outcome is unknown')],
  ]);
  expect(findHistoryFaults(last.outer)).toEqual([]);
});

test('killed when a sub-agent three deep has asked: allowed with other arguments, only this tool call runs, and the rest continues', async () => {
  const [pending] = (await liveDeep('ask')).pending;
  const granted: PendingDecision = { id: String(pending?.id), verdict: 'allow', input: { path: '/edited' } };
  expect(await liveDeep('resume', granted)).toMatchObject({ text: 'The root is done.', pending: [] });
  expect(await done()).toEqual(['look /first', 'remove /edited', 'look /last']);
  await expect(liveDeep('resume', granted)).rejects.toThrow('There is no pending tool call');
  expect(await done()).toHaveLength(3);
});
