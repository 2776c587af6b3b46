// Long chats with an AutoContextMemory: the history is summarized, and what was said first is not lost.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { AutoContextMemory } from '../src/compression/auto-context/auto-context-memory.ts';
import type { AutoContextOptions } from '../src/compression/auto-context/auto-context-options.ts';
import { AutoContextTokenCounter } from '../src/compression/auto-context/auto-context-token-counter.ts';
import type { AgentEvent } from '../src/event/agent-event.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { ModelDelta } from '../src/message/model-delta.ts';
import { Msg } from '../src/message/msg.ts';
import { ChatModelBase, type ModelRequest } from '../src/model/chat-model-base.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { abortAtEvery, failAtEvery, interruptAtEvery, type Scenario } from '../src/testing/drivers.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { validateWith } from '../src/util/schema.ts';
import { reachable } from './compression-task.ts';
import { strideOf } from './fair-sample.ts';

const EVERY = { stride: strideOf('ticks of a chat that is summed up at which it is stopped', 5) };

const FACT = /#\d+ [^.]*\./g;
const factsIn = (text: string): string[] => [...new Set(text.match(FACT))];
const textOf = (messages: readonly Msg[]): string => JSON.stringify(messages);
const fact = (i: number): string =>
  i === 0 ? '#0 I am Ann, allergic to nickel.' : `#${i} My note is ${i * 7}.`;
const line = (i: number, size: number): string => `${fact(i)} `.padEnd(size, 'and so on ');

/** Answers each line. A summary of this model holds the facts of the text that it is given, and nothing else. */
class ChatModel extends ChatModelBase {
  readonly prompts: ModelRequest[] = [];
  readonly summaries: ModelRequest[] = [];
  readonly size: number;
  readonly usesTool: boolean;
  #calls = 0;

  constructor(size: number, usesTool = false) {
    super('chat');
    this.size = size;
    this.usesTool = usesTool;
  }

  override async *stream(request: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const { messages, tools = [] } = request;
    if (tools.length === 0) {
      this.summaries.push(request);
      return yield { type: 'text', text: `Known so far: ${factsIn(textOf(messages)).join(' ')}` };
    }
    this.prompts.push(request);
    if (this.usesTool && messages.at(-1)?.role === 'user') {
      yield { type: 'tool_use_start', index: 0, name: 'look', id: `look_${++this.#calls}` };
      return yield { type: 'tool_use_end', index: 0 };
    }
    yield { type: 'text', text: 'I see. '.padEnd(this.size, 'well ') };
  }
}

interface Chat {
  readonly agent: ReActAgent;
  readonly memory: AutoContextMemory;
  readonly model: ChatModel;
}

function chatWith(options: AutoContextOptions, size: number, usesTool = false): Chat {
  const model = new ChatModel(size, usesTool);
  const memory = new AutoContextMemory(options);
  const tools = usesTool ? [tool({ name: 'look', execute: () => 'nothing new' })] : [];
  const agent = new ReActAgent({
    name: 'Friday',
    model,
    memory,
    tools,
    sysPrompt: 'Be kind.',
    console: false,
  });
  return { agent, memory, model };
}

const typesOf = (memory: AutoContextMemory): Set<string> =>
  new Set(memory.getCompressionEvents().map(({ eventType }) => eventType));
const tokensOf = ({ messages, tools }: ModelRequest): Promise<number> =>
  new AutoContextTokenCounter().count(messages, tools);

describe('a chat of 30 rounds with maxToken 8000', () => {
  test.each([
    ['a line and an answer', false],
    ['a line, one small tool call and an answer', true],
  ])('%s: history is summarized, all facts stay, no prompt is too long', async (_, usesTool) => {
    const { agent, memory, model } = chatWith({ maxToken: 8000 }, 450, usesTool);
    for (let i = 0; i < 30; i++) {
      await agent.call(line(i, 450));
      const prompt = model.prompts.at(-1) as ModelRequest;
      expect(factsIn(textOf(prompt.messages)).sort()).toEqual(
        Array.from({ length: i + 1 }, (_, n) => fact(n)).sort(),
      );
      expect(await tokensOf(prompt)).toBeLessThan(6000);
      expect(findHistoryFaults(prompt.messages)).toEqual([]);
    }
    expect(typesOf(memory)).toEqual(new Set(['PREVIOUS_ROUND_CONVERSATION_SUMMARY']));
    const { length } = memory.getCompressionEvents();
    expect(length).toBeGreaterThan(1);
    expect(length, 'one summary lasts for several rounds').toBeLessThan(8);
    const first = model.summaries[0]?.messages.map(({ text }) => text) ?? [];
    expect(first[0]).toMatch(/^Below is the older part of a conversation/);
    expect(first[1]).toContain(`<message role="user" name="user">\n${line(0, 450)}\n</message>`);
    expect(model.summaries[1]?.messages[1]?.text, 'the earlier summary comes first').toMatch(
      /^<message role="assistant" name="Friday">\nSummary of earlier messages:\nKnown so far: #0 I am Ann/,
    );
    const originals = memory.getOriginalMemoryMsgs();
    expect(originals.length).toBe(usesTool ? 120 : 60);
    const found = reachable(memory, await memory.getMemory());
    expect(originals.filter((msg) => !found.has(msg))).toEqual([]);
  });

  test('a model that can not summarize: only then the last resort offloads', async () => {
    class Silent extends ChatModel {
      override async *stream(request: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
        if (request.tools === undefined) throw new Error('no summaries here');
        yield* super.stream(request);
      }
    }
    const memory = new AutoContextMemory({ maxToken: 8000 });
    const agent = new ReActAgent({ name: 'Friday', model: new Silent(450), memory, console: false });
    for (let i = 0; i < 30; i++) await agent.call(line(i, 450));
    expect(typesOf(memory)).toEqual(new Set(['LAST_RESORT_OFFLOAD']));
  });
});

test.each([
  ['the defaults', {}, 100],
  ['a threshold of 30', { msgThreshold: 30 }, 30],
])('with %s, 160 short messages are summarized when there are too many', async (_, options, most) => {
  const { agent, memory, model } = chatWith(options, 20);
  for (let i = 0; i < 80; i++) {
    await agent.call(line(i, 40));
    const { messages } = model.prompts.at(-1) as ModelRequest;
    expect(messages.length - 1, 'without the system prompt').toBeLessThan(most);
    expect(factsIn(textOf(messages)).length).toBe(i + 1);
  }
  expect(typesOf(memory)).toEqual(new Set(['PREVIOUS_ROUND_CONVERSATION_SUMMARY']));
  expect(memory.getOriginalMemoryMsgs().length).toBe(160);
});

test('a history that is longer than one text to summarize is summarized in parts, the oldest first', async () => {
  const { agent, memory, model } = chatWith({ maxToken: 8000 }, 450);
  for (let i = 0; i < 100; i++)
    await memory.add([Msg.user(line(i, 450)), Msg.assistant(`ok ${'.'.repeat(400)}`)]);
  await agent.call('What do you know?');
  expect(model.summaries.length).toBeGreaterThan(2);
  expect(typesOf(memory)).toEqual(new Set(['PREVIOUS_ROUND_CONVERSATION_SUMMARY']));
  const prompt = textOf(model.prompts.at(-1)?.messages ?? []);
  expect(factsIn(prompt).length).toBe(100);
  expect(prompt).toContain('allergic to nickel');
  expect(model.summaries.every(({ messages }) => !textOf(messages).includes('left out here'))).toBe(true);
});

test('a small space beside a large system prompt: still a summary before the last resort', async () => {
  const { agent, memory, model } = chatWith({ maxToken: 8000 }, 100);
  agent.sysPrompt = 'Be kind. '.padEnd(12_700, 'And patient. ');
  for (let i = 0; i < 12; i++) await agent.call(line(i, 100));
  expect(typesOf(memory)).toEqual(new Set(['PREVIOUS_ROUND_CONVERSATION_SUMMARY']));
  expect(factsIn(textOf(model.prompts.at(-1)?.messages ?? [])).length).toBe(12);
});

test('the tokens of an event are those of the whole prompt: system prompt and tools included', async () => {
  const { agent, memory, model } = chatWith({ maxToken: 8000 }, 450);
  const events: AgentEvent[] = [];
  let before = 0;
  for (let i = 0; events.length === 0; i++) {
    const [last] = model.prompts.slice(-1);
    const question = Msg.user(line(i, 450));
    const answer = (await memory.getMemory()).at(-1);
    before =
      last === undefined || answer === undefined
        ? 0
        : await tokensOf({ ...last, messages: [...last.messages, answer, question] });
    for await (const event of agent.stream(question)) if (event.type === 'compression') events.push(event);
  }
  const after = await tokensOf(model.prompts.at(-1) as ModelRequest);
  expect(before).toBeGreaterThanOrEqual(6000);
  expect(events).toMatchObject([
    { phase: 'start', tokensBefore: before },
    { phase: 'progress', tokensBefore: before },
    { phase: 'end', tokensBefore: before, tokensAfter: after },
  ]);
  expect(memory.getCompressionEvents()[0]?.metadata).toMatchObject({
    tokenBefore: before,
    tokenAfter: after,
  });
});

describe('disturbed at every point while history is summarized', () => {
  let clock: Disposable | undefined;
  beforeAll(async () => void (await validateWith({ type: 'object' }, {})));
  beforeEach(() => {
    clock = new FakeClock().install();
  });
  afterEach(() => clock?.[Symbol.dispose]());

  const scenario = async (): Promise<Scenario> => {
    const { agent, memory } = chatWith({ maxToken: 1800 }, 200);
    const earlier = Array.from({ length: 8 }, (_, i) => [
      Msg.user(line(i, 200)),
      Msg.assistant('I see. '.repeat(20)),
    ]);
    await memory.add(earlier.flat());
    return {
      agent,
      input: 'And now?',
      async check({ msg }) {
        const shown = await memory.getMemory();
        expect(findHistoryFaults(shown)).toEqual([]);
        if (msg?.text.startsWith('I see.')) {
          expect(typesOf(memory)).toEqual(new Set(['PREVIOUS_ROUND_CONVERSATION_SUMMARY']));
          expect(textOf(shown)).toContain('And now?');
        }
        const found = reachable(memory, shown);
        expect(memory.getOriginalMemoryMsgs().filter((one) => !found.has(one))).toEqual([]);
        expect(memory.getOffloadContext().size).toBe(memory.getCompressionEvents().length);
      },
    };
  };

  test('by an interrupt', async () => {
    expect((await interruptAtEvery(scenario, EVERY)).points).toBeGreaterThan(50);
  });

  test('by the caller', async () => {
    expect((await abortAtEvery(scenario, EVERY)).points).toBeGreaterThan(50);
  });

  test('by a fault in a step', async () => {
    expect(
      (
        await failAtEvery(async () => {
          const made = await scenario();
          // A summary that fails leaves the last resort.
          return {
            ...made,
            check: async () =>
              expect(findHistoryFaults(await (made.agent as ReActAgent).memory.getMemory())).toEqual([]),
          };
        })
      ).points,
    ).toBeGreaterThan(5);
  });
});
