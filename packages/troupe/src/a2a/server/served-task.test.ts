import { TaskState, type StreamResponse } from '@a2a-js/sdk';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';

import type { Msg } from '../../message/msg.ts';
import { textPart } from '../protocol/parts.ts';
import { RemoteReply } from '../client/remote-reply.ts';
import { ServedTask } from './served-task.ts';
import { loadA2AServerSdk } from '../protocol/sdk.ts';

beforeAll(loadA2AServerSdk);

const NEVER = new AbortController().signal;

/** Changes of a task: text, a new answer, a status, or a reader that reads one update. */
const action = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.string({ minLength: 1 }), block: fc.nat(2) }),
  fc.constant({ type: 'anew' as const }),
  fc.constant({ type: 'status' as const }),
  fc.constant({ type: 'read' as const }),
);

test('every subscriber, fast or slow, gets the whole answer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action), async (actions) => {
      const task = new ServedTask('c');
      const watcher = task.updates({}, NEVER);
      const read: Promise<IteratorResult<StreamResponse, void>>[] = [];
      for (const one of actions) {
        if (one.type === 'text') task.addText(one.text, one.block);
        else if (one.type === 'anew') task.startAnswer();
        else if (one.type === 'status') task.setState(TaskState.TASK_STATE_WORKING);
        else read.push(watcher.next());
        if (one.type === 'read') await Promise.resolve();
      }
      task.setState(TaskState.TASK_STATE_COMPLETED);
      const reply = new RemoteReply('r', async (_msg: Msg) => {});
      for (const step of read) {
        const { done, value } = await step;
        if (!done) await reply.take(value);
      }
      for await (const update of watcher) await reply.take(update);
      expect(reply.settled).toBe('completed');
      const [artifact] = task.snapshot().artifacts;
      const [part] = artifact?.parts ?? [];
      // An answer that was restarted and stayed empty can't be withdrawn from readers.
      if (part?.content?.$case === 'text') expect(reply.finish({}).text).toBe(part.content.value);
    }),
  );
});

test('a slow subscriber gets missed updates at once, without a queue', async () => {
  const task = new ServedTask('c');
  const watcher = task.updates({}, NEVER);
  await watcher.next();
  for (let i = 0; i < 1000; i++) task.addText('x', 0);
  task.setState(TaskState.TASK_STATE_COMPLETED);
  const rest: StreamResponse[] = [];
  for await (const update of watcher) rest.push(update);
  expect(rest.map(({ payload }) => payload?.$case)).toEqual(['artifactUpdate', 'statusUpdate']);
  expect(rest[0]).toMatchObject({
    payload: { value: { append: false, lastChunk: true, artifact: { parts: [textPart('x'.repeat(1000))] } } },
  });
});

test('an answer equal to the streamed text changes nothing, a different one replaces it', async () => {
  const task = new ServedTask('c');
  task.addText('one', 0);
  task.addText('two', 1);
  const watcher = task.updates({}, NEVER);
  await watcher.next();
  task.setAnswer([textPart('one'), textPart('two')]);
  task.setState(TaskState.TASK_STATE_WORKING);
  expect((await watcher.next()).value).toMatchObject({ payload: { $case: 'statusUpdate' } });
  task.setAnswer([textPart('three')]);
  expect((await watcher.next()).value).toMatchObject({
    payload: { $case: 'artifactUpdate', value: { append: false, artifact: { parts: [textPart('three')] } } },
  });
});

test('leaving a task ends the wait', async () => {
  const task = new ServedTask('c');
  const stop = new AbortController();
  const watcher = task.updates({}, stop.signal);
  await watcher.next();
  const next = watcher.next();
  const settled = task.settled(stop.signal);
  stop.abort(new Error('gone'));
  await expect(next).rejects.toThrow('gone');
  await expect(settled).rejects.toThrow('gone');
});

test('a watcher that keeps up gets each word once', async () => {
  const task = new ServedTask('c');
  const watcher = task.updates({}, NEVER);
  await watcher.next();
  let sent = 0;
  for (let i = 0; i < 20_000; i++) {
    task.addText('word ', 0);
    const { value } = await watcher.next();
    const [part] =
      value?.payload?.$case === 'artifactUpdate' ? (value.payload.value.artifact?.parts ?? []) : [];
    sent += part?.content?.$case === 'text' ? part.content.value.length : 0;
  }
  expect(sent).toBe(100_000); // each word once
});
