import { afterEach, describe, expect, test, vi } from 'vitest';
import { geminiFaults } from '../../../test/wire/gemini-rules.ts';
import { HISTORIES, PNG, TOOLS } from '../../../test/wire/histories.ts';
import { fetchOf, outcomeOf, readFixtures, toBytes, type SentRequest } from '../../../test/wire/replay.ts';
import { withRunConfig } from '../../config/run-config.ts';
import { MediaLoader } from '../../formatter/media-loader.ts';
import { Msg } from '../../message/msg.ts';
import type { GenerationOptions, ModelRequest, ToolSchema } from '../../model/chat-model-base.ts';
import { ModelError } from '../../model/model-error.ts';
import { chatModelContract, CONTRACT_CALLS, CONTRACT_TEXT } from '../../testing/chat-model-contract.ts';
import type { ContractScenario } from '../../testing/chat-model-case.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { JsonObject } from '../../util/json.ts';
import { GeminiChatModel, type GeminiChatModelOptions } from './gemini-chat-model.ts';

const NEW = 'gemini-3-flash-preview';
const OLD = 'gemini-2.5-flash';
const KEY = 'AIza-secret-4711';
const plain = readFixtures('gemini').get('plain')!;
const ASK: ModelRequest = { messages: [Msg.user('Hi.')] };

type Body = JsonObject & { readonly contents: readonly JsonObject[] };

async function send(
  options: Partial<GeminiChatModelOptions> = {},
  request: Partial<ModelRequest> = {},
): Promise<SentRequest & { json: Body }> {
  const sent: SentRequest[] = [];
  const fetch = fetchOf({ pieces: [plain] }, sent);
  const model = new GeminiChatModel({ modelName: OLD, apiKey: 'k', onRepair() {}, fetch, ...options });
  await model.call({ ...ASK, ...request });
  expect(sent).toHaveLength(1);
  const [first] = sent;
  return { ...first!, json: JSON.parse(first!.body) as Body };
}

const contentsOf = async (messages: readonly Msg[], modelName = OLD): Promise<readonly JsonObject[]> =>
  (await send({ modelName }, { messages })).json.contents;

function bodyOf(chunks: readonly object[]): Uint8Array {
  return toBytes(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join(''));
}

const modelOf = (chunks: readonly object[]): GeminiChatModel =>
  new GeminiChatModel({ modelName: NEW, apiKey: 'k', fetch: fetchOf({ pieces: [bodyOf(chunks)] }) });
const read = (chunks: readonly object[]): ReturnType<typeof outcomeOf> => outcomeOf(modelOf(chunks), ASK);

const chunk = (parts: readonly unknown[], finishReason?: string, more = {}): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...(finishReason && { finishReason }) }],
  responseId: 'r1',
  ...more,
});

async function failureOf(model: GeminiChatModel): Promise<ModelError> {
  const error = await model.call(ASK).catch((thrown: unknown) => thrown);
  if (!ModelError.isInstance(error)) throw new Error('It did not fail by a ModelError.', { cause: error });
  return error;
}

const user = (...parts: object[]): object => ({ role: 'user', parts });
const model = (...parts: object[]): object => ({ role: 'model', parts });

afterEach(() => vi.unstubAllEnvs());

describe('where a request goes', () => {
  const home = 'https://generativelanguage.googleapis.com/v1beta';
  const method = ':streamGenerateContent?alt=sse';
  test.each<[Partial<GeminiChatModelOptions>, string]>([
    [{}, `${home}/models/gemini-2.5-flash${method}`],
    [{ modelName: 'models/gemini-3-pro-preview' }, `${home}/models/gemini-3-pro-preview${method}`],
    [{ modelName: 'tunedModels/mine-1' }, `${home}/tunedModels/mine-1${method}`],
    [{ baseUrl: 'http://127.0.0.1:9/' }, `http://127.0.0.1:9/v1beta/models/gemini-2.5-flash${method}`],
    [{ baseUrl: 'http://127.0.0.1:9/x/v1' }, `http://127.0.0.1:9/x/v1/models/gemini-2.5-flash${method}`],
    [
      { baseUrl: 'https://aiplatform.googleapis.com/v1/publishers/google' },
      `https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-2.5-flash${method}`,
    ],
  ])('%j', async (options, url) => {
    expect((await send(options)).url).toBe(url);
  });

  test('with the key in a header, never in the address, and with headers of ones own', async () => {
    const { headers, url, body } = await send({ apiKey: KEY, headers: { 'x-team': 'a' } });
    expect(headers).toEqual({
      'content-type': 'application/json',
      'x-goog-api-key': KEY,
      'x-team': 'a',
    });
    expect(url + body).not.toContain(KEY);
  });

  test('with a key of the environment, or none where one signs in by other means', async () => {
    vi.stubEnv('GEMINI_API_KEY', undefined);
    vi.stubEnv('GOOGLE_API_KEY', 'of-google');
    expect((await send({ apiKey: undefined })).headers['x-goog-api-key']).toBe('of-google');
    vi.stubEnv('GEMINI_API_KEY', 'of-gemini');
    expect((await send({ apiKey: undefined })).headers['x-goog-api-key']).toBe('of-gemini');
    const own = await send({ apiKey: undefined, headers: { Authorization: 'Bearer t' } });
    expect(own.headers).toEqual({ 'content-type': 'application/json', authorization: 'Bearer t' });
    const byHeader = await send({ apiKey: undefined, headers: { 'X-Goog-Api-Key': 'of-the-gateway' } });
    expect(byHeader.headers).toEqual({
      'content-type': 'application/json',
      'x-goog-api-key': 'of-the-gateway',
    });
    const both = await send({ apiKey: 'k', headers: { 'X-Goog-Api-Key': 'of-the-gateway' } });
    expect(both.headers).toEqual(byHeader.headers);
  });

  test('is an error without a key, an address or the name of a model', () => {
    vi.stubEnv('GEMINI_API_KEY', '');
    vi.stubEnv('GOOGLE_API_KEY', undefined);
    const make = (options: object) => new GeminiChatModel({ modelName: OLD, ...options });
    expect(() => make({})).toThrow(
      'Gemini needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY, or give the option apiKey.',
    );
    expect(() => make({ apiKey: '' })).toThrow('The key for Gemini is empty.');
    expect(() => make({ apiKey: 'k k' })).toThrow('The key for Gemini contains white space');
    expect(() => make({ apiKey: 'k', baseUrl: 'nowhere' })).toThrow('The baseUrl of Gemini must be a URL');
    expect(() => make({ apiKey: 'k', modelName: '' })).toThrow('needs a modelName');
    for (const modelName of ['../files', 'a b', 'm?key=x', 'models/', 'a:b'])
      expect(() => make({ apiKey: 'k', modelName }), modelName).toThrow('modelName is invalid');
  });
});

describe('the body of a request', () => {
  test('is no more than what was asked for', async () => {
    expect((await send()).json).toEqual({ contents: [user({ text: 'Hi.' })] });
  });

  test('are the options in the words of the wire; those of a call win, extras win over all', async () => {
    const generation: GenerationOptions = {
      maxTokens: 9,
      temperature: 1,
      topP: 0.5,
      topK: 3,
      stop: ['x'],
      seed: 4,
      presencePenalty: 1,
      frequencyPenalty: 2,
      parallelToolCalls: false,
      extra: { cachedContent: 'cachedContents/1', generationConfig: { candidateCount: 2 } },
    };
    const { json } = await send(
      { modelName: NEW, generation },
      { generation: { temperature: 0, extra: { generationConfig: { candidateCount: 1, seed: 5 } } } },
    );
    expect(json).toEqual({
      contents: [user({ text: 'Hi.' })],
      cachedContent: 'cachedContents/1',
      generationConfig: {
        maxOutputTokens: 9,
        temperature: 0,
        topP: 0.5,
        topK: 3,
        stopSequences: ['x'],
        seed: 5,
        presencePenalty: 1,
        frequencyPenalty: 2,
        candidateCount: 1,
      },
    });
  });

  test('leaves out what the model refuses', async () => {
    const { json } = await send({}, { generation: { seed: 4, presencePenalty: 1, frequencyPenalty: 2 } });
    expect(json['generationConfig']).toEqual({ seed: 4 });
  });

  test.each<[string, GenerationOptions, object | undefined]>([
    [OLD, {}, undefined],
    [OLD, { reasoningEffort: 'medium' }, { thinkingBudget: 8192, includeThoughts: true }],
    [OLD, { reasoningEffort: 'none' }, { thinkingBudget: 0, includeThoughts: false }],
    ['gemini-2.5-pro', { reasoningEffort: 'none' }, { thinkingBudget: 128, includeThoughts: false }],
    ['gemini-2.5-pro', { reasoningEffort: 'xhigh' }, { thinkingBudget: 24_576, includeThoughts: true }],
    [OLD, { thinkingTokens: 100, reasoningEffort: 'low' }, { thinkingBudget: 100, includeThoughts: true }],
    [OLD, { thinkingTokens: 0 }, { thinkingBudget: 0, includeThoughts: false }],
    [NEW, { reasoningEffort: 'medium' }, { thinkingLevel: 'medium', includeThoughts: true }],
    [NEW, { reasoningEffort: 'none' }, { thinkingLevel: 'minimal', includeThoughts: false }],
    ['gemini-3.7-flash', { reasoningEffort: 'none' }, { thinkingLevel: 'low', includeThoughts: false }],
    [
      'gemini-3.8-flash-lite',
      { reasoningEffort: 'minimal' },
      { thinkingLevel: 'minimal', includeThoughts: true },
    ],
    ['gemini-flash-latest', { reasoningEffort: 'low' }, { thinkingLevel: 'low', includeThoughts: true }],
    [
      'models/gemini-3.1-pro',
      { reasoningEffort: 'minimal' },
      { thinkingLevel: 'low', includeThoughts: true },
    ],
    [NEW, { reasoningEffort: 'xhigh' }, { thinkingLevel: 'high', includeThoughts: true }],
    ['gemini-2.0-flash', { reasoningEffort: 'high' }, undefined],
    ['gemma-3-27b-it', { thinkingTokens: 100 }, undefined],
  ])('%s is told to think by %j', async (modelName, generation, thinkingConfig) => {
    const { json } = await send({ modelName }, { generation });
    expect(json['generationConfig']).toEqual(thinkingConfig && { thinkingConfig });
    expect(geminiFaults(json, modelName)).toEqual([]);
  });

  const names = ({ body }: SentRequest): unknown => {
    const { tools } = JSON.parse(body) as { tools: { functionDeclarations: ToolSchema[] }[] };
    return tools[0]!.functionDeclarations.map(({ name }) => name);
  };
  const both = ['get_capital', 'get_time'];
  test.each<[ModelRequest['toolChoice'], object | undefined, readonly string[]]>([
    [undefined, undefined, both],
    ['auto', { mode: 'AUTO' }, both],
    ['none', { mode: 'NONE' }, both],
    ['required', { mode: 'ANY' }, both],
    [{ name: 'get_time' }, { mode: 'ANY', allowedFunctionNames: ['get_time'] }, both],
    [{ allowed: both, mode: 'required' }, { mode: 'ANY', allowedFunctionNames: both }, both],
    [{ allowed: ['get_time'] }, { mode: 'AUTO' }, ['get_time']],
    [{ allowed: ['get_time'], mode: 'auto' }, { mode: 'AUTO' }, ['get_time']],
  ])('takes the choice %j as %j', async (toolChoice, config, offered) => {
    const request = await send({}, { tools: TOOLS, toolChoice });
    expect(request.json['toolConfig']).toEqual(config && { functionCallingConfig: config });
    expect(names(request)).toEqual(offered);
  });

  test('are tools, with references inlined and a warning for what is lost, once', async () => {
    const lines: string[] = [];
    const logging = { log: (_: string, message: string) => void lines.push(message) };
    const tool: ToolSchema = {
      name: 'visit',
      parameters: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { place: { $ref: '#/$defs/Place' } },
        $defs: { Place: { type: 'object', properties: { in: { $ref: '#/$defs/Place' } } } },
      },
    };
    const sent: SentRequest[] = [];
    const chat = new GeminiChatModel({
      modelName: OLD,
      apiKey: 'k',
      fetch: fetchOf({ pieces: [plain] }, sent),
    });
    await withRunConfig({ logging }, async () => {
      await chat.call({ ...ASK, tools: [tool, ...TOOLS] });
      await chat.call({ ...ASK, tools: [tool, ...TOOLS] });
    });
    const [first, second] = sent.map(({ body }) => JSON.parse(body) as JsonObject);
    expect(first).toEqual(second);
    expect(first!['tools']).toEqual([
      {
        functionDeclarations: [
          {
            name: 'visit',
            parametersJsonSchema: {
              type: 'object',
              properties: {
                place: {
                  type: 'object',
                  properties: { in: { type: 'object', description: '(circular: Place)' } },
                },
              },
            },
          },
          {
            name: 'get_capital',
            description: 'The capital of a country',
            parametersJsonSchema: TOOLS[0]!.parameters,
          },
          { name: 'get_time' },
        ],
      },
    ]);
    expect(lines).toEqual([
      "Gemini schema: the schema of 'visit' contains 'Place' recursively. This part accepts any value.",
    ]);
  });

  test.each<[boolean, JsonObject]>([
    [false, { type: 'object' }],
    [false, { type: 'object', properties: {}, required: [], additionalProperties: false, title: 'None' }],
    [true, { type: 'object', additionalProperties: { type: 'string' } }],
    [true, { type: 'object', additionalProperties: true }],
    [true, { type: 'object', properties: {}, anyOf: [{ required: ['a'] }] }],
  ])('has parameters (%j) for %j', async (hasAny, parameters) => {
    const { json } = await send({}, { tools: [{ name: 'f', parameters }] });
    const expected = hasAny ? { name: 'f', parametersJsonSchema: parameters } : { name: 'f' };
    expect(json['tools']).toEqual([{ functionDeclarations: [expected] }]);
  });

  test('are tools of Google itself, beside those of ones own', async () => {
    const generation = { extra: { tools: [{ googleSearch: {} }] } };
    expect((await send({ generation })).json['tools']).toEqual([{ googleSearch: {} }]);
    expect((await send({ generation }, { tools: [TOOLS[1]!] })).json['tools']).toEqual([
      { functionDeclarations: [{ name: 'get_time' }] },
      { googleSearch: {} },
    ]);
  });

  test('is a shape for the answer, of which a warning comes once', async () => {
    const lines: string[] = [];
    const logging = { log: (_: string, message: string) => void lines.push(message) };
    const chat = new GeminiChatModel({ modelName: OLD, apiKey: 'k', fetch: fetchOf({ pieces: [plain] }) });
    const structured = { schema: { type: 'object', properties: { next: { $ref: '#' } } } };
    await withRunConfig({ logging }, async () => {
      await chat.call({ ...ASK, structured });
      await chat.call({ ...ASK, structured });
    });
    expect(lines).toEqual([
      "Gemini schema: the answer's schema contains '#' recursively. This part accepts any value.",
    ]);
  });

  test('is a shape for the answer', async () => {
    const schema = {
      type: 'object',
      properties: { kind: { const: 'a' }, at: { $ref: '#/$defs/T' } },
      $defs: { T: { type: 'number' } },
    };
    const { json } = await send({}, { structured: { schema }, generation: { maxTokens: 5 } });
    expect(json['generationConfig']).toEqual({
      maxOutputTokens: 5,
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object', properties: { kind: { enum: ['a'] }, at: { type: 'number' } } },
    });
  });
});

describe('a history', () => {
  test.each([OLD, NEW])('is accepted by %s, whoever left it', async (modelName) => {
    for (const [name, messages] of Object.entries(HISTORIES)) {
      const { json } = await send({ modelName }, { messages, tools: TOOLS });
      expect(geminiFaults(json, modelName), name).toEqual([]);
    }
    expect(Object.keys(HISTORIES).length).toBeGreaterThan(15);
  });

  test('has the system first by itself, and later as a user', async () => {
    const messages = [
      Msg.system('Be kind.'),
      Msg.system('Be short.'),
      Msg.user('Hi.'),
      Msg.assistant('Hello.'),
      Msg.system('Hint.'),
    ];
    expect((await send({}, { messages })).json).toEqual({
      systemInstruction: { parts: [{ text: 'Be kind.' }, { text: 'Be short.' }] },
      contents: [user({ text: 'Hi.' }), model({ text: 'Hello.' }), user({ text: 'Hint.' })],
    });
    expect((await send({}, { messages: [Msg.system('Be kind.')] })).json).toEqual({
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
      contents: [user({ text: '(The conversation begins.)' })],
    });
    expect((await send({ modelName: 'gemma-3-27b-it' }, { messages: messages.slice(1, 3) })).json).toEqual({
      contents: [user({ text: 'Be short.' }), user({ text: 'Hi.' })],
    });
  });

  const call = (id: string) => ({ type: 'tool_use', id, name: 'get_time', input: { n: id } }) as const;
  const result = (id: string, more = {}) =>
    ({ type: 'tool_result', id, name: 'get_time', output: 'noon', status: 'ok', ...more }) as const;

  test('begins and ends with a user, and calls follow on one', async () => {
    const messages = [
      Msg.assistant('Hello.'),
      Msg.assistant([{ type: 'text', text: 'I look.' }, call('a')]),
      Msg.system([result('a')]),
      Msg.assistant('Noon.'),
      Msg.assistant('High noon.'),
    ];
    expect(await contentsOf(messages)).toEqual([
      user({ text: 'Please begin.' }),
      model(
        { text: 'Hello.' },
        { text: 'I look.' },
        { functionCall: { name: 'get_time', args: { n: 'a' } } },
      ),
      user({ functionResponse: { name: 'get_time', response: { output: 'noon' } } }),
      model({ text: 'Noon.' }, { text: 'High noon.' }),
      user({ text: 'Please go on.' }),
    ]);
  });

  test('keeps its bytes while answers in a row become one', async () => {
    const sent: SentRequest[] = [];
    const chat = new GeminiChatModel({
      modelName: OLD,
      apiKey: 'k',
      fetch: fetchOf({ pieces: [plain] }, sent),
    });
    const before = [Msg.user('Hi.'), Msg.assistant('A'), Msg.assistant('B'), Msg.user('So?')];
    await chat.call({ messages: before });
    await chat.call({ messages: [...before, Msg.assistant('C'), Msg.assistant('D'), Msg.user('And?')] });
    const [first, second] = sent.map(({ body }) => body);
    expect(first).toContain('{"role":"model","parts":[{"text":"A"},{"text":"B"}]}');
    expect(second!.startsWith(first!.slice(0, -2))).toBe(true);
  });

  test('has all results of a step in one content, failures as errors, and media behind them', async () => {
    const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: PNG } };
    const messages = [
      Msg.user('Go.'),
      Msg.assistant([call('a'), call('b')]),
      Msg.system([result('b', { status: 'denied', output: 'No.' })]),
      Msg.system([result('a', { output: [{ type: 'text', text: 'See:' }, image] })]),
      Msg.user('And?'),
    ];
    const response = (id: string, response: object) => ({
      functionResponse: { id, name: 'get_time', response },
    });
    expect(await contentsOf(messages, NEW)).toEqual([
      user({ text: 'Go.' }),
      model(
        {
          functionCall: { id: 'a', name: 'get_time', args: { n: 'a' } },
          thoughtSignature: 'skip_thought_signature_validator',
        },
        { functionCall: { id: 'b', name: 'get_time', args: { n: 'b' } } },
      ),
      user(response('a', { output: '- See:\n- The image is shown below.' }), response('b', { error: 'No.' })),
      user(
        { text: "<system-info>The tool 'get_time' returned:" },
        { inlineData: { mimeType: 'image/png', data: PNG } },
        { text: '</system-info>' },
      ),
      user({ text: 'And?' }),
    ]);
  });

  test('of somebody else has no signatures, but the mark for the first call, where one is asked for', async () => {
    const foreign = { providerMeta: { anthropic: { signature: 'zzz' } } };
    const messages = [
      Msg.user('Go.'),
      Msg.assistant([
        { type: 'thinking', thinking: 'Hm.', ...foreign },
        { type: 'text', text: 'Well.', ...foreign },
        { ...call('a'), ...foreign },
      ]),
      Msg.system([result('a')]),
    ];
    const [, answer] = await contentsOf(messages, NEW);
    expect(answer).toEqual(
      model(
        { text: 'Well.' },
        {
          functionCall: { id: 'a', name: 'get_time', args: { n: 'a' } },
          thoughtSignature: 'skip_thought_signature_validator',
        },
      ),
    );
    expect(JSON.stringify(await contentsOf(messages, OLD))).not.toMatch(/[sS]ignature/);
    const baseUrl = 'https://aiplatform.googleapis.com/v1/publishers/google';
    const { json } = await send({ modelName: NEW, baseUrl }, { messages });
    expect((json.contents[1]!['parts'] as JsonObject[])[1]).toEqual({
      functionCall: { name: 'get_time', args: { n: 'a' } },
      thoughtSignature: 'skip_thought_signature_validator',
    });
  });

  test.each<[string, string]>([
    ['parallel-tools', NEW],
    ['thinking-and-tools', OLD],
    ['signed-text', NEW],
    ['image-answer', 'gemini-3-pro-image-preview'],
  ])('gives the signatures of %s back on their parts, after a save and a load', async (name, modelName) => {
    const fixture = readFixtures('gemini').get(name)!;
    const chat = new GeminiChatModel({ modelName, apiKey: 'k', fetch: fetchOf({ pieces: [fixture] }) });
    const answer = await chat.call({ ...ASK, tools: TOOLS });
    const saved = Msg.from(JSON.parse(JSON.stringify(answer)));
    const { json } = await send({ modelName }, { messages: [...ASK.messages, saved, Msg.user('So?')] });
    const back = json.contents[1]!['parts'] as JsonObject[];
    expect(geminiFaults(json, modelName)).toEqual([]);
    const signed = (parts: readonly JsonObject[]): unknown =>
      parts.flatMap(({ thoughtSignature, ...part }) =>
        thoughtSignature === undefined ? [] : [[Object.keys(part)[0], thoughtSignature]],
      );
    const original = new TextDecoder()
      .decode(fixture)
      .split('\n\n')
      .filter((line) => line !== '')
      .flatMap((line) => {
        const { candidates } = JSON.parse(line.slice(6)) as {
          candidates: { content: { parts: JsonObject[] } }[];
        };
        return candidates[0]!.content.parts;
      });
    expect(signed(back)).toEqual(signed(original));
    expect(signed(back)).toHaveLength(1);
    expect(back.some((part) => part['thought'] === true)).toBe(false); // thinking was not signed
  });

  test('sends back signed thinking, and a signature without thinking', async () => {
    const { content } = await read([
      chunk([{ text: 'Hm.', thought: true, thoughtSignature: 'AAAA' }]),
      chunk([{ text: 'Well.' }]),
      chunk([{ functionCall: { name: 'get_time', id: 'c1' }, thoughtSignature: 'BBBB' }]),
      chunk([{ text: '', thoughtSignature: 'CCCC' }], 'STOP'),
    ]);
    const messages = [...ASK.messages, Msg.assistant(content), Msg.system([result('c1')])];
    expect((await contentsOf(messages, NEW))[1]).toEqual(
      model(
        { text: 'Hm.', thought: true, thoughtSignature: 'AAAA' },
        { text: 'Well.' },
        { functionCall: { id: 'c1', name: 'get_time', args: {} }, thoughtSignature: 'BBBB' },
        { text: '', thoughtSignature: 'CCCC' },
      ),
    );
  });

  test('has media as bytes, or by the addresses that Gemini reads', async () => {
    const url = (type: 'image' | 'video' | 'file', url: string, mediaType?: string) =>
      ({ type, source: { type: 'url', url, ...(mediaType && { mediaType }) } }) as const;
    const messages = [
      Msg.user([
        url('image', `data:image/png;base64,${PNG}`),
        url('video', 'https://www.youtube.com/watch?v=abc'),
        url('video', 'https://youtu.be/\ud83dabc', 'video/\ud83d'),
        url('file', 'https://generativelanguage.googleapis.com/v1beta/files/x1', 'application/pdf'),
        url('image', 'https://example.com/map.png'),
        url('video', 'https://www.youtube.com.evil.test/watch'),
      ]),
    ];
    const left = (what: string) => `[${what} was left out here: downloads are off.]`;
    expect((await send({ media: new MediaLoader() }, { messages })).json.contents).toEqual([
      user(
        { inlineData: { mimeType: 'image/png', data: PNG } },
        { fileData: { fileUri: 'https://www.youtube.com/watch?v=abc' } },
        { fileData: { fileUri: 'https://youtu.be/\ufffdabc' } },
        {
          fileData: {
            fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/x1',
            mimeType: 'application/pdf',
          },
        },
        { text: left('An image') },
        { text: left('A video') },
      ),
    ]);
  });

  test('leaves the pictures and the sound of others out of answers', async () => {
    const source = { type: 'base64', mediaType: 'image/png', data: PNG } as const;
    const own = { providerMeta: { gemini: {} } };
    const messages = [
      Msg.user('Hi.'),
      Msg.assistant([{ type: 'image', source }]),
      Msg.user('Draw.'),
      Msg.assistant([
        { type: 'audio', source: { ...source, mediaType: 'audio/L16' }, ...own },
        { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' }, ...own },
        { type: 'image', source, ...own },
      ]),
      Msg.user('So?'),
    ];
    expect(await contentsOf(messages)).toEqual([
      user({ text: 'Hi.' }),
      user({ text: 'Draw.' }),
      model({ inlineData: { mimeType: 'image/png', data: PNG } }),
      user({ text: 'So?' }),
    ]);
  });
});

describe('an answer', () => {
  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['LANGUAGE', 'other'],
    ['TOO_MANY_TOOL_CALLS', 'other'],
    ['SOMETHING_NEW', 'other'],
    ['__proto__', 'other'],
  ])('that ends by %s ends by %s', async (said, reason) => {
    expect(await read([chunk([{ text: 'Hi' }], said)])).toEqual({
      content: [{ type: 'text', text: 'Hi' }],
      finishReason: reason,
      responseId: 'r1',
    });
  });

  const part = { functionCall: { name: 'get_time', args: { zone: 'CET' }, id: 'c1' } };

  test.each([
    ['in the same chunk', [chunk([part], 'MAX_TOKENS')]],
    ['later', [chunk([part]), chunk([], 'MAX_TOKENS')]],
    ['after it said stop', [chunk([part], 'STOP'), chunk([], 'MAX_TOKENS')]],
    ['for another reason', [chunk([part], 'OTHER')]],
  ])('that is cut off %s has made no calls', async (_, chunks) => {
    const { content, finishReason } = await read(chunks);
    expect(content).toEqual([]);
    expect(finishReason).not.toBe('tool_calls');
  });

  test('has the signature of its text on its text, though empty parts come in between', async () => {
    const chunks = [
      chunk([{ text: 'Hi' }]),
      chunk([{ text: '' }]),
      chunk([{ text: '', thoughtSignature: 'AAAA' }], 'STOP'),
    ];
    const providerMeta = { gemini: { thoughtSignature: 'AAAA' } };
    expect((await read(chunks)).content).toEqual([{ type: 'text', text: 'Hi', providerMeta }]);
    const texts: unknown[] = [];
    for await (const delta of modelOf(chunks).stream(ASK)) if (delta.type === 'text') texts.push(delta);
    expect(texts).toEqual([
      { type: 'text', text: 'Hi' },
      { type: 'text', text: '', providerMeta },
    ]);
  });

  test('calls the same tool twice with ids of its own for each', async () => {
    const { content } = await read([chunk([part, part, { functionCall: { name: 'get_time' } }], 'STOP')]);
    expect(content).toEqual([
      { type: 'tool_use', id: 'c1', name: 'get_time', input: { zone: 'CET' } },
      { type: 'tool_use', id: 'call_id-2', name: 'get_time', input: { zone: 'CET' } },
      { type: 'tool_use', id: 'call_id-3', name: 'get_time', input: {} },
    ]);
  });

  test('has sound, pictures and files', async () => {
    const inline = (mimeType: string, data: string): object => ({ inlineData: { mimeType, data } });
    const { content } = await read([
      chunk([inline('audio/L16;codec=pcm;rate=24000', 'AAAA')]),
      chunk([
        inline('audio/L16;codec=pcm;rate=24000', 'BBBB'),
        inline('image/png', PNG),
        inline('image/png', ''),
      ]),
      chunk([{ ...inline('image/png', 'AAAA'), thought: true }]), // a draft
      chunk([inline('application/pdf', 'JVBERi0=')], 'STOP'),
    ]);
    const source = (mediaType: string, data: string) => ({ source: { type: 'base64', mediaType, data } });
    const own = { providerMeta: { gemini: {} } };
    expect(content).toEqual([
      { type: 'audio', ...source('audio/L16;codec=pcm;rate=24000', 'AAAABBBB'), ...own },
      { type: 'image', ...source('image/png', PNG), ...own },
      { type: 'file', ...source('application/pdf', 'JVBERi0='), ...own },
    ]);
  });

  test('whose sound is none is malformed', async () => {
    const inlineData = { mimeType: 'audio/L16;codec=pcm;rate=24000', data: 'no base64!' };
    expect(await read([chunk([{ text: 'Listen:' }, { inlineData }], 'STOP')])).toEqual({
      content: [{ type: 'text', text: 'Listen:' }],
      responseId: 'r1',
      error: 'malformed',
    });
  });

  test('of a careless server does no harm', async () => {
    const outcome = await read([
      {},
      { candidates: null, usageMetadata: 7, promptFeedback: {} },
      { candidates: [null, 7] },
      { candidates: [{ content: null }], responseId: 7 },
      chunk([null, 7, {}, { text: 7 }, { text: '' }, { functionCall: 7 }, { inlineData: {} }]),
      {
        candidates: [{ finishReason: '' }],
        usageMetadata: { promptTokenCount: 'x', thoughtsTokenCount: null },
      },
      chunk([{ functionCall: { name: 'get_time', args: 'x' } }], 'STOP', {
        usageMetadata: { promptTokenCount: 3 },
      }),
    ]);
    expect(outcome).toEqual({
      content: [{ type: 'tool_use', id: 'call_id-2', name: 'get_time', input: {} }],
      usage: { inputTokens: 3, outputTokens: 0 },
      finishReason: 'tool_calls',
      responseId: 'r1',
    });
  });

  test('tells its usage as soon as it is known, and again when it has changed', async () => {
    const usage = (candidatesTokenCount: number) => ({
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount },
    });
    const chunks = [
      chunk([{ text: 'a' }], '', usage(1)),
      chunk([{ text: 'b' }], '', usage(1)),
      chunk([{ text: 'c' }], 'STOP', usage(2)),
      usage(2),
    ];
    const told: unknown[] = [];
    for await (const delta of modelOf(chunks).stream(ASK)) {
      if (delta.type === 'text') told.push(delta.text);
      if (delta.type === 'usage') told.push([delta.usage.inputTokens, delta.usage.outputTokens]);
    }
    expect(told).toEqual([[3, 1], 'a', 'b', [3, 2], 'c']);
  });

  test('is whole once it has said why it ends, though the connection breaks', async () => {
    const pieces = [bodyOf([chunk([{ text: 'Hi.' }], 'STOP')])];
    const chat = new GeminiChatModel({
      modelName: NEW,
      apiKey: 'k',
      fetch: fetchOf({ pieces, breaks: true }),
    });
    expect(await outcomeOf(chat, ASK)).toEqual({
      content: [{ type: 'text', text: 'Hi.' }],
      finishReason: 'stop',
      responseId: 'r1',
    });
  });

  test('that has said why it ends may go on, but nobody waits long for that', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const chunks = [chunk([{ text: 'Hi' }], 'STOP'), chunk([{ text: ' there.' }], 'STOP')];
    const pieces = chunks.map((one) => bodyOf([one]));
    const fetch = fetchOf({ pieces, stalls: true });
    const answer = new GeminiChatModel({ modelName: NEW, apiKey: 'k', fetch }).call(ASK);
    await clock.advance(0);
    await clock.advance(5000);
    expect((await answer).text).toBe('Hi there.');
  });

  test('costs what the pricing says', async () => {
    const fetch = fetchOf({ pieces: [plain] });
    const pricing = { input: 2, output: 8, cachedInput: 0.5 };
    const chat = new GeminiChatModel({ modelName: OLD, apiKey: 'k', fetch, pricing });
    expect((await chat.call(ASK)).usage?.cost).toBeCloseTo((13 * 2 + 2040 * 0.5 + 31 * 8) / 1e6, 12);
  });

  test('that arrives is passed on before the rest is there', async () => {
    const [first] = new TextDecoder().decode(plain).split('\n\n');
    const fetch = fetchOf({ pieces: [toBytes(`${first}\n\n`)], stalls: true });
    const chat = new GeminiChatModel({ modelName: OLD, apiKey: 'k', fetch });
    for await (const delta of chat.stream(ASK)) {
      if (delta.type !== 'text') continue;
      expect(delta).toEqual({ type: 'text', text: 'Grüß' });
      return;
    }
    throw new Error('It said nothing.');
  });
});

describe('a failure', () => {
  const failing = (status: number, body: unknown): GeminiChatModel => {
    const text = typeof body === 'string' ? body : JSON.stringify(body, null, 2);
    const fetch = fetchOf({
      pieces: [toBytes(text)],
      status,
      headers: { 'content-type': 'application/json' },
    });
    return new GeminiChatModel({ modelName: OLD, apiKey: KEY, fetch });
  };
  const error = (code: number, status: string, message: string, details: object[] = []) => ({
    error: { code, message, status, ...(details.length > 0 && { details }) },
  });

  test.each([
    [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'auth'],
    [403, 'PERMISSION_DENIED', 'Generative Language API has not been used in project 1.', 'auth'],
    [
      400,
      'INVALID_ARGUMENT',
      'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).',
      'context_overflow',
    ],
    [
      400,
      'INVALID_ARGUMENT',
      'Function call is missing a thought_signature in functionCall parts.',
      'bad_request',
    ],
    [404, 'NOT_FOUND', 'models/x is not found for API version v1beta.', 'bad_request'],
    [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).', 'rate_limit'],
    [500, 'INTERNAL', 'An internal error has occurred.', 'overloaded'],
    [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.', 'overloaded'],
  ])('by %i %s: %s is %s', async (status, code, message, kind) => {
    const expected = { kind, status, providerCode: code };
    expect(await failureOf(failing(status, error(status, code, message)))).toMatchObject(expected);
    expect(await failureOf(failing(status, [error(status, code, message)]))).toMatchObject(expected);
  });

  test('holds neither the key nor the prompt', async () => {
    const thrown = await failureOf(failing(400, error(400, 'INVALID_ARGUMENT', `Bad: ${KEY} (Hi.)`)));
    expect(thrown.message).toContain('Bad: [redacted]');
    expect(`${thrown.stack} ${thrown.body} ${JSON.stringify(thrown)}`).not.toContain(KEY);
  });

  test('of the prompt to pass the filter is an error with the reason', async () => {
    const blocked = modelOf([{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, responseId: 'r1' }]);
    expect(await failureOf(blocked)).toMatchObject({
      kind: 'content_filter',
      providerCode: 'PROHIBITED_CONTENT',
      isRetryable: false,
      message: `Gemini (${NEW} at generativelanguage.googleapis.com): The content filter blocked the request: PROHIBITED_CONTENT. Change the request.`,
    });
  });

  test.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'MALFORMED_RESPONSE'])(
    'to write a call (%s) may be tried again, and makes no call',
    async (finishReason) => {
      const candidate = { finishReason, finishMessage: 'Malformed function call: private things', index: 0 };
      const chunks = [chunk([{ functionCall: { name: 'get_time', args: {} } }]), { candidates: [candidate] }];
      const thrown = await failureOf(modelOf(chunks));
      expect(thrown).toMatchObject({ kind: 'malformed', providerCode: finishReason, isRetryable: true });
      expect(thrown.body).toBe(candidate.finishMessage);
      expect(`${thrown.message} ${JSON.stringify(thrown)}`).not.toContain('private');
      expect(await read(chunks)).toEqual({ content: [], responseId: 'r1', error: 'malformed' });
    },
  );

  test('to end a call in pieces makes no call', async () => {
    const piece = { name: 'f', willContinue: true, partialArgs: [{ jsonPath: '$.a', stringValue: 'x' }] };
    const chunks = [
      chunk([{ functionCall: piece }]),
      { responseId: 'r1', candidates: [{ finishReason: 'STOP', index: 0 }] },
    ];
    expect(await read(chunks)).toEqual({ content: [], finishReason: 'stop', responseId: 'r1' });
  });

  test.each(['a', '$', '$.a[', '$..a', '$.a[x]', undefined])(
    'is a call in pieces with the path %s',
    async (jsonPath) => {
      const piece = { name: 'f', willContinue: true, partialArgs: [{ jsonPath, stringValue: 'x' }] };
      const thrown = await failureOf(modelOf([chunk([{ functionCall: piece }])]));
      expect(thrown).toMatchObject({ kind: 'malformed', isRetryable: false });
    },
  );

  test('is an answer that never says that it is finished', async () => {
    expect(await failureOf(modelOf([chunk([{ text: 'Hi' }])]))).toMatchObject({ kind: 'network' });
    expect(await failureOf(modelOf([{ usageMetadata: { promptTokenCount: 1 } }]))).toMatchObject({
      kind: 'network',
    });
  });
});

describe('the contract of all models', () => {
  const requests = new WeakMap<object, SentRequest[]>();
  const make = (scenario: ContractScenario): GeminiChatModel => {
    const sent: SentRequest[] = [];
    const letters = Array.from(CONTRACT_TEXT, (text) => chunk([{ text }]));
    const calls = CONTRACT_CALLS.map(({ name, input }) => ({ functionCall: { name, args: input } }));
    const deliveries = {
      text: { pieces: [bodyOf([...letters, chunk([], 'STOP')])] },
      tools: { pieces: [bodyOf([chunk([{ text: 'Hm.', thought: true }]), chunk(calls, 'STOP')])] },
      stall: { pieces: [bodyOf([chunk([{ text: 'Let me see' }])])], stalls: true },
      failure: {
        pieces: [toBytes(JSON.stringify({ error: { code: 500, message: KEY, status: 'INTERNAL' } }))],
        status: 500,
      },
      breaks: { pieces: [bodyOf([chunk([{ text: 'Let me see' }])])], breaks: true },
    };
    const chat = new GeminiChatModel({
      modelName: NEW,
      apiKey: KEY,
      fetch: fetchOf(deliveries[scenario], sent),
    });
    requests.set(chat, sent);
    return chat;
  };
  const cases = chatModelContract(make, { secret: KEY, workOf: (chat) => requests.get(chat)!.length });
  test.each(cases.map(({ name, run }) => [name, run] as const))('%s', (_, run) => run());

  test('is kept in all cases', () => expect(cases.length).toBeGreaterThanOrEqual(30));
});
