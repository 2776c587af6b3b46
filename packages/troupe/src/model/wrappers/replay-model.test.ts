import { afterEach, beforeEach, expect, test } from 'vitest';

import type { ModelDelta } from '../../message/model-delta.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import { Msg } from '../../message/msg.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import { now, sleep } from '../../util/clock.ts';
import {
  ChatModelBase,
  PLAIN_CAPABILITIES,
  type ModelCallOptions,
  type ModelRequest,
} from '../chat-model-base.ts';
import { ModelError } from '../model-error.ts';
import { RecordingModel, type RecordingOptions } from './recording-model.ts';
import { ReplayModel, type ReplayOptions } from './replay-model.ts';

let clock: FakeClock;
let restore: Disposable;

beforeEach(() => {
  clock = new FakeClock();
  restore = clock.install();
});

afterEach(() => {
  restore[Symbol.dispose]();
});

const asking = (text: string, rest: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [Msg.user(text)],
  ...rest,
});

interface Read {
  readonly deltas: ModelDelta[];
  readonly error?: unknown;
}

async function read(model: ChatModelBase, request: ModelRequest, options?: ModelCallOptions): Promise<Read> {
  const deltas: ModelDelta[] = [];
  try {
    for await (const delta of model.stream(request, options)) deltas.push(delta);
    return { deltas };
  } catch (error) {
    return { deltas, error };
  }
}

/** The tape of a model with these requests, and the answers. */
async function record(
  model: ChatModelBase,
  requests: readonly ModelRequest[],
  options: Partial<RecordingOptions> = {},
): Promise<{ tape: string; answers: Read[] }> {
  let tape = '';
  const recorder = new RecordingModel(model, { ...options, write: (line) => void (tape += line) });
  const answers: Read[] = [];
  for (const request of requests) answers.push(await read(recorder, request));
  await recorder.flush();
  return { tape, answers };
}

const messageOf = ({ error }: Read): string => (error as Error).message;

const rich: ScriptedTurn = {
  thinking: 'Hm, 漢字 and 😀.',
  text: 'Let me see.',
  toolCalls: [
    { name: 'add', input: { a: 1 } },
    { name: 'now', input: '{"half' },
  ],
  chunkSize: 3,
  usage: { inputTokens: 10, outputTokens: 20, seconds: 1.5 },
};
const raw: ModelDelta[] = [
  { type: 'response_id', id: 'r1' },
  { type: 'thinking', thinking: '', providerMeta: { signature: 'a+b/c==' } },
  { type: 'audio', data: 'AAAA', mediaType: 'audio/wav' },
  { type: 'block', block: { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } },
  { type: 'reset', reason: 'again' },
  { type: 'text', text: '\u0000\n"\\' },
  { type: 'finish', reason: 'length' },
];

test('gives exactly the recorded answers, offline', async () => {
  class Seeing extends ScriptedModel {
    override readonly capabilities = { ...PLAIN_CAPABILITIES, vision: true, structured: 'native' as const };
  }
  const requests = ['one', 'two'].map((text) => asking(text));
  const { tape, answers } = await record(new Seeing([rich, { deltas: raw }], 'seeing'), requests);
  const model = new ReplayModel(tape);
  expect([model.modelName, model.capabilities]).toEqual([
    'seeing',
    { ...PLAIN_CAPABILITIES, vision: true, structured: 'native' },
  ]);
  const replayed: Read[] = [];
  for (const request of requests) replayed.push(await read(model, request));
  expect(replayed).toEqual(answers);
  expect(replayed[0]?.deltas.length).toBeGreaterThan(15);
  model.assertUsedUp();
});

test('fails as the recorded call failed, after the same beginning', async () => {
  const error = new ModelError('Too fast.', {
    kind: 'malformed',
    status: 429,
    providerCode: 'slow',
    retryAfterMs: 2000,
    isRetryable: true,
  });
  const script = [{ text: 'I th', error }, { error: new TypeError('a bug') }];
  const { tape } = await record(new ScriptedModel(script), [asking('one'), asking('two')]);
  const model = new ReplayModel(tape);
  const first = await read(model, asking('one'));
  expect(first.deltas).toEqual([{ type: 'text', text: 'I th' }]);
  expect(first.error).toBeInstanceOf(ModelError);
  expect(Object.entries(first.error as ModelError)).toEqual(Object.entries(error));
  expect(messageOf(first)).toBe('Too fast.');
  expect(await read(model, asking('two'))).toEqual({ deltas: [], error: new Error('a bug') });
});

test('a conversation with tools is replayed although its ids are made up anew', async () => {
  /** Asks twice, the second time with the call and its result in the history. */
  const converse = async (model: ChatModelBase): Promise<string> => {
    const messages = [Msg.user('add')];
    const draft = new MsgDraft('assistant');
    for await (const delta of model.stream({ messages })) draft.add(delta);
    const thought = draft.finish();
    const [call] = thought.getContentBlocks('tool_use');
    const result = { type: 'tool_result', id: call!.id, name: 'add', output: '3', status: 'ok' } as const;
    messages.push(thought, Msg.system([result]));
    return (await model.call({ messages })).text + call!.id;
  };
  let tape = '';
  const script = [{ toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] }, 'It is 3: '];
  const recorder = new RecordingModel(new ScriptedModel(script), { write: (line) => void (tape += line) });
  const first = await converse(recorder);
  const model = new ReplayModel(tape);
  const second = await converse(model);
  expect([first.slice(0, 9), second.slice(0, 9)]).toEqual(['It is 3: ', 'It is 3: ']);
  expect(first).not.toBe(second); // other ids
  model.assertUsedUp();
});

test('a request that differs fails, and tells where', async () => {
  const request = asking('What is 2 + 2?', {
    tools: [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }],
    generation: { temperature: 0 },
  });
  const { tape } = await record(new ScriptedModel(['four']), [request]);
  const model = new ReplayModel(tape);
  const other = asking('What is 2 + 3?', {
    tools: [{ name: 'add', description: 'Adds!', parameters: { type: 'object' } }],
    toolChoice: 'auto',
  });
  const result = await read(model, other);
  expect(result.deltas).toEqual([]);
  expect(result.error).toMatchObject({ name: 'TroupeError', code: 'script_failed' });
  expect(messageOf(result)).toBe(
    [
      'The request differs from model call 1, the next one on the tape:',
      '  generation: expected {"temperature":0}, actual nothing',
      '  messages[0].content: expected "What is 2 + 2?", actual "What is 2 + 3?"',
      '  tools[0].description: expected "Adds.", actual "Adds!"',
      '  toolChoice: expected nothing, actual "auto"',
      'If the new request is right, record the tape again.',
    ].join('\n'),
  );
  expect((await model.call(request)).text).toBe('four'); // the call was not used up
});

test('of many differences the first twenty are told, and long texts are cut', async () => {
  const long = 'same '.repeat(1000);
  const many = (end: string): ModelRequest => ({
    messages: Array.from({ length: 50 }, (_, i) => Msg.user(`${long}${i} ${end}`)),
  });
  const { tape } = await record(new ScriptedModel(['x']), [many('a')]);
  const lines = messageOf(await read(new ReplayModel(tape), many('b'))).split('\n');
  expect(lines).toHaveLength(23);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(250);
  expect(lines[21]).toBe('  … and 30 more');
  expect(lines[20]).toBe(
    '  messages[19].content: expected "… same same same same 19 a", actual "… same same same same 19 b"',
  );
});

test('the order of the tape holds, unless any will do', async () => {
  const { tape } = await record(
    new ScriptedModel(['1', '2', '3', '4']),
    ['a', 'b', 'a', 'c'].map((text) => asking(text)),
  );
  const strict = new ReplayModel(tape);
  expect(messageOf(await read(strict, asking('b')))).toContain('differs from model call 1');

  const loose = new ReplayModel(tape, { match: 'any' });
  const texts: string[] = [];
  for (const text of ['b', 'a', 'c', 'a']) texts.push((await loose.call(asking(text))).text);
  expect(texts).toEqual(['2', '1', '4', '3']);
  loose.assertUsedUp();
  expect(messageOf(await read(loose, asking('a')))).toBe(
    'All 4 model calls of the tape are used up. Record the tape again for more.',
  );
});

test('when any will do and none does, the first that is left is compared', async () => {
  const { tape } = await record(new ScriptedModel(['1', '2']), [asking('a'), asking('b')]);
  const model = new ReplayModel(tape, { match: 'any' });
  await model.call(asking('a'));
  expect(messageOf(await read(model, asking('c')))).toContain(
    'The request differs from model call 2, the next one on the tape:\n  messages[0].content: expected "b", actual "c"\n',
  );
});

test('a redacted tape still fits, also for who has another key', async () => {
  const withKey = (key: string): ModelRequest =>
    asking(`Use ${key} and hunter2.`, { generation: { extra: { api_key: '0123456789abcdef' } } });
  const keys = [1, 2].map((n) => ['sk', 'proj', `a1b2c3d4e5f6g7h${n}`].join('-'));
  const secrets = ['hunter2'];
  const { tape } = await record(new ScriptedModel(['hello']), [withKey(keys[0]!)], { secrets });
  expect(tape).not.toContain('hunter2');
  expect((await new ReplayModel(tape, { secrets }).call(withKey(keys[1]!))).text).toBe('hello');
  expect(messageOf(await read(new ReplayModel(tape), withKey(keys[0]!)))).toContain(
    'expected "Use [redacted] and [redacted].", actual "Use [redacted] and hunter2."',
  );
});

test('a secret that the model said is taken out of what follows as well', async () => {
  const key = ['sk', 'proj', 'a1b2c3d4e5f6g7h8'].join('-');
  const converse = async (model: ChatModelBase): Promise<string> => {
    const thought = await model.call(asking('go'));
    return (await model.call({ messages: [Msg.user('go'), thought] })).text;
  };
  let tape = '';
  const script: ScriptedTurn[] = [
    {
      text: `The key ${key}`,
      toolCalls: [{ name: 'f', input: { token: 'deadbeefdeadbeef' } }],
      chunkSize: 2,
    },
    { text: 'done' },
  ];
  const recorder = new RecordingModel(new ScriptedModel(script), { write: (line) => void (tape += line) });
  expect(await converse(recorder)).toBe('done');
  expect(tape).not.toContain('deadbeef');
  expect(await converse(new ReplayModel(tape))).toBe('done');
});

/** Says a, b and c after 100, 150 and 450 ms, and ends at 500. */
class Slow extends ChatModelBase {
  override async *stream(
    _request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta> {
    for (const [ms, text] of [
      [100, 'a'],
      [50, 'b'],
      [300, 'c'],
    ] as const) {
      await sleep(ms, signal);
      yield { type: 'text', text };
    }
    await sleep(50, signal);
  }
}

async function slowTape(): Promise<string> {
  const recorded = record(new Slow('slow'), [asking('hi')]);
  await clock.advance(500);
  return (await recorded).tape;
}

test.each<[ReplayOptions['speed'], number[]]>([
  [undefined, [0, 0, 0, 0]],
  ['instant', [0, 0, 0, 0]],
  ['recorded', [100, 150, 450, 500]],
  [2, [50, 75, 225, 250]],
  [0.5, [200, 300, 900, 1000]],
])('with the speed %s the deltas and the end come at %j', async (speed, expected) => {
  const model = new ReplayModel(await slowTape(), speed === undefined ? {} : { speed });
  const start = now();
  const times: number[] = [];
  const done = (async () => {
    for await (const _delta of model.stream(asking('hi'))) times.push(now() - start);
    times.push(now() - start);
  })();
  await clock.advance(2000);
  await done;
  expect(times).toEqual(expected);
});

test.each(['abort', 'leave'])('a replay in recorded time stops at once on %s', async (way) => {
  const model = new ReplayModel(await slowTape(), { speed: 'recorded' });
  const controller = new AbortController();
  const stream = model.stream(asking('hi'), { signal: controller.signal });
  const next = stream.next().catch((error: unknown) => error);
  await clock.advance(10);
  expect(clock.pendingTimers).toBe(1);
  const reason = new Error('stop');
  if (way === 'abort') controller.abort(reason);
  else await stream.return();
  expect(await next).toEqual(way === 'abort' ? reason : { done: true, value: undefined });
  expect(clock.pendingTimers).toBe(0);
});

test('an instant replay stops between two deltas when it is aborted', async () => {
  const model = new ReplayModel(await slowTape());
  const controller = new AbortController();
  const stream = model.stream(asking('hi'), { signal: controller.signal });
  await stream.next();
  controller.abort(new Error('stop'));
  await expect(stream.next()).rejects.toThrow('stop');
});

test('a stopped call is replayed up to its stop, and then fails', async () => {
  let tape = '';
  const recorder = new RecordingModel(new ScriptedModel([{ text: 'abc', chunkSize: 1 }]), {
    write: (line) => void (tape += line),
  });
  for await (const delta of recorder.stream(asking('hi')))
    if (delta.type === 'text' && delta.text === 'b') break;
  await recorder.flush();
  const { deltas, error } = await read(new ReplayModel(tape), asking('hi'));
  expect(deltas).toEqual([
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ]);
  expect(error).toMatchObject({
    code: 'script_failed',
    message: 'The tape ends here: the recorded model call was aborted or left at this point.',
  });
  // A reader that stops at the same place again notices nothing.
  const again = new ReplayModel(tape);
  for await (const delta of again.stream(asking('hi')))
    if (delta.type === 'text' && delta.text === 'b') break;
  again.assertUsedUp();
});

test('assertUsedUp lists unused requests', async () => {
  const { tape } = await record(new ScriptedModel(['1', '2', '3']), [
    asking('a'),
    asking('b'),
    asking('x'.repeat(99)),
  ]);
  const model = new ReplayModel(tape);
  await model.call(asking('a'));
  expect(() => model.assertUsedUp()).toThrow(
    `The tape has unused model calls: call 2 ("b"), call 3 ("${'x'.repeat(39)}…).`,
  );
});

test('a stream that is not read, or aborted before, uses up nothing', async () => {
  const { tape } = await record(new ScriptedModel(['1']), [asking('a')]);
  const model = new ReplayModel(tape);
  model.stream(asking('a'));
  const { error } = await read(model, asking('a'), { signal: AbortSignal.abort(new Error('too late')) });
  expect(error).toEqual(new Error('too late'));
  expect((await model.call(asking('a'))).text).toBe('1');
});

test('refuses invalid tapes and options', async () => {
  const { tape } = await record(new ScriptedModel(['1']), [asking('a')]);
  expect(() => new ReplayModel(`${tape}{"request":`)).toThrow('Line 3 of the tape is not JSON');
  for (const speed of [0, -1, Number.NaN]) {
    expect(() => new ReplayModel(tape, { speed })).toThrow('speed must be');
  }
  expect(() => new ReplayModel(tape, { match: 'all' as 'any' })).toThrow("match must be 'order' or 'any'.");
});

test('an error that names its vendor is replayed with the same message, advice and fields', async () => {
  const error = new ModelError('OpenAI (gpt at api.test) is overloaded (503).', {
    kind: 'overloaded',
    vendor: 'OpenAI',
    model: 'gpt',
    host: 'api.test',
    status: 503,
    attempts: 3,
    check: 'Look at the status page.',
  });
  const lines: string[] = [];
  const recorder = new RecordingModel(new ScriptedModel([{ error }]), {
    write: (line) => void lines.push(line),
  });
  const ask = { messages: [Msg.user('Hi.')] };
  await expect(recorder.call(ask)).rejects.toBe(error);
  await recorder.flush();
  const replayed: unknown = await new ReplayModel(lines.join(''))
    .call(ask)
    .catch((thrown: unknown) => thrown);
  expect(JSON.parse(JSON.stringify(replayed))).toEqual(JSON.parse(JSON.stringify(error)));
  expect(error.message).toBe(
    'OpenAI (gpt at api.test) is overloaded (503). Look at the status page. Wrap the model in a FallbackModel with another model.',
  );
});
