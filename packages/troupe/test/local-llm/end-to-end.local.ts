/** A real agent on a real, small model. The texts of the model are not judged, only the program around it. */
import { loadavg } from 'node:os';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { ReActAgent } from '../../src/react/react-agent.ts';
import type { ModelDelta } from '../../src/message/model-delta.ts';
import { Msg } from '../../src/message/msg.ts';
import {
  ChatModelBase,
  type ModelCallOptions,
  type ModelRequest,
  type ToolChoice,
} from '../../src/model/chat-model-base.ts';
import { Gbnf } from '../../src/providers/llama-cpp/gbnf.ts';
import { LlamaCppModel } from '../../src/providers/llama-cpp/llama-cpp-model.ts';
import type { Llama, LlamaLibrary } from '../../src/providers/llama-cpp/llama-library.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import { parseJson, type JsonObject } from '../../src/util/json.ts';
import { validateWith } from '../../src/util/schema.ts';
import { schemaExamples } from './schema-examples.ts';

const { LOCAL_LLM_WEIGHTS = '', LOCAL_LLM_LIBRARY = '' } = process.env;
const loadLibrary = (): Promise<unknown> => import(pathToFileURL(LOCAL_LLM_LIBRARY).href);

const model = new LlamaCppModel({
  modelPath: LOCAL_LLM_WEIGHTS,
  library: loadLibrary,
  contextSize: 1024,
  parallelCalls: 2,
  threads: 1, // llama.cpp's threads wait for each other busily: more of them are slower on a machine that does other things
  generation: { temperature: 0, maxTokens: 40 },
});

const figures: [string, string][] = [];
const note = (name: string, figure: string): number => figures.push([name, figure]);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
const megabytes = (): string => `${Math.round(process.memoryUsage().rss / 1e6)} MB`;

const weather = {
  name: 'get_weather',
  description: 'Tells the weather of a city.',
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 1, maxLength: 20, description: 'The name of the city.' },
      unit: { enum: ['celsius', 'fahrenheit'] },
      days: { type: 'integer', minimum: 1, maximum: 7 },
    },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
} as const;

const machineLoad = (): string => loadavg()[0]?.toFixed(1) ?? '?';

beforeAll(async () => {
  note('load of the machine, at first', machineLoad());
  note('memory before', megabytes());
  const start = performance.now();
  await loadLibrary();
  note('import of node-llama-cpp', seconds(performance.now() - start));
  await model.load();
  note('ready to answer', seconds(performance.now() - start));
  note('memory, loaded', megabytes());
});

afterAll(async () => {
  await model.dispose();
  note('memory, disposed of', megabytes());
  note('load of the machine, at last', machineLoad());
  const width = Math.max(...figures.map(([name]) => name.length));
  console.log(figures.map(([name, figure]) => `${name.padEnd(width)}  ${figure}`).join('\n'));
});

const asking = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [Msg.system('You are a helpful assistant.'), Msg.user(text)],
  ...more,
});

test('llama.cpp takes every grammar that we make', async () => {
  const library = (await loadLibrary()) as LlamaLibrary & { getLlama(options: object): Promise<Llama> };
  const llama = await library.getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
  });
  const taken: string[] = [];
  for (const [name, { schema }] of Object.entries(schemaExamples)) {
    const grammar = new Gbnf();
    await llama.createGrammar({ grammar: grammar.text(grammar.schema(schema)) });
    taken.push(name);
  }
  await llama.dispose();
  expect(taken).toEqual(Object.keys(schemaExamples));
  expect(taken.length).toBeGreaterThan(30);
});

test('an answer is streamed', async () => {
  const start = performance.now();
  const at: number[] = [];
  const deltas: ModelDelta[] = [];
  for await (const delta of model.stream(asking('What is the capital of France?'))) {
    if (delta.type === 'text') at.push(performance.now());
    deltas.push(delta);
  }
  const text = deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');
  expect(at.length).toBeGreaterThan(3);
  expect(text).toMatch(/\w/);
  expect(deltas.slice(-2)).toMatchObject([
    { type: 'usage', usage: { inputTokens: expect.any(Number), outputTokens: at.length + 1 } },
    { type: 'finish', reason: 'stop' },
  ]);
  const [first = 0, last = 0] = [at[0], at.at(-1)];
  note('first token', seconds(first - start));
  note('tokens per second', ((at.length - 1) / ((last - first) / 1000)).toFixed(1));
  note('answer', JSON.stringify(text));
});

test('what was computed for a prompt is used again', async () => {
  const ask = asking('What is the capital of Italy?');
  const one = await model.call(ask);
  const start = performance.now();
  let firstAt: number | undefined;
  let cachedTokens: number | undefined;
  const messages = [...ask.messages, one, Msg.user('And of Spain?')];
  for await (const delta of model.stream({ messages })) {
    firstAt ??= performance.now();
    if (delta.type === 'usage') ({ cachedTokens } = delta.usage);
  }
  expect(cachedTokens).toBeGreaterThan(one.usage?.inputTokens ?? Infinity);
  note('first token, most of the prompt known', seconds((firstAt ?? Infinity) - start));
});

test.each<[ToolChoice]>([['required'], [{ name: 'get_weather' }]])(
  'the choice %j makes a valid call',
  async (toolChoice) => {
    const tools = [weather, { name: 'get_time', parameters: { type: 'object', properties: {} } }];
    const msg = await model.call(asking('What is the weather in Paris?', { tools, toolChoice }));
    expect(msg.metadata).toEqual({ finishReason: 'tool_calls' });
    const [call] = msg.getContentBlocks('tool_use');
    expect(call).not.toHaveProperty('rawInput');
    const used = tools.find((tool) => tool.name === call?.name);
    expect(await validateWith(used?.parameters ?? { not: {} }, call?.input)).toMatchObject({ ok: true });
    if (typeof toolChoice === 'object') expect(call?.name).toBe('get_weather');
    note(`call with ${JSON.stringify(toolChoice)}`, `${call?.name}(${JSON.stringify(call?.input)})`);
  },
);

test('with the choice auto it calls or speaks', async () => {
  const msg = await model.call(asking('Hello! How are you?', { tools: [weather] }));
  const calls = msg.getContentBlocks('tool_use').length;
  expect(calls === 1 ? msg.text : msg.text === '').toBe(calls === 1 ? '' : false);
  expect(msg.text).not.toContain('{"say"');
  note('auto', calls === 1 ? 'a call' : JSON.stringify(msg.text));
});

test('a structured answer fits its schema', async () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 20 },
      born: { type: 'string', format: 'date' },
      kind: { enum: ['cat', 'dog', 'horse'] },
      toys: {
        type: 'array',
        items: {
          type: 'object',
          properties: { what: { type: 'string', maxLength: 12 } },
          required: ['what'],
        },
        minItems: 1,
        maxItems: 2,
      },
      weight: { type: ['integer', 'null'], minimum: 1, maximum: 99 },
    },
    required: ['name', 'born', 'kind', 'toys', 'weight'],
  };
  const msg = await model.call(
    asking('Make up a pet.', { structured: { schema }, generation: { maxTokens: 200 } }),
  );
  expect(msg.metadata).toEqual({ finishReason: 'stop' });
  expect(await validateWith(schema, parseJson(msg.text))).toMatchObject({ ok: true });
  note('structured', msg.text);
});

/** Makes the model call a tool right after the user has spoken, and speak after that. */
class CallFirst extends ChatModelBase {
  stream(request: ModelRequest, options?: ModelCallOptions): AsyncIterable<ModelDelta> {
    const toolChoice = request.messages.at(-1)?.role === 'user' ? 'required' : 'none';
    return model.stream({ ...request, toolChoice }, options);
  }
}

function makeAgent(over: ChatModelBase, inputs: JsonObject[] = []): ReActAgent {
  const toolkit = new Toolkit();
  const { name, description, parameters: schema } = weather;
  const execute = (input: JsonObject): string => {
    inputs.push(input);
    return '18 degrees, sunny';
  };
  if (over !== model) toolkit.registerToolFunction(tool({ name, description, schema, execute }));
  const agent = new ReActAgent({
    name: 'tiny',
    model: over,
    sysPrompt: 'You are a helpful assistant.',
    toolkit,
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

test('an agent uses a tool and answers', async () => {
  const inputs: JsonObject[] = [];
  const agent = makeAgent(new CallFirst('call first'), inputs);
  const start = performance.now();
  const answer = await agent.call('What is the weather in Paris?');
  note('a turn with a tool', seconds(performance.now() - start));
  note('its answer', JSON.stringify(answer.text));
  expect(inputs).toHaveLength(1);
  expect(await validateWith(weather.parameters, inputs[0])).toMatchObject({ ok: true });
  const types = (await agent.memory.getMemory()).map((msg) =>
    msg.getContentBlocks().map((block) => block.type),
  );
  expect(types).toEqual([['text'], ['tool_use'], ['tool_result'], ['text']]);
  expect(answer.text).toMatch(/\w/);
});

test('an interrupt in the middle of an answer is prompt, and the next call works', async () => {
  const agent = makeAgent(model);
  let interruptedAt = 0;
  let heard = '';
  for await (const event of agent.stream('Tell me a long story about a dog and a cat.')) {
    if (event.type === 'text_delta') heard += event.text;
    if (interruptedAt > 0 || heard.length < 20) continue;
    interruptedAt = performance.now();
    void agent.interrupt('Stop.');
  }
  const latency = performance.now() - interruptedAt;
  note('interrupt to settled', `${latency.toFixed(0)} ms`);
  expect(interruptedAt).toBeGreaterThan(0);
  expect(latency).toBeLessThan(1_000); // a busy machine is no failure; the figure above tells how long it was
  const [asked, cut, ...rest] = await agent.memory.getMemory();
  expect(asked?.text).toMatch(/^Tell me/);
  expect(heard.startsWith(cut?.text ?? '?')).toBe(true);
  expect(rest.map((msg) => msg.role)).toEqual(['user', 'assistant']);
  const start = performance.now();
  const next = await agent.call('What is the capital of France?');
  note('next answer after it', `${seconds(performance.now() - start)}, ${JSON.stringify(next.text)}`);
  expect(next.text).toMatch(/\w/);
});

test('an abort while a long prompt is computed is prompt, and frees the engine soon', async () => {
  const caller = new AbortController();
  const words = 'The quick brown fox jumps over the lazy dog and runs away from the hounds. '.repeat(40);
  const call = model.call(asking(words), { signal: caller.signal });
  await new Promise((resolve) => void setTimeout(resolve, 500));
  const start = performance.now();
  caller.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
  const latency = performance.now() - start;
  note('abort of a prompt', `${latency.toFixed(0)} ms`);
  expect(latency).toBeLessThan(1_000);
  const one = model.stream(asking('Say hi.')).next();
  const two = model.stream(asking('Say ho.')).next();
  await Promise.all([one, two]); // both sequences can be used
  note('both sequences answer after it', seconds(performance.now() - start));
});

test('a prompt that is too long is refused', async () => {
  await expect(model.call(asking('hello '.repeat(1200)))).rejects.toMatchObject({ kind: 'context_overflow' });
});

test('three calls at once are all answered, two at a time', async () => {
  const start = performance.now();
  const answers = await Promise.all(
    ['France', 'Italy', 'Spain'].map((where) => model.call(asking(`What is the capital of ${where}?`))),
  );
  expect(answers.every((answer) => /\w/.test(answer.text))).toBe(true);
  const tokens = answers.reduce((sum, answer) => sum + (answer.usage?.outputTokens ?? 0), 0);
  note('three calls at once', `${seconds(performance.now() - start)}, ${tokens} tokens`);
});
