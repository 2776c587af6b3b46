import { afterEach, beforeEach, expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import { sleep } from '../../util/clock.ts';
import {
  ChatModelBase,
  PLAIN_CAPABILITIES,
  type ModelCallOptions,
  type ModelRequest,
} from '../chat-model-base.ts';
import { ModelError } from '../model-error.ts';
import { RecordingModel } from './recording-model.ts';

let clock: FakeClock;
let restore: Disposable;

beforeEach(() => {
  clock = new FakeClock();
  restore = clock.install();
});

afterEach(() => {
  restore[Symbol.dispose]();
});

const asking = (text: string): ModelRequest => ({ messages: [Msg.user(text)] });
const HEADER = { tape: 1, model: 'scripted', capabilities: PLAIN_CAPABILITIES };
const askedHi = { messages: [{ content: 'hi', name: 'user', role: 'user' }] };

function recording(script: (string | ScriptedTurn)[], options: { secrets?: string[] } = {}) {
  const lines: string[] = [];
  const inner = new ScriptedModel(script);
  const model = new RecordingModel(inner, { ...options, write: (line) => void lines.push(line) });
  const tape = async (): Promise<unknown[]> => {
    await model.flush();
    return lines.map((line) => JSON.parse(line) as unknown);
  };
  return { model, inner, lines, tape };
}

async function read(model: ChatModelBase, request = asking('hi'), options?: ModelCallOptions) {
  const deltas: ModelDelta[] = [];
  for await (const delta of model.stream(request, options)) deltas.push(delta);
  return deltas;
}

test('passes the very deltas on, and writes a header once and a line for each call', async () => {
  const deltas: ModelDelta[] = [
    { type: 'text', text: 'hello' },
    { type: 'finish', reason: 'stop' },
  ];
  const { model, lines, tape } = recording([{ deltas }, 'bye']);
  const passed = await read(model);
  expect(passed.map((delta, i) => delta === deltas[i])).toEqual([true, true]);
  await read(model, { ...asking('Bye.'), tools: [{ name: 'f', parameters: {} }], toolChoice: 'none' });
  expect(await tape()).toEqual([
    HEADER,
    { request: askedHi, deltas: deltas.map((delta) => [0, delta]), ms: 0 },
    {
      request: {
        messages: [{ content: 'Bye.', name: 'user', role: 'user' }],
        toolChoice: 'none',
        tools: [{ name: 'f', parameters: {} }],
      },
      deltas: [
        [0, { type: 'text', text: 'bye' }],
        [0, { type: 'finish', reason: 'stop' }],
      ],
      ms: 0,
    },
  ]);
  expect(lines.every((line) => /^[^\n]+\n$/.test(line))).toBe(true);
});

test('the line is on the tape when the call returns', async () => {
  const lines: string[] = [];
  const model = new RecordingModel(new ScriptedModel(['hello']), {
    async write(line) {
      await sleep(50);
      lines.push(line);
    },
  });
  const written = model.call(asking('hi')).then(() => lines.length);
  await clock.advance(100);
  expect(await written).toBe(2);
});

test('notes when each delta came', async () => {
  class Slow extends ChatModelBase {
    override async *stream(): AsyncGenerator<ModelDelta> {
      await sleep(200);
      yield { type: 'text', text: 'a' };
      await sleep(30);
      yield { type: 'text', text: 'b' };
      await sleep(5);
    }
  }
  const lines: string[] = [];
  const model = new RecordingModel(new Slow('slow'), { write: (line) => void lines.push(line) });
  const call = model.call(asking('hi'));
  await clock.advance(1000);
  await call;
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({
    deltas: [
      [200, { type: 'text', text: 'a' }],
      [230, { type: 'text', text: 'b' }],
    ],
    ms: 235,
  });
});

test('writes the request as it was, whatever happens to the list of messages later', async () => {
  const { model, tape } = recording(['hello']);
  const messages = [Msg.user('hi')];
  const stream = model.stream({ messages });
  await stream.next();
  messages.push(Msg.user('later'));
  while (!(await stream.next()).done);
  expect((await tape())[1]).toMatchObject({ request: askedHi });
});

test('writes how a call failed, without what the provider sent', async () => {
  const error = new ModelError('Bearer abcdef123456 is over its limit.', {
    kind: 'rate_limit',
    status: 429,
    providerCode: 'slow_down',
    retryAfterMs: 2000,
    body: 'the body',
    requestId: 'req_1',
  });
  const bug = new TypeError('a bug');
  const { model, tape, lines } = recording([{ text: 'I th', error }, { error: bug }]);
  await expect(read(model)).rejects.toBe(error);
  await expect(read(model)).rejects.toBe(bug);
  expect((await tape()).slice(1)).toEqual([
    {
      request: askedHi,
      deltas: [[0, { type: 'text', text: 'I th' }]],
      ms: 0,
      error: {
        message: 'Bearer [redacted] is over its limit.',
        kind: 'rate_limit',
        status: 429,
        providerCode: 'slow_down',
        retryAfterMs: 2000,
        isRetryable: true,
      },
    },
    { request: askedHi, deltas: [], ms: 0, error: { message: 'a bug' } },
  ]);
  expect(lines.join('')).not.toContain('the body');
});

test('no secret is in what the provider or the model is called', async () => {
  const lines: string[] = [];
  const error = new ModelError('No.', { kind: 'auth', providerCode: 'bad_key:hunter2' });
  const model = new RecordingModel(new ScriptedModel([{ error }], 'ft:hunter2:gpt'), {
    write: (line) => void lines.push(line),
    secrets: ['hunter2'],
  });
  await expect(read(model)).rejects.toBe(error);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { ...HEADER, model: 'ft:[redacted]:gpt' },
    {
      request: askedHi,
      deltas: [],
      ms: 0,
      error: { message: 'No.', kind: 'auth', providerCode: 'bad_key:[redacted]', isRetryable: false },
    },
  ]);
});

test('a password in the arguments of a call is not on the tape, in an answer or in a request', async () => {
  const input = { user: 'ann', password: 'correct horse', note: JSON.stringify({ token: 'abc' }) };
  const { model, lines, inner } = recording([
    { toolCalls: [{ name: 'login', input, id: 'call_1' }], chunkSize: 3 },
    'Done.',
  ]);
  const call = await model.call(asking('hi'));
  await model.call({ messages: [Msg.user('hi'), call] });
  expect(inner.requests[1]?.messages[1]?.getContentBlocks('tool_use')[0]?.input).toEqual(input);
  await model.flush();
  expect(lines.join('')).not.toMatch(/horse|abc/);
  expect(lines[1]).toContain(
    JSON.stringify(JSON.stringify({ user: 'ann', password: '[redacted]' })).slice(1, -2),
  );
  expect(lines[2]).toContain('"password":"[redacted]"');
});

const stops: Record<string, (model: RecordingModel) => Promise<unknown>> = {
  'is aborted': async (model) => {
    const controller = new AbortController();
    const stream = model.stream(asking('hi'), { signal: controller.signal });
    await stream.next();
    const next = stream.next();
    controller.abort(new Error('stop'));
    await expect(next).rejects.toThrow('stop');
  },
  'is left': async (model) => {
    for await (const _delta of model.stream(asking('hi'))) break;
  },
  'is left while it waits': async (model) => {
    const stream = model.stream(asking('hi'));
    await stream.next();
    void stream.next();
    await stream.return();
  },
};

test.each(Object.entries(stops))('a call that %s is on the tape as such', async (_name, stop) => {
  const { model, tape } = recording([{ text: 'I th', stall: true }]);
  await stop(model);
  expect(await tape()).toEqual([
    HEADER,
    { request: askedHi, deltas: [[0, { type: 'text', text: 'I th' }]], ms: 0, aborted: true },
  ]);
});

test('a request that is never made is not on the tape', async () => {
  const { model, tape } = recording([]);
  await expect(model.call(asking('hi'), { signal: AbortSignal.abort('no') })).rejects.toBe('no');
  expect(await tape()).toEqual([]);
});

test('no secret gets on the tape: not from the prompt, the tools, the answer or its pieces', async () => {
  const key = ['sk', 'proj', 'a1b2c3d4e5f6g7h8'].join('-');
  const { model, lines } = recording(
    [
      {
        thinking: `The key is ${key}.`,
        text: `Your key: ${key}, your word: hunter2`,
        toolCalls: [{ name: 'login', input: { key, password: 'hunter2', token: 'deadbeefdeadbeef' } }],
        chunkSize: 3,
      },
      { error: new ModelError(`Bad key ${key}`, { kind: 'auth', body: key }) },
    ],
    { secrets: ['hunter2'] },
  );
  const request: ModelRequest = {
    messages: [
      Msg.system(`Use ${key}`),
      Msg.user([
        { type: 'tool_result', id: '1', name: 'f', output: `hunter2 ${key}`, status: 'ok' },
        { type: 'text', text: 'x', providerMeta: { token: 'deadbeefdeadbeef' } },
      ]),
    ],
    tools: [{ name: 'f', description: key, parameters: { default: 'hunter2' } }],
    generation: { extra: { authorization: `Bearer ${key}` } },
    structured: { schema: { const: key } },
  };
  const passed = await read(model, request);
  expect(passed.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')).toBe(
    `Your key: ${key}, your word: hunter2`,
  );
  await read(model, request).catch(() => {});
  await model.flush();
  const text = lines.join('');
  expect(lines).toHaveLength(3);
  expect(text.match(/\[redacted\]/g)?.length).toBeGreaterThan(15);
  for (const secret of ['a1b2c3', 'd4e5f6', 'g7h8', 'hunter', 'deadbeef']) expect(text).not.toContain(secret);
  expect(text).toContain('Your key: [redacted], your word: [redacted]');
  expect(text).toContain(
    String.raw`{\"key\":\"[redacted]\",\"password\":\"[redacted]\",\"token\":\"[redacted]\"}`,
  );
});

const failingWrites: Record<string, () => Promise<void>> = {
  throws() {
    throw new Error('disk full');
  },
  rejects: () => Promise.reject(new Error('disk full')),
};

test.each(Object.entries(failingWrites))(
  'a tape whose write %s fails no call, but is logged',
  async (_name, fail) => {
    const log: unknown[] = [];
    const lines: string[] = [];
    let isFull = true;
    const write = (line: string): void | Promise<void> => (isFull ? fail() : void lines.push(line));
    const model = new RecordingModel(new ScriptedModel(['one', 'two']), { write });
    await withRunConfig({ logging: { log: (...line) => void log.push(line) } }, async () => {
      expect((await model.call(asking('hi'))).text).toBe('one');
      isFull = false;
      expect((await model.call(asking('hi'))).text).toBe('two');
    });
    expect(log).toEqual([['warn', 'A model call of scripted was not recorded: disk full']]);
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object)[0])).toEqual(['tape', 'request']);
  },
);

test('a redaction that throws writes nothing, fails nothing and is logged', async () => {
  const log: unknown[] = [];
  const lines: string[] = [];
  const error = new ModelError('lost', { kind: 'network' });
  const model = new RecordingModel(new ScriptedModel(['one', { error }]), {
    write: (line) => void lines.push(line),
    redact() {
      throw new Error('no');
    },
  });
  await withRunConfig({ logging: { log: (...line) => void log.push(line) } }, async () => {
    expect((await model.call(asking('hi'))).text).toBe('one');
    await expect(model.call(asking('hi'))).rejects.toBe(error);
  });
  expect([lines, log]).toEqual([
    [],
    Array(2).fill(['warn', 'A model call of scripted was not recorded: no']),
  ]);
});

test('a write that hangs does not outlast an abort, and calls side by side are written one by one', async () => {
  const lines: string[] = [];
  let open = 0;
  let mostOpen = 0;
  const model = new RecordingModel(new ScriptedModel(['one', 'two', 'three']), {
    async write(line) {
      mostOpen = Math.max(mostOpen, ++open);
      await sleep(1000);
      lines.push(line);
      open--;
    },
  });
  const controller = new AbortController();
  const hasty = model.call(asking('hi'), { signal: controller.signal });
  const others = [model.call(asking('hi')), model.call(asking('hi'))];
  await clock.advance(500);
  controller.abort(new Error('stop'));
  await clock.advance(0);
  expect([(await hasty).text, lines]).toEqual(['one', []]); // the answer was whole
  await clock.advance(4000);
  expect((await Promise.all(others)).map((msg) => msg.text)).toEqual(['two', 'three']);
  expect([lines.length, mostOpen]).toEqual([4, 1]);
});
