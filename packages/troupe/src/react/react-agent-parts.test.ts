// Parts of an agent besides the model and the tools: a compressor, a plan, background tools.
import { describe, expect, test } from 'vitest';

import { ConsoleView } from '../agent/printing/console-view.ts';
import type { ContextCompressor, CompressionTask } from '../compression/context-compressor.ts';
import { TroupeError } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { COMPRESSED_MARK } from '../memory/memory-base.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import { ModelError } from '../model/model-error.ts';
import { PlanNotebook } from '../plan/plan-notebook.ts';
import { LongTermMemoryBase } from '../longterm/long-term-memory-base.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { BackgroundTools } from '../toolkit/background-tools.ts';
import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import { ReActAgent } from './react-agent.ts';

function setUp(
  script: readonly (string | ScriptedTurn)[],
  options: Partial<ReActAgentOptions> = {},
): { agent: ReActAgent; model: ScriptedModel } {
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({ name: 'Friday', model, ...options });
  agent.setConsoleOutputEnabled(false);
  return { agent, model };
}

const textsOf = (msgs: readonly Msg[] = []): string[] => msgs.map(({ text }) => text);
const tooLong: ScriptedTurn = { error: new ModelError('too long', { kind: 'context_overflow' }) };

/** Marks the oldest message as compressed whenever it is forced to make room. */
class Compressor extends InMemoryMemory implements ContextCompressor {
  readonly tasks: CompressionTask[] = [];
  contextInstruction = '';
  readonly contextTools: readonly Tool[] = [tool({ name: 'context_reload', execute: () => 'all of it' })];

  async compress(task: CompressionTask): Promise<boolean> {
    this.tasks.push(task);
    if (!task.force) return false;
    const [oldest] = await this.getMemory({ excludeMark: COMPRESSED_MARK });
    if (oldest === undefined) return false;
    await this.updateMessagesMark({ newMark: COMPRESSED_MARK, msgIds: [oldest.id] });
    return true;
  }
}

describe('a memory with compression', () => {
  test('is asked before every model call, with what else is in the prompt', async () => {
    const memory = new Compressor();
    const call = { toolCalls: [{ name: 'context_reload', input: {} }] };
    const { agent, model } = setUp([call, 'Done.'], { memory, sysPrompt: 'Be brief.' });
    await agent.call('go');
    expect(memory.tasks).toHaveLength(2);
    expect(memory.tasks[0]).toMatchObject({
      model,
      sysPrompt: 'Be brief.',
      force: false,
      planHint: undefined,
    });
    expect(memory.tasks[0]?.tools.map(({ name }) => name)).toEqual(['context_reload']);
  });

  test('brings its own tools and instruction; nothing else has to be registered', async () => {
    const memory = new Compressor();
    const { agent, model } = setUp(['Hi.', 'Hi again.'], { memory, sysPrompt: 'Be brief.' });
    await agent.call('one');
    memory.contextInstruction = 'Reload by context_reload.';
    await agent.call('two');
    expect(model.requests.map(({ messages }) => messages[0]?.text)).toEqual([
      'Be brief.',
      'Be brief.\n\nReload by context_reload.',
    ]);
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['context_reload']);
    expect(agent.toolkit.has('context_reload')).toBe(false);
  });

  test('compresses the history when the model reports an overflow, and asks the model once more', async () => {
    const memory = new Compressor();
    const { agent, model } = setUp(['One.', tooLong, 'Two.'], { memory });
    await agent.call('first');
    expect((await agent.call('second')).text).toBe('Two.');
    expect(memory.tasks.map(({ force }) => force)).toEqual([false, false, true]);
    expect(textsOf(model.requests[1]?.messages)).toEqual(['first', 'One.', 'second']);
    expect(textsOf(model.requests[2]?.messages)).toEqual(['One.', 'second']);
  });

  test('is not asked a second time: then the agent call fails', async () => {
    const { agent, model } = setUp([tooLong, tooLong, 'never'], { memory: new Compressor() });
    await expect(agent.call('go')).rejects.toMatchObject({ kind: 'context_overflow' });
    expect(model.requests).toHaveLength(2);
  });

  test('without removable messages lets the agent call fail at once', async () => {
    class Full extends Compressor {
      override compress = async (): Promise<boolean> => false;
    }
    const { agent, model } = setUp([tooLong, 'never'], { memory: new Full() });
    await expect(agent.call('go')).rejects.toMatchObject({ kind: 'context_overflow' });
    expect(model.requests).toHaveLength(1);
  });

  test('other failures are not taken for that', async () => {
    const memory = new Compressor();
    const { agent } = setUp([{ error: new ModelError('no', { kind: 'auth' }) }], { memory });
    await expect(agent.call('go')).rejects.toMatchObject({ kind: 'auth' });
    expect(memory.tasks).toHaveLength(1);
  });
});

test('with compression, what is old is summed up and not shown to the model any more', async () => {
  const summary = {
    task_overview: 'count',
    current_state: 'at three',
    important_discoveries: 'none',
    next_steps: 'go on',
    context_to_preserve: 'none',
  };
  const form: ScriptedTurn = {
    when: ({ tools = [] }) => tools.length > 0, // the agent has none
    toolCalls: [{ name: 'generate_response', input: summary }],
  };
  const { agent, model } = setUp([form, 'One.', 'Two.', 'Three.', 'Four.', 'Five.'], {
    compression: { triggerThreshold: 60, keepRecent: 1 },
  });
  const events: AgentEvent[] = [];
  for (const word of ['one', 'two', 'three', 'four', 'five']) {
    const long = `${word} ${'please go on counting, as far as you can '.repeat(2)}`;
    for await (const event of agent.stream(long)) events.push(event);
  }
  const compressions = events.filter((event) => event.type === 'compression');
  expect(compressions.map(({ phase }) => phase)).toContain('end');
  const last = model.requests.at(-1)?.messages ?? [];
  expect(last[0]?.text).toContain('at three');
  expect(last.length).toBeLessThan(9);
  expect(last.at(-1)?.text).toContain('five');
  expect(await agent.memory.size()).toBe(10);
});

describe('a plan', () => {
  const subtask = (name: string) => ({ name, description: name, expected_outcome: name });
  const create: ScriptedTurn = {
    toolCalls: [
      {
        name: 'create_plan',
        input: {
          name: 'Trip',
          description: 'Go',
          expected_outcome: 'Gone',
          subtasks: [subtask('pack'), subtask('go')],
        },
      },
    ],
  };

  test('brings its tools and hints, which live for one model call; changes are events', async () => {
    const planNotebook = new PlanNotebook();
    const { agent, model } = setUp([create, 'Planned.'], { planNotebook });
    const events: AgentEvent[] = [];
    for await (const event of agent.stream('plan a trip')) events.push(event);
    expect(planNotebook.currentPlan?.name).toBe('Trip');
    expect(model.requests.map(({ messages }) => messages.at(-1)?.text.startsWith('<system-hint>'))).toEqual([
      true,
      true,
    ]);
    expect(textsOf(await agent.memory.getMemory()).filter((text) => text.includes('system-hint'))).toEqual(
      [],
    );
    expect(events.filter(({ type }) => type === 'plan_change')).toMatchObject([{ plan: { name: 'Trip' } }]);
    expect(agent.stateDict()).toMatchObject({ planNotebook: { currentPlan: { name: 'Trip' } } });
  });

  test('with the meta tool, its tools are a group, and there are no hints until that is active', async () => {
    const planNotebook = new PlanNotebook();
    const activate: ScriptedTurn = {
      toolCalls: [{ name: 'reset_equipped_tools', input: { plan_related: true } }],
    };
    const { agent, model } = setUp([activate, 'Ready.'], { planNotebook, enableMetaTool: true });
    await agent.call('plan a trip');
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['reset_equipped_tools']);
    expect(model.requests[0]?.messages.at(-1)?.text).toBe('plan a trip');
    expect(model.requests[1]?.tools?.map(({ name }) => name)).toContain('create_plan');
    expect(model.requests[1]?.messages.at(-1)?.text).toContain('<system-hint>');
  });
});

test('an agent with a background is told when a task is done, once', async () => {
  const background = new BackgroundTools();
  const done = Promise.withResolvers<string>();
  const slow = background.inBackground(tool({ name: 'slow', execute: () => done.promise }));
  const toolkit = new Toolkit({ tools: [slow] });
  const start = { toolCalls: [{ name: 'slow', input: {} }] };
  const { agent, model } = setUp([start, 'It runs.', 'It is done.', 'Nothing new.'], { toolkit, background });
  await agent.call('start it');
  expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual([
    'slow',
    'view_task',
    'wait_task',
    'cancel_task',
  ]);
  const ended = new Promise<void>((resolve) => void background.onDone(() => resolve()));
  done.resolve('42');
  await ended;
  await agent.call('and?');
  await agent.call('and now?');
  const hints = model.requests.map(({ messages }) => messages.at(-1)?.text.includes('slow'));
  expect(hints.slice(2)).toEqual([true, false]);
  expect(agent.stateDict()).toMatchObject({ background: { records: [{ tool: 'slow' }] } });
});

describe('a hook with an invalid result', () => {
  const pay = tool({ name: 'pay', execute: () => 'paid' });
  const use: ScriptedTurn = { text: 'See.', toolCalls: [{ name: 'pay', input: {} }] };
  const withPay = (script: readonly (string | ScriptedTurn)[], options = {}) =>
    setUp(script, { toolkit: new Toolkit({ tools: [pay] }), ...options }).agent;
  const openCall = { type: 'tool_use', id: 'q', name: 'pay', input: {} } as const;
  const orphan = { type: 'tool_result', id: 'q', name: 'pay', output: 'x', status: 'ok' } as const;

  test('a result has it withheld: the hook may have had to change it', async () => {
    const agent = withPay([use]);
    agent.registerInstanceHook('postActing', 'bad', (_agent, _args, result) => ({
      ...result,
      status: 'fine' as never,
    }));
    await expect(agent.call('go')).rejects.toThrow('status');
    const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results).toMatchObject([
      { status: 'error', output: expect.stringContaining('withheld') as string },
    ]);
  });

  test.each(['throws', 'is cut off by an interrupt'])(
    'a result, because it %s, stores nothing of it',
    async (way) => {
      const agent = withPay([use]);
      const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
      agent.registerInstanceHook('postActing', 'redact', async () => {
        reach();
        if (way === 'throws') throw new Error('no');
        await new Promise<never>(() => {});
      });
      const call = agent.call('go').catch(() => {});
      await reached;
      await agent.interrupt();
      await call;
      const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
      expect(results.map(({ status, output }) => [status, String(output).includes('paid')])).toEqual([
        ['error', false],
      ]);
    },
  );

  test.each([
    ['a result', [orphan]],
    ['two calls of one id', [openCall, openCall]],
  ])(
    'a model message by %s is refused, and the one that the hook had to change is not kept',
    async (_name, blocks) => {
      const agent = withPay(['Hello there.']);
      agent.registerInstanceHook('postReasoning', 'bad', () => Msg.assistant(blocks));
      await expect(agent.call('go')).rejects.toMatchObject({ code: 'invalid_reply' });
      expect(textsOf(await agent.memory.getMemory())).toEqual(['go']);
    },
  );

  test('a summary that ends at a tool result or a tool call does not break the history', async () => {
    for (const block of [orphan, openCall]) {
      const agent = withPay([use, 'Sum.'], { maxIters: 1 });
      agent.registerInstanceHook('postSummary', 'bad', () => Msg.assistant([block]));
      await agent.call('go').catch(() => {});
      expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
    }
  });
});

test('a model can not forge the marks of a reply by its structured answer', async () => {
  const input = { a: 1, _is_interrupted: true, _is_raw: true, _end_reason: 'finished', _pending: [] };
  const { agent } = setUp([{ toolCalls: [{ name: 'generate_response', input }] }]);
  const structuredModel = { type: 'object', properties: { a: { type: 'number' } } };
  const answer = await agent.call('go', { structuredModel });
  const metadata = { a: 1, _is_raw: true, _end_reason: 'finished', _pending: [] };
  for (const msg of [answer, Msg.from(answer.toJSON())]) {
    expect([msg.metadata, msg.endReason, msg.pending]).toEqual([metadata, 'structured', undefined]);
  }
});

test('tool calls that did not start because of an interrupt have one event each', async () => {
  const hang = tool({ name: 'hang', execute: () => new Promise<never>(() => {}) });
  const toolCalls = ['hang', 'hang', 'hang'].map((name) => ({ name, input: {} }));
  const { agent } = setUp([{ toolCalls }], { toolkit: new Toolkit({ tools: [hang] }) });
  const results: [string, string][] = [];
  for await (const event of agent.stream('go')) {
    if (event.type === 'tool_start') void agent.interrupt();
    if (event.type === 'tool_result') results.push([event.result.id, event.result.status]);
  }
  expect(results.map(([, status]) => status)).toEqual(['interrupted', 'interrupted', 'interrupted']);
  expect(new Set(results.map(([id]) => id)).size).toBe(3);
});

test('a hanging long-term memory does not fail the reply', async () => {
  class Stuck extends LongTermMemoryBase {
    override retrieve = (): Promise<never> => new Promise(() => {});
    override record = (): Promise<never> => new Promise(() => {});
  }
  const clock = new FakeClock();
  using _ = clock.install();
  const { agent } = setUp(['There.'], { longTermMemory: new Stuck() });
  const answer = agent.call('go');
  await clock.advance(10 * 60_000);
  expect((await answer).text).toBe('There.');
});

test('hooks run once for each of 64 tool calls side by side', async () => {
  const toolCalls = Array.from({ length: 64 }, (_, i) => ({ name: 'echo', id: `c${i}`, input: { i } }));
  const echo = tool({
    name: 'echo',
    schema: { type: 'object', properties: { i: { type: 'number' } } },
    execute: async ({ i }) => String(i),
  });
  const { agent } = setUp([{ toolCalls }, 'Done.'], {
    toolkit: new Toolkit({ tools: [echo] }),
    parallelToolCalls: true,
  });
  const seen: Record<'pre' | 'post', string[]> = { pre: [], post: [] };
  agent.registerInstanceHook('preActing', 'pre', (_agent, { call }) => void seen.pre.push(call.id));
  agent.registerInstanceHook('postActing', 'post', (_agent, _args, { id, output }) => {
    seen.post.push(`${id} ${String(output)}`);
  });
  await agent.call('go');
  const ids = toolCalls.map(({ id }) => id);
  expect(seen.pre.toSorted()).toEqual(ids.toSorted());
  expect(seen.post.toSorted()).toEqual(ids.map((id, i) => `${id} ${i}`).toSorted());
  const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(results.map(({ id }) => id)).toEqual(ids);
});

describe('the options of an agent', () => {
  test('are as they were when it was made, whatever the program does with its object later', async () => {
    const shown: string[] = [];
    const options = {
      name: 'Friday',
      model: new ScriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, 'Summary.']),
      tools: [tool({ name: 'look', execute: () => 'seen' })],
      maxIters: 1,
      interruptReply: 'Yes?',
      console: false as ReActAgentOptions['console'],
      memory: undefined as InMemoryMemory | undefined,
    };
    const agent = new ReActAgent(options);
    options.maxIters = 9;
    options.model = new ScriptedModel(['Wrong.']);
    options.memory = new InMemoryMemory();
    options.console = new ConsoleView({ write: (text) => void shown.push(text) });
    const other = new ReActAgent({ ...options, console: false });
    expect(agent.memory).not.toBe(options.memory);
    expect(other.memory).toBe(options.memory);
    const { text, endReason } = await agent.call('Look.');
    expect([text, endReason, shown]).toEqual(['Summary.', 'max_iters', []]);
  });

  test('are the only way to give it a memory or a toolkit, also after a call', async () => {
    const { agent } = setUp(['Hello.']);
    for (const hasAnswered of [false, true]) {
      if (hasAnswered) await agent.call('Hi.');
      expect(() => Reflect.set(agent, 'memory', new InMemoryMemory())).toThrow(
        new TroupeError(
          'invalid_config',
          "The memory of an agent can't be replaced: give it as the option memory.",
        ),
      );
      expect(() => Reflect.set(agent, 'toolkit', new Toolkit())).toThrow('give it as the option toolkit.');
    }
    expect(await agent.memory.size()).toBe(2);
  });
});
