// Hooks that steer the loop: change prompts, stop the agent, send the agent back to reasoning, follow streams, and bring tools.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { gotoReasoning, stopAgent } from '../agent/turn/loop-control.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import type { GenerationOptions, ToolChoice } from '../model/chat-model-base.ts';
import { ModelError } from '../model/model-error.ts';
import { agentTool } from '../subagent/agent-tool.ts';
import { abortAtEvery, failAtEvery, interruptAtEvery, leaveAtEvery } from '../testing/drivers.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { BackgroundTools } from '../toolkit/background-tools.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { parseJson, type JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import type { Turn } from '../agent/turn/turn.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import { ReActAgent } from './react-agent.ts';
import { strideOf } from '../../test/fair-sample.ts';

const EVERY = { stride: strideOf('ticks of a loop that hooks steer at which it is stopped', 5) };

beforeAll(async () => void (await validateWith({ type: 'object' }, {}))); // the validator is loaded when it is first needed

type Script = readonly (string | ScriptedTurn)[];

const look = tool({ name: 'look', execute: async () => 'Rain.' });
const sign = tool({ name: 'sign', execute: async () => 'Signed.' });
const use = (...names: readonly string[]): ScriptedTurn => ({
  text: 'Let me see.',
  toolCalls: names.map((name, i) => ({ name, id: `c${i + 1}`, input: {} })),
});

function setUp(
  script: Script,
  options: Partial<ReActAgentOptions> = {},
): { agent: ReActAgent; model: ScriptedModel } {
  const model = new ScriptedModel(script);
  const permissionPolicy: ReActAgentOptions['permissionPolicy'] = {
    decide: ({ call }) => ({ behavior: call.name === 'sign' ? 'ask' : 'allow' }),
  };
  const agent = new ReActAgent({
    name: 'Friday',
    model,
    tools: [look, sign],
    permissionPolicy,
    console: false,
    ...options,
  });
  return { agent, model };
}

/** A history, one line for each message. */
async function historyOf(agent: ReActAgent): Promise<string[]> {
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  return history.map((msg) =>
    [
      msg.role,
      msg.text,
      ...msg.getContentBlocks('tool_use').map(({ name }) => `calls ${name}`),
      ...msg.getContentBlocks('tool_result').map(({ name, status }) => `${name} ${status}`),
    ]
      .filter((part) => part !== '')
      .join(' | '),
  );
}

const textsOf = (msgs: readonly Msg[] = []): string[] => msgs.map(({ text }) => text);
const allow = (agent: ReActAgent): readonly PendingDecision[] =>
  agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }));
const saved = (agent: ReActAgent): JsonObject => parseJson(JSON.stringify(agent.stateDict())) as JsonObject;

describe('a preReasoning hook', () => {
  test('sees the whole prompt, and changes messages and generation options for this model call only', async () => {
    const { agent, model } = setUp([use('look'), 'Done.', 'Bye.'], {
      sysPrompt: 'Be brief.',
      generation: { temperature: 0.2 },
    });
    const seen: [string[], GenerationOptions | undefined][] = [];
    const remove = agent.registerInstanceHook('preReasoning', 'secret', (_, { messages, generation }) => {
      seen.push([textsOf(messages), generation]);
      return {
        messages: messages.map((msg) =>
          msg.with({ content: msg.text.replace('4711', '****') || msg.content }),
        ),
        generation: { ...generation, maxTokens: 50 },
      };
    });
    await agent.call('My number is 4711.');
    expect(seen).toEqual([
      [['Be brief.', 'My number is 4711.'], { temperature: 0.2 }],
      [['Be brief.', 'My number is 4711.', 'Let me see.', ''], { temperature: 0.2 }],
    ]);
    expect(model.requests.map(({ messages }) => messages[1]?.text)).toEqual([
      'My number is ****.',
      'My number is ****.',
    ]);
    expect(model.requests.map(({ generation }) => generation)).toEqual([
      { temperature: 0.2, maxTokens: 50 },
      { temperature: 0.2, maxTokens: 50 },
    ]);
    expect((await agent.memory.getMemory())[0]?.text).toBe('My number is 4711.');
    remove();
    await agent.call('Bye.');
    expect(model.requests[2]?.messages[1]?.text).toBe('My number is 4711.');
    expect(model.requests[2]?.generation).toEqual({ temperature: 0.2 });
  });

  test('gets the change of the hook before it; the postReasoning hook gets what was sent', async () => {
    const { agent, model } = setUp(['Done.']);
    const seen: unknown[] = [];
    agent.registerInstanceHook('preReasoning', 'first', (_, { messages }) => ({
      messages: [...messages, Msg.user('One more.')],
    }));
    agent.registerInstanceHook(
      'preReasoning',
      'second',
      (_, { messages }) => void seen.push(textsOf(messages)),
    );
    agent.registerInstanceHook(
      'postReasoning',
      'after',
      (_, { messages }) => void seen.push(textsOf(messages)),
    );
    await agent.call('go');
    expect(seen).toEqual([
      ['go', 'One more.'],
      ['go', 'One more.'],
    ]);
    expect(textsOf(model.requests[0]?.messages)).toEqual(['go', 'One more.']);
  });

  test('changes the prompt also where a subclass asks the model by super.reasoning(), however often', async () => {
    class Twice extends ReActAgent {
      protected override async reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg> {
        await super.reasoning('none', turn);
        return super.reasoning(toolChoice, turn);
      }
    }
    const model = new ScriptedModel(['One.', 'Two.', 'Three.', 'Four.']);
    const agent = new Twice({ name: 'Friday', model, console: false });
    agent.registerInstanceHook('preReasoning', 'hide', () => ({ messages: [Msg.user('hidden')] }));
    expect((await agent.call('secret')).text).toBe('Two.');
    await agent.call('another secret');
    expect(model.requests.map(({ messages }) => textsOf(messages))).toEqual([
      ['hidden'],
      ['hidden'],
      ['hidden'],
      ['hidden'],
    ]);
  });

  test('runs again when the prompt was too long: what it hides stays hidden', async () => {
    const tooLong: ScriptedTurn = { error: new ModelError('too long', { kind: 'context_overflow' }) };
    const { agent, model } = setUp([tooLong, 'Done.'], {
      compression: {
        triggerThreshold: 1_000_000,
        keepRecent: 1,
        model: new ScriptedModel([{ when: () => true, text: 'A summary with 4711.' }]),
      },
    });
    await agent.observe([Msg.user('4711 '.repeat(500)), Msg.assistant('4711 '.repeat(500))]);
    agent.registerInstanceHook('preReasoning', 'hide', (_, { messages }) => ({
      messages: messages.map((msg) => msg.with({ content: msg.text.replaceAll('4711', '****') })),
    }));
    await agent.call('My number is 4711.');
    expect(model.requests).toHaveLength(2);
    expect(JSON.stringify(model.requests.map(({ messages }) => messages))).not.toContain('4711');
    expect(model.requests[1]?.messages.length).toBeGreaterThan(0);
    expect(Object.keys(model.requests[1] ?? {})).toEqual(Object.keys(model.requests[0] ?? {}));
  });

  test('sees hints, and notices of background tasks are given back when it fails', async () => {
    const background = new BackgroundTools();
    const done = Promise.withResolvers<void>();
    background.onDone(() => done.resolve());
    const answered = Promise.withResolvers<string>();
    const work = tool({ name: 'work', execute: () => answered.promise });
    const { agent, model } = setUp([{ toolCalls: [{ name: 'work', input: {} }] }, 'Started.', 'Fine.'], {
      tools: [background.inBackground(work)],
      background,
    });
    await agent.call('go');
    answered.resolve('done');
    await done.promise;
    const remove = agent.registerInstanceHook('preReasoning', 'broken', () => {
      throw new Error('broken');
    });
    await expect(agent.call('and?')).rejects.toThrow('broken');
    remove();
    await agent.call('and now?');
    expect(model.requests.at(-1)?.messages.at(-1)?.text).toContain('work');
  });

  test.each([
    ['messages', { messages: [{ role: 'user' }] }],
    ['messages', { messages: 7 }],
    ['generation', { generation: 'hot' }],
  ])('that returns wrong %s fails the agent call with its name', async (_, wrong) => {
    const { agent, model } = setUp(['Done.']);
    agent.registerInstanceHook('preReasoning', 'wrong', () => wrong as never);
    await expect(agent.call('go')).rejects.toMatchObject({ code: 'hook_failed', hookName: 'wrong' });
    expect(model.requests).toEqual([]);
  });
});

describe('a postReasoning hook', () => {
  test('stops the agent with a message, in place of what the model said', async () => {
    for (const script of [['4711.'], [use('look')]]) {
      const { agent, model } = setUp([...script, 'Next.']);
      const remove = agent.registerInstanceHook('postReasoning', 'guard', () =>
        stopAgent('I may not say that.'),
      );
      const answer = await agent.call('go');
      expect([answer.text, answer.name, answer.role, answer.endReason]).toEqual([
        'I may not say that.',
        'Friday',
        'assistant',
        'stopped',
      ]);
      expect(await historyOf(agent)).toEqual(['user | go', 'assistant | I may not say that.']);
      remove();
      expect((await agent.call('and now?')).text).toBe('Next.');
      expect(model.requests).toHaveLength(2);
    }
  });

  test('stops the agent with what the model said', async () => {
    const { agent } = setUp(['Half an answer.']);
    agent.registerInstanceHook('postReasoning', 'stop', () => stopAgent());
    const answer = await agent.call('go');
    expect([answer.text, answer.endReason]).toEqual(['Half an answer.', 'stopped']);
    expect(await historyOf(agent)).toEqual(['user | go', 'assistant | Half an answer.']);
  });

  describe('that stops the agent before its tool calls run', () => {
    const stopped = async (script: Script = [use('look', 'look'), 'Done.']) => {
      const { agent } = setUp(script);
      const events: AgentEvent[] = [];
      agent.on('*', (event) => void events.push(event));
      const remove = agent.registerInstanceHook('postReasoning', 'stop', () => stopAgent());
      const answer = await agent.call('go');
      remove();
      expect([answer.text, answer.endReason]).toEqual(['Let me see.', 'stopped']);
      expect(answer.getContentBlocks('tool_use').map(({ id }) => id)).toEqual(['c1', 'c2']);
      expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'suspended' });
      expect(await historyOf(agent)).toEqual(['user | go']);
      return { agent, events };
    };
    const done = [
      'user | go',
      'assistant | Let me see. | calls look | calls look',
      'system | look ok',
      'system | look ok',
      'assistant | Done.',
    ];

    test('the tool calls run in the next agent call without input', async () => {
      const { agent, events } = await stopped();
      expect((await agent.call()).text).toBe('Done.');
      expect(await historyOf(agent)).toEqual(done);
      expect(events.filter(({ type }) => type === 'tool_start')).toHaveLength(2);
    });

    test('the tool calls run in another process that has loaded the state', async () => {
      const { agent } = await stopped();
      const other = setUp(['Done.']).agent;
      other.loadStateDict(saved(agent));
      expect((await other.call()).text).toBe('Done.');
      expect(await historyOf(other)).toEqual(done);
    });

    test('results from outside take their place', async () => {
      const { agent } = await stopped();
      const result = (id: string) =>
        ({ type: 'tool_result', id, name: 'look', output: 'Sun.', status: 'ok' }) as const;
      expect((await agent.call(Msg.system([result('c1'), result('c2')]))).text).toBe('Done.');
      expect(await historyOf(agent)).toEqual(done);
    });

    test('new input ends them', async () => {
      const { agent } = await stopped();
      expect((await agent.call('Never mind.')).text).toBe('Done.');
      expect(await historyOf(agent)).toEqual([
        'user | go',
        'assistant | Let me see. | calls look | calls look',
        'system | look interrupted',
        'system | look interrupted',
        'user | Never mind.',
        'assistant | Done.',
      ]);
    });
  });

  test('sends the agent back to reasoning, with messages', async () => {
    const { agent, model } = setUp(['I guess.', 'I know.']);
    agent.registerInstanceHook('postReasoning', 'check', (_, __, msg) =>
      msg.text === 'I guess.' ? gotoReasoning('Do not guess.') : undefined,
    );
    const answer = await agent.call('go');
    expect([answer.text, answer.endReason]).toEqual(['I know.', 'finished']);
    expect(await historyOf(agent)).toEqual([
      'user | go',
      'assistant | I guess.',
      'user | Do not guess.',
      'assistant | I know.',
    ]);
    expect(textsOf(model.requests[1]?.messages)).toEqual(['go', 'I guess.', 'Do not guess.']);
  });

  test('sends the agent back to reasoning without a message: a hint takes its place in the prompt', async () => {
    const { agent, model } = setUp(['I guess.', 'I know.']);
    let count = 0;
    agent.registerInstanceHook('postReasoning', 'once', () => (count++ === 0 ? gotoReasoning() : undefined));
    expect((await agent.call('go')).text).toBe('I know.');
    expect(await historyOf(agent)).toEqual(['user | go', 'assistant | I guess.', 'assistant | I know.']);
    expect(model.requests[1]?.messages.at(-1)?.text).toContain('<system-hint>');
  });

  test('that sends it back answers its tool calls; the rest is not run', async () => {
    const { agent, model } = setUp([use('look', 'sign'), 'Done.']);
    const ran: string[] = [];
    agent.registerInstanceHook('preActing', 'note', (_, { call }) => void ran.push(call.name));
    const told: string[] = [];
    agent.on('tool_result', ({ result }) => void told.push(`${result.id} ${result.status}`));
    const given = Msg.system([
      { type: 'tool_result', id: 'c1', name: 'look', output: 'Known: rain.', status: 'ok' },
    ]);
    let count = 0;
    agent.registerInstanceHook('postReasoning', 'once', () =>
      count++ === 0 ? gotoReasoning([given, Msg.user('Go on.')]) : undefined,
    );
    expect((await agent.call('go')).text).toBe('Done.');
    expect(ran).toEqual([]);
    expect(told).toEqual(['c1 ok', 'c2 interrupted']);
    expect(await historyOf(agent)).toEqual([
      'user | go',
      'assistant | Let me see. | calls look | calls sign',
      'system | look ok',
      'system | sign interrupted',
      'user | Go on.',
      'assistant | Done.',
    ]);
    expect(model.requests).toHaveLength(2);
  });

  test('that sends it back for ever ends at maxIters', async () => {
    const { agent, model } = setUp(['One.', 'Two.', 'Sum.'], { maxIters: 2 });
    agent.registerInstanceHook('postReasoning', 'again', () => gotoReasoning('Again.'));
    const answer = await agent.call('go');
    expect([answer.text, answer.endReason, model.requests.length]).toEqual(['Sum.', 'max_iters', 3]);
  });

  test('does not keep later hooks from running; a replacement counts', async () => {
    const { agent } = setUp(['Hello.']);
    const seen: string[] = [];
    agent.registerInstanceHook('postReasoning', 'stop', () => stopAgent());
    agent.registerInstanceHook('postReasoning', 'shout', (_, __, msg) => {
      seen.push(msg.text);
      return msg.with({ content: msg.text.toUpperCase() });
    });
    expect((await agent.call('go')).text).toBe('HELLO.');
    expect(seen).toEqual(['Hello.']);
  });
});

describe('a postActing hook', () => {
  test('stops the agent with a message after all tool calls have run, whichever of them it was', async () => {
    for (const parallelToolCalls of [false, true]) {
      const { agent, model } = setUp([use('look', 'look', 'look'), 'Next.'], { parallelToolCalls });
      const remove = agent.registerInstanceHook('postActing', 'stop', (_, { call }) =>
        call.id === 'c1' ? stopAgent('That is enough.') : undefined,
      );
      const answer = await agent.call('go');
      expect([answer.text, answer.endReason]).toEqual(['That is enough.', 'stopped']);
      expect(await historyOf(agent)).toEqual([
        'user | go',
        'assistant | Let me see. | calls look | calls look | calls look',
        'system | look ok',
        'system | look ok',
        'system | look ok',
        'assistant | That is enough.',
      ]);
      remove();
      expect((await agent.call('and now?')).text).toBe('Next.');
      expect(model.requests).toHaveLength(2);
    }
  });

  test('stops the agent with the tool result; called without input it goes on with reasoning', async () => {
    const { agent, model } = setUp([use('look'), 'It rains.']);
    const remove = agent.registerInstanceHook('postActing', 'stop', () => stopAgent());
    const answer = await agent.call('go');
    remove();
    expect([answer.text, answer.role, answer.endReason]).toEqual(['Rain.', 'assistant', 'stopped']);
    const exchange = ['user | go', 'assistant | Let me see. | calls look', 'system | look ok'];
    expect(await historyOf(agent)).toEqual(exchange);
    expect((await agent.call()).text).toBe('It rains.');
    expect(await historyOf(agent)).toEqual([...exchange, 'assistant | It rains.']);
    expect(model.requests).toHaveLength(2);
  });

  test('sends the agent back to reasoning with messages, also from a tool whose result is the answer', async () => {
    const direct = tool({ name: 'direct', execute: () => 'Rain.', returnDirect: true });
    const { agent, model } = setUp([use('direct'), 'It rains.'], { tools: [direct] });
    agent.registerInstanceHook('postActing', 'again', () => gotoReasoning('Say it in a sentence.'));
    expect((await agent.call('go')).text).toBe('It rains.');
    expect(textsOf(model.requests[1]?.messages)).toEqual(['go', 'Let me see.', '', 'Say it in a sentence.']);
  });

  test('is heard after tool calls beside it were pending, also in another process', async () => {
    for (const isMoved of [false, true]) {
      const { agent } = setUp([use('look', 'sign')], { parallelToolCalls: true });
      agent.registerInstanceHook('postActing', 'stop', (_, { call }) =>
        call.name === 'look' ? stopAgent('That is enough.') : undefined,
      );
      expect((await agent.call('go')).endReason).toBe('tool_suspended');
      const other = isMoved ? setUp([]).agent : agent;
      if (isMoved) other.loadStateDict(saved(agent));
      const answer = await other.call(undefined, { decisions: allow(other) });
      expect([answer.text, answer.endReason]).toEqual(['That is enough.', 'stopped']);
      expect(await historyOf(other)).toEqual([
        'user | go',
        'assistant | Let me see. | calls look | calls sign',
        'system | look ok',
        'system | sign ok',
        'assistant | That is enough.',
      ]);
    }
  });

  test('that stops the agent is stronger than one that sends it back', async () => {
    const { agent } = setUp([use('look', 'look')]);
    agent.registerInstanceHook('postActing', 'both', (_, { call }) =>
      call.id === 'c1' ? gotoReasoning('Again.') : stopAgent('No.'),
    );
    expect((await agent.call('go')).text).toBe('No.');
  });
});

test('only these hooks steer the loop', async () => {
  const { agent } = setUp(['Hello.']);
  agent.registerInstanceHook('postReply', 'stop', () => stopAgent() as never);
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'hook_failed', hookName: 'stop' });
});

describe('chunk hooks', () => {
  test('get each delta besides the message so far', async () => {
    const { agent } = setUp([{ text: 'Hello.', chunkSize: 3 }]);
    const seen: [ModelDelta, string][] = [];
    agent.registerInstanceHook(
      'reasoningChunk',
      'note',
      (_, { delta, msg }) => void seen.push([delta, msg.text]),
    );
    await agent.call('go');
    expect(seen).toEqual([
      [{ type: 'text', text: 'Hel' }, 'Hel'],
      [{ type: 'text', text: 'lo.' }, 'Hello.'],
      [{ type: 'finish', reason: 'stop' }, 'Hello.'],
    ]);
  });

  test('of a tool get the tool call and what is new in the snapshot', async () => {
    const count = tool({
      name: 'count',
      async *execute() {
        yield 'one';
        yield 'one two';
        yield [{ type: 'text', text: 'one two three' }];
        yield 'anew';
      },
    });
    const { agent } = setUp([use('count'), 'Done.'], { tools: [count] });
    const seen: unknown[] = [];
    agent.registerInstanceHook('actingChunk', 'note', (_, { call, result, delta }) => {
      seen.push([call.id, typeof result.output === 'string' ? result.output : 'blocks', delta]);
    });
    await agent.call('go');
    expect(seen).toEqual([
      ['c1', 'one', 'one'],
      ['c1', 'one two', ' two'],
      ['c1', 'blocks', ' three'],
      ['c1', 'anew', 'anew'],
    ]);
  });

  test('of a summary are summaryChunk, not reasoningChunk; preSummary changes its prompt', async () => {
    const { agent, model } = setUp([use('look'), { text: 'In short.', chunkSize: 4 }], { maxIters: 1 });
    const seen: unknown[] = [];
    agent.registerInstanceHook(
      'reasoningChunk',
      'note',
      (_, { msg }) => void seen.push(['reasoning', msg.text]),
    );
    agent.registerInstanceHook('summaryChunk', 'note', (_, { delta, msg }) => {
      if (delta.type === 'text') seen.push(['summary', delta.text, msg.text]);
    });
    agent.registerInstanceHook('preSummary', 'shorter', (_, { messages, generation }) => ({
      messages: [...messages, Msg.user('In two words.')],
      generation: { ...generation, maxTokens: 10 },
    }));
    expect((await agent.call('go')).text).toBe('In short.');
    expect(seen.filter((one) => Array.isArray(one) && one[0] === 'summary')).toEqual([
      ['summary', 'In s', 'In s'],
      ['summary', 'hort', 'In short'],
      ['summary', '.', 'In short.'],
    ]);
    expect(seen).not.toContainEqual(['reasoning', 'In short.']);
    expect(model.requests[1]?.messages.at(-1)?.text).toBe('In two words.');
    expect(model.requests[1]?.generation).toEqual({ maxTokens: 10 });
  });
});

describe('a hook that brings tools', () => {
  const clock = tool({ name: 'clock', execute: () => 'noon' });
  const toolsOf = (model: ScriptedModel): (string[] | undefined)[] =>
    model.requests.map(({ tools }) => tools?.map(({ name }) => name));

  test('has them offered and run as long as it is registered', async () => {
    const { agent, model } = setUp([use('clock'), 'It is noon.', 'Hello.']);
    const remove = agent.registerInstanceHook('preReasoning', 'time', () => {}, { tools: [clock] });
    await agent.call('What time is it?');
    expect((await historyOf(agent))[2]).toBe('system | clock ok');
    remove();
    await agent.call('Hi.');
    expect(toolsOf(model)).toEqual([
      ['look', 'sign', 'clock'],
      ['look', 'sign', 'clock'],
      ['look', 'sign'],
    ]);
    expect(agent.toolkit.names).toEqual(['look', 'sign']);
    expect(model.requests[1]?.tools).toBe(model.requests[0]?.tools); // so that providers can cache
  });

  test('may be a hook of a class, and brings a tool once however often it is named', async () => {
    class Timed extends ReActAgent {}
    Timed.registerClassHook('postReply', 'time', () => {}, { tools: [clock] });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'generate_response', input: { a: 1 } }] }]);
    const agent = new Timed({ name: 'Friday', model, console: false });
    agent.registerInstanceHook('preReply', 'time', () => {}, { tools: [clock] });
    await agent.call('go', { structuredModel: z.object({ a: z.number() }) });
    expect(toolsOf(model)).toEqual([['clock', 'generate_response']]);
  });

  test('fails the agent call if two hooks bring different tools of one name', async () => {
    const { agent } = setUp(['Hello.']);
    agent.registerInstanceHook('preReply', 'a', () => {}, { tools: [clock] });
    agent.registerInstanceHook('preReply', 'b', () => {}, {
      tools: [tool({ name: 'clock', execute: () => 'midnight' })],
    });
    await expect(agent.call('go')).rejects.toThrow("'clock'");
  });
});

describe('a preReply hook', () => {
  const City = z.object({ city: z.string() });

  test('sets, replaces and removes the structured model', async () => {
    const output = { toolCalls: [{ name: 'generate_response', input: { city: 'Lima' } }] };
    const { agent } = setUp([output, output, 'Lima.']);
    const seen: unknown[] = [];
    let next: z.ZodType | undefined = City;
    agent.registerInstanceHook('preReply', 'shape', (_, { structuredModel }) => {
      seen.push(structuredModel);
      return { structuredModel: next };
    });
    agent.registerInstanceHook('postReply', 'note', (_, { structuredModel, turn }) => {
      expect(turn.structuredModel).toBe(structuredModel);
    });
    expect((await agent.call('Where?')).metadata).toEqual({ city: 'Lima' });
    const Other = z.object({ country: z.string() });
    expect((await agent.call('Where?', { structuredModel: Other })).metadata).toEqual({ city: 'Lima' });
    next = undefined;
    const answer = await agent.call('Where?', { structuredModel: Other });
    expect([answer.text, answer.structured]).toEqual(['Lima.', undefined]);
    expect(seen).toEqual([undefined, Other, Other]);
  });

  test('sees the caller’s structured model again in a follow-up', async () => {
    const output = { toolCalls: [{ name: 'generate_response', input: { city: 'Lima' } }] };
    const { agent } = setUp([output, output]);
    const seen: unknown[] = [];
    agent.registerInstanceHook('preReply', 'shape', (_, { structuredModel }) => {
      seen.push(structuredModel);
      if (seen.length === 1) agent.followUp('And then?');
      return { structuredModel: City };
    });
    await agent.call('Where?');
    expect(seen).toEqual([undefined, undefined]);
  });
});

describe('disturbed at every point, a loop that hooks steer leaves a valid history and goes on', () => {
  const scenario = () => {
    const inner = setUp(['Inside.'], { name: 'inner' }).agent;
    inner.registerInstanceHook('postReasoning', 'stop', async () => stopAgent('Enough inside.'));
    const { agent } = setUp(
      [
        'I guess.',
        {
          toolCalls: [
            { name: 'look', id: 'c1', input: {} },
            { name: 'inner', id: 'c2', input: { query: 'x' } },
          ],
        },
        'Fine.',
        'Fine.',
        'Fine.',
      ],
      { tools: [look, agentTool(inner, { description: 'Helps.' })], parallelToolCalls: true },
    );
    agent.registerInstanceHook('preReasoning', 'more', async (_, { messages }) => ({
      messages: [...messages],
    }));
    agent.registerInstanceHook('postReasoning', 'check', async (_, __, msg) =>
      msg.text === 'I guess.' ? gotoReasoning('Do not guess.') : undefined,
    );
    agent.registerInstanceHook('postActing', 'stop', async (_, { call }) =>
      call.name === 'look' ? stopAgent('Enough.') : undefined,
    );
    const told: string[] = [];
    agent.on('tool_result', ({ result }) => void told.push(result.id));
    return {
      agent,
      input: 'go',
      check: async () => {
        expect(agent.isRunning).toBe(false);
        await historyOf(agent);
        await agent.call('and now?').catch(() => {});
        const history = await agent.memory.getMemory();
        expect(findHistoryFaults(history)).toEqual([]);
        const stored = history.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ id }) => id);
        expect(told.toSorted()).toEqual(stored.toSorted());
      },
    };
  };

  test('by an interrupt', async () => {
    expect((await interruptAtEvery(scenario, EVERY)).points).toBeGreaterThan(60);
  });
  test('by the caller', async () => {
    expect((await abortAtEvery(scenario, EVERY)).points).toBeGreaterThan(60);
  });
  test('by a consumer that leaves', async () => {
    expect((await leaveAtEvery(scenario)).points).toBeGreaterThan(10);
  });
  test('by a fault in every step', async () => {
    expect((await failAtEvery(scenario)).points).toBeGreaterThan(6);
  });
});

test('a hook that hangs before or after reasoning does not delay an interrupt', async () => {
  for (const type of ['preReasoning', 'postReasoning'] as const) {
    const { agent, model } = setUp(['Hello.']);
    const hangs = Promise.withResolvers<void>();
    agent.registerInstanceHook(type, 'hang', () => {
      hangs.resolve();
      return new Promise<never>(() => {});
    });
    const answer = agent.call('go');
    await hangs.promise;
    await agent.interrupt();
    expect((await answer).endReason).toBe('interrupted');
    expect(model.requests).toHaveLength(type === 'preReasoning' ? 0 : 1);
  }
});

test('an agent without hooks uses a toolkit that is shared', () => {
  const toolkit = new Toolkit({ tools: [look] });
  const { agent } = setUp([], { tools: [], toolkit });
  expect(agent.toolkit).toBe(toolkit);
});
