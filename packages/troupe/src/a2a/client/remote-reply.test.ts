import { TaskState, type Part, type StreamResponse } from '@a2a-js/sdk';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';

import type { Msg } from '../../message/msg.ts';
import { RemoteReply } from './remote-reply.ts';
import { loadA2AClientSdk } from '../protocol/sdk.ts';

beforeAll(loadA2AClientSdk);

const text = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});
const IDS = { taskId: 't', contextId: 'c', metadata: undefined };

function artifact(artifactId: string, value: string, append: boolean): StreamResponse {
  const whole = {
    artifactId,
    name: '',
    description: '',
    parts: [text(value)],
    metadata: undefined,
    extensions: [],
  };
  return {
    payload: { $case: 'artifactUpdate', value: { ...IDS, artifact: whole, append, lastChunk: false } },
  };
}

function status(state: TaskState, said?: string): StreamResponse {
  const message =
    said === undefined
      ? undefined
      : { ...IDS, messageId: 'm', role: 2, parts: [text(said)], extensions: [], referenceTaskIds: [] };
  return {
    payload: { $case: 'statusUpdate', value: { ...IDS, status: { state, message, timestamp: undefined } } },
  };
}

async function replyTo(
  updates: readonly StreamResponse[],
): Promise<{ msg: Msg; printed: [id: string, text: string, last: boolean][] }> {
  const printed: [string, string, boolean][] = [];
  const reply = new RemoteReply('r', async (msg, last) => void printed.push([msg.id, msg.text, last]));
  for (const update of updates) await reply.take(update);
  return { msg: reply.finish({}), printed };
}

test('however a text is cut into pieces, it is the same answer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), async (pieces) => {
      const { msg, printed } = await replyTo(pieces.map((piece, i) => artifact('a', piece, i > 0)));
      expect(msg.content).toEqual([{ type: 'text', text: pieces.join('') }]);
      expect(printed).toEqual(pieces.map((_, i) => [msg.id, pieces.slice(0, i + 1).join(''), false]));
    }),
  );
});

test('however the pieces of several artifacts are mixed, each is whole and in its place', async () => {
  const piece = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.string({ minLength: 1 }), fc.boolean());
  await fc.assert(
    fc.asyncProperty(fc.array(piece), async (pieces) => {
      const expected = new Map<string, string>();
      for (const [id, value, append] of pieces) {
        const before = append ? expected.get(id) : undefined;
        if (before === undefined) expected.delete(id); // a new message, at the end
        expected.set(id, (before ?? '') + value);
      }
      const { msg } = await replyTo(pieces.map(([id, value, append]) => artifact(id, value, append)));
      const texts = msg.getContentBlocks('text').map((block) => block.text);
      expect(texts).toEqual(pieces.length === 0 ? ['Done.'] : [...expected.values()]);
    }),
  );
});

test('an answer that is replaced stays printed as a message of its own', async () => {
  const { msg, printed } = await replyTo([
    artifact('a', 'Let me see.', false),
    artifact('a', 'It', false),
    artifact('a', ' rains.', true),
  ]);
  expect(msg.text).toBe('It rains.');
  const [first] = printed;
  expect(printed).toEqual([
    [first?.[0], 'Let me see.', false],
    [first?.[0], 'Let me see.', true],
    [msg.id, 'It', false],
    [msg.id, 'It rains.', false],
  ]);
  expect(first?.[0]).not.toBe(msg.id);
});

test('the text of the last status follows the answer, unless it repeats the answer', async () => {
  const done = TaskState.TASK_STATE_COMPLETED;
  const said = async (...updates: StreamResponse[]): Promise<unknown> =>
    (await replyTo(updates)).msg.getTextContent('|');
  expect(await said(artifact('a', 'x', false), status(done, 'bye'))).toBe('x|bye');
  expect(await said(artifact('a', 'x', false), status(done, 'x'))).toBe('x');
  expect(await said(status(done, 'x'))).toBe('x');
  expect(await said(status(done))).toBe('Done.');
});

test.each([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_UNSPECIFIED])(
  'in the state %i, more is to come',
  async (state) => {
    const reply = new RemoteReply('r', async () => {});
    await reply.take(status(state, 'hm'));
    expect(reply.settled).toBeUndefined();
  },
);

test('a state that tasks do not have is no answer', async () => {
  const reply = new RemoteReply('r', async () => {});
  await expect(reply.take(status(TaskState.UNRECOGNIZED, 'hm'))).rejects.toMatchObject({
    failure: 'bad_answer',
    message: 'The remote agent named a state that tasks do not have.',
  });
});
