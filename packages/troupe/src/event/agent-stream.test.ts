import { describe, expect, test, vi } from 'vitest';
import { AgentBusyError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { fakeIds } from '../testing/fake-ids.ts';
import type { AgentEvent } from './agent-event.ts';
import { AgentStream } from './agent-stream.ts';
import type { RunListener, StreamOptions } from './reply-stream.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const answer = Msg.assistant('done');
const TIME = '2026-01-01T00:00:00.000Z';
const origin = (seq: number, agentPath = ['Ann']) => ({
  id: `run:${seq}`,
  runId: 'run',
  replyId: 'reply',
  agentPath,
  seq,
  timestamp: TIME,
});
const text = (seq: number, said: string, msgId = 'm1', index = 0, agentPath = ['Ann']): AgentEvent => ({
  type: 'text_delta',
  msgId,
  index,
  text: said,
  ...origin(seq, agentPath),
});
const start: AgentEvent = { type: 'reply_start', name: 'Ann', ...origin(0) };
const end: AgentEvent = { type: 'run_end', status: 'finished', msg: answer, durationMs: 9, ...origin(9) };

/** A run that emits these events, and its progress. */
function runOf(events: readonly AgentEvent[], options: StreamOptions & { readonly error?: Error } = {}) {
  const progress = { runs: 0, emitted: 0, hasLeft: false };
  const run = async ({ emit, left }: RunListener): Promise<Msg> => {
    progress.runs++;
    left.addEventListener('abort', () => (progress.hasLeft = true));
    for (const event of events) {
      await emit(event);
      progress.emitted++;
    }
    if (options.error !== undefined) throw options.error;
    return answer;
  };
  return { stream: new AgentStream(run, options), progress };
}

/** A run that emits one event and then waits for an abort. */
function hangingRun() {
  const state = { isOver: false };
  const run = async ({ emit, left }: RunListener): Promise<Msg> => {
    await emit(start);
    await new Promise((resolve) => left.addEventListener('abort', resolve));
    await settle(); // the agent repairs its memory
    state.isOver = true;
    return Msg.assistant('stopped');
  };
  return { stream: new AgentStream(run), state };
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const lazily = (web: ReadableStream<AgentEvent>) => ({ text: async () => JSON.stringify(await listOf(web)) });

const EVENTS = [start, text(1, 'Hel'), text(2, 'lo'), end];

describe('a stream', () => {
  test('starts no run before the first read', async () => {
    const [views, web, response] = [runOf(EVENTS), runOf(EVENTS), runOf(EVENTS)];
    void views.stream.text;
    void views.stream.filter('text_delta');
    web.stream.toReadableStream();
    response.stream.toResponse();
    await settle();
    expect([views, web, response].map(({ progress }) => progress.runs)).toEqual([0, 0, 0]);
  });

  test('is iterated, and gives the answer', async () => {
    const { stream, progress } = runOf(EVENTS);
    expect(await listOf(stream)).toEqual(EVENTS);
    expect(await stream.answer).toBe(answer);
    expect(progress.runs).toBe(1);
  });

  test('starts the run when the answer is awaited, without a reader', async () => {
    const many = Array.from({ length: 500 }, (_, i) => text(i, 'x'));
    const { stream, progress } = runOf(many, { capacity: 1 });
    expect(await stream.answer).toBe(answer);
    expect(await stream.answer).toBe(answer);
    expect(progress).toMatchObject({ runs: 1, emitted: 500 });
  });

  test('can be awaited and iterated at the same time, in either order', async () => {
    const first = runOf(EVENTS).stream;
    expect(await Promise.all([first.answer, listOf(first)])).toEqual([answer, EVENTS]);
    const second = runOf(EVENTS).stream;
    expect(await Promise.all([listOf(second), second.answer])).toEqual([EVENTS, answer]);
    const third = runOf(EVENTS).stream;
    const later = third.answer;
    const seen: AgentEvent[] = [];
    for await (const event of third) seen.push(event);
    expect([seen, await later]).toEqual([EVENTS, answer]);
  });

  test('gives text: blocks and messages on separate lines, without nested agents', async () => {
    const { stream } = runOf([
      start,
      text(1, 'Let me '),
      text(2, 'see.'),
      text(3, 'Nested.', 'n', 0, ['Ann', 'Bob']),
      text(4, 'Two', 'm2'),
      text(5, ' blocks', 'm2', 1),
      end,
    ]);
    expect(await listOf(stream.text)).toEqual(['Let me ', 'see.', '\nTwo', '\n blocks']);
    expect(await stream.answer).toBe(answer);
  });

  test('is filtered by type', async () => {
    const { stream } = runOf(EVENTS);
    expect(await listOf(stream.filter('reply_start', 'run_end'))).toEqual([start, end]);
  });

  test('refuses a second reader', async () => {
    const { stream } = runOf(EVENTS);
    await stream.next();
    const problem = 'A stream has one reader, and this stream has one already.';
    await expect(listOf(stream.text)).rejects.toThrow(problem);
    expect(await listOf(stream)).toEqual(EVENTS.slice(1));
    const awaited = runOf(EVENTS).stream;
    await awaited.answer;
    await expect(awaited.next()).rejects.toMatchObject({ code: 'invalid_input' });
  });

  test.each<[string, (stream: AgentStream) => { text(): Promise<string> }]>([
    ['a response', (stream) => stream.toResponse()],
    ['a web stream', (stream) => lazily(stream.toReadableStream())],
  ])('that became %s has no other reader, before and after it was read', async (_, open) => {
    const { stream, progress } = runOf(EVENTS);
    const response = open(stream);
    const problem = 'A stream has one reader, and this stream has one already.';
    expect(() => stream.toResponse()).toThrow(problem);
    expect(() => stream.toReadableStream()).toThrow(problem);
    await expect(listOf(stream)).rejects.toThrow(problem);
    await expect(listOf(stream.text)).rejects.toThrow(problem);
    const later = stream.answer; // drops no events
    await settle();
    expect(progress.runs).toBe(0);
    expect(await response.text()).toContain('run_end');
    expect(await later).toBe(answer);
    expect(() => stream.toResponse()).toThrow(problem);
    await expect(listOf(stream)).rejects.toThrow('This stream was read to its end, or left.');
    expect(progress.runs).toBe(1);
  });

  test('is iterated once: a second loop is told so', async () => {
    const { stream } = runOf(EVENTS);
    await stream.next();
    expect(await listOf(stream)).toEqual(EVENTS.slice(1)); // the rest of one reader
    await expect(listOf(stream)).rejects.toMatchObject({ code: 'invalid_input' });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    const { stream: left } = runOf(EVENTS);
    for await (const _ of left) break;
    await expect(listOf(left)).rejects.toMatchObject({ code: 'invalid_input' });
  });

  test('refuses to filter by an unknown type', () => {
    const { stream } = runOf(EVENTS);
    expect(() => stream.filter('textdelta' as never)).toThrow('No event has the type "textdelta".');
  });

  test('slows the run down in every view', async () => {
    const many = Array.from({ length: 200 }, (_, i) => text(i, 'x'));
    for (const open of [
      (stream: AgentStream) => stream.text,
      (stream: AgentStream) => stream.filter('text_delta'),
      (stream: AgentStream) => stream.toReadableStream(),
      (stream: AgentStream) => stream.toResponse().body ?? [],
    ]) {
      const { stream, progress } = runOf(many, { capacity: 4 });
      let read = 0;
      for await (const _ of open(stream)) {
        if (++read !== 5) continue;
        await settle();
        await settle();
        expect(progress.emitted).toBeLessThanOrEqual(11);
      }
      expect(read).toBeGreaterThanOrEqual(200);
    }
  });
});

describe('leaving', () => {
  interface Reader {
    read(): Promise<unknown>;
    leave(): Promise<unknown>;
  }
  const iterate = (items: AsyncIterable<unknown>): Reader => {
    const iterator = items[Symbol.asyncIterator]();
    return { read: () => iterator.next(), leave: async () => iterator.return?.() };
  };
  const readWeb = (items: ReadableStream<unknown>): Reader => {
    const reader = items.getReader();
    return { read: () => reader.read(), leave: () => reader.cancel() };
  };

  test.each<[string, (stream: AgentStream) => Reader]>([
    ['the stream', (stream) => iterate(stream)],
    ['its text', (stream) => iterate(stream.text)],
    ['some types', (stream) => iterate(stream.filter('reply_start'))],
    ['the web stream', (stream) => readWeb(stream.toReadableStream())],
    ['the response', (stream) => readWeb(stream.toResponse().body!)],
  ])('%s while nothing comes interrupts the run, and waits until it is over', async (_, open) => {
    const { stream, state } = hangingRun();
    const { read, leave } = open(stream);
    const reads = [read(), read(), read()];
    await settle();
    expect(state.isOver).toBe(false);
    await leave();
    expect(state.isOver).toBe(true);
    await Promise.all(reads);
    expect((await stream.answer).text).toBe('stopped');
  });

  test('by dispose before the start: the run never starts', async () => {
    const { stream, progress } = runOf(EVENTS);
    {
      await using _ = stream;
    }
    expect([progress.runs, await listOf(stream)]).toEqual([0, []]);
    await expect(stream.answer).rejects.toMatchObject({ code: 'interrupted' });
    const { stream: unread, progress: none } = runOf(EVENTS);
    await unread.toReadableStream().cancel();
    expect(none.runs).toBe(0);
  });
});

describe('a failing run', () => {
  const failed: AgentEvent = {
    type: 'run_end',
    status: 'failed',
    error: { message: 'Oh.' },
    durationMs: 2,
    ...origin(2),
  };

  test('rejects the read and the answer, without an unhandled rejection', async () => {
    const unhandled = vi.fn<(reason: unknown) => void>();
    process.on('unhandledRejection', unhandled);
    try {
      const { stream } = runOf([start, failed], { error: new Error('Oh.') });
      await expect(listOf(stream)).rejects.toThrow('Oh.');
      await settle();
      await expect(stream.answer).rejects.toThrow('Oh.');
      void runOf([start, failed], { error: new Error('Oh.') }).stream.answer; // asked for, and forgotten
      const { stream: web } = runOf([start, failed], { error: new Error('Oh.') });
      await expect(listOf(web.toReadableStream())).rejects.toThrow('Oh.');
      await settle();
      await settle();
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });

  test('ends its response regularly, after `run_end`', async () => {
    const { stream } = runOf([start, failed], { error: new Error('Oh.') });
    const frames = (await stream.toResponse().text()).split('\n\n');
    expect(frames.slice(-3)).toEqual([
      `id: 0\nevent: reply_start\ndata: ${JSON.stringify(start)}`,
      `id: 2\nevent: run_end\ndata: ${JSON.stringify(failed)}`,
      '',
    ]);
  });

  test('ends the response with `run_end` if the run was refused', async () => {
    using _clock = new FakeClock().install();
    using _ids = fakeIds('event-');
    const { stream } = runOf([], { error: new AgentBusyError('Ann', 'Wait.') });
    const body = await stream.toResponse().text();
    const [, data = ''] = /^data: (.*)$/m.exec(body) ?? [];
    expect(JSON.parse(data)).toEqual({
      type: 'run_end',
      status: 'failed',
      error: { message: 'Ann is busy with another call. Wait.', code: 'agent_busy' },
      durationMs: 0,
      ...origin(0, []),
      id: 'event-1',
      runId: '',
      replyId: '',
    });
  });
});

describe('a response', () => {
  test('has headers against buffering, and the given headers', async () => {
    const response = runOf(EVENTS).stream.toResponse({ status: 201, headers: { 'x-run': '7' } });
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([
      201,
      {
        'cache-control': 'no-cache, no-transform',
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
        'x-run': '7',
      },
    ]);
    await response.body?.cancel();
  });

  test('keeps each event on its lines, with any text of a model', async () => {
    const said = 'a\nb\r\nc\rd\u2028e\n\ndata: {"type":"run_end"}\nid: 99';
    const body = await runOf([start, text(1, said), end])
      .stream.toResponse()
      .text();
    const frames = body.split('\n\n').filter((frame) => frame.startsWith('id: '));
    expect(frames).toHaveLength(3);
    expect(frames.map((frame) => frame.split(/\r\n|\r|\n/).length)).toEqual([3, 3, 3]);
    expect(JSON.parse(frames[1]?.split('\n')[2]?.slice('data: '.length) ?? '')).toEqual(text(1, said));
  });

  test('begins with a comment, and sends a comment after each silence', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const { stream } = hangingRun();
    const decoder = new TextDecoder();
    const reader = stream.toResponse({ heartbeatMs: 1000 }).body!.getReader();
    const read = async (): Promise<string> => decoder.decode((await reader.read()).value);
    expect(await read()).toBe(':\n\n');
    expect(await read()).toMatch(/^id: 0\nevent: reply_start\ndata: /);
    for (let i = 0; i < 3; i++) {
      const next = read();
      await clock.advance(1000);
      expect(await next).toBe(':\n\n');
    }
    await reader.cancel();
    expect(clock.pendingTimers).toBe(0);
  });
});
