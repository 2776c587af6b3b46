import { expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import { SnapshotQueue } from './snapshot-queue.ts';
import type { ToolOutput } from '../tool/tool-output.ts';
import type { ToolCallResult } from '../tool/tool.ts';

const snapshot = (output: string): ToolOutput => ({ output, status: 'ok' });

function prepare({ output, status }: ToolOutput): ToolCallResult {
  return { type: 'tool_result', id: 'c', name: 't', output, status };
}

test('shows one snapshot at a time, and only the latest of the queued ones', async () => {
  const shown: unknown[] = [];
  const waiting: (() => void)[] = [];
  const snapshots = new SnapshotQueue({
    prepare,
    show({ output }) {
      shown.push(output);
      return new Promise<void>((resolve) => waiting.push(resolve));
    },
  });
  const first = snapshots.show(snapshot('a'));
  await Promise.resolve();
  for (let i = 0; i < 1000; i++) void snapshots.show(snapshot(`b${i}`));
  expect(shown).toEqual(['a']);
  waiting.shift()?.();
  for (let i = 0; i < 5; i++) await Promise.resolve();
  expect(shown).toEqual(['a', 'b999']);
  waiting.shift()?.();
  await Promise.all([first, snapshots.flush()]);
  expect(shown).toEqual(['a', 'b999']);
});

test('shows all snapshots to a caller that waits for each', async () => {
  const shown: unknown[] = [];
  const snapshots = new SnapshotQueue({ prepare, show: ({ output }) => shown.push(output) });
  for (const text of ['a', 'ab', 'abc']) await snapshots.show(snapshot(text));
  expect(shown).toEqual(['a', 'ab', 'abc']);
});

test('shows nothing after close, not even a snapshot in preparation', async () => {
  const shown: unknown[] = [];
  let finish = (): void => {};
  const snapshots = new SnapshotQueue({
    async prepare(output) {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return prepare(output);
    },
    show: ({ output }) => shown.push(output),
  });
  const first = snapshots.show(snapshot('a'));
  void snapshots.show(snapshot('b'));
  snapshots.close();
  finish();
  await first;
  await snapshots.show(snapshot('c'));
  expect(shown).toEqual([]);
});

test('goes on when a snapshot can not be shown, and logs it', async () => {
  const shown: unknown[] = [];
  const lines: string[] = [];
  await withRunConfig({ logging: { log: (level, text) => lines.push(`${level} ${text}`) } }, async () => {
    const snapshots = new SnapshotQueue({
      prepare,
      show({ output }) {
        if (output === 'bad') throw new Error('no screen');
        shown.push(output);
      },
    });
    await snapshots.show(snapshot('bad'));
    await snapshots.show(snapshot('good'));
  });
  expect(shown).toEqual(['good']);
  expect(lines).toEqual(['warn A snapshot of a tool could not be shown: no screen']);
});
