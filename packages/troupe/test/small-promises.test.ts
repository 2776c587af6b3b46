// Small promises of agents, models and sessions, each in a few lines over the public API.
import { describe, expect, test } from 'vitest';

import {
  AgentBase,
  findHistoryFaults,
  InMemoryMemory,
  InMemorySession,
  LongTermMemoryBase,
  Msg,
  RateLimitModel,
  ReActAgent,
  SessionManager,
  tool,
  type AgentOptions,
  type CallOptions,
  type Turn,
  withRunConfig,
} from '../src/index.ts';
import { OpenAIChatModel } from '../src/providers/openai/index.ts';
import { FakeClock, ScriptedModel } from '../src/testing/index.ts';

const agentOf = (...script: ConstructorParameters<typeof ScriptedModel>[0]): ReActAgent =>
  new ReActAgent({ name: 'Friday', model: new ScriptedModel(script), sysPrompt: 'Be kind.', console: false });

/** A server of OpenAI that notes the bodies and addresses of requests, and answers with a text. */
function noting(): { readonly requests: { url: string; body: unknown }[]; readonly fetch: typeof fetch } {
  const requests: { url: string; body: unknown }[] = [];
  const choice = { index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' };
  return {
    requests,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      requests.push({ url: request.url, body: await request.json() });
      return Response.json({ id: 'r', object: 'chat.completion', model: 'm', choices: [choice] });
    },
  };
}

describe('a saved state', () => {
  test.each([
    ['name', 7],
    ['name', null],
    ['sysPrompt', 7],
    ['sysPrompt', ['Be kind.']],
  ])('with a wrong type for %s is refused whole: %j', async (key, value) => {
    const agent = agentOf();
    await agent.memory.add(Msg.user('Before.'));
    const other = agentOf();
    expect(() => other.loadStateDict({ ...agent.stateDict(), [key]: value })).toThrow(new RegExp(key));
    expect([other.name, other.sysPrompt, await other.memory.size()]).toEqual(['Friday', 'Be kind.', 0]);
  });
});

test('an empty first input is sent to OpenAI as a message, not as an empty list', async () => {
  const { requests, fetch } = noting();
  const model = new OpenAIChatModel({ modelName: 'gpt-4.1', apiKey: 'sk-1234567890', fetch, stream: false });
  const agent = new ReActAgent({ name: 'Friday', model, console: false });
  expect((await agent.call([])).text).toBe('Hello.');
  expect(requests).toMatchObject([{ body: { messages: [{}] } }]);
});

test('a baseUrl with a query keeps the query behind the path', async () => {
  const { requests, fetch } = noting();
  const baseUrl = 'https://models.example/v1?api-version=2&team=a';
  const model = new OpenAIChatModel({
    modelName: 'm',
    apiKey: 'sk-1234567890',
    baseUrl,
    fetch,
    stream: false,
  });
  await model.call({ messages: [Msg.user('Hi.')] });
  expect(requests[0]?.url).toBe('https://models.example/v1/chat/completions?api-version=2&team=a');
});

test('a key of one letter is not taken out of the words of an error', async () => {
  const fetch = async (): Promise<Response> =>
    Response.json({ error: { message: 'The model can not be found.' } }, { status: 404 });
  const model = new OpenAIChatModel({ modelName: 'm', apiKey: 'e', fetch });
  await expect(model.call({ messages: [Msg.user('Hi.')] })).rejects.toThrow('The model can not be found.');
});

test('a rate limit goes on by the time that has passed when the time of day is set back', async () => {
  using clock = new FakeClock().install();
  const model = new RateLimitModel(new ScriptedModel(['One.', 'Two.']), { requestsPerMinute: 1 });
  await model.call({ messages: [Msg.user('a')] });
  clock.setTime(clock.now() - 90_000);
  let answer = '';
  const second = model.call({ messages: [Msg.user('b')] }).then((msg) => (answer = msg.text));
  await clock.advance(59_999);
  expect(answer).toBe('');
  await clock.advance(1);
  await second;
  expect(answer).toBe('Two.');
});

test('new input while a tool call is pending is refused with the name of the tool, never an empty list', async () => {
  const look = tool({ name: 'look', execute: () => 'seen' });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look', id: 'l', input: {} }] }, 'Yes.']);
  const agent = new ReActAgent({
    name: 'Friday',
    model,
    tools: [look],
    permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
    console: false,
  });
  await agent.call('Look.');
  await expect(agent.call('And now?')).rejects.toThrow(/look/);
});

test('a stream with nested agents has one run_end, the last event', async () => {
  const inner = agentOf('Inner.');
  const ask = tool({ name: 'ask', execute: async () => (await inner.call('Hi.')).text });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'ask', id: 'a', input: {} }] }, 'Outer.']);
  const outer = new ReActAgent({ name: 'outer', model, tools: [ask], console: false });
  const types: string[] = [];
  for await (const { type } of outer.stream('Go.', { nested: true })) types.push(type);
  expect(types.filter((type) => type === 'reply_end')).toHaveLength(2);
  expect([types.filter((type) => type === 'run_end').length, types.at(-1)]).toEqual([1, 'run_end']);
});

test('an agent and its memory, both added to a session, are one history in the store', async () => {
  const memory = new InMemoryMemory();
  const make = (memory: InMemoryMemory): ReActAgent =>
    new ReActAgent({ name: 'Friday', model: new ScriptedModel(['Once.']), memory, console: false });
  const session = new InMemorySession();
  const agent = make(memory);
  const manager = SessionManager.forSessionId('s')
    .withSession(session)
    .addComponent(agent)
    .addComponent(memory);
  await agent.call('How often?');
  await manager.saveSession();
  const other = new InMemoryMemory();
  const loaded = make(other);
  const loader = SessionManager.forSessionId('s')
    .withSession(session)
    .addComponent(loaded)
    .addComponent(other);
  await loader.loadIfExists();
  const history = await other.getMemory();
  expect([history.map(({ text }) => text), findHistoryFaults(history)]).toEqual([
    ['How often?', 'Once.'],
    [],
  ]);
});

test.each(['retrieve', 'record'] as const)(
  'a long-term memory that hangs in %s is told to stop',
  async (where) => {
    using clock = new FakeClock().install();
    const hanging = Promise.withResolvers<AbortSignal | undefined>();
    class Hanging extends LongTermMemoryBase {
      override async retrieve(...[, options]: Parameters<LongTermMemoryBase['retrieve']>): Promise<string> {
        return where === 'retrieve' ? this.#hang(options?.signal) : '';
      }

      override async record(...[, options]: Parameters<LongTermMemoryBase['record']>): Promise<void> {
        if (where === 'record') await this.#hang(options?.signal);
      }

      #hang(signal: AbortSignal | undefined): Promise<never> {
        hanging.resolve(signal);
        return new Promise(() => {});
      }
    }
    const agent = new ReActAgent({
      name: 'Friday',
      model: new ScriptedModel(['Hello.']),
      longTermMemory: new Hanging(),
      longTermMemoryMode: 'static_control',
      console: false,
    });
    const answer = withRunConfig({ logging: { log: () => {} } }, () => agent.call('Hi.'));
    const signal = await hanging.promise;
    expect(signal?.aborted).toBe(false);
    await clock.advance(120_000);
    expect([(await answer).text, signal?.aborted]).toEqual(['Hello.', true]);
  },
);

describe('a handleInterrupt that takes ten minutes', () => {
  const MINUTE = 60_000;
  const DEFAULT = 'I noticed that you have interrupted me. What can I do for you?';

  class Thoughtful extends AgentBase {
    readonly begun = Promise.withResolvers<void>();
    readonly done = Promise.withResolvers<void>();

    override reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
      return turn.step({ kind: 'other', name: 'wait' }, () => new Promise(() => {}));
    }

    override async handleInterrupt(): Promise<Msg> {
      this.begun.resolve();
      await this.done.promise;
      return Msg.assistant('I thought about it.', { name: this.name });
    }
  }

  /** Interrupts an agent call, and does something while the interrupt is handled. Returns the answer. */
  async function interrupted(
    during: (clock: FakeClock, agent: Thoughtful) => Promise<unknown>,
    options: Partial<AgentOptions> = {},
    callOptions: CallOptions = {},
  ): Promise<string> {
    using clock = new FakeClock().install();
    const agent = new Thoughtful({ name: 'Friday', console: false, ...options });
    const call = withRunConfig({ logging: { log: () => {} } }, () => agent.call('Go.', callOptions));
    void agent.interrupt();
    await agent.begun.promise;
    await during(clock, agent);
    return (await call).text;
  }

  test('answers, as long as nobody stops it', async () => {
    const during = async (clock: FakeClock, { done }: Thoughtful): Promise<void> => {
      await clock.advance(10 * MINUTE);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => void setImmediate(resolve)); // more than any grace
      done.resolve();
    };
    expect(await interrupted(during)).toBe('I thought about it.');
    expect(await interrupted(during, { interruptTimeoutMs: 11 * MINUTE })).toBe('I thought about it.');
  });

  test('is cut off after interruptTimeoutMs', async () => {
    const during = (clock: FakeClock): Promise<void> => clock.advance(2 * MINUTE);
    expect(await interrupted(during, { interruptTimeoutMs: MINUTE })).toBe(DEFAULT);
  });

  test('is cut off by a second interrupt, and by an abort', async () => {
    const again = async (clock: FakeClock, agent: Thoughtful): Promise<void> => {
      void agent.interrupt();
      await clock.advance(1000);
    };
    expect(await interrupted(again)).toBe(DEFAULT);
    const stop = new AbortController();
    const abort = async (clock: FakeClock): Promise<void> => {
      stop.abort(new Error('left'));
      await clock.advance(1000);
    };
    expect(await interrupted(abort, {}, { signal: stop.signal })).toBe(DEFAULT);
  });
});

test('an open exchange with every kind of usage loads without a warning', async () => {
  const lines: string[] = [];
  const usage = { inputTokens: 1, outputTokens: 2, cachedTokens: 3, reasoningTokens: 4, seconds: 0.5 };
  const make = (): ReActAgent =>
    new ReActAgent({
      name: 'Friday',
      model: new ScriptedModel([{ toolCalls: [{ id: 'c1', name: 'pay', input: {} }], usage }]),
      tools: [tool({ name: 'pay', execute: () => 'paid' })],
      permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
      console: false,
    });
  const session = new InMemorySession();
  await withRunConfig({ logging: { log: (_level, line) => void lines.push(line) } }, async () => {
    const agent = make();
    await agent.call('Pay.');
    await session.save('s', { agent });
    const other = make();
    await session.load('s', { agent: other });
    expect(other.pendingCalls).toEqual(agent.pendingCalls);
    expect(other.stateDict()).toMatchObject(agent.stateDict());
  });
  expect(lines).toEqual([]);
});
