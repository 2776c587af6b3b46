import { countWork } from '../../../test/counted-work.ts';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { withRunConfig } from '../../config/run-config.ts';
import type { LogLevel } from '../../config/logger.ts';
import { TroupeError } from '../../errors.ts';
import { findHistoryFaults } from '../../message/history.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from '../../testing/scripted-model.ts';
import type { JsonObject } from '../../util/json.ts';
import type { AnySchema, JsonSchema } from '../../util/schema.ts';
import {
  PLAIN_CAPABILITIES,
  type GenerationOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../chat-model-base.ts';
import { ModelError } from '../model-error.ts';
import { RetryModel } from '../wrappers/retry-model.ts';
import { StructuredOutputError } from './structured-output-error.ts';
import { callStructured, type StructuredAttempt, type StructuredOptions } from './structured-output.ts';
import type { StructuredStrategy } from './structured-strategy.ts';

const Weather = z.object({ city: z.string(), degrees: z.number() });
const GOOD = { city: 'Köln', degrees: 21 };
const WRONG = { city: 'Köln', degrees: 'warm' };
const REQUEST: ModelRequest = Object.freeze({
  messages: Object.freeze([Msg.system('Be brief.'), Msg.user('How is the weather?')]),
});
const STRATEGIES: readonly StructuredStrategy[] = ['native', 'tool', 'prompt'];

class Able extends ScriptedModel {
  override readonly capabilities: ModelCapabilities;
  override readonly generation: GenerationOptions;

  constructor(
    script: readonly (string | ScriptedTurn)[],
    can: Partial<ModelCapabilities> = {},
    generation: GenerationOptions = {},
  ) {
    super(script);
    this.capabilities = { ...PLAIN_CAPABILITIES, ...can };
    this.generation = generation;
  }
}

const NATIVE = { structured: 'native' } as const;
const NO_TOOLS = { tools: false, forcedTools: 'never' } as const;

function give(input: JsonObject | string, id?: string): ScriptedToolCall {
  return { name: 'generate_response', input, ...(id !== undefined && { id }) };
}

/** An answer in the form that a strategy wants. */
function answering(strategy: StructuredStrategy, object: JsonObject, finish?: FinishReason): ScriptedTurn {
  const end = finish && { finish };
  return strategy === 'tool' || strategy === 'tool_auto'
    ? { toolCalls: [give(object)], ...end }
    : { text: JSON.stringify(object), ...end };
}

function rejecting(message = 'unknown field', body?: string): ScriptedTurn {
  return { error: new ModelError(message, { kind: 'bad_request', status: 400, body }) };
}

async function failureOf(work: Promise<unknown>): Promise<StructuredOutputError> {
  const error: unknown = await work.then(
    () => 'it should have failed',
    (error: unknown) => error,
  );
  if (!StructuredOutputError.isInstance(error)) throw new Error('no StructuredOutputError', { cause: error });
  return error;
}

/** Text of the message that follows the model's last answer. */
function toldIn(request: ModelRequest | undefined): string {
  const last = request?.messages.at(-1);
  const [result] = last?.getContentBlocks('tool_result') ?? [];
  return String(result?.output ?? last?.text);
}

describe('which strategy is used', () => {
  type Case = [
    string,
    Partial<ModelCapabilities>,
    Partial<ModelRequest>,
    StructuredOptions,
    StructuredStrategy,
  ];
  const cases: Case[] = [
    ['a schema of its own', NATIVE, {}, {}, 'native'],
    ['nothing but tools', {}, {}, {}, 'tool'],
    ['no tools', NO_TOOLS, {}, {}, 'prompt'],
    ['no tools but a schema', { ...NO_TOOLS, ...NATIVE }, { tools: [aTool()] }, {}, 'native'],
    ['a schema of its own, and a caller with tools', NATIVE, { tools: [aTool()] }, {}, 'tool'],
    ['a schema of its own, and a caller with no tools in a list', NATIVE, { tools: [] }, {}, 'native'],
    ['tools that can not be forced', { forcedTools: 'never' }, {}, {}, 'tool_auto'],
    ['thinking that is off', { forcedTools: 'without_thinking' }, {}, {}, 'tool'],
    ['thinking by effort', thinker(), { generation: { reasoningEffort: 'low' } }, {}, 'tool_auto'],
    ['thinking by tokens', thinker(), { generation: { thinkingTokens: 1024 } }, {}, 'tool_auto'],
    ['an effort of none', thinker(), { generation: { reasoningEffort: 'none' } }, {}, 'tool'],
    ['no tokens to think', thinker(), { generation: { thinkingTokens: 0 } }, {}, 'tool'],
    ['thinking that bears force', {}, { generation: { thinkingTokens: 1024 } }, {}, 'tool'],
    ['a caller who wants a prompt', NATIVE, {}, { strategy: 'prompt' }, 'prompt'],
    ['a caller who wants a tool', NATIVE, {}, { strategy: 'tool' }, 'tool'],
    ['a caller who wants a tool without force', NATIVE, {}, { strategy: 'tool_auto' }, 'tool_auto'],
    ['a caller who knows better', NO_TOOLS, {}, { strategy: 'native' }, 'native'],
  ];

  test.each(cases)('%s', async (_what, can, request, options, strategy) => {
    const model = new Able([answering(strategy, GOOD)], can);
    const answer = await callStructured(model, { ...REQUEST, ...request }, Weather, options);
    expect(answer).toEqual({
      value: GOOD,
      msg: expect.any(Msg),
      strategy,
      tried: [strategy],
      attempts: 1,
      usage: undefined,
    });
    expect(model.requests).toHaveLength(1);
  });

  const setUps: [string, GenerationOptions, GenerationOptions | undefined, string][] = [
    ['a model that was set up to think', { reasoningEffort: 'high' }, undefined, 'tool_auto'],
    ['a model with tokens to think', { thinkingTokens: 1024 }, { temperature: 0 }, 'tool_auto'],
    [
      'a call that leaves it at that',
      { reasoningEffort: 'high' },
      { reasoningEffort: undefined },
      'tool_auto',
    ],
    ['a call that turns thinking off', { reasoningEffort: 'high' }, { reasoningEffort: 'none' }, 'tool'],
    ['a call that turns thinking on', { reasoningEffort: 'none' }, { reasoningEffort: 'low' }, 'tool_auto'],
  ];

  test.each(setUps)('%s', async (_what, ofModel, generation, way) => {
    const model = new Able([answering('tool', GOOD)], thinker(), ofModel);
    const request = { ...REQUEST, generation };
    for (const each of [model, new RetryModel(new Able([answering('tool', GOOD)], thinker(), ofModel))]) {
      const { tried } = await callStructured(each, request, Weather);
      expect(tried).toEqual([way]);
    }
    const [sent] = model.requests;
    expect([sent?.generation, sent?.toolChoice]).toEqual([
      generation, // the model's own settings are not sent twice
      way === 'tool' ? { name: 'generate_response' } : 'auto',
    ]);
  });

  function thinker(): Partial<ModelCapabilities> {
    return { forcedTools: 'without_thinking' };
  }
});

function aTool(): { name: string; parameters: JsonSchema } {
  return { name: 'search', parameters: { type: 'object' } };
}

describe('the request', () => {
  const schema: JsonSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const generation = { temperature: 0 };
  const request: ModelRequest = { ...REQUEST, generation, agentName: 'friday', toolChoice: 'none' };
  const kept = { generation, agentName: 'friday' };
  const tool = {
    name: 'generate_response',
    description: 'Gives the answer. Call it once, with the whole answer.',
    parameters: schema,
  };

  async function sent(can: Partial<ModelCapabilities>, strategy: StructuredStrategy): Promise<ModelRequest> {
    const model = new Able([answering(strategy, { n: 1 })], can);
    const { msg } = await callStructured(model, request, schema, { strategy });
    expect(msg.name).toBe('friday');
    return model.requests[0]!;
  }

  test('native: the schema', async () => {
    expect(await sent({}, 'native')).toEqual({
      ...kept,
      messages: REQUEST.messages,
      structured: { schema },
    });
  });

  test('tool: one tool, which has to be called', async () => {
    expect(await sent({}, 'tool')).toEqual({
      ...kept,
      messages: REQUEST.messages,
      tools: [tool],
      toolChoice: { name: 'generate_response' },
    });
  });

  test('tool that can not be forced: one tool, and a wish behind all messages', async () => {
    const { messages, ...rest } = await sent({ forcedTools: 'never' }, 'tool');
    expect(rest).toEqual({ ...kept, tools: [tool], toolChoice: 'auto' });
    expect(messages.slice(0, -1)).toEqual(REQUEST.messages);
    expect(messages.at(-1)).toMatchObject({
      role: 'user',
      content: 'Give your answer by one call of the tool generate_response.',
    });
  });

  test('prompt: a wish with the schema behind all messages', async () => {
    const { messages, ...rest } = await sent({}, 'prompt');
    expect(rest).toEqual(kept);
    expect(messages.slice(0, -1)).toEqual(REQUEST.messages);
    expect(messages.at(-1)).toMatchObject({ role: 'user' });
    expect(messages.at(-1)?.text).toContain(`fit this JSON Schema:\n${JSON.stringify(schema)}`);
  });

  test('a tool of another name', async () => {
    const model = new Able([{ toolCalls: [{ name: 'report', input: { n: 3 } }] }]);
    expect(await callStructured(model, REQUEST, schema, { toolName: 'report' })).toMatchObject({
      value: { n: 3 },
    });
    expect(model.requests[0]).toMatchObject({ tools: [{ name: 'report' }], toolChoice: { name: 'report' } });
  });

  test('the tools of the caller are left out, with a warning', async () => {
    const lines: unknown[] = [];
    const logging = {
      log: (level: LogLevel, message: string, details?: JsonObject) => lines.push([level, message, details]),
    };
    const model = new Able([answering('tool', { n: 1 })]);
    await withRunConfig({ logging }, () =>
      callStructured(model, { ...REQUEST, tools: [aTool()], toolChoice: 'required' }, schema),
    );
    expect(model.requests[0]?.tools).toEqual([tool]);
    expect(lines).toEqual([
      [
        'warn',
        'The tools of a request are not sent with a request for structured output.',
        { tools: ['search'] },
      ],
    ]);
  });
});

describe('rejected requests', () => {
  const FULL = { structured: 'native', forcedTools: 'always' } as const;

  test('each way is given up for the next, down to the prompt', async () => {
    const lines: unknown[] = [];
    const logging = {
      log: (level: LogLevel, _message: string, details?: JsonObject) => lines.push([level, details]),
    };
    const model = new Able(
      [rejecting(), rejecting('tool_choice is not supported'), rejecting(), answering('prompt', GOOD)],
      FULL,
    );
    const answer = await withRunConfig({ logging }, () => callStructured(model, REQUEST, Weather));
    expect(answer).toMatchObject({
      value: GOOD,
      strategy: 'prompt',
      tried: ['native', 'tool', 'tool_auto', 'prompt'],
      attempts: 1,
    });
    expect(model.requests).toHaveLength(4);
    expect(lines).toEqual([
      ['warn', { rejected: 'native', next: 'tool' }],
      ['warn', { rejected: 'tool', next: 'tool_auto' }],
      ['warn', { rejected: 'tool_auto', next: 'prompt' }],
    ]);
  });

  test('a rejection is not remembered', async () => {
    const model = new Able([rejecting(), answering('tool', GOOD), answering('native', GOOD)], FULL);
    expect(await callStructured(model, REQUEST, Weather)).toMatchObject({ tried: ['native', 'tool'] });
    expect(await callStructured(model, REQUEST, Weather)).toMatchObject({ tried: ['native'] });
  });

  test.each([
    ['its message', rejecting('Thinking may not be enabled when tool_choice forces tool use.')],
    ['its body', rejecting('HTTP 400', '{"error":{"param":"toolChoice"}}')],
    ['words of its own', rejecting('Invalid function_calling_config')],
  ])('a forced tool is asked for without force if the error speaks of it in %s', async (_where, turn) => {
    const model = new Able([turn, answering('tool', GOOD)]);
    expect(await callStructured(model, REQUEST, Weather)).toMatchObject({
      value: GOOD,
      strategy: 'tool_auto',
      tried: ['tool', 'tool_auto'],
    });
    expect(model.requests.map((request) => request.toolChoice)).toEqual([
      { name: 'generate_response' },
      'auto',
    ]);
  });

  test('a tool that is rejected for another reason is not tried again', async () => {
    const model = new Able([rejecting('tools are not supported'), answering('prompt', GOOD)]);
    expect(await callStructured(model, REQUEST, Weather)).toMatchObject({ tried: ['tool', 'prompt'] });
  });

  test('the error is the caller’s when no way is left', async () => {
    const last = rejecting('the image is too large');
    const model = new Able([rejecting(), rejecting(), last], FULL);
    await expect(callStructured(model, REQUEST, Weather)).rejects.toBe(last.error);
    model.assertUsedUp();
  });

  test.each(STRATEGIES)('a caller who wants %s gets nothing else', async (strategy) => {
    const turn = rejecting();
    const model = new Able([turn, answering('prompt', GOOD)], FULL);
    await expect(callStructured(model, REQUEST, Weather, { strategy })).rejects.toBe(turn.error);
    expect(model.requests).toHaveLength(1);
  });

  test.each(['auth', 'rate_limit', 'context_overflow', 'content_filter', 'network'] as const)(
    'an error of kind %s is thrown as it is',
    async (kind) => {
      const error = new ModelError('no', { kind });
      const model = new Able([{ error }, answering('tool', GOOD)], FULL);
      await expect(callStructured(model, REQUEST, Weather)).rejects.toBe(error);
      expect(model.requests).toHaveLength(1);
    },
  );

  test('an error after the first delta is thrown unchanged', async () => {
    const turn = rejecting();
    const model = new Able([answering('native', WRONG), turn, answering('tool', GOOD)], FULL);
    await expect(callStructured(model, REQUEST, Weather)).rejects.toBe(turn.error);
    expect(model.requests).toHaveLength(2);
  });
});

describe('a wrong answer', () => {
  const usage = { inputTokens: 10, outputTokens: 3, cachedTokens: 2 };

  test.each(STRATEGIES)(
    'is handed back with its problems, and the next one counts (%s)',
    async (strategy) => {
      const model = new Able([
        { ...answering(strategy, { city: 7 }), usage },
        { ...answering(strategy, GOOD), usage },
      ]);
      const attempts: StructuredAttempt[] = [];
      const answer = await callStructured(model, REQUEST, Weather, {
        strategy,
        onAttempt: (attempt) => attempts.push(attempt),
      });
      expect(answer).toMatchObject({
        value: GOOD,
        strategy,
        attempts: 2,
        usage: { inputTokens: 20, outputTokens: 6, cachedTokens: 4 },
      });
      expect(answer.msg.usage).toEqual(usage);
      const problems = [
        { path: 'city', message: 'Invalid input: expected string, received number' },
        { path: 'degrees', message: 'Invalid input: expected number, received undefined' },
      ];
      expect(attempts).toEqual([
        { number: 1, strategy, msg: expect.any(Msg), problems },
        { number: 2, strategy, msg: answer.msg, problems: [] },
      ]);
      const again =
        strategy === 'tool'
          ? 'Call generate_response again, once, with the whole answer.'
          : 'Answer again with the whole JSON object and nothing else.';
      expect(toldIn(model.requests[1])).toBe(
        "Your answer can't be used:\n" +
          '- city: Invalid input: expected string, received number\n' +
          '- degrees: Invalid input: expected number, received undefined\n' +
          again,
      );
      const { messages: before, ...first } = model.requests[0]!;
      const { messages: after, ...second } = model.requests[1]!;
      expect(second).toEqual(first);
      expect(after.slice(0, before.length)).toEqual(before);
      expect(after[before.length]).toBe(attempts[0]!.msg);
    },
  );

  test('stays in the conversation, and so does the next one', async () => {
    const model = new Able(['One.', 'Two.', JSON.stringify(GOOD)], NO_TOOLS);
    await callStructured(model, REQUEST, Weather);
    expect(model.requests.map(({ messages }) => messages.slice(3).map(({ role }) => role))).toEqual([
      [],
      ['assistant', 'user'],
      ['assistant', 'user', 'assistant', 'user'],
    ]);
    expect(model.requests[2]?.messages[5]?.text).toBe('Two.');
  });

  test('of a tool is answered by a result that says error', async () => {
    const model = new Able([{ toolCalls: [give(WRONG, 'c1')] }, answering('tool', GOOD)]);
    await callStructured(model, REQUEST, Weather);
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'system',
      content: [{ type: 'tool_result', id: 'c1', name: 'generate_response', status: 'error' }],
    });
  });

  test.each(STRATEGIES)('fails after the set tries, with all that is known (%s)', async (strategy) => {
    const model = new Able([1, 2, 3, 4].map(() => ({ ...answering(strategy, WRONG), usage })));
    const error = await failureOf(callStructured(model, REQUEST, Weather, { strategy }));
    expect(error).toBeInstanceOf(TroupeError);
    expect(StructuredOutputError.isInstance(new TroupeError('model_failed', 'another'))).toBe(false);
    expect(Object.fromEntries([...Object.entries(error), ['message', error.message]])).toEqual({
      name: 'StructuredOutputError',
      code: 'structured_output_failed',
      message:
        'No structured output after 3 answers: degrees: Invalid input: expected number, received string',
      strategy,
      tried: [strategy],
      attempts: 3,
      problems: [{ path: 'degrees', message: 'Invalid input: expected number, received string' }],
      finishReason: strategy === 'tool' ? 'tool_calls' : 'stop',
      usage: { inputTokens: 30, outputTokens: 9, cachedTokens: 6 },
    });
    expect(error.lastAnswer).toBe(JSON.stringify(WRONG));
    expect(model.requests).toHaveLength(3);
  });

  test('fails in few words, however much is wrong', async () => {
    const many = z.object(Object.fromEntries([...Array(50).keys()].map((i) => [`key_${i}`, z.string()])));
    const model = new Able([answering('tool', {}), { toolCalls: [give('{"key', 'a'), give('{}', 'b')] }]);
    const error = await failureOf(callStructured(model, REQUEST, many, { maxRetries: 0 }));
    expect([error.message.length, error.problems.length]).toEqual([339, 20]);
    expect(error.message).toMatch(/^No structured output after one answer: key_0: Invalid input.*…$/);
    const next = await failureOf(callStructured(model, REQUEST, many, { maxRetries: 0 }));
    expect(next.message).toBe('No structured output after one answer: This is not a JSON object.');
    expect(next.lastAnswer).toBe('{"key\n{}');
  });

  test.each([0, 1, 5])('is handed back %s times', async (maxRetries) => {
    const model = new Able([{ when: () => true, ...answering('tool', WRONG) }]);
    const error = await failureOf(callStructured(model, REQUEST, Weather, { maxRetries }));
    expect([error.attempts, model.requests.length]).toEqual([maxRetries + 1, maxRetries + 1]);
  });

  test('keeps what the model wrote out of logs, and no more than 1 kB of it', async () => {
    const secret = 'x'.repeat(3000);
    const model = new Able([secret], NO_TOOLS);
    const error = await failureOf(callStructured(model, REQUEST, Weather, { maxRetries: 0 }));
    expect(error.lastAnswer).toBe(`${'x'.repeat(1023)}…`);
    expect(JSON.stringify(error) + String(error)).not.toContain('xx');
  });

  test.each([-1, 1.5, Number.NaN])('can not be handed back %s times', async (maxRetries) => {
    const model = new Able([]);
    await expect(callStructured(model, REQUEST, Weather, { maxRetries })).rejects.toThrow('maxRetries');
    expect(model.requests).toEqual([]);
  });

  test.each(['', 'two words', 'x'.repeat(65), 'tür'])('a tool can not be called %j', async (toolName) => {
    await expect(callStructured(new Able([]), REQUEST, Weather, { toolName })).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining('toolName'),
    });
  });
});

describe('an answer by a tool', () => {
  async function after(turn: ScriptedTurn): Promise<[ModelRequest, StructuredAttempt]> {
    const model = new Able([turn, answering('tool', GOOD)]);
    const attempts: StructuredAttempt[] = [];
    const onAttempt = (attempt: StructuredAttempt): unknown => attempts.push(attempt);
    const answer = await callStructured(model, REQUEST, Weather, { onAttempt });
    expect([answer.value, answer.attempts]).toEqual([GOOD, 2]);
    return [model.requests[1]!, attempts[0]!];
  }

  test('that is only text is asked for again', async () => {
    const [request, { problems }] = await after({ text: 'It is warm.' });
    expect(problems).toEqual([{ path: '', message: 'The tool generate_response was not called.' }]);
    expect(request.messages.slice(-2).map(({ role, text }) => [role, text])).toEqual([
      ['assistant', 'It is warm.'],
      [
        'user',
        "Your answer can't be used:\n- The tool generate_response was not called.\nCall generate_response again, once, with the whole answer.",
      ],
    ]);
  });

  test('that is the right object as text does not count as a tool call', async () => {
    const [, { problems }] = await after({ text: JSON.stringify(GOOD) });
    expect(problems[0]?.message).toContain('was not called');
  });

  test.each([
    ['is empty', {}],
    ['is white space', { text: ' \n' }],
    ['is only thinking', { thinking: 'Hm.' }],
  ])('that %s is asked for again, and not sent back', async (_what, turn) => {
    const [request] = await after(turn);
    expect(request.messages).toHaveLength(3);
    expect(request.messages.at(-1)?.role).toBe('user');
  });

  test('whose arguments are no object is asked for again', async () => {
    const [, { problems }] = await after({ toolCalls: [give('{"city": "Köln", "degrees": 2')] });
    expect(problems).toEqual([{ path: '', message: 'This is not a JSON object.' }]);
  });

  test('that was cut off is never accepted, even if it is valid', async () => {
    const [request, { problems }] = await after({ toolCalls: [give(GOOD)], finish: 'length' });
    expect(problems).toEqual([
      { path: '', message: 'The answer was cut off at the limit of its length. Make it shorter.' },
    ]);
    expect(toldIn(request)).toContain('cut off');
  });

  test('that was cut off before the tool call is reported as such', async () => {
    const [request, { problems }] = await after({
      text: 'So',
      deltas: [{ type: 'tool_use_start', index: 0, name: 'generate_response' }],
      finish: 'length',
    });
    expect(problems[0]?.message).toContain('cut off');
    expect(request.messages.at(-2)?.text).toBe('So');
  });

  test('given twice: the first valid one counts', async () => {
    const other = { city: 'Bonn', degrees: 22 };
    for (const toolCalls of [
      [give(GOOD), give(other)],
      [give(WRONG), give(GOOD), give(other)],
      [give('{"cut'), give(GOOD)],
    ]) {
      const answer = await callStructured(new Able([{ toolCalls }]), REQUEST, Weather);
      expect([answer.value, answer.attempts]).toEqual([GOOD, 1]);
    }
  });

  test('given twice and invalid twice: each tool call gets its problems', async () => {
    const [request] = await after({ toolCalls: [give(WRONG, 'a'), give({ degrees: 1 }, 'b')] });
    const results = request.messages.flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results.map(({ id, status, output }) => [id, status, String(output).split('\n')[1]])).toEqual([
      ['a', 'error', '- degrees: Invalid input: expected number, received string'],
      ['b', 'error', '- city: Invalid input: expected string, received undefined'],
    ]);
  });

  test('with other tool calls is accepted', async () => {
    const toolCalls = [{ name: 'search', input: {} }, give(GOOD)];
    const answer = await callStructured(new Able([{ toolCalls }]), REQUEST, Weather);
    expect([answer.value, answer.attempts]).toEqual([GOOD, 1]);
  });

  test('invalid and with other tool calls: every tool call gets a result', async () => {
    const [request] = await after({ toolCalls: [{ name: 'search', input: {}, id: 'a' }, give(WRONG, 'b')] });
    const results = request.messages.flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results.map(({ id, name, status }) => [id, name, status])).toEqual([
      ['a', 'search', 'unavailable'],
      ['b', 'generate_response', 'error'],
    ]);
  });

  test('with other tool calls only gets a hint to call the right tool', async () => {
    const [request] = await after({ toolCalls: [{ name: 'search', input: {}, id: 'a' }] });
    expect(request.messages.slice(-2).map((msg) => msg.role)).toEqual(['system', 'user']);
    expect(toldIn(request)).toContain('The tool generate_response was not called.');
  });

  test('keeps its thinking when it is sent back', async () => {
    const deltas = [{ type: 'thinking', thinking: 'Hm.', providerMeta: { signature: 's' } }] as const;
    const [request] = await after({ deltas, toolCalls: [give(WRONG)], finish: 'tool_calls' });
    expect(request.messages.at(-2)?.getContentBlocks('thinking')).toEqual(deltas);
  });

  test('whose id was used before gets a new one', async () => {
    const earlier = Msg.assistant([{ type: 'tool_use', id: 'c1', name: 'search', input: {} }]);
    const result = Msg.system([{ type: 'tool_result', id: 'c1', name: 'search', output: 'x', status: 'ok' }]);
    const model = new Able([{ toolCalls: [give(WRONG, 'c1')] }, { toolCalls: [give(WRONG, 'c1')] }, 'no']);
    await failureOf(
      callStructured(model, { messages: [Msg.user('?'), earlier, result, Msg.user('!')] }, Weather),
    );
    expect(findHistoryFaults(model.requests[2]!.messages)).toEqual([]);
  });
});

describe('an answer in words', () => {
  const json = JSON.stringify(GOOD);

  test.each([
    ['JSON', json],
    ['JSON between white space', `\n ${json} \n`],
    ['a code fence', `\`\`\`json\n${json}\n\`\`\``],
    ['a code fence of Windows', `\`\`\`json\r\n${json}\r\n\`\`\`\r\n`],
    ['a code fence between words', `Here it is:\n\`\`\`\n${json}\n\`\`\`\nAnything else?`],
    ['JSON with a small mistake', "{'city': 'Köln', 'degrees': 21,}"],
    ['a code fence around a small mistake', "Sure!\n```json\n{city: 'Köln', degrees: 21}\n```"],
  ])('is read from %s', async (_what, text) => {
    for (const strategy of ['native', 'prompt'] as const) {
      const answer = await callStructured(new Able([text]), REQUEST, Weather, { strategy });
      expect([answer.value, answer.msg.text]).toEqual([GOOD, text]);
    }
  });

  test.each([
    ['words', 'It is warm.', 'This is not a JSON object.'],
    ['nothing', '', 'This is not a JSON object.'],
    ['an array', '[1]', 'This is not a JSON object.'],
    ['JSON among words', `It is ${json}.`, 'This is not a JSON object.'],
    ['JSON that was cut off', json.slice(0, -1), 'This is not a JSON object.'],
    ['a fence that was cut off', `\`\`\`json\n${json.slice(0, -5)}`, 'This is not a JSON object.'],
    ['a fence that was never closed', `So:\n\`\`\`json\n${json}`, 'This is not a JSON object.'],
    ['two fences', `\`\`\`\n${json}\n\`\`\`\n\`\`\`\n${json}\n\`\`\``, 'This is not a JSON object.'],
    ['an object of another kind', '{}', 'Invalid input: expected string, received undefined'],
  ])('that is %s is not taken', async (_what, text, problem) => {
    for (const strategy of ['native', 'prompt'] as const) {
      const model = new Able([text, json]);
      const problems: string[][] = [];
      await callStructured(model, REQUEST, Weather, {
        strategy,
        onAttempt: (attempt) => problems.push(attempt.problems.map(({ message }) => message)),
      });
      expect([problems[0]?.[0], problems.length]).toEqual([problem, 2]);
      expect(model.requests[1]?.messages.at(-1)?.text).toContain(problem);
    }
  });

  test('that was cut off is never accepted, even if it is valid', async () => {
    for (const strategy of ['native', 'prompt'] as const) {
      const model = new Able([{ text: json, finish: 'length' }]);
      const error = await failureOf(callStructured(model, REQUEST, Weather, { strategy, maxRetries: 0 }));
      expect(error.message).toBe(
        'No structured output after one answer: The answer was cut off at the limit of its length. Make it shorter. Raise maxTokens.',
      );
      expect(error.finishReason).toBe('length');
    }
  });

  test('in several blocks is one text', async () => {
    const text = (piece: string) => ({ type: 'text', text: piece }) as const;
    const deltas = [
      text('{"city":"Kö'),
      { type: 'thinking', thinking: 'Hm.' } as const,
      text('ln","degrees":21}'),
    ];
    const model = new Able([{ deltas, finish: 'stop' }]);
    expect((await callStructured(model, REQUEST, Weather, { strategy: 'prompt' })).value).toEqual(GOOD);
  });

  test('with a call that nobody asked for: the call gets a result, and the model is told', async () => {
    const model = new Able([{ text: 'Wait.', toolCalls: [give(GOOD, 'a')] }, json]);
    await callStructured(model, REQUEST, Weather, { strategy: 'native' });
    const { messages } = model.requests[1]!;
    expect(messages.at(-2)?.content).toMatchObject([{ type: 'tool_result', id: 'a', status: 'unavailable' }]);
    expect(toldIn(model.requests[1])).toContain('This is not a JSON object.');
  });

  test('of hostile length is read in linear time', async () => {
    for (const piece of ['```a\n', '{', '```', '{"a":"\\', "'"]) {
      const model = new Able([piece.repeat(300_000 / piece.length), json], NO_TOOLS);
      const { steps } = await countWork(() => callStructured(model, REQUEST, Weather));
      expect(steps).toBeLessThan(10 * 300_000);
    }
  });
});

describe.each(STRATEGIES)('a refusal (%s)', (strategy) => {
  test.each([
    ['refusal', 'The model refused to answer.'],
    ['content_filter', 'The answer was stopped by a content filter.'],
  ] as const)('by %s fails at once, even if the answer fits', async (finish, message) => {
    const model = new Able([answering(strategy, GOOD, finish), answering(strategy, GOOD)]);
    const attempts: StructuredAttempt[] = [];
    const error = await failureOf(
      callStructured(model, REQUEST, Weather, { strategy, onAttempt: (attempt) => attempts.push(attempt) }),
    );
    expect(error).toMatchObject({
      message: `No structured output after one answer: ${message}`,
      finishReason: finish,
      attempts: 1,
      problems: [{ path: '', message }],
    });
    expect([model.requests.length, attempts.length]).toEqual([1, 1]);
  });
});

test('the message is as the model made it', async () => {
  const deltas = [{ type: 'response_id', id: 'r1' }] as const;
  const model = new Able([{ deltas, text: JSON.stringify(GOOD), finish: 'stop' }], NATIVE);
  const { msg } = await callStructured(model, REQUEST, Weather);
  expect([msg.metadata, msg.finishReason, msg.responseId]).toEqual([{}, 'stop', 'r1']);
});

describe('an abort', () => {
  const reason = new Error('enough');

  test('is the model’s to hear of, too', async () => {
    const { signal } = new AbortController();
    const heard: unknown[] = [];
    class Listening extends Able {
      override stream(...[request, options]: Parameters<Able['stream']>): ReturnType<Able['stream']> {
        heard.push(options?.signal);
        return super.stream(request, options);
      }
    }
    const model = new Listening([answering('tool', WRONG), answering('tool', GOOD)]);
    await callStructured(model, REQUEST, Weather, { signal });
    expect(heard).toEqual([signal, signal]);
    const late = callStructured(model, REQUEST, Weather, { signal: AbortSignal.abort(reason) });
    await expect(late).rejects.toBe(reason);
    expect(heard).toHaveLength(2);
  });

  test('a model that never ends and never waits can be stopped', async () => {
    class Endless extends ScriptedModel {
      count = 0;
      override async *stream(): AsyncGenerator<ModelDelta, void, void> {
        for (; this.count < 500_000; this.count++) yield { type: 'text', text: 'x' };
      }
    }
    const [model, controller] = [new Endless([]), new AbortController()];
    const call = callStructured(model, REQUEST, Weather, { signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await expect(call).rejects.toBe(reason);
    expect(model.count).toBeLessThan(10_000);
  });

  test('before the call does no work', async () => {
    const model = new Able([answering('tool', GOOD)]);
    const call = callStructured(model, REQUEST, Weather, { signal: AbortSignal.abort(reason) });
    await expect(call).rejects.toBe(reason);
    expect(model.requests).toEqual([]);
  });

  test.each([{ stall: true }, { stall: true, stubborn: true }])(
    'while the model answers ends the call with its reason (%j)',
    async (turn) => {
      const model = new Able([{ text: 'So', ...turn }, answering('tool', GOOD)]);
      const controller = new AbortController();
      const call = callStructured(model, REQUEST, Weather, { signal: controller.signal });
      await new Promise((resolve) => setImmediate(resolve));
      expect(model.requests).toHaveLength(1);
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
      expect(model.requests).toHaveLength(1);
    },
  );

  test('between two answers ends the call with its reason', async () => {
    const model = new Able([answering('tool', WRONG), answering('tool', GOOD)]);
    const controller = new AbortController();
    const call = callStructured(model, REQUEST, Weather, {
      signal: controller.signal,
      onAttempt: () => controller.abort(reason),
    });
    await expect(call).rejects.toBe(reason);
    expect(model.requests).toHaveLength(1);
  });

  test('while the schema looks at the answer ends the call with its reason', async () => {
    const controller = new AbortController();
    const schema = Weather.refine(() => {
      controller.abort(reason);
      return true;
    });
    const model = new Able([answering('tool', GOOD)]);
    const call = callStructured(model, REQUEST, schema, { signal: controller.signal });
    await expect(call).rejects.toBe(reason);
  });

  test('a rejected way is no reason to go on after it', async () => {
    const controller = new AbortController();
    class Leaving extends Able {
      override async *stream(...args: Parameters<Able['stream']>): ReturnType<Able['stream']> {
        try {
          yield* super.stream(...args);
        } catch (error) {
          controller.abort(reason);
          throw error;
        }
      }
    }
    const model = new Leaving([rejecting(), answering('tool', GOOD)], NATIVE);
    await expect(callStructured(model, REQUEST, Weather, { signal: controller.signal })).rejects.toBe(reason);
    expect(model.requests).toHaveLength(1);
  });
});

describe('a schema', () => {
  test('may transform its input: the value is its output', async () => {
    const schema = z.object({ when: z.string().transform((text) => text.length), n: z.number().default(7) });
    const model = new Able([answering('tool', { when: 'noon' })]);
    const answer = await callStructured(model, REQUEST, schema);
    expect(answer.value).toEqual({ when: 4, n: 7 });
    expect(model.requests[0]?.tools?.[0]?.parameters).toMatchObject({
      properties: { when: { type: 'string' } },
      required: ['when'],
    });
  });

  test('may ask somebody', async () => {
    const schema = Weather.refine(async ({ degrees }) => degrees < 50, {
      message: 'too hot',
      path: ['degrees'],
    });
    const model = new Able([answering('tool', { ...GOOD, degrees: 90 }), answering('tool', GOOD)]);
    expect(await callStructured(model, REQUEST, schema)).toMatchObject({ value: GOOD, attempts: 2 });
    expect(toldIn(model.requests[1])).toContain('- degrees: too hot');
  });

  test('without a JSON Schema fails before the first request', async () => {
    const model = new Able([]);
    await expect(callStructured(model, REQUEST, z.object({ at: z.date() }))).rejects.toMatchObject({
      name: 'SchemaError',
      code: 'invalid_config',
    });
    expect(model.requests).toEqual([]);
  });

  const roots: [string, AnySchema, unknown, unknown, string][] = [
    ['a string', z.string(), 'hi', 1, 'value'],
    ['an array', z.array(z.object({ n: z.number() })), [{ n: 1 }], [{ n: 'x' }], 'value[0].n'],
    ['a union', z.union([z.object({ a: z.number() }), z.null()]), null, {}, 'value'],
    ['a JSON Schema', { type: ['integer', 'null'] }, 4, 'x', 'value'],
    ['a tuple of a JSON Schema', { prefixItems: [{ type: 'integer' }] }, [4], ['x'], 'value[0]'],
  ];

  test.each(STRATEGIES.flatMap((strategy) => roots.map((root) => [strategy, ...root] as const)))(
    '(%s) of %s goes in the key `value` and comes out of it',
    async (strategy, _what, schema, good, wrong, path) => {
      const object = (value: unknown): JsonObject => ({ value }) as JsonObject;
      const model = new Able([
        answering(strategy, {}),
        answering(strategy, object(wrong)),
        answering(strategy, object(good)),
      ]);
      const paths: unknown[] = [];
      const answer = await callStructured(model, REQUEST, schema, {
        strategy,
        onAttempt: ({ problems }) => paths.push(problems[0]?.path),
      });
      expect(answer).toMatchObject({ value: good, attempts: 3 });
      expect(paths).toEqual(['value', path, undefined]);
    },
  );
});

/** Everything that a model may do, good or bad, in the form of each strategy. */
const DEEDS: Readonly<Record<string, (strategy: StructuredStrategy) => ScriptedTurn>> = {
  good: (strategy) => answering(strategy, GOOD),
  wrong: (strategy) => answering(strategy, WRONG),
  halfValid: (strategy) => answering(strategy, { city: 'Köln' }),
  cutOff: (strategy) => answering(strategy, GOOD, 'length'),
  filtered: (strategy) => answering(strategy, GOOD, 'content_filter'),
  talk: () => ({ text: 'It is warm.' }),
  nothing: () => ({}),
  thinkingOnly: () => ({ thinking: 'Hm.' }),
  broken: () => ({ text: '{"city":', toolCalls: [give('{"city":', 'same')] }),
  twice: (strategy) =>
    strategy === 'tool'
      ? { toolCalls: [give(WRONG, 'same'), give(GOOD, 'same')] }
      : answering(strategy, GOOD),
  withOthers: (strategy) => ({
    ...answering(strategy, WRONG),
    toolCalls: [
      { name: 'search', input: {}, id: 'same' },
      ...(strategy === 'tool' ? [give(WRONG, 'same')] : []),
    ],
  }),
};

test.each(STRATEGIES)('any sequence of answers gives a valid object or an error (%s)', async (strategy) => {
  const names = Object.keys(DEEDS);
  const outcomes = { good: 0, failed: 0 };
  for (const deeds of names.flatMap((a) => names.flatMap((b) => names.map((c) => [a, b, c])))) {
    const model = new Able(deeds.map((deed) => DEEDS[deed]!(strategy)));
    const before = JSON.stringify(REQUEST);
    const outcome = await callStructured(model, REQUEST, Weather, { strategy }).catch(
      (error: unknown) => error,
    );
    if (StructuredOutputError.isInstance(outcome)) outcomes.failed++;
    else {
      outcomes.good++;
      expect(outcome, deeds.join()).toMatchObject({ value: GOOD, attempts: model.requests.length });
    }
    const stop = deeds.findIndex((deed) => ['good', 'twice', 'filtered'].includes(deed));
    expect(model.requests.length, deeds.join()).toBe(stop === -1 ? 3 : stop + 1);
    for (const { messages } of model.requests) {
      expect(findHistoryFaults(messages), deeds.join()).toEqual([]);
      expect(
        messages.filter(
          (msg) => msg.text.trim() === '' && !msg.hasContentBlocks(['tool_use', 'tool_result']),
        ),
      ).toEqual([]);
      expect(REQUEST.messages.every((msg, i) => messages[i] === msg)).toBe(true);
    }
    expect(JSON.stringify(REQUEST)).toBe(before);
  }
  // Of the 11 deeds 2 are good, 1 ends it all, and 8 are followed by the next one.
  const good = 2 * 11 * 11 + 8 * 2 * 11 + 8 * 8 * 2;
  expect(outcomes).toEqual({ good, failed: 11 ** 3 - good });
});
