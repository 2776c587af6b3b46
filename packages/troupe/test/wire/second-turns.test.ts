// The second turn of recorded answers, field by field as the vendor demands.
import { describe, expect, test } from 'vitest';

import { MsgDraft } from '../../src/message/msg-draft.ts';
import { Msg } from '../../src/message/msg.ts';
import type { ChatModelBase, GenerationOptions } from '../../src/model/chat-model-base.ts';
import {
  OpenAIChatModel,
  OpenAIResponsesModel,
  type ChatVendorName,
} from '../../src/providers/openai/index.ts';
import { isJsonObject, type JsonObject } from '../../src/util/json.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { HISTORIES, TOOLS } from './histories.ts';
import { openAiChatFaults, STRICTNESS } from './openai-chat-rules.ts';
import { openAiResponsesFaults } from './openai-responses-rules.ts';
import { fetchOf, readFixtures, toBytes, toText, type SentRequest } from './replay.ts';

/** Request of the turn after a recorded answer, whose tool calls have results. The history was saved and loaded. */
async function secondTurn(
  make: (fetch: Fetch) => ChatModelBase,
  recording: Uint8Array,
  generation: GenerationOptions = {},
): Promise<JsonObject> {
  const sent: SentRequest[] = [];
  const model = make(fetchOf({ pieces: [recording] }, sent));
  const question = Msg.user('Go.');
  const answer = await model.call({ messages: [question], tools: TOOLS });
  const results = answer
    .getContentBlocks('tool_use')
    .map(({ id, name }) => ({ type: 'tool_result', id, name, output: 'So.', status: 'ok' }) as const);
  const messages = [question, answer, ...(results.length > 0 ? [Msg.system(results)] : [Msg.user('And?')])];
  const loaded = messages.map((msg) => Msg.from(JSON.parse(JSON.stringify(msg))));
  await model.call({ messages: loaded, tools: TOOLS, generation });
  return JSON.parse(sent[1]!.body) as JsonObject;
}

function chat(vendor: ChatVendorName, modelName = 'm') {
  return (fetch: Fetch) =>
    new OpenAIChatModel({ vendor, modelName, apiKey: 'k', baseUrl: 'http://x.test', fetch });
}

const recorded = (folder: string, name: string): Uint8Array => readFixtures(folder).get(name)!;
const answerIn = (body: JsonObject): unknown => (body['messages'] as readonly unknown[])[1];
const wireCall = (id: string, name: string, args: string) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const JAPAN = '{"country":"Japan"}';
const BOTH = (first: string, second: string) => [
  wireCall(first, 'get_capital', '{"country":"Perú"}'),
  wireCall(second, 'get_time', '{}'),
];

describe('thinking goes back to the server that made it, in the field in which it came:', () => {
  test.each<[ChatVendorName, string, JsonObject]>([
    [
      'compatible',
      'reasoning-field',
      { reasoning: 'Look up 日本.', content: null, tool_calls: [wireCall('call_oc', 'get_capital', JAPAN)] },
    ],
    [
      'compatible',
      'reasoning-content-field',
      {
        reasoning_content: 'Look up 日本.',
        content: 'Let me look.',
        tool_calls: [wireCall('call_gs', 'get_capital', JAPAN)],
      },
    ],
    [
      'compatible',
      'google-thoughts', // refused by Google without the signature, and with thinking
      {
        content: 'Moment: ',
        tool_calls: [
          {
            ...wireCall('function-call-1', 'get_capital', JAPAN),
            extra_content: { google: { thought_signature: 'EuQDCuEDsig==' } },
          },
        ],
      },
    ],
    [
      'compatible',
      'thinking-blocks',
      {
        thinking_blocks: [
          { type: 'thinking', thinking: 'Look up 日本.', signature: 'ErUBsigned==' },
          { type: 'redacted_thinking', data: 'EmwKAhgBredacted' },
        ],
        content: 'Let me look.',
        tool_calls: [wireCall('toolu_01LL', 'get_capital', JAPAN)],
      },
    ],
    [
      'compatible',
      'unsigned-thinking-blocks', // without a signature, Claude refuses them
      {
        reasoning_content: 'Look up 日本.',
        content: null,
        tool_calls: [wireCall('toolu_01UN', 'get_capital', JAPAN)],
      },
    ],
    [
      'compatible',
      'reasoning-parts',
      {
        content: [
          {
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: 'A greeting 👋.', signature: 'ErUB==' }],
          },
          { type: 'text', text: 'Grüß dich!' },
        ],
      },
    ],
    ['xai', 'plain', { reasoning_content: 'First, greet.', content: 'Grüß dich, 世界!' }],
    [
      'mistral',
      'plain',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'A greeting 👋.' }] },
          { type: 'text', text: 'Grüß dich!' },
        ],
      },
    ],
    ['groq', 'plain', { reasoning: 'We should greet 👋.', content: 'Grüß dich!' }],
    [
      'together',
      'parallel-tools',
      { reasoning: 'Two.', content: null, tool_calls: BOTH('call_tg1', 'call_tg2') },
    ],
    ['fireworks', 'plain', { reasoning_content: 'A greeting 👋.', content: 'Grüß dich!' }],
    ['cerebras', 'plain', { reasoning: 'A greeting 👋.', content: 'Grüß dich!' }],
    [
      'minimax',
      'parallel-tools',
      {
        reasoning_details: [
          {
            type: 'reasoning.text',
            id: 'reasoning-text-1',
            format: 'MiniMax-response-v1',
            index: 0,
            text: 'Two.',
          },
        ],
        content: null,
        tool_calls: BOTH('call_function_1', 'call_function_2'),
      },
    ],
    ['volcengine', 'plain', { content: '你好 👋' }],
    [
      'volcengine',
      'parallel-tools',
      { reasoning_content: '两个问题。', content: null, tool_calls: BOTH('call_vc1', 'call_vc2') },
    ],
    ['hunyuan', 'plain', { content: '你好 👋' }],
  ])('%s, %s', async (vendor, name, message) => {
    const body = await secondTurn(chat(vendor), recorded(`openai-chat-${vendor}`, name));
    expect(answerIn(body)).toEqual({ role: 'assistant', ...message });
    expect(openAiChatFaults(body, STRICTNESS[vendor])).toEqual([]);
  });
});

describe('DeepSeek', () => {
  const foreign = HISTORIES['a call at the end without a result']!;
  const send = async (generation: GenerationOptions): Promise<unknown> => {
    const sent: SentRequest[] = [];
    const model = chat('deepseek')(fetchOf({ pieces: [recorded('openai-chat-deepseek', 'plain')] }, sent));
    await model.call({ messages: foreign, tools: TOOLS, generation });
    const message = answerIn(JSON.parse(sent[0]!.body) as JsonObject);
    return isJsonObject(message) ? message['reasoning_content'] : undefined;
  };

  test('gets a placeholder for thinking that it demands, and none with thinking off', async () => {
    expect(await send({})).toBe('(not recorded)');
    expect(await send({ reasoningEffort: 'high' })).toBe('(not recorded)');
    expect(await send({ reasoningEffort: 'none' })).toBe(undefined);
    expect(await send({ thinkingTokens: 0 })).toBe(undefined);
    expect(await send({ extra: { thinking: { type: 'disabled' } } })).toBe(undefined);
  });
});

describe('ids of tool calls for models of Mistral', () => {
  test.each<[ChatVendorName, string]>([
    ['mistral', 'any-name'],
    ['openrouter', 'mistralai/mistral-small-3.2'],
    ['compatible', 'Devstral-Small-2507'],
  ])('have nine letters or digits at %s with %s, whatever the history', async (vendor, modelName) => {
    const sent: SentRequest[] = [];
    const plain = recorded('openai-chat', 'plain');
    for (const messages of Object.values(HISTORIES))
      await chat(vendor, modelName)(fetchOf({ pieces: [plain] }, sent)).call({ messages, tools: TOOLS });
    const ids = sent.flatMap(({ body }) =>
      (
        JSON.parse(body) as { messages: { tool_call_id?: string; tool_calls?: { id: string }[] }[] }
      ).messages.flatMap(({ tool_call_id: id, tool_calls: calls = [] }) => [
        ...(id === undefined ? [] : [id]),
        ...calls.map((call) => call.id),
      ]),
    );
    expect(ids.length).toBeGreaterThan(40);
    expect(ids.filter((id) => !/^[a-zA-Z0-9]{9}$/.test(id))).toEqual([]);
  });
});

describe('Responses', () => {
  const make =
    (options: { store?: boolean; modelName?: string } = {}) =>
    (fetch: Fetch) =>
      new OpenAIResponsesModel({ vendor: 'openai', modelName: 'gpt-5.1', apiKey: 'k', fetch, ...options });
  const inputOf = ({ input }: JsonObject): readonly unknown[] => (input as readonly unknown[]).slice(1);
  const call = { call_id: 'call_J', name: 'get_capital', arguments: JAPAN };
  const output = { type: 'function_call_output', call_id: 'call_J', output: 'So.' };

  test('thinking that came as it is goes back as it is', async () => {
    const body = await secondTurn(make(), recorded('openai-responses', 'raw-reasoning'));
    expect(inputOf(body)).toEqual([
      {
        type: 'reasoning',
        id: 'rs_lm1',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'Look up 日本.' }],
      },
      { type: 'function_call', ...call },
      output,
    ]);
    expect(openAiResponsesFaults(body)).toEqual([]);
  });

  test('stored items go back with their ids, in pairs', async () => {
    const body = await secondTurn(make({ store: true }), recorded('openai-responses', 'thinking-and-tools'));
    const [reasoning, ...rest] = inputOf(body);
    expect(reasoning).toMatchObject({ type: 'reasoning', id: 'rs_0a', encrypted_content: 'gAAAAABo-enc==' });
    expect(rest).toEqual([{ type: 'function_call', id: 'fc_1', ...call }, output]);
    expect(openAiResponsesFaults(body)).toEqual([]);
  });

  test('a stored message goes back with its id only behind its reasoning item', async () => {
    const events = (withReasoning: boolean): Uint8Array => {
      const items = [
        ...(withReasoning ? [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gA==' }] : []),
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] },
      ];
      const answer = { id: 'resp_1', object: 'response', model: 'gpt-5.1', status: 'completed' };
      return toBytes(JSON.stringify({ ...answer, output: items }));
    };
    const message = { role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] };
    const [reasoning, stored] = inputOf(await secondTurn(make({ store: true }), events(true)));
    expect([reasoning, stored]).toEqual([
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gA==' },
      { type: 'message', id: 'msg_1', ...message },
    ]);
    expect(inputOf(await secondTurn(make({ store: true }), events(false)))[0]).toEqual({
      type: 'message',
      ...message,
    });
    expect(inputOf(await secondTurn(make(), events(true)))[1]).toEqual(message);
  });

  test('thinking that is only stored goes back by its id, and calls of the vendor’s tools with it', async () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Look.' }] };
    const search = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'Köln' },
    };
    const text = { role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] };
    const answer = (...output: JsonObject[]): Uint8Array =>
      toBytes(JSON.stringify({ id: 'resp_1', object: 'response', model: 'm', status: 'completed', output }));
    const whole = answer(reasoning, search, { type: 'message', id: 'msg_1', ...text });
    const stored = await secondTurn(make({ store: true }), whole);
    expect(inputOf(stored).slice(0, 3)).toEqual([reasoning, search, { type: 'message', ...text }]);
    expect(openAiResponsesFaults(stored)).toEqual([]);
    const silent = { ...reasoning, summary: [] };
    expect(inputOf(await secondTurn(make({ store: true }), answer(silent, search, text)))[0]).toEqual(silent);

    // A model that takes no reasoning items can't be sent the search alone: both are known by their ids.
    const body = await secondTurn(make({ store: true, modelName: 'gpt-4.1' }), whole);
    const said = (words: string) => ({
      role: 'assistant',
      content: [{ type: 'output_text', text: words }],
    });
    expect(inputOf(body).slice(0, 3)).toEqual([
      said('[web_search, run by openai: {"type":"search","query":"Köln"}]'),
      said('[Result of web_search: completed]'),
      { type: 'message', ...text },
    ]);
    expect(openAiResponsesFaults(body)).toEqual([]);
  });

  test('an answer that was cut off is not stored, and goes back without what is known by an id alone', async () => {
    const recording = toText(recorded('openai-responses', 'web-search')).replaceAll(
      /"encrypted_content":"[^"]*",?/g,
      '"encrypted_content":null',
    );
    const [cut = ''] = recording.split('event: response.completed');
    const sent: SentRequest[] = [];
    const model = make({ store: true })(fetchOf({ pieces: [toBytes(cut)] }, sent));
    const draft = new MsgDraft('assistant');
    const reading = (async () => {
      for await (const delta of model.stream({ messages: [Msg.user('Go.')] })) draft.add(delta);
    })();
    await expect(reading).rejects.toThrow('lost');
    await model
      .call({ messages: [Msg.user('Go.'), draft.finish(), Msg.user('And?')] })
      .catch(() => undefined);
    const items = inputOf(JSON.parse(sent[1]?.body ?? '{}') as JsonObject) as readonly JsonObject[];
    const byText = { role: 'assistant', id: undefined, type: undefined };
    expect(items.map(({ role, id, type }) => ({ role, id, type }))).toEqual([
      byText, // the search, and
      byText, // its result
      byText,
      { ...byText, role: 'user' },
    ]);
  });

  test('a model that does not reason gets no reasoning items, an unknown one gets its own', async () => {
    const recording = recorded('openai-responses', 'thinking-and-tools');
    const typesOf = async (modelName: string): Promise<unknown[]> =>
      inputOf(await secondTurn(make({ modelName }), recording)).map((item) => (item as JsonObject)['type']);
    const own = ['function_call', 'function_call_output'];
    expect(await typesOf('gpt-4.1')).toEqual(own);
    expect(await typesOf('gpt-5.1')).toEqual(['reasoning', ...own]);
    expect(await typesOf('my-own-model')).toEqual(['reasoning', ...own]);
  });
});
