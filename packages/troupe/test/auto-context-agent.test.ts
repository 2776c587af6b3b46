// An agent with an AutoContextMemory and no other configuration.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { ReActAgent } from '../src/react/react-agent.ts';
import { AutoContextMemory } from '../src/compression/auto-context/auto-context-memory.ts';
import type { AutoContextOptions } from '../src/compression/auto-context/auto-context-options.ts';
import type { AgentEvent } from '../src/event/agent-event.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { ModelDelta } from '../src/message/model-delta.ts';
import { InMemoryMemory } from '../src/memory/in-memory-memory.ts';
import { Msg } from '../src/message/msg.ts';
import { ChatModelBase, type ModelRequest } from '../src/model/chat-model-base.ts';
import { ModelError } from '../src/model/model-error.ts';
import { abortAtEvery, failAtEvery, interruptAtEvery, type Scenario } from '../src/testing/drivers.ts';
import { sequentialPipeline } from '../src/pipeline/sequential-pipeline.ts';
import { ScriptedModel } from '../src/testing/scripted-model.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { validateWith } from '../src/util/schema.ts';
import { strideOf } from './fair-sample.ts';

const EVERY = { stride: strideOf('ticks of a reply that compresses at which it is stopped', 5) };

/** Reads page after page, then answers; writes summaries on request. Refuses too long prompts. */
class ReaderModel extends ChatModelBase {
  readonly requests: ModelRequest[] = [];
  #page = 0;
  readonly maxChars: number;
  readonly pages: number;

  constructor(maxChars = Infinity, pages = 6) {
    super('reader');
    this.maxChars = maxChars;
    this.pages = pages;
  }

  override async *stream(request: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    this.requests.push(request);
    const { messages, tools = [] } = request;
    if (tools.length === 0) return yield { type: 'text', text: 'I have read some pages.' };
    if (JSON.stringify(messages).length > this.maxChars) {
      throw new ModelError('The prompt is too long.', { kind: 'context_overflow' });
    }
    const page = ++this.#page;
    if (page % this.pages === 0) return yield { type: 'text', text: 'That is all.' };
    yield { type: 'tool_use_start', index: 0, name: 'read', id: `call_${page}` };
    yield { type: 'tool_input', index: 0, json: JSON.stringify({ page }) };
    yield { type: 'tool_use_end', index: 0 };
  }
}

const read = tool({
  name: 'read',
  schema: z.object({ page: z.number() }),
  execute: ({ page }) => `Page ${page}. `.padEnd(600, 'bla '),
});

function agentWith(
  options: AutoContextOptions,
  model = new ReaderModel(),
): { agent: ReActAgent; memory: AutoContextMemory; model: ReaderModel } {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(read);
  const memory = new AutoContextMemory(options);
  const agent = new ReActAgent({ name: 'Friday', model, toolkit, memory, sysPrompt: 'Read.' });
  agent.setConsoleOutputEnabled(false);
  return { agent, memory, model };
}

const textOf = (messages: readonly Msg[] = []): string => JSON.stringify(messages);

test('a long task goes on, the tool to reload is there, and events tell what was done', async () => {
  const { agent, memory, model } = agentWith({ maxToken: 1800, largePayloadThreshold: 5000 });
  const events: AgentEvent[] = [];
  const stream = agent.stream('Read all of it.');
  let step = await stream.next();
  for (; !step.done; step = await stream.next()) events.push(step.value);
  expect(step.value.text).toBe('That is all.');
  expect(memory.getOriginalMemoryMsgs().length).toBe(12);
  expect(await memory.size()).toBeLessThan(12);
  const told = events.filter(({ type }) => type === 'compression');
  expect(told).toMatchObject(
    expect.arrayContaining(
      [
        { phase: 'start', strategy: 'current_round_message_compress', agentPath: ['Friday'] },
        { phase: 'end', strategy: 'current_round_message_compress' },
      ].map((event) => expect.objectContaining(event) as object),
    ) as object[],
  );
  const [first, ...others] = model.requests.filter(({ tools = [] }) => tools.length > 0);
  expect(first?.tools?.map(({ name }) => name)).toContain('context_reload');
  expect(first?.messages[0]?.text).toBe('Read.');
  const last = others.at(-1);
  expect(last?.messages[0], 'the same, so that it can be cached').toBe(first?.messages[0]);
  expect(textOf(last?.messages)).toContain('Read all of it.');
  expect(findHistoryFaults(await memory.getMemory())).toEqual([]);
});

test('a prompt that the model refuses is made smaller once, and sent again', async () => {
  const { agent, memory, model } = agentWith({}, new ReaderModel(2500));
  const answer = await agent.call('Read all of it.');
  expect(answer.text).toBe('That is all.');
  expect(memory.getCompressionEvents().length).toBeGreaterThan(0);
  expect(model.requests.length).toBeGreaterThan(6);
});

test('a refused prompt does not cost a result that nobody has read, and no call is made twice', async () => {
  let calls = 0;
  const look = tool({ name: 'look', execute: () => `SECRET-42 ${'p'.repeat(300)} ${++calls}` });
  class Small extends ReaderModel {
    override async *stream(request: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
      if ((request.tools ?? []).length === 0) return yield { type: 'text', text: 'We talked.' };
      const prompt = textOf(request.messages);
      if (prompt.length > 8000) throw new ModelError('Too long.', { kind: 'context_overflow' });
      if (prompt.includes('SECRET-42')) return yield { type: 'text', text: 'It is SECRET-42.' };
      yield { type: 'tool_use_start', index: 0, name: 'look', id: `call_${calls}` };
      yield { type: 'tool_input', index: 0, json: '{}' };
      yield { type: 'tool_use_end', index: 0 };
    }
  }
  const memory = new AutoContextMemory({ maxToken: 32_000 });
  for (let i = 0; i < 6; i++) {
    await memory.add([Msg.user(`q${i} `.padEnd(100, '.')), Msg.assistant(`a${i} `.padEnd(100, '.'))]);
  }
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(look);
  const sysPrompt = 'S'.repeat(4500);
  const agent = new ReActAgent({ name: 'Friday', model: new Small(), toolkit, memory, sysPrompt });
  agent.setConsoleOutputEnabled(false);
  expect([(await agent.call('What is it?')).text, calls]).toEqual(['It is SECRET-42.', 1]);
});

const fields = [
  'task_overview',
  'current_state',
  'important_discoveries',
  'next_steps',
  'context_to_preserve',
];
const input = Object.fromEntries(fields.map((name) => [name, 'Pages.']));
const summary = { when: () => true, toolCalls: [{ name: 'generate_response', input }] };
test.each([
  ['a memory that keeps itself small', { maxToken: 2000 }, undefined],
  ['a compressor', undefined, { triggerThreshold: 500, model: new ScriptedModel([summary]) }],
])(
  'with %s, the request of an agent before it in a pipeline is in every prompt',
  async (_, own, compression) => {
    const planner = new ReActAgent({
      name: 'Planner',
      model: new ScriptedModel(['Translate a.txt, never b.txt.']),
    });
    const reader = new ReaderModel();
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(read);
    const memory = own === undefined ? new InMemoryMemory() : new AutoContextMemory(own);
    const worker = new ReActAgent({ name: 'Worker', model: reader, toolkit, memory, compression });
    for (const agent of [planner, worker]) agent.setConsoleOutputEnabled(false);
    await sequentialPipeline([planner, worker], Msg.user('Go.'));
    const prompts = reader.requests.filter(({ tools = [] }) => tools.some(({ name }) => name === 'read'));
    expect(prompts.length).toBe(6);
    expect(prompts.map(({ messages }) => textOf(messages).includes('never b.txt'))).toEqual(
      prompts.map(() => true),
    );
    const words = textOf(prompts.at(-1)?.messages).split('bla ').length;
    expect(words, 'something was taken out').toBeLessThan(600);
  },
);

test('a second turn begins with the same messages as long as nothing has to be made smaller', async () => {
  const { agent, model } = agentWith({});
  await agent.call('Read all of it.');
  await agent.call('Again.');
  const prompts = model.requests.map(({ messages }) => messages);
  for (const [i, prompt] of prompts.slice(1).entries()) {
    expect(prompt.slice(0, prompts[i]?.length).every((msg, n) => msg === prompts[i]?.[n])).toBe(true);
  }
});

test('the state of the agent has all of it', async () => {
  const { agent } = agentWith({ maxToken: 1800 });
  await agent.call('Read all of it.');
  const other = agentWith({ maxToken: 1800 });
  other.agent.loadStateDict(agent.stateDict());
  expect(JSON.stringify(other.agent.stateDict())).toBe(JSON.stringify(agent.stateDict()));
  expect((await other.agent.call('And now?')).text).toBe('That is all.');
});

describe('disturbed at every point', () => {
  let clock: Disposable | undefined;
  beforeAll(async () => void (await validateWith({ type: 'object' }, {})));
  beforeEach(() => {
    clock = new FakeClock().install();
  });
  afterEach(() => clock?.[Symbol.dispose]());

  const scenario = (): Scenario => {
    const { agent, memory } = agentWith({ maxToken: 1000 }, new ReaderModel(Infinity, 3));
    return {
      agent,
      input: 'Read all of it.',
      async check({ msg }) {
        const shown = await memory.getMemory();
        if (msg?.text === 'That is all.') expect(memory.getCompressionEvents().length).toBeGreaterThan(0);
        expect(findHistoryFaults(shown)).toEqual([]);
        if (memory.getOriginalMemoryMsgs().length > 0) expect(textOf(shown)).toContain('Read all of it.');
      },
    };
  };

  test('by an interrupt', async () => {
    expect((await interruptAtEvery(scenario, EVERY)).points).toBeGreaterThan(100);
  });

  test('by the caller', async () => {
    expect((await abortAtEvery(scenario, EVERY)).points).toBeGreaterThan(100);
  });

  test('by a fault in a step', async () => {
    expect((await failAtEvery(scenario)).points).toBeGreaterThan(10);
  });
});
