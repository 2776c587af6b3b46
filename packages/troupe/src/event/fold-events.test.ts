import { expect, test } from 'vitest';

import { Msg } from '../message/msg.ts';
import type { AgentEvent } from './agent-event.ts';
import { AgentStream } from './agent-stream.ts';
import { ConversationView } from './conversation-view.ts';
import { foldEvents } from './fold-events.ts';
import type { RunListener } from './reply-stream.ts';

const origin = (seq: number) => ({
  runId: 'run',
  replyId: 'reply',
  agentPath: ['Ann'],
  seq,
  id: `run-${seq}`,
  timestamp: '2026-01-31T09:30:00.000Z',
});
const answer = Msg.assistant('Hello', { name: 'Ann', id: 'm' });
const EVENTS: readonly AgentEvent[] = [
  { type: 'reply_start', name: 'Ann', ...origin(0) },
  { type: 'block_start', msgId: 'm', index: 0, blockType: 'text', ...origin(1) },
  { type: 'text_delta', msgId: 'm', index: 0, text: 'Hel', ...origin(2) },
  { type: 'text_delta', msgId: 'm', index: 0, text: 'lo', ...origin(3) },
  { type: 'block_end', msgId: 'm', index: 0, ...origin(4) },
  { type: 'run_end', status: 'finished', durationMs: 1, msg: answer, ...origin(5) },
];
const saidIn = ({ messages }: ConversationView): string =>
  messages.flatMap(({ content }) => content.map((block) => (block.type === 'text' ? block.text : ''))).join();

test('events of a list are folded one by one', async () => {
  const said: string[] = [];
  const views = foldEvents(EVENTS);
  let step = await views.next();
  for (; !step.done; step = await views.next()) said.push(saidIn(step.value));
  expect(said).toEqual(['', '', 'Hel', 'Hello', 'Hello', 'Hello']);
  expect(step.value.status).toBe('finished');
});

test('a view that is given goes on', async () => {
  const view = new ConversationView({ messages: [Msg.user('Hi!')] });
  for await (const same of foldEvents(EVENTS, view)) expect(same).toBe(view);
  expect(saidIn(view)).toBe('Hi!,Hello');
});

/** A run that emits some events and then hangs until its reader leaves. */
function hangingStream(): { stream: AgentStream; state: { hasLeft: boolean; runs: number } } {
  const state = { hasLeft: false, runs: 0 };
  const run = async ({ emit, left }: RunListener): Promise<Msg> => {
    state.runs++;
    for (const event of EVENTS.slice(0, 3)) await emit(event);
    await new Promise((resolve) => left.addEventListener('abort', resolve));
    state.hasLeft = true;
    return answer;
  };
  return { stream: new AgentStream(run), state };
}

test('leaving the loop interrupts the run', async () => {
  const { stream, state } = hangingStream();
  for await (const view of foldEvents(stream)) if (saidIn(view) === 'Hel') break;
  expect(state.hasLeft).toBe(true);
});

test('leaving interrupts the run at once, while the next event is awaited', async () => {
  const { stream, state } = hangingStream();
  const views = foldEvents(stream);
  for (let i = 0; i < 3; i++) await views.next();
  const waiting = views.next();
  await views.return(new ConversationView());
  expect(state.hasLeft).toBe(true);
  expect((await waiting).done).toBe(true);
});

test('leaving before the first read starts nothing', async () => {
  const { stream, state } = hangingStream();
  await foldEvents(stream).return(new ConversationView());
  await expect(stream.answer).rejects.toMatchObject({ code: 'interrupted' });
  expect(state.runs).toBe(0);
});

test('a run that fails throws after its events', async () => {
  const error = new Error('gone');
  const failed: AgentEvent = {
    type: 'run_end',
    status: 'failed',
    durationMs: 1,
    error: { message: 'gone' },
    ...origin(1),
  };
  const stream = new AgentStream(async ({ emit }) => {
    await emit(failed);
    throw error;
  });
  const view = new ConversationView();
  const read = async (): Promise<void> => {
    for await (const _ of foldEvents(stream, view));
  };
  await expect(read()).rejects.toBe(error);
  expect([view.status, view.error]).toEqual(['failed', { message: 'gone' }]);
});
