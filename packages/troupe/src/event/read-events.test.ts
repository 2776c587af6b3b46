import { describe, expect, test } from 'vitest';

import { Msg } from '../message/msg.ts';
import type { AgentEvent } from './agent-event.ts';
import { AgentStream } from './agent-stream.ts';
import { readEvents } from './read-events.ts';

const origin = (seq: number, ...agentPath: string[]) => ({
  runId: 'run',
  replyId: 'reply',
  agentPath,
  seq,
  id: `run-${seq}`,
  timestamp: '2026-01-31T09:30:00.000Z',
});
const answer = Msg.assistant('Hé!', { name: 'Ann', endReason: 'finished' });
const EVENTS: readonly AgentEvent[] = [
  { type: 'reply_start', name: 'Ann', ...origin(0, 'Ann') },
  { type: 'hint', msg: Msg.user('Think.'), ...origin(1, 'Ann') },
  { type: 'text_delta', msgId: 'm', index: 0, text: 'Hé\n\n!', ...origin(2, 'Ann') },
  { type: 'run_end', status: 'finished', durationMs: 1, msg: answer, ...origin(3, 'Ann', 'Bob') },
  { type: 'run_end', status: 'finished', durationMs: 1, msg: answer, ...origin(4, 'Ann') },
];

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

function streamOf(events: readonly AgentEvent[], error?: Error): AgentStream {
  return new AgentStream(async ({ emit }) => {
    for (const event of events) await emit(event);
    if (error !== undefined) throw error;
    return answer;
  });
}

const HEADERS = { 'content-type': 'text/event-stream' };
const framed = (event: AgentEvent): string => `data: ${JSON.stringify(event)}\n\n`;

describe('the events of a response', () => {
  test('are those of the stream', async () => {
    const events = await listOf(readEvents(streamOf(EVENTS).toResponse()));
    expect(events).toEqual(EVENTS);
    const end = events.at(-1);
    expect(end?.type === 'run_end' && end.msg instanceof Msg).toBe(true);
  });

  test('do not depend on how the bytes are cut', async () => {
    const bytes = new TextEncoder().encode(EVENTS.map(framed).join(':\n\n'));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect(await listOf(readEvents(new Response(body, { headers: HEADERS })))).toEqual(EVENTS);
  });

  test('end regularly when the run fails', async () => {
    const failed: AgentEvent = {
      type: 'run_end',
      status: 'failed',
      durationMs: 1,
      error: { message: 'no' },
      ...origin(0, 'Ann'),
    };
    expect(await listOf(readEvents(streamOf([failed], new Error('no')).toResponse()))).toEqual([failed]);
    const refused = await listOf(readEvents(streamOf([], new Error('busy')).toResponse()));
    expect(refused).toMatchObject([{ type: 'run_end', status: 'failed', error: { message: 'busy' } }]);
  });

  test('leave the response when they are left, also while the next one is awaited', async () => {
    for (const isWaiting of [false, true]) {
      let isCanceled = false;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(framed(EVENTS[0]!))),
        cancel: () => void (isCanceled = true),
      });
      const events = readEvents(new Response(body, { headers: HEADERS }));
      expect((await events.next()).value).toEqual(EVENTS[0]);
      const next = isWaiting ? events.next() : undefined;
      await events.return();
      expect(isCanceled).toBe(true);
      expect(await next).toEqual(isWaiting ? { done: true, value: undefined } : undefined);
    }
  });
});

describe('reading fails', () => {
  const cases: Readonly<Record<string, [response: () => Response, message: string | RegExp]>> = {
    'when the server refuses': [
      () => new Response('{"secret": 1}', { status: 403, headers: { 'content-type': 'application/json' } }),
      'The server answered with status 403 and application/json, not with server-sent events. Look at response.status before readEvents.',
    ],
    'when the agent is busy, with the message of the server': [
      () => Response.json({ code: 'agent_busy', message: 'Ann is busy.' }, { status: 409 }),
      'The server answered with status 409 and application/json, not with server-sent events: Ann is busy. ' +
        'The agent refused the call: wait until it is free, or decide its pending tool calls.',
    ],
    'when the message of the server has no full stop': [
      () => Response.json({ message: 'not found' }, { status: 404 }),
      'The server answered with status 404 and application/json, not with server-sent events: not found. Look at response.status before readEvents.',
    ],
    'when there is no body': [
      () => new Response(null, { status: 204 }),
      'The server answered with status 204 and no content type, not with server-sent events. Look at response.status before readEvents.',
    ],
    'when there are no events': [
      () => new Response('<p>Hi</p>', { headers: { 'content-type': 'text/html' } }),
      'The server answered with status 200 and text/html, not with server-sent events. Look at response.status before readEvents.',
    ],
    'when the response ends before its run': [
      () => new Response(EVENTS.slice(0, 4).map(framed).join(''), { headers: HEADERS }),
      'The response ended before its run.',
    ],
    'when nothing comes': [
      () => new Response('', { headers: HEADERS }),
      'The response ended before its run.',
    ],
    'when something is no event': [
      () => new Response('data: {"type": "run_end"}\n\n', { headers: HEADERS }),
      'The response has something that is no event.',
    ],
    'when something is no JSON': [
      () => new Response('data: [DONE]\n\n', { headers: HEADERS }),
      'The response has something that is no event.',
    ],
  };

  test.each(Object.entries(cases))('%s', async (_, [response, message]) => {
    await expect(listOf(readEvents(response()))).rejects.toMatchObject({ code: 'stream_failed', message });
  });

  test('when the response was read before, to its end or in part', async () => {
    const problem = {
      code: 'stream_failed',
      message: 'The response was read before. Read it once, and keep its events.',
    };
    const response = new Response(EVENTS.map(framed).join(''), { headers: HEADERS });
    expect(await listOf(readEvents(response))).toHaveLength(EVENTS.length);
    await expect(listOf(readEvents(response))).rejects.toMatchObject(problem);
    const other = new Response(EVENTS.map(framed).join(''), { headers: HEADERS });
    const reading = readEvents(other);
    await reading.next();
    await expect(listOf(readEvents(other))).rejects.toMatchObject(problem);
    await reading.return();
  });
});
