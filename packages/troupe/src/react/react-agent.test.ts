import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { timeUntilSettled } from '../../test/time-until-settled.ts';
import { TroupeError } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { Step, StepRunner } from '../event/step.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import { ModelError } from '../model/model-error.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { StepJournal } from '../testing/step-journal.ts';
import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { LongTermMemoryBase } from '../longterm/long-term-memory-base.ts';
import { KnowledgeBase, type RetrievedDocument } from '../rag/knowledge-base.ts';
import { agentTool } from '../subagent/agent-tool.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import { ReActAgent } from './react-agent.ts';

const add = tool({
  name: 'add',
  description: 'Adds two numbers',
  schema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a + b),
});
const fail = tool({
  name: 'fail',
  execute: () => {
    throw new Error('broken');
  },
});

function toolkitOf(...tools: Tool[]): Toolkit {
  const toolkit = new Toolkit();
  for (const one of tools) toolkit.registerToolFunction(one);
  return toolkit;
}

interface Setup {
  readonly agent: ReActAgent;
  readonly model: ScriptedModel;
  readonly memory: () => Promise<readonly Msg[]>;
}

function setUp(script: readonly (string | ScriptedTurn)[], options: Partial<ReActAgentOptions> = {}): Setup {
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({ name: 'Friday', model, toolkit: toolkitOf(add, fail), ...options });
  agent.setConsoleOutputEnabled(false);
  return { agent, model, memory: () => agent.memory.getMemory() };
}

const calls = (...toolCalls: NonNullable<ScriptedTurn['toolCalls']>[number][]): ScriptedTurn => ({
  toolCalls,
});
const addCall = { name: 'add', input: { a: 1, b: 2 }, id: 'c1' };
const outputs = (msgs: readonly Msg[]): unknown[] =>
  msgs.flatMap((msg) => msg.getContentBlocks('tool_result').map(({ output }) => output));
const rolesOf = (msgs: readonly Msg[]): string => msgs.map(({ role }) => role).join(' ');

describe('a reply', () => {
  test('is the message of the model', async () => {
    const { agent, model, memory } = setUp(['Hello, Ann.'], { sysPrompt: 'Be kind.' });
    const answer = await agent.call(Msg.user('Hi.', { name: 'Ann' }));
    expect(answer).toMatchObject({
      name: 'Friday',
      role: 'assistant',
      metadata: {},
      endReason: 'finished',
      finishReason: 'stop',
    });
    expect(answer.text).toBe('Hello, Ann.');
    expect((await memory()).map((msg) => msg.text)).toEqual(['Hi.', 'Hello, Ann.']);
    expect((await memory())[1]).toBe(answer);
    expect(model.requests[0]).toMatchObject({ agentName: 'Friday' });
    expect(model.requests[0]?.messages.map((msg) => [msg.role, msg.text])).toEqual([
      ['system', 'Be kind.'],
      ['user', 'Hi.'],
    ]);
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['add', 'fail']);
  });

  test('goes on after tools were called, whose results the model sees', async () => {
    const { agent, model, memory } = setUp([{ text: 'Let me see.', ...calls(addCall) }, 'It is 3.']);
    expect((await agent.call('What is 1 + 2?')).text).toBe('It is 3.');
    expect(rolesOf(await memory())).toBe('user assistant system assistant');
    expect(outputs(await memory())).toEqual(['3']);
    expect(model.requests[1]?.messages).toHaveLength(3);
    model.assertUsedUp();
  });

  test('sees a tool that fails, is missing or is called wrongly as a result', async () => {
    const bad = calls(
      { name: 'fail', input: {} },
      { name: 'nope', input: {} },
      { name: 'add', input: { a: 'x' } },
    );
    const { agent, memory } = setUp([bad, 'I give up.']);
    expect((await agent.call('Go.')).text).toBe('I give up.');
    const [failed, missing, wrong] = outputs(await memory());
    expect(failed).toBe('Error: broken');
    expect(missing).toMatch(/^FunctionNotFoundError:/);
    expect(wrong).toMatch(/^Arguments Validation Error:.*\ba\b/s);
    expect(findHistoryFaults(await memory())).toEqual([]);
  });

  test('carries what all its model calls cost', async () => {
    const usage = { inputTokens: 10, outputTokens: 5 };
    const { agent, memory } = setUp([
      { ...calls(addCall), usage },
      { text: 'So.', usage },
    ]);
    const answer = await agent.call('Go.');
    expect(answer.usage).toEqual({ inputTokens: 20, outputTokens: 10 });
    expect((await memory())[1]?.usage).toEqual(usage);
  });

  test('fails if the model does, and keeps what was said', async () => {
    const error = new ModelError('gone', { kind: 'network' });
    const { agent, memory } = setUp([{ text: 'Well, I', error }, 'Again.']);
    await expect(agent.call('Hi.')).rejects.toBe(error);
    expect((await memory()).map((msg) => msg.text)).toEqual(['Hi.', 'Well, I']);
    expect((await agent.call('And now?')).text).toBe('Again.');
  });

  test('asks for the system prompt before every model call, and sends the same message while it is the same', async () => {
    let count = 0;
    const sysPrompt = (): string => (count++ < 2 ? 'One.' : 'Two.');
    const { agent, model } = setUp([calls(addCall), calls({ ...addCall, id: 'c2' }), 'Done.'], { sysPrompt });
    await agent.call('Go.');
    const prompts = model.requests.map(({ messages }) => messages[0]);
    expect(prompts.map((msg) => msg?.text)).toEqual(['One.', 'One.', 'Two.']);
    expect(prompts[0]).toBe(prompts[1]);
  });

  test('gives a tool its context, and the model never sees it', async () => {
    const seen: unknown[] = [];
    const look = tool({ name: 'look', execute: (_input, { context }) => void seen.push(context) });
    const { agent, model } = setUp([calls({ name: 'look', input: {} }), 'Ok.'], {
      toolkit: toolkitOf(look),
      toolContext: { user: 'ann' },
    });
    await agent.call('Go.');
    expect(seen).toEqual([{ user: 'ann' }]);
    expect(JSON.stringify(model.requests)).not.toContain('ann');
  });

  test('is the result itself of a tool that speaks for itself', async () => {
    const direct = tool({ name: 'direct', returnDirect: true, execute: () => 'The answer.' });
    const { agent, model } = setUp([calls({ name: 'direct', input: {} })], { toolkit: toolkitOf(direct) });
    const answer = await agent.call('Go.');
    expect([answer.text, answer.role]).toEqual(['The answer.', 'assistant']);
    model.assertUsedUp();
  });
});

test('an answer may be a picture, or sound', async () => {
  const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } } as const;
  const { agent } = setUp([{ deltas: [{ type: 'block', block: image }], finish: 'stop' }]);
  const answer = await agent.call('Draw.');
  expect([answer.content, answer.endReason]).toEqual([[image], 'finished']);
});

test('snapshots of a tool are printed under the id of its result', async () => {
  const show = tool({
    name: 'show',
    *execute() {
      yield 'a';
      yield 'ab';
    },
  });
  const { agent, memory } = setUp([calls({ name: 'show', input: {} }), 'Ok.'], { toolkit: toolkitOf(show) });
  const printed: unknown[] = [];
  agent.registerInstanceHook('prePrint', 'see', (_agent, { msg, last }) => {
    for (const { output } of msg.getContentBlocks('tool_result')) printed.push([msg.id, output, last]);
  });
  await agent.call('Go.');
  const { id } = (await memory())[2]!;
  expect(printed).toEqual([
    [id, 'a', false],
    [id, 'ab', false],
    [id, 'ab', true],
  ]);
});

describe('a model that has nothing to say', () => {
  test('is asked again, with a hint that is not remembered', async () => {
    const { agent, model, memory } = setUp(['', { thinking: 'Hm.' }, 'Now I know.']);
    expect((await agent.call('Hi.')).text).toBe('Now I know.');
    expect(model.requests[1]?.messages.at(-1)?.text).toMatch(/^<system-hint>.*empty/);
    expect(model.requests[2]?.messages).toHaveLength(2);
    expect((await memory()).map((msg) => msg.text)).toEqual(['Hi.', 'Now I know.']);
  });

  test('for ever ends in an answer that says so', async () => {
    const { agent, model } = setUp([{ when: () => true, text: '' }]);
    const answer = await agent.call('Hi.');
    expect(answer.endReason).toBe('error');
    expect(answer.text).not.toBe('');
    expect(model.requests).toHaveLength(3);
  });
});

describe('at the limit', () => {
  const again: ScriptedTurn = {
    when: ({ tools = [] }) => tools.length > 0,
    ...calls({ name: 'fail', input: {} }),
  };

  test('the model sums up, without tools', async () => {
    const { agent, model, memory } = setUp([again, 'That is all I know.'], { maxIters: 3 });
    const answer = await agent.call('Go.');
    expect([answer.text, answer.endReason]).toEqual(['That is all I know.', 'max_iters']);
    expect(model.requests).toHaveLength(4);
    expect(model.requests[3]?.tools).toBe(undefined);
    expect(findHistoryFaults(await memory())).toEqual([]);
    expect((await memory()).at(-1)).toBe(answer);
  });

  test('tool calls in the summary neither run nor enter memory', async () => {
    const stubborn: ScriptedTurn = { text: 'Still', ...calls({ name: 'fail', input: {} }) };
    const { agent, memory } = setUp([again, stubborn], { maxIters: 1 });
    expect((await agent.call('Go.')).text).toBe('Still');
    expect(findHistoryFaults(await memory())).toEqual([]);
  });

  test('a summary that fails is no failure of the agent call', async () => {
    const { agent } = setUp([again, { error: new ModelError('gone', { kind: 'network' }) }], { maxIters: 2 });
    expect((await agent.call('Go.')).text).toBe('I have no answer after 2 steps, and could not sum up: gone');
  });

  test('a tool call that fails repeatedly is pointed out to the model', async () => {
    const { agent, model } = setUp([again, 'Over.'], { maxIters: 5 });
    await agent.call('Go.');
    const hints = model.requests
      .map(({ messages }) => messages.at(-1)?.text ?? '')
      .map((text) => /same arguments (\d) times/.exec(text)?.[1]);
    expect(hints.slice(0, 5)).toEqual([undefined, undefined, undefined, '3', '4']);
  });
});

describe('tool calls of one model message', () => {
  const order: string[] = [];
  const wait = tool({
    name: 'wait',
    schema: z.object({ name: z.string(), ticks: z.number() }),
    async execute({ name, ticks }) {
      order.push(`${name} starts`);
      for (let i = 0; i < ticks; i++) await Promise.resolve();
      order.push(`${name} ends`);
      return name;
    },
  });
  const two = calls(
    { name: 'wait', input: { name: 'slow', ticks: 500 } },
    { name: 'wait', input: { name: 'fast', ticks: 1 } },
  );

  test.each([
    [false, ['slow starts', 'slow ends', 'fast starts', 'fast ends']],
    [true, ['slow starts', 'fast starts', 'fast ends', 'slow ends']],
    [1, ['slow starts', 'slow ends', 'fast starts', 'fast ends']],
    [2, ['slow starts', 'fast starts', 'fast ends', 'slow ends']],
  ])(
    'with parallelToolCalls %s run so; their results are in the order of the tool calls',
    async (parallelToolCalls, expected) => {
      order.length = 0;
      const { agent, memory } = setUp([two, 'Ok.'], { toolkit: toolkitOf(wait), parallelToolCalls });
      await agent.call('Go.');
      expect(order).toEqual(expected);
      expect(outputs(await memory())).toEqual(['slow', 'fast']);
    },
  );

  test('beyond the limit are answered, but not made', async () => {
    let made = 0;
    const count = tool({ name: 'count', execute: () => String(++made) });
    const many = calls(...Array.from({ length: 1000 }, () => ({ name: 'count', input: {} })));
    const { agent, memory } = setUp([many, 'Ok.'], { toolkit: toolkitOf(count), parallelToolCalls: true });
    await agent.call('Go.');
    expect(made).toBe(128);
    expect(outputs(await memory())).toHaveLength(1000);
    expect(outputs(await memory()).at(-1)).toMatch(/^Error: too many calls/);
    expect(findHistoryFaults(await memory())).toEqual([]);
  });

  test('have hooks around every one of them', async () => {
    const { agent } = setUp([calls(...Array.from({ length: 64 }, () => addCall)), 'Ok.'], {
      parallelToolCalls: true,
    });
    let pre = 0;
    const results: unknown[] = [];
    agent.registerInstanceHook('preActing', 'count', () => void pre++);
    agent.registerInstanceHook(
      'postActing',
      'see',
      (_agent, _args, result) => void results.push(result.output),
    );
    await agent.call('Go.');
    expect(pre).toBe(64);
    expect(results).toEqual(Array.from({ length: 64 }, () => '3'));
  });
});

describe('structured output', () => {
  const schema = z.object({ city: z.string(), height: z.number() });
  const form = (input: object, id?: string): { name: string; input: never; id?: string } => ({
    name: 'generate_response',
    input: input as never,
    ...(id && { id }),
  });
  const lima = { city: 'Lima', height: 154 };

  test('is in the metadata of the message that is returned, printed and remembered', async () => {
    const { agent, model, memory } = setUp([{ text: 'Lima it is.', ...calls(form(lima)) }]);
    const events: AgentEvent[] = [];
    const stream = agent.stream('Where?', { structuredModel: schema });
    let step = await stream.next();
    for (; !step.done; step = await stream.next()) events.push(step.value);
    const answer = step.value;
    expect(answer.text).toBe('Lima it is.');
    expect(answer.metadata).toEqual(lima);
    expect([answer.structured, answer.endReason]).toEqual([lima, 'structured']);
    expect((await memory()).at(-1)).toBe(answer);
    expect(events.some((event) => event.type === 'text_delta' && event.msgId === answer.id)).toBe(true);
    expect(model.requests[0]?.toolChoice).toBe('required');
    expect(findHistoryFaults(await memory())).toEqual([]);
  });

  test('may need other tools first, and corrections', async () => {
    const { agent, model, memory } = setUp([calls(addCall), calls(form({ city: 7 })), calls(form(lima))]);
    const answer = await agent.call('Where?', { structuredModel: schema });
    expect(answer.metadata).toMatchObject(lima);
    expect(answer.text).toBe(JSON.stringify(lima));
    expect(outputs(await memory())[1]).toMatch(/^Arguments Validation Error:/);
    model.assertUsedUp();
  });

  test('is asked for again if the model only talks', async () => {
    const { agent, model } = setUp(['It is Lima.', calls(form(lima))]);
    expect((await agent.call('Where?', { structuredModel: schema })).metadata).toMatchObject(lima);
    expect(model.requests[1]?.toolChoice).toEqual({ name: 'generate_response' });
    expect(model.requests[1]?.messages.at(-1)?.text).toContain('generate_response');
  });

  test('that is never given ends in a summary', async () => {
    const { agent, model } = setUp([{ when: ({ tools = [] }) => tools.length > 0, text: 'Bla.' }, 'Sorry.'], {
      maxIters: 4,
    });
    const answer = await agent.call('Where?', { structuredModel: schema });
    expect([answer.metadata, answer.structured, answer.endReason]).toEqual([{}, undefined, 'max_iters']);
    expect(model.requests).toHaveLength(5);
  });

  test('leaves no trace in the toolkit', async () => {
    const { agent, model } = setUp([calls(form(lima)), 'Plain.']);
    const before = agent.toolkit.getJsonSchemas();
    await agent.call('Where?', { structuredModel: schema });
    expect(agent.toolkit.getJsonSchemas()).toBe(before);
    await agent.call('And now?');
    expect(model.requests[1]?.tools?.map(({ name }) => name)).toEqual(['add', 'fail']);
    expect(model.requests[1]?.toolChoice).toBe('auto');
  });

  test('may be anything, not only an object', async () => {
    const { agent } = setUp([calls(form({ value: ['Lima', 7] })), calls(form({ value: ['Lima', 'Cusco'] }))]);
    const cities = z.array(z.string());
    const answer = await agent.call('Where?', { structuredModel: cities });
    expect(answer.metadata).toEqual({ value: ['Lima', 'Cusco'] });
    expect(answer.structured).toEqual(['Lima', 'Cusco']);
  });

  test('may be turned by its schema into what JSON can not hold', async () => {
    const { agent } = setUp([calls(form({ day: '2026-11-16' }))]);
    const day = z.object({ day: z.iso.date().transform((text) => new Date(text)) });
    const answer = await agent.call('When?', { structuredModel: day });
    expect(answer.metadata).toEqual({ day: '2026-11-16' });
    expect(answer.structured?.day).toEqual(new Date('2026-11-16'));
    expect(answer.text).toBe('{"day":"2026-11-16"}');
  });

  test('is a field of its answer only', async () => {
    const { agent } = setUp([calls(form(lima)), 'Plain.']);
    const strict = z.strictObject({ city: z.string(), height: z.number() });
    const answer = await agent.call('Where?', { structuredModel: strict });
    expect(answer.structured?.city.toUpperCase()).toBe('LIMA');
    expect(strict.parse(answer.metadata)).toEqual(lima);
    expect((await agent.call('And?')).structured).toBeUndefined();
  });

  test('is transformed once, and may have any names', async () => {
    const cents = z.object({ _id: z.string(), price: z.number().transform((euros) => euros * 100) });
    const { agent } = setUp([calls(form({ _id: 'x', price: 5 }))]);
    const answer = await agent.call('How much?', { structuredModel: cents });
    expect(answer.metadata).toEqual({ _id: 'x', price: 500 });
    expect(answer.structured).toEqual({ _id: 'x', price: 500 });
  });

  test('may be turned from an object into something else, and the other way round', async () => {
    const { agent } = setUp([calls(form(lima)), calls(form({ value: 'Cusco' }))]);
    const name = z.object({ city: z.string() }).transform(({ city }) => city);
    const first = await agent.call('Where?', { structuredModel: name });
    expect([first.structured, first.metadata]).toEqual(['Lima', { value: 'Lima' }]);
    const place = z.string().transform((city) => ({ city }));
    const second = await agent.call('Where?', { structuredModel: place });
    expect([second.structured, second.metadata]).toEqual([{ city: 'Cusco' }, { city: 'Cusco' }]);
  });

  test('does not count if it was denied on its way', async () => {
    const { agent, model } = setUp([calls(form(lima)), calls(form({ ...lima, height: 155 }))]);
    let count = 0;
    agent.registerInstanceHook('postActing', 'deny', (_agent, _args, result) =>
      count++ === 0 ? { ...result, status: 'denied' } : undefined,
    );
    expect((await agent.call('Where?', { structuredModel: schema })).metadata['height']).toBe(155);
    expect(model.requests).toHaveLength(2);
  });

  test('can be replayed', async () => {
    const steps: unknown[] = [];
    const { agent } = setUp([calls(form(lima))]);
    await agent.call('Where?', {
      structuredModel: schema,
      runStep: async (_step, body) => {
        const result = await body();
        steps.push(JSON.parse(JSON.stringify(result ?? null)));
        return result;
      },
    });
    const { agent: other } = setUp([]);
    const runStep: StepRunner = async ({ kind }, body) => {
      const step = steps.shift();
      return kind === 'write' ? body() : (step as never);
    };
    expect((await other.call('Where?', { structuredModel: schema, runStep })).metadata).toMatchObject(lima);
  });

  test('is not forced out of a model that can not be forced', async () => {
    const model = new ScriptedModel([calls(form(lima))]);
    Object.defineProperty(model, 'capabilities', {
      value: { ...model.capabilities, forcedTools: 'without_thinking' },
    });
    const agent = new ReActAgent({ name: 'Friday', model, generation: { reasoningEffort: 'high' } });
    agent.setConsoleOutputEnabled(false);
    await agent.call('Where?', { structuredModel: schema });
    expect(model.requests[0]?.toolChoice).toBe('auto');
  });
});

describe('messages during a reply', () => {
  test('by steer is read at the next step, by followUp answered afterwards', async () => {
    const busy = tool({
      name: 'busy',
      execute: () => {
        agent.steer('Be quick.');
        agent.followUp('And then?');
        return 'ok';
      },
    });
    const { agent, model, memory } = setUp([calls({ name: 'busy', input: {} }), 'Quick.', 'Then this.'], {
      toolkit: toolkitOf(busy),
    });
    expect((await agent.call('Go.')).text).toBe('Then this.');
    expect(model.requests[1]?.messages.at(-1)?.text).toBe('Be quick.');
    expect(rolesOf(await memory())).toBe('user assistant system user assistant user assistant');
  });

  test('by an interrupt stops a tool that does not listen; its message is remembered', async () => {
    const deaf = tool({ name: 'deaf', execute: () => new Promise<never>(() => {}) });
    const { agent, memory } = setUp(
      [{ text: 'Wait.', ...calls({ name: 'deaf', input: {} }, addCall) }, 'Fine.'],
      {
        toolkit: toolkitOf(deaf, add),
      },
    );
    using clock = new FakeClock().install();
    const reply = agent.call('Go.');
    await clock.advance(5);
    expect(await timeUntilSettled(clock, agent.interrupt('Stop it.'))).toBeLessThan(50);
    const answer = await reply;
    expect(answer.metadata).toEqual({ _is_interrupted: true });
    expect(answer.endReason).toBe('interrupted');
    expect(rolesOf(await memory())).toBe('user assistant system system user assistant');
    expect(findHistoryFaults(await memory())).toEqual([]);
    expect((await memory()).at(-2)?.text).toBe('Stop it.');
    expect((await agent.call('Go on.')).text).toBe('Fine.');
  });
});

describe('a failing hook', () => {
  test('after reasoning costs the model message that it had to change, and leaves a valid history', async () => {
    const { agent, memory } = setUp([{ text: 'Let me see.', ...calls(addCall) }]);
    agent.registerInstanceHook('postReasoning', 'broken', () => {
      throw new Error('no');
    });
    await expect(agent.call('Go.')).rejects.toThrow(/broken/);
    expect((await memory()).map((msg) => msg.text)).toEqual(['Go.']);
    expect(findHistoryFaults(await memory())).toEqual([]);
  });

  test('on a snapshot of a tool fails the agent call, not the tool', async () => {
    const show = tool({
      name: 'show',
      *execute() {
        yield 'a';
        yield 'ab';
      },
    });
    const { agent, memory } = setUp([calls({ name: 'show', input: {} })], { toolkit: toolkitOf(show) });
    agent.registerInstanceHook('actingChunk', 'broken', () => {
      throw new Error('no');
    });
    await expect(agent.call('Go.')).rejects.toThrow(/broken/);
    expect(findHistoryFaults(await memory())).toEqual([]);
  });
});

describe('long-term memory and knowledge', () => {
  class Notes extends LongTermMemoryBase {
    readonly recorded: string[][] = [];
    override async retrieve(msgs: readonly Msg[]): Promise<string> {
      if (msgs[0]?.text === 'fail') throw new Error('down');
      return msgs[0]?.text === 'Hi.' ? '' : 'Ann likes tea.';
    }
    override async record(msgs: readonly Msg[]): Promise<void> {
      this.recorded.push(msgs.map((msg) => msg.text));
    }
  }
  class Books extends KnowledgeBase {
    override async retrieve(query: string): Promise<readonly RetrievedDocument[]> {
      return [0.2, 0.9].map((score) => ({ content: { type: 'text', text: `${query} ${score}` }, score }));
    }
  }

  test.each([false, true])(
    'is looked up for the input and learned from the answer; kept in memory: %s',
    async (keepRetrieved) => {
      const longTermMemory = new Notes();
      const { agent, memory, model } = setUp(['Tea?', 'Yes.'], {
        longTermMemory,
        longTermMemoryMode: 'static_control',
        knowledge: new Books(),
        enableRewriteQuery: false,
        keepRetrieved,
      });
      const answer = await agent.call('Drinks?');
      const texts = (msgs: readonly Msg[] = []): string[][] => msgs.map((msg) => [msg.role, msg.text]);
      const retrieved = [
        ['user', '<long_term_memory>Ann likes tea.</long_term_memory>'],
        [
          'user',
          '<retrieved_knowledge>\n<document number="1" score="0.900">\nDrinks? 0.9\n</document>\n<document number="2" score="0.200">\nDrinks? 0.2\n</document>\n</retrieved_knowledge>',
        ],
      ];
      const [asked, told] = [
        ['user', 'Drinks?'],
        ['assistant', 'Tea?'],
      ];
      expect(texts(await memory())).toEqual([asked, ...(keepRetrieved ? retrieved : []), told]);
      expect(texts(model.requests[0]?.messages)).toEqual([asked, ...retrieved]);
      expect(answer.metadata).toEqual({
        citations: [
          { number: 1, score: 0.9 },
          { number: 2, score: 0.2 },
        ],
      });
      expect(longTermMemory.recorded).toEqual([['Drinks?', 'Tea?']]);
      await agent.call('Hi.');
      const old = texts(model.requests[1]?.messages).filter(([, text]) => text?.includes('Drinks? 0.9'));
      expect(old).toHaveLength(keepRetrieved ? 1 : 0);
      expect(longTermMemory.recorded).toEqual([
        ['Drinks?', 'Tea?'],
        ['Hi.', 'Yes.'],
      ]);
    },
  );

  test.each<[string, ScriptedTurn, string]>([
    [
      'that stands by itself',
      calls({ name: 'generate_response', input: { rewritten_query: 'height of Lima' } }),
      'height of Lima 0.9',
    ],
    [
      'as it was asked, if the model can not put it better',
      { error: new Error('down') },
      'How high is it? 0.9',
    ],
  ])('is searched by a question %s', async (_, rewriting, found) => {
    const asksForQuery: ScriptedTurn['when'] = ({ tools = [] }) =>
      tools.some(({ name }) => name === 'generate_response');
    const { agent, memory, model } = setUp([{ when: asksForQuery, ...rewriting }, '154 m.'], {
      knowledge: new Books(),
    });
    expect((await agent.call('How high is it?')).text).toBe('154 m.');
    expect(model.requests.at(-1)?.messages.at(-1)?.text).toContain(found);
    expect(await memory()).toHaveLength(2);
  });

  test('is done without if it can not be looked up', async () => {
    const { agent, memory } = setUp(['Fine.'], {
      longTermMemory: new Notes(),
      longTermMemoryMode: 'static_control',
    });
    expect((await agent.call('fail')).text).toBe('Fine.');
    expect(await memory()).toHaveLength(2);
  });

  test('is also had by tools, which the toolkit itself does not get: two agents may share it', async () => {
    const toolkit = toolkitOf(add);
    const longTermMemory = new Notes();
    const script = [
      calls(
        { name: 'retrieve_from_memory', input: { keywords: ['Ann'] } },
        { name: 'record_to_memory', input: { thinking: 'She may come back.', content: ['Ann was here.'] } },
      ),
      'Ok.',
    ];
    const { agent, memory } = setUp(script, {
      toolkit,
      longTermMemory,
      longTermMemoryMode: 'agent_control',
      enableMetaTool: true,
    });
    const { agent: other } = setUp(['Hi.'], { toolkit, longTermMemory, enableMetaTool: true });
    await agent.call('Go.');
    await other.call('Hi.');
    expect(outputs(await memory())).toEqual(['Ann likes tea.', 'It is remembered.']);
    expect(longTermMemory.recorded[0]).toEqual(['Ann was here.']);
    expect(toolkit.getJsonSchemas().map(({ name }) => name)).toEqual(['add']);
  });
});

test.each([
  { maxIters: 0 },
  { maxIters: NaN },
  { maxIters: 1.5 },
  { parallelToolCalls: 0 },
  { maxToolCalls: -1 },
])('an agent with %j is refused', (options) => {
  expect(() => setUp([], options)).toThrow(/must be a whole number of 1 or more\.$/);
});

test('an invalid model, toolkit, memory, system prompt or policy is refused at once, with advice', () => {
  const [name, model] = ['Friday', new ScriptedModel([])];
  const make = (options: object) => () => new ReActAgent({ name, ...options } as ReActAgentOptions);
  expect(make({})).toThrow('A ReActAgent needs a model');
  expect(make({ model: 'gpt-5' })).toThrow('A ReActAgent needs a model');
  expect(make({ model, toolkit: [] })).toThrow('new Toolkit({ tools: [ … ] })');
  expect(make({ model, memory: {} })).toThrow('such as new InMemoryMemory()');
  expect(make({ model, sysPrompt: ['Be kind.'] })).toThrow('sysPrompt must be a string, or a function');
  expect(make({ model, permissionPolicy: () => ({ behavior: 'allow' }) })).toThrow('with decide');
  expect(make({ model })).not.toThrow();
});

test("a policy under the old name 'permission' is refused, and not ignored", () => {
  const options = { name: 'Friday', model: new ScriptedModel([]), permission: { decide: () => {} } };
  expect(() => new ReActAgent(options)).toThrow(
    new TroupeError('invalid_config', "The option 'permission' is called 'permissionPolicy'."),
  );
});

test('the state of an agent holds its memory and its groups of tools, and can be loaded', async () => {
  const { agent } = setUp(['Hello.']);
  agent.toolkit.createToolGroup('extra', { description: 'More', active: true });
  await agent.call('Hi.');
  const saved = JSON.parse(JSON.stringify(agent.stateDict()));
  const { agent: other } = setUp(['Again.']);
  other.toolkit.createToolGroup('extra', { description: 'More' });
  other.loadStateDict(saved);
  expect((await other.memory.getMemory()).map((msg) => msg.text)).toEqual(['Hi.', 'Hello.']);
  expect(other.stateDict()).toEqual(agent.stateDict());
});

test('a run can be replayed from its recorded steps, without a model or a tool', async () => {
  const steps: { step: Step; result: unknown }[] = [];
  const script = [{ text: 'Let me see.', ...calls(addCall) }, 'It is 3.'];
  const { agent, memory } = setUp(script);
  const answer = await agent.call('What is 1 + 2?', {
    runStep: async (step, body) => {
      const result = await body();
      steps.push({ step, result: JSON.parse(JSON.stringify(result ?? null)) });
      return result;
    },
  });
  expect(steps.map(({ step: { kind, name } }) => `${kind} ${name}`)).toEqual([
    'write memory',
    'model reasoning',
    'tool add',
    'write memory',
    'model reasoning',
    'write memory',
  ]);
  const { agent: other, memory: otherMemory, model } = setUp([]);
  const replayed = await other.call('What is 1 + 2?', {
    runStep: async (step, body) => {
      const recorded = steps.shift();
      expect(recorded?.step).toEqual(step);
      return step.kind === 'write' ? body() : (recorded?.result as never);
    },
  });
  expect(model.requests).toEqual([]);
  expect(replayed.content).toEqual(answer.content);
  const bare = (msgs: readonly Msg[]): unknown =>
    msgs.map(({ role, name, content }) => ({ role, name, content }));
  expect(bare(await otherMemory())).toEqual(bare(await memory()));
});

test('the messages of an interrupt are written by a step, which a replay repeats', async () => {
  const journal = new StepJournal();
  const attempt = async (script: readonly (string | ScriptedTurn)[]) => {
    const { agent, memory, model } = setUp(script);
    const runStep = journal.attempt();
    const written: string[][] = [];
    const interrupting: StepRunner = async (step, body) => {
      if (step.kind === 'tool') void agent.interrupt('Stop!');
      if (step.kind !== 'write') return runStep(step, body);
      const before = (await memory()).length;
      const result = await runStep(step, body);
      written.push((await memory()).slice(before).map((msg) => msg.text));
      return result;
    };
    await agent.call('What is 1 + 2?', { runStep: interrupting });
    return { written, requests: model.requests.length, history: (await memory()).map(({ text }) => text) };
  };
  const interruptReply = 'I noticed that you have interrupted me. What can I do for you?';
  const first = await attempt([{ text: 'Let me see.', ...calls(addCall) }]);
  expect(first.written.at(-1)).toEqual(['Stop!', interruptReply]);
  expect(first.written.flat()).toEqual(first.history);
  const { keys } = journal;
  expect(keys.filter((key) => key.startsWith('write:'))).toEqual([1, 2, 3].map((n) => `write:memory#${n}`));

  expect(await attempt([])).toEqual({ ...first, requests: 0 });
  expect(journal.keys).toEqual(keys);
});

test('an agent may be a tool of another: what it answers is the result', async () => {
  const { agent: expert, memory: expertMemory } = setUp(['Lima.', 'Cusco.'], { toolkit: new Toolkit() });
  const ask = agentTool(expert, { name: 'ask_expert', description: 'Knows all about Peru' });
  const both = calls(
    { name: 'ask_expert', input: { query: 'Capital?' } },
    { name: 'ask_expert', input: { query: 'Old capital?' } },
  );
  const { agent, memory, model } = setUp([both, 'Done.'], {
    toolkit: toolkitOf(ask),
    parallelToolCalls: true,
  });
  await agent.call('Tell me about Peru.');
  expect(outputs(await memory())).toEqual(['Lima.', 'Cusco.']);
  expect(rolesOf(await expertMemory())).toBe('user assistant user assistant');
  expect(model.requests[0]?.tools).toMatchObject([
    { name: 'ask_expert', description: 'Knows all about Peru' },
  ]);
});
