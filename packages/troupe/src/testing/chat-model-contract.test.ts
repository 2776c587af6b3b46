import { describe, expect, test } from 'vitest';

import { TroupeError } from '../errors.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { Msg } from '../message/msg.ts';
import { ChatModelBase, type ModelCallOptions, type ModelRequest } from '../model/chat-model-base.ts';
import { ModelError } from '../model/model-error.ts';
import { WrapperModel, type RelayOptions } from '../model/wrappers/wrapper-model.ts';
import { OfflineModel } from '../providers/offline/offline-model.ts';
import {
  chatModelContract,
  CONTRACT_CALLS,
  CONTRACT_TEXT,
  contractRequest,
  type ContractOptions,
} from './chat-model-contract.ts';
import type { ContractScenario } from './chat-model-case.ts';
import { ScriptedModel, type ScriptedTurn } from './scripted-model.ts';

const SECRET = 'sk-1234567890';

function turnOf(scenario: ContractScenario): ScriptedTurn {
  const usage = { inputTokens: 3, outputTokens: 4, seconds: 0.5 };
  const error = new ModelError('The provider is overloaded.', { kind: 'overloaded', status: 503 });
  switch (scenario) {
    case 'text':
      return { text: CONTRACT_TEXT, chunkSize: 3, usage };
    case 'tools':
      return { thinking: 'Hm.', toolCalls: CONTRACT_CALLS, chunkSize: 3, usage };
    case 'stall':
      return { text: 'Let me see', chunkSize: 3, stall: true };
    case 'failure':
      return { error };
    case 'breaks':
      return { text: 'Let me see', chunkSize: 3, error };
  }
}

function scripted(scenario: ContractScenario): ScriptedModel {
  return new ScriptedModel([{ when: () => true, ...turnOf(scenario) }]);
}

const workOf = (model: ChatModelBase): number => (model as ScriptedModel | Broken).requests.length;

describe('ScriptedModel', () => {
  const cases = chatModelContract(scripted, { secret: SECRET, workOf });
  test.each(cases.map(({ name, run }) => [name, run] as const))('%s', (_name, run) => run());

  test('runs all cases, each under a name of its own', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(31);
  });
});

describe('OfflineModel', async () => {
  const make = (): OfflineModel => new OfflineModel();
  const { text } = await make().call(contractRequest('text'));
  const cases = chatModelContract(make, { scenarios: ['text', 'tools'], text });
  test.each(cases.map(({ name, run }) => [name, run] as const))('%s', (_name, run) => run());

  test('runs the cases of its supported scenarios', () => {
    expect(cases.filter(({ name }) => /^text: |^tools: /.test(name))).toHaveLength(23);
    expect(cases).toHaveLength(23);
  });
});

test('a model that answers in one piece, out of order, with blocks and resets, passes too', async () => {
  const unusual: Readonly<Record<ContractScenario, readonly ModelDelta[]>> = {
    text: [
      { type: 'text', text: 'I am the first mo' },
      { type: 'finish', reason: 'length' },
      { type: 'reset', reason: 'the first model failed' },
      { type: 'response_id', id: 'r1' },
      { type: 'block', block: { type: 'text', text: CONTRACT_TEXT } },
      { type: 'text', text: '' },
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: { inputTokens: 0, outputTokens: 0 } },
    ],
    tools: [
      { type: 'tool_use_start', index: 7, name: 'calculate' },
      { type: 'tool_use_start', index: 3, name: 'read_file' },
      { type: 'tool_input', index: 3, json: JSON.stringify(CONTRACT_CALLS[1]?.input) },
      { type: 'tool_input', index: 7, json: JSON.stringify(CONTRACT_CALLS[0]?.input) },
      { type: 'tool_use_end', index: 3 },
      { type: 'tool_use_end', index: 7 },
      { type: 'finish', reason: 'tool_calls' },
    ],
    stall: [{ type: 'text', text: 'Hm' }],
    failure: [{ type: 'usage', usage: { inputTokens: 1, outputTokens: 0 } }],
    breaks: [{ type: 'text', text: 'Hm' }],
  };
  const make = (scenario: ContractScenario): ScriptedModel => {
    const { stall, error } = turnOf(scenario);
    const ending = { ...(stall !== undefined && { stall }), ...(error !== undefined && { error }) };
    return new ScriptedModel([{ when: () => true, deltas: unusual[scenario], ...ending }]);
  };
  const cases = chatModelContract(make);
  for (const { run } of cases) await run();
  expect(cases).toHaveLength(29);
});

test('values that always differ may differ', async () => {
  let count = 0;
  const make = mapping((delta) => {
    count++;
    if (delta.type === 'tool_use_start') return { ...delta, id: `call_${count}` };
    if (delta.type !== 'usage') return delta;
    return [
      { type: 'response_id', id: `r${count}` },
      { type: 'usage', usage: { ...delta.usage, seconds: count } },
    ];
  });
  const cases = chatModelContract(make, { scenarios: ['text', 'tools'] });
  for (const { run } of cases) await run();
  expect([cases.length, count > 100]).toEqual([23, true]);
});

test('the requests are the same every time, deeply frozen, and JSON', () => {
  for (const scenario of ['text', 'tools'] as const) {
    const request = contractRequest(scenario);
    expect(contractRequest(scenario)).toBe(request);
    const parts = [
      request,
      request.messages,
      request.generation,
      request.tools ?? null,
      request.tools?.[0]?.parameters ?? null,
    ];
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true);
    expect(request.messages.map((msg) => msg.id)).toHaveLength(4);
  }
});

test('only the scenarios that are wanted are run, and each model is made for one of them', async () => {
  const made: string[] = [];
  const make = (scenario: ContractScenario): ScriptedModel => {
    made.push(scenario);
    return scripted(scenario);
  };
  const cases = chatModelContract(make, { scenarios: ['failure'], secret: SECRET });
  expect(cases.map(({ name }) => name)).toEqual([
    'failure: fails before any content, every time',
    'failure: the error holds no secret',
  ]);
  expect(made).toEqual([]);
  for (const { run } of cases) await run();
  expect(made).toEqual(['failure', 'failure']);
});

type Stream = (request: ModelRequest, options: ModelCallOptions) => AsyncIterable<ModelDelta>;

/** Model with one fault. */
class Broken extends ChatModelBase {
  readonly requests: ModelRequest[] = [];
  readonly #stream: Stream;
  readonly #call: ((folded: Msg) => Msg | Promise<Msg>) | undefined;

  constructor(stream: Stream, call?: (folded: Msg) => Msg | Promise<Msg>) {
    super('broken');
    this.#stream = stream;
    this.#call = call;
  }

  override stream(request: ModelRequest, options: ModelCallOptions = {}): AsyncIterable<ModelDelta> {
    return this.#stream(request, options);
  }

  override async call(request: ModelRequest, options?: ModelCallOptions): Promise<Msg> {
    const folded = await super.call(request, options);
    return this.#call?.(folded) ?? folded;
  }
}

type Make = (scenario: ContractScenario) => ChatModelBase;

/** Models with a changed stream. */
function changing(
  change: (deltas: AsyncIterable<ModelDelta>, request: ModelRequest) => AsyncIterable<ModelDelta>,
): Make {
  return (scenario) =>
    new Broken((request, options) => change(scripted(scenario).stream(request, options), request));
}

/** Models with replaced deltas. */
function mapping(map: (delta: ModelDelta) => ModelDelta | readonly ModelDelta[]): Make {
  return changing(async function* (deltas) {
    for await (const delta of deltas) {
      const mapped = map(delta);
      if (Array.isArray(mapped)) yield* mapped as readonly ModelDelta[];
      else yield mapped as ModelDelta;
    }
  });
}

/** Models that act before every correct answer. */
function first(act: (request: ModelRequest, options: ModelCallOptions) => void): Make {
  return (scenario) =>
    new Broken((request, options) => {
      act(request, options);
      return scripted(scenario).stream(request, options);
    });
}

/** Models with another answer to requests from number `least` to number `most`. */
function exceptFor(least: number, most: number, answer: Stream): Make {
  return (scenario) => {
    let count = 0;
    return new Broken((request, options) => {
      count++;
      const isWrong = count >= least && count <= most;
      return isWrong ? answer(request, options) : scripted(scenario).stream(request, options);
    });
  };
}

/** Models with a changed signal. */
function hearing(heard: (signal: AbortSignal | undefined) => AbortSignal | undefined): Make {
  return (scenario) =>
    new Broken((request, { signal }) => {
      const own = heard(signal);
      return scripted(scenario).stream(request, own && { signal: own });
    });
}

/** Models that fail with another error. */
function failing(error: (count: number) => Error): Make {
  return (scenario) => {
    let count = 0;
    const { text = '' } = turnOf(scenario);
    return new Broken(async function* () {
      if (text !== '') yield { type: 'text', text };
      throw error(count++);
    });
  };
}

const overloaded = (message: string, more: { body?: string; cause?: unknown } = {}): ModelError =>
  new ModelError(message, { kind: 'overloaded', ...more });

async function* saying(...deltas: readonly ModelDelta[]): AsyncGenerator<ModelDelta, void, void> {
  yield* deltas;
}

const isCall = ({ type }: ModelDelta): boolean =>
  ['tool_use_start', 'tool_input', 'tool_use_end'].includes(type);

/** Models with a name and capabilities. */
function named(name: string, capabilities: object): Make {
  return () =>
    Object.defineProperties(new Broken(() => saying()), {
      modelName: { value: name },
      capabilities: { value: capabilities },
    });
}

function calling(call: (folded: Msg) => Msg): Make {
  return (scenario) => new Broken((request, options) => scripted(scenario).stream(request, options), call);
}

function costing(usage: object): Make {
  return mapping((delta) => (delta.type === 'usage' ? ({ type: 'usage', usage } as ModelDelta) : delta));
}

/** Models with additional keys in deltas. */
function adding(more: object): Make {
  return mapping((delta) => Object.assign({}, delta, more));
}

function trimmed(delta: ModelDelta): ModelDelta {
  return delta.type === 'text' ? { type: 'text', text: delta.text.trim() } : delta;
}

function halved(delta: ModelDelta): readonly ModelDelta[] {
  return delta.type === 'text' ? delta.text.split('').map((text) => ({ type: 'text', text })) : [delta];
}

function misspelt(delta: ModelDelta): ModelDelta {
  return delta.type === 'tool_input' ? { ...delta, json: delta.json.replace('☕', '?') } : delta;
}

/** Models that answer all requests from one stream. */
function sharing(): Make {
  return (scenario) => {
    let shared: AsyncGenerator<ModelDelta, void, void> | undefined;
    return new Broken(async function* (request, options) {
      const deltas = (shared ??= scripted(scenario).stream(request, options));
      for (let next = await deltas.next(); next.done !== true; next = await deltas.next()) yield next.value;
      shared = undefined;
    });
  };
}

function callingAnyway(): Make {
  class Deaf extends ScriptedModel {
    override call(request: ModelRequest): Promise<Msg> {
      return super.call(request);
    }
  }
  return (scenario) => new Deaf([{ when: () => true, ...turnOf(scenario) }]);
}

function hanging(): Make {
  return (scenario) =>
    new Broken(async function* (request, options) {
      if (options.signal?.aborted) await new Promise(() => {});
      yield* scripted(scenario).stream(request, options);
    });
}

/** Starts work before checking the signal. */
function working(): Make {
  return (scenario) => {
    const model: Broken = new Broken((request, options) => {
      model.requests.push(request);
      return scripted(scenario).stream(request, options);
    });
    return model;
  };
}

/** Rejects with another error than the reason of the signal. */
function translating(): Make {
  return changing(async function* (deltas) {
    try {
      yield* deltas;
    } catch {
      throw new DOMException('This operation was aborted', 'AbortError');
    }
  });
}

/** Ends its work only at the end of an answer, not when abandoned. */
function busyUntilEnd(): Make {
  return (scenario) => {
    let isBusy = false;
    return new Broken(async function* (request, options) {
      if (isBusy) throw new Error('still busy');
      isBusy = true;
      yield* scripted(scenario).stream(request, options);
      isBusy = false;
    });
  };
}

/** Never returns when abandoned. */
function clinging(): Make {
  return changing((deltas) => ({
    [Symbol.asyncIterator]: () => {
      const items = deltas[Symbol.asyncIterator]();
      return { next: () => items.next(), return: () => new Promise(() => {}) };
    },
  }));
}

/** Returns when abandoned, except while the next delta is awaited. */
function forgetting(): Make {
  return changing((deltas) => ({
    [Symbol.asyncIterator]: () => {
      const items = deltas[Symbol.asyncIterator]();
      return { next: () => items.next(), return: async () => ({ done: true, value: undefined }) };
    },
  }));
}

/** Throws when abandoned. */
function complaining(): Make {
  return changing((deltas) => ({
    [Symbol.asyncIterator]: () => {
      const items = deltas[Symbol.asyncIterator]();
      let complain = (_error: Error): void => {};
      const complaint = new Promise<never>((_resolve, reject) => (complain = reject));
      return {
        next: () => Promise.race([items.next(), complaint]),
        async return() {
          complain(new Error('too late'));
          return { done: true, value: undefined };
        },
      };
    },
  }));
}

async function* swallowing(deltas: AsyncIterable<ModelDelta>): AsyncGenerator<ModelDelta, void, void> {
  try {
    yield* deltas;
  } catch {
    // Ends like a complete answer.
  }
}

async function* finishing(deltas: AsyncIterable<ModelDelta>): AsyncGenerator<ModelDelta, void, void> {
  try {
    yield* deltas;
  } finally {
    yield { type: 'finish', reason: 'stop' };
  }
}

function quietly(act: () => unknown): void {
  try {
    act();
  } catch {
    // Hides the error.
  }
}

function refuse(keys: readonly string[]): void {
  if (keys.includes('unheardOf')) throw new Error('There is no field unheardOf.');
}

/** Faulty models for each case, and the expected problem. */
const BROKEN: Readonly<Record<string, readonly (readonly [problem: RegExp, make: Make])[]>> = {
  'text: has a name, and capabilities as data': [
    [/modelName/, named('', {})],
    [/capabilities: expected/, named('x', { tools: true })],
    [/does not survive JSON/, named('x', { tools: () => true })],
  ],
  'text: gives exactly the expected answer': [
    [/The text of the answer: expected/, mapping(trimmed)],
    [/half a character/, mapping(halved)],
    [
      /The tool calls of the answer/,
      mapping((delta) =>
        delta.type === 'finish'
          ? [{ type: 'block', block: { type: 'tool_use', id: 'a', name: 'a', input: {} } }, delta]
          : delta,
      ),
    ],
  ],
  'tools: gives exactly the expected answer': [[/The tool calls of the answer: expected/, mapping(misspelt)]],
  'text: `call` gives what `stream` gives': [
    [/should give a Msg/, calling(() => ({ content: '' }) as Msg)],
    [/`call`: expected/, calling((msg) => msg.with({ finishReason: 'other' }))],
    [/`call`: expected/, calling((msg) => msg.with({ usage: { inputTokens: 9, outputTokens: 9 } }))],
  ],
  'tools: `call` gives what `stream` gives': [
    [/`call`: expected/, calling((msg) => msg.with({ content: 'done' }))],
  ],
  'text: finishes once, after all content': [
    [
      /reasons to finish: expected \["stop"\], but found \[\]/,
      mapping((delta) => (delta.type === 'finish' ? [] : delta)),
    ],
    [/found \["stop","stop"\]/, mapping((delta) => (delta.type === 'finish' ? [delta, delta] : delta))],
    [
      /deltas after the finish: .*\["text"\]/,
      mapping((delta) => (delta.type === 'finish' ? [delta, { type: 'text', text: '' }] : delta)),
    ],
  ],
  'tools: finishes once, after all content': [
    [
      /expected \["tool_calls"\]/,
      mapping((delta) => (delta.type === 'finish' ? { type: 'finish', reason: 'stop' } : delta)),
    ],
  ],
  'text: every delta is plain JSON': [
    [/Delta 0 does not survive JSON/, adding({ providerMeta: undefined })],
    [/Delta 0 is not JSON/, adding({ size: 1n })],
    [/does not survive JSON/, adding({ raw: new Uint8Array(2) })],
  ],
  'tools: every delta is plain JSON': [[/does not survive JSON/, adding({ at: new Date(0) })]],
  'text: usage is made of finite numbers': [
    [/usage\.outputTokens/, costing({ inputTokens: 1, outputTokens: Number.NaN })],
    [/usage\.inputTokens/, costing({ outputTokens: 1 })],
    [/usage\.cachedTokens/, costing({ inputTokens: 1, outputTokens: 1, cachedTokens: -1 })],
  ],
  'tools: usage is made of finite numbers': [
    [/usage\.cost/, costing({ inputTokens: 1, outputTokens: 1, cost: '1' })],
  ],
  'text: answers a second time': [[/The text of the second answer/, exceptFor(2, 2, () => saying())]],
  'tools: answers a second time': [
    [
      /The tool calls of the second answer/,
      exceptFor(2, 2, () => saying({ type: 'text', text: 'Already done.' })),
    ],
  ],
  'text: two answers at once do not mix': [[/three answers at once/, sharing()]],
  'tools: two answers at once do not mix': [[/three answers at once/, sharing()]],
  'text: does not change the request': [
    [
      /The request was changed/,
      first(({ messages }) => quietly(() => (messages as Msg[]).push(Msg.user('mine')))),
    ],
    [
      /not extensible/,
      first((request) => {
        if (Object.isFrozen(request)) Object.assign(request, { mine: true });
      }),
    ],
    [
      /not extensible/,
      first((request, options) => {
        if (Object.isFrozen(request)) Object.assign(options, { mine: true });
      }),
    ],
  ],
  'tools: does not change the request': [
    [
      /The request was changed/,
      first(({ tools }) => quietly(() => Object.assign(tools?.[0] ?? {}, { strict: true }))),
    ],
    [
      /The request was changed/,
      first(({ tools }) =>
        quietly(() => Object.assign(tools?.[0]?.parameters ?? {}, { additionalProperties: false })),
      ),
    ],
  ],
  'text: accepts unknown fields': [
    [/unheardOf/, first((request) => refuse(Object.keys(request)))],
    [/unheardOf/, first(({ messages }) => messages.forEach((msg) => refuse(Object.keys(msg.toJSON()))))],
    [
      /unheardOf/,
      first(({ messages }) =>
        messages.forEach((msg) => msg.getContentBlocks().forEach((block) => refuse(Object.keys(block)))),
      ),
    ],
  ],
  'tools: accepts unknown fields': [
    [
      /The tool calls of the answer: expected/,
      (scenario) =>
        new Broken((request, options) =>
          'unheardOf' in request ? saying() : scripted(scenario).stream(request, options),
        ),
    ],
    [/unheardOf/, first((_request, options) => refuse(Object.keys(options)))],
  ],
  'text: aborted before the start, rejects with the reason and does no work': [
    [/`stream` should have failed/, hearing(() => undefined)],
    [
      /`stream` should reject with the reason, not with Error: aborted/,
      hearing((signal) => signal && AbortSignal.abort(new Error('aborted'))),
    ],
    [/`call` should have failed/, callingAnyway()],
    [
      /deltas after the abort/,
      changing(async function* (deltas) {
        yield { type: 'response_id', id: 'r' };
        yield* deltas;
      }),
    ],
    [/did not come within/, hanging()],
    [/work done: expected 0, but found 2/, working()],
  ],
  'text: aborted between two deltas, rejects with the reason': [
    [/`stream` should have failed/, hearing(() => undefined)],
    [/not with AbortError/, translating()],
  ],
  'text: answers the next request after an abandoned one': [
    [/deltas before it was left: expected 1, but found 0/, exceptFor(1, 1, () => saying())],
    [/still busy/, busyUntilEnd()],
  ],
  'tools: every tool call starts once and ends once': [
    [
      /Tool call 0 started twice/,
      mapping((delta) => (delta.type === 'tool_use_start' ? [delta, delta] : delta)),
    ],
    [
      /Tool call 0 ended, but is not open/,
      mapping((delta) => (delta.type === 'tool_use_end' ? [delta, delta] : delta)),
    ],
    [
      /Input for tool call 8, which is not open/,
      mapping((delta) => (delta.type === 'tool_input' ? { ...delta, index: delta.index + 8 } : delta)),
    ],
    [
      /tool calls that never ended: expected \[\], but found \[0,1\]/,
      mapping((delta) => (delta.type === 'tool_use_end' ? [] : delta)),
    ],
    [/tool calls that ended: expected 2, but found 0/, mapping((delta) => (isCall(delta) ? [] : delta))],
    [
      /ids of tool calls/,
      mapping((delta) => (delta.type === 'tool_use_start' ? { ...delta, id: 'call' } : delta)),
    ],
    [
      /whole number/,
      mapping((delta) => (delta.type === 'tool_use_start' ? { ...delta, index: 0.5 } : delta)),
    ],
  ],
  'stall: aborted while silent, `stream` rejects with the reason at once': [
    [/`stream` after the abort did not come/, hearing(() => undefined)],
    [/not with AbortError/, translating()],
    [/ended by itself/, () => scripted('text')],
  ],
  'stall: aborted while silent, `call` rejects with the reason at once': [
    [/`call` after the abort did not come/, hearing(() => undefined)],
    [/ended by itself/, () => scripted('text')],
  ],
  'stall: abandoned early, returns at once and answers again': [
    [/The return of the first answer did not come/, clinging()],
    [/the second answer ended by itself/, exceptFor(2, 2, () => saying())],
  ],
  'stall: abandoned while silent, returns at once and answers again': [
    [/The return of the first answer did not come/, mapping((delta) => delta)],
    [/The return of the first answer did not come/, clinging()],
    [/The end of the wait for more of the first answer did not come/, forgetting()],
    [/the first answer failed with Error: too late/, complaining()],
    [/the first answer ended by itself/, exceptFor(1, 1, () => saying({ type: 'text', text: 'Hm' }))],
    [/the second answer ended by itself/, exceptFor(2, 2, () => saying())],
  ],
  'failure: fails before any content, every time': [
    [/`stream` should have failed/, () => scripted('text')],
    [/deltas before the failure/, () => scripted('breaks')],
    [/a ModelError, not with Error: boom/, failing(() => new Error('boom'))],
    [/should have a `kind`/, failing(() => new TroupeError('invalid_input', 'boom'))],
    [/should have a `kind`/, failing(() => new ModelError('boom', { kind: 'http' as 'network' }))],
    [
      /kinds of errors/,
      failing((count) => new ModelError('boom', { kind: count === 0 ? 'auth' : 'network' })),
    ],
    [
      /the second `call` should have failed/,
      exceptFor(3, 3, () => scripted('text').stream({ messages: [] })),
    ],
  ],
  'failure: the error holds no secret': [
    [/The secret is in the error/, failing(() => overloaded(`key ${SECRET}`))],
    [/The secret is in the error/, failing(() => overloaded('x', { body: `{"key":"${SECRET}"}` }))],
    [
      /The secret is in the error/,
      failing(() => overloaded('x', { cause: { request: { headers: [SECRET] } } })),
    ],
    [/should have failed/, () => scripted('text')],
  ],
  'breaks: fails after some content, every time': [
    [/There was no content/, () => scripted('failure')],
    [/`stream` should have failed/, changing(swallowing)],
    [/reports a finish/, changing(finishing)],
    [/a ModelError, not with TypeError: terminated/, failing(() => new TypeError('terminated'))],
  ],
  'breaks: the error holds no secret': [
    [/The secret is in the error/, failing(() => overloaded('x', { cause: new Error(SECRET) }))],
  ],
};

describe('the work behind a model', () => {
  /** Counts running answers; without `stops` also ended answers. */
  class Watched extends WrapperModel {
    running = 0;
    readonly #stops: boolean;

    constructor(model: ChatModelBase, stops: boolean) {
      super(model);
      this.#stops = stops;
    }

    protected override async *relay(
      request: ModelRequest,
      options: RelayOptions,
    ): AsyncGenerator<ModelDelta> {
      this.running++;
      try {
        yield* this.model.stream(request, options);
      } finally {
        if (this.#stops) this.running--;
      }
    }
  }

  const casesFor = (stops: boolean, runningOf: (model: ChatModelBase) => number) =>
    chatModelContract((scenario) => new Watched(scripted(scenario), stops), {
      scenarios: ['stall'],
      runningOf,
    });
  const runningOf = (model: ChatModelBase): number => (model as Watched).running;

  test.each(casesFor(true, runningOf))('is over: $name', ({ run }) => run());

  test.each(casesFor(false, runningOf))('goes on: $name', async ({ run }) => {
    await expect(run()).rejects.toThrow(/Nobody reads the( first)? answer any more, but it is still running/);
  });

  test('has to be counted, where it is said to be', async () => {
    const outcomes = await Promise.all(
      casesFor(true, () => 0).map(({ run }) => run().catch((error: unknown) => String(error))),
    );
    const problem = 'Error: runningOf should count the answer that is being made.';
    expect(outcomes).toEqual([undefined, undefined, problem, problem]);
  });
});

describe('a broken model', () => {
  const options: ContractOptions = { secret: SECRET, workOf };

  test.each(
    Object.entries(BROKEN).flatMap(([name, ways]) =>
      ways.map(([problem, make]) => [name, problem, make] as const),
    ),
  )('%s (%s)', async (name, problem, make) => {
    const [broken] = chatModelContract(make, options).filter((one) => one.name === name);
    const [good] = chatModelContract(scripted, options).filter((one) => one.name === name);
    await good?.run();
    await expect(broken?.run()).rejects.toThrow(problem);
  });

  test('is found by every case', () => {
    const names = chatModelContract(scripted, options).map(({ name }) => name);
    expect(Object.keys(BROKEN).sort()).toEqual(names.sort());
  });
});
