import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Msg } from '../../src/message/msg.ts';
import { OpenAIResponsesModel, openaiTools } from '../../src/providers/openai/index.ts';
import { ReActAgent } from '../../src/react/react-agent.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { TOOLS } from './histories.ts';
import { openAiResponsesFaults } from './openai-responses-rules.ts';
import { describeProviderTools, type ProviderToolCase } from './provider-tools-suite.ts';
import {
  fetchOf,
  outcomeOf,
  readFixtures,
  readOutcomes,
  toBytes,
  toText,
  type SentRequest,
} from './replay.ts';

const fixtures = readFixtures('openai-responses');
const SSE = { 'content-type': 'text/event-stream' };

/** The output of a recorded answer, as the API wants it back. */
function outputOf(name: string, of = fixtures): JsonObject[] {
  const lines = toText(of.get(name) ?? new Uint8Array()).split('\n');
  const data = lines
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as JsonObject);
  const { response } = data.at(-1) as { response: { output: JsonObject[] } };
  const { output } = response;
  return output.map((item) => {
    if (item['type'] !== 'message') return item;
    const content = (item['content'] as JsonObject[]).map(({ logprobs: _, annotations, ...part }) => ({
      ...part,
      ...((annotations as unknown[]).length > 0 && { annotations }),
    }));
    return { role: 'assistant', content };
  });
}

const said = (text: string): JsonObject => ({ role: 'assistant', content: [{ type: 'output_text', text }] });
const answered = (name: string, output: JsonObject): JsonObject[] => [...outputOf(name), output];

const cases: ProviderToolCase[] = [
  {
    name: 'web-search',
    sentBack: outputOf('web-search'),
    inWords: ['web_search', 'https://example.com/koeln'],
  },
  { name: 'file-search', sentBack: outputOf('file-search'), inWords: ['urlaub.pdf: 30 Tage', 'Sources:'] },
  {
    name: 'code-interpreter',
    sentBack: outputOf('code-interpreter'),
    inWords: ['Result of code_interpreter: ü'],
  },
  { name: 'image-generation', sentBack: outputOf('image-generation'), inWords: ['image_generation'] },
  { name: 'mcp', sentBack: outputOf('mcp'), inWords: ['https://zip1.io/x', 'broken'] },
  {
    name: 'mcp-approval',
    sentBack: answered('mcp-approval', {
      type: 'mcp_approval_response',
      approval_request_id: 'mcpr_01',
      approve: true,
    }),
    inWords: ['mcp_approval'],
  },
  {
    name: 'shell',
    sentBack: answered('shell', {
      type: 'shell_call_output',
      call_id: 'call_sh1',
      max_output_length: 8912,
      output: [{ stdout: 'Result of shell', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    }),
    inWords: ['ls -a'],
  },
  {
    name: 'apply-patch',
    sentBack: answered('apply-patch', {
      type: 'apply_patch_call_output',
      call_id: 'call_ap1',
      status: 'completed',
      output: 'Result of apply_patch',
    }),
    inWords: ['update_file'],
  },
  {
    name: 'local-shell',
    sentBack: answered('local-shell', {
      type: 'local_shell_call_output',
      call_id: 'call_ls1',
      output: 'Result of local_shell',
    }),
    inWords: ['local_shell'],
  },
  {
    name: 'custom-tool',
    sentBack: answered('custom-tool', {
      type: 'custom_tool_call_output',
      call_id: 'call_ct1',
      output: 'Result of write_sql',
    }),
    inWords: ['SELECT'],
  },
  {
    name: 'program',
    sentBack: [
      ...outputOf('program').map(({ id, status: _, ...item }) => ({
        ...(item['type'] === 'program' && { id: id ?? '' }),
        ...item,
      })),
      {
        type: 'function_call_output',
        call_id: 'call_cap',
        output: 'Result of get_capital',
        caller: { type: 'program', caller_id: 'call_pr1' },
      },
    ],
    inWords: ['[program, run by openai', 'await tools.get_capital'],
  },
  {
    name: 'program-output',
    sentBack: outputOf('program-output'),
    inWords: ['{\\"capital\\":\\"Lima\\"}'],
  },
  {
    name: 'tool-search',
    sentBack: [
      ...outputOf('tool-search').map(({ id, status, ...item }) => ({
        ...(item['type'] !== 'function_call' && { id: id ?? '', status: status ?? '' }),
        ...item,
      })),
      { type: 'function_call_output', call_id: 'call_time', output: 'Result of get_time' },
    ],
    inWords: ['Result of tool_search_output: get_time'],
  },
  {
    name: 'client-tool-search',
    sentBack: answered('client-tool-search', {
      type: 'tool_search_output',
      call_id: 'call_ts1',
      execution: 'client',
      status: 'completed',
      tools: [],
    }),
    inWords: ['Wetter für Köln'],
  },
  {
    name: 'computer',
    sentBack: answered('computer', {
      type: 'computer_call_output',
      call_id: 'call_cu1',
      output: {
        type: 'computer_screenshot',
        image_url: expect.stringMatching(/^data:image\/png;base64,/) as string,
      },
      acknowledged_safety_checks: [
        {
          id: 'cu_sc_1',
          code: 'malicious_instructions',
          message: 'Möglicherweise fremde Anweisungen',
        },
      ],
    }),
    inWords: ['screenshot'],
  },
  {
    name: 'container-shell',
    sentBack: outputOf('container-shell'),
    inWords: ['echo ü', 'Result of shell_call_output: ü'],
  },
  {
    name: 'search-results',
    sentBack: [
      said('[search_results, run by openai: {"queries":["Wetter Köln"]}]'),
      said('[Result of search_results: Wetter <https://example.com/koeln>]'),
      said('[search_results, run by openai: {"queries":["Klima"]}]'),
      said('[Result of search_results: Klima <https://example.org/>]'),
      ...outputOf('search-results').slice(2),
    ],
    inWords: ['Result of search_results: Klima <https://example.org/>'],
  },
  {
    name: 'only-completed',
    sentBack: [
      ...outputOf('only-completed').slice(0, 2),
      { type: 'function_call', call_id: 'call_1', name: 'get_time', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Result of get_time' },
    ],
    inWords: ['https://example.com/koeln'],
  },
  {
    name: 'unknown-item',
    sentBack: [
      { role: 'assistant', content: [{ type: 'output_text', text: '[time_travel, run by openai: {}]' }] },
      {
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: expect.stringMatching(/^\[Result of time_travel: .*"year":1850/) as string,
          },
        ],
      },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Ich war in Köln.' }] },
    ],
    inWords: ['1850'],
  },
];

const PROVIDER_TOOLS = [
  openaiTools.webSearch({ allowedDomains: ['example.com'] }),
  openaiTools.fileSearch({ vectorStoreIds: ['vs_1'], maxResults: 3 }),
  openaiTools.codeInterpreter(),
  openaiTools.imageGeneration({ partialImages: 2 }),
  openaiTools.mcp({ label: 'zip1', url: 'https://zip1.io/mcp' }),
  openaiTools.shell(),
  openaiTools.localShell(),
  openaiTools.applyPatch(),
  openaiTools.custom('write_sql'),
  openaiTools.computer(),
  openaiTools.programmaticToolCalling(),
  openaiTools.toolSearch({ description: 'Finds tools', parameters: { type: 'object' } }),
];
const modelOf = (options: object): OpenAIResponsesModel =>
  new OpenAIResponsesModel({
    vendor: 'openai',
    modelName: 'gpt-5.1',
    apiKey: 'key',
    providerTools: PROVIDER_TOOLS,
    ...options,
  });

describeProviderTools({
  wire: { folder: 'openai-responses', contentType: SSE['content-type'], faultsIn: openAiResponsesFaults },
  makeModel: modelOf,
  answerIn({ input }) {
    const items = input as JsonObject[];
    const isAnswer = (item: JsonObject): boolean => JSON.stringify(item).includes('Grüß dich'); // of the fixture 'plain'
    const end = items.findIndex((item, i) => i > 0 && (item['role'] === 'user' || isAnswer(item)));
    return items.slice(1, end);
  },
  cases,
});

const XAI_ITEMS = readFixtures('openai-responses-xai');

describeProviderTools({
  wire: { folder: 'openai-responses-xai', contentType: SSE['content-type'], faultsIn: openAiResponsesFaults },
  makeModel: (options) =>
    new OpenAIResponsesModel({
      vendor: 'xai',
      modelName: 'grok-4-fast-non-reasoning',
      apiKey: 'key',
      providerTools: [openaiTools.webSearch(), openaiTools.other({ type: 'x_search' })],
      ...options,
    }),
  answerIn: ({ input }) => (input as JsonObject[]).slice(1, -1),
  cases: [
    {
      name: 'x-search',
      sentBack: outputOf('x-search', XAI_ITEMS),
      inWords: [
        'x_keyword_search',
        'from:xai Köln',
        'https://video.example.com/v.mp4',
        'https://x.com/i/status/1',
      ],
    },
    {
      name: 'named-search',
      sentBack: outputOf('named-search', XAI_ITEMS),
      inWords: ['[web_search, run by xai: {\\"query\\":\\"Wetter Köln\\"', 'https://example.com/koeln'],
    },
    {
      name: 'searches',
      sentBack: outputOf('searches', XAI_ITEMS),
      inWords: ['https://example.com/koeln', '{\\"query\\":\\"Köln\\",\\"limit\\":20}', "print('ü')"],
    },
  ],
});

test.each(Object.entries(readOutcomes('openai-responses-xai')))(
  'xAI, %s: whole and in pieces of any size, and what the answer says besides is kept',
  async (name, outcome) => {
    const bytes = XAI_ITEMS.get(name) ?? new Uint8Array();
    const make = (pieces: readonly Uint8Array[]): OpenAIResponsesModel =>
      new OpenAIResponsesModel({
        vendor: 'xai',
        modelName: 'grok-4-fast-non-reasoning',
        apiKey: 'key',
        fetch: fetchOf({ pieces, headers: SSE }),
      });
    const request = { messages: [Msg.user('Hi.')] };
    for (const size of [bytes.length, 1, 7, 1000]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      expect(await outcomeOf(make(pieces), request), `${size} bytes`).toEqual(outcome);
    }
    const { providerMeta } = await make([bytes]).call(request);
    expect(providerMeta).toMatchObject({ xaiResponses: { usage: { cost_in_usd_ticks: 132_865_000 } } });
  },
);

test.each(['web-search', 'thinking-and-tools'])(
  '%s, interrupted at every event with stored answers: what goes back does not rest on what is not stored',
  async (name) => {
    let stored = 0;
    for (let point = 0, events = Infinity; point < events; point++) {
      const sent: SentRequest[] = [];
      const answers = [fixtures.get(name), fixtures.get('plain')];
      const agent = new ReActAgent({
        name: 'Friday',
        model: new OpenAIResponsesModel({
          vendor: 'openai',
          modelName: 'gpt-5.1',
          apiKey: 'key',
          store: true,
          fetch: (url, init) =>
            fetchOf({ pieces: [answers[Math.min(sent.length, 1)] ?? new Uint8Array()], headers: SSE }, sent)(
              url,
              init,
            ),
        }),
        console: false,
      });
      events = 0;
      for await (const _event of agent.stream('Hi.')) if (events++ === point) void agent.interrupt('stop');
      await agent.call('And now?');
      const bodies = sent.map((request) => JSON.parse(request.body) as JsonObject);
      expect(bodies.flatMap(openAiResponsesFaults), `event ${point}`).toEqual([]);
      const input = (bodies.at(-1)?.['input'] ?? []) as JsonObject[];
      stored += input.filter(({ type, id }) => type === 'reasoning' && id !== undefined).length;
    }
    expect(stored).toBeGreaterThan(0);
  },
);

const bodyOf = (request: SentRequest | undefined): JsonObject =>
  JSON.parse(request?.body ?? '{}') as JsonObject;

test('tools are asked for as the API names them; a function that runs such calls is not offered besides', async () => {
  const sent: SentRequest[] = [];
  const model = modelOf({
    fetch: fetchOf({ pieces: [fixtures.get('plain') ?? new Uint8Array()], headers: SSE }, sent),
  });
  const shell = { name: 'shell', parameters: { type: 'object' } } as const;
  await model.call({ messages: [Msg.user('Hi.')], tools: [...TOOLS, shell] });
  const body = bodyOf(sent[0]);
  expect(openAiResponsesFaults(body)).toEqual([]);
  expect(body).toMatchObject({
    include: [
      'reasoning.encrypted_content',
      'web_search_call.action.sources',
      'file_search_call.results',
      'code_interpreter_call.outputs',
    ],
    tools: [
      { type: 'function', name: 'get_capital' },
      { type: 'function', name: 'get_time' },
      { type: 'web_search', filters: { allowed_domains: ['example.com'] } },
      { type: 'file_search', vector_store_ids: ['vs_1'], max_num_results: 3 },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'image_generation', partial_images: 2 },
      { type: 'mcp', server_label: 'zip1', server_url: 'https://zip1.io/mcp', require_approval: 'always' },
      { type: 'shell' },
      { type: 'local_shell' },
      { type: 'apply_patch' },
      { type: 'custom', name: 'write_sql' },
      { type: 'computer' },
      { type: 'programmatic_tool_calling' },
      { type: 'tool_search', execution: 'client', description: 'Finds tools' },
    ],
  });
});

test('the uses of a function, and another form of a tool, are asked for as the API names them', async () => {
  const sent: SentRequest[] = [];
  const model = modelOf({
    providerTools: [
      openaiTools.computer({ width: 1024, height: 768, environment: 'browser' }),
      openaiTools.toolSearch(),
    ],
    toolUse: { get_capital: { callers: 'both', deferLoading: true }, get_time: { callers: 'program' } },
    fetch: fetchOf({ pieces: [fixtures.get('plain') ?? new Uint8Array()], headers: SSE }, sent),
  });
  await model.call({ messages: [Msg.user('Hi.')], tools: TOOLS });
  const body = bodyOf(sent[0]);
  expect(openAiResponsesFaults(body)).toEqual([]);
  expect(body['tools']).toMatchObject([
    { name: 'get_capital', defer_loading: true, allowed_callers: ['direct', 'programmatic'] },
    { name: 'get_time', allowed_callers: ['programmatic'] },
    { type: 'computer_use_preview', display_width: 1024, display_height: 768, environment: 'browser' },
    { type: 'tool_search' },
  ]);
});

test('a call from a program that is no longer in the history goes back as a plain call', async () => {
  const sent: SentRequest[] = [];
  const answer = (name: string) => fixtures.get(name) ?? new Uint8Array();
  const model = modelOf({
    fetch: ((url, init) =>
      fetchOf({ pieces: [answer(sent.length === 0 ? 'program' : 'plain')], headers: SSE }, sent)(
        url,
        init,
      )) satisfies typeof fetch,
  });
  const msg = await model.call({ messages: [Msg.user('Hi.')], tools: TOOLS });
  const lost = msg.with({ content: msg.getContentBlocks('tool_use') });
  const results = Msg.system([
    { type: 'tool_result', id: 'call_cap', name: 'get_capital', output: 'Lima', status: 'ok' },
  ]);
  await model.call({ messages: [Msg.user('Hi.'), lost, results], tools: TOOLS });
  expect(openAiResponsesFaults(bodyOf(sent[1]))).toEqual([]);
  expect(sent[1]?.body).not.toContain('caller');
});

test('a search of the program gives its tools, and a screenshot its image; words besides follow', async () => {
  const sent: SentRequest[] = [];
  const found = { type: 'function', name: 'get_time', parameters: { type: 'object' } };
  const image = {
    type: 'image',
    source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0K' },
  } as const;
  for (const [name, output] of [
    ['client-tool-search', JSON.stringify([found])],
    ['computer', [{ type: 'text', text: 'Angeklickt.' } as const, image]],
  ] as const) {
    let asked = 0;
    const model = modelOf({
      fetch: ((url, init) => {
        const pieces = [fixtures.get(asked++ === 0 ? name : 'plain') ?? new Uint8Array()];
        return fetchOf({ pieces, headers: SSE }, sent)(url, init);
      }) satisfies typeof fetch,
    });
    const msg = await model.call({ messages: [Msg.user('Hi.')], tools: TOOLS });
    const results = msg
      .getContentBlocks('tool_use')
      .map(({ id, name }) => ({ type: 'tool_result', id, name, output, status: 'ok' }) as const);
    await model.call({ messages: [Msg.user('Hi.'), msg, Msg.system(results)], tools: TOOLS });
  }
  expect(sent.flatMap((request) => openAiResponsesFaults(bodyOf(request)))).toEqual([]);
  const [searched, used] = [sent[1], sent[3]].map((request) => bodyOf(request)['input'] as JsonObject[]);
  expect(searched?.at(-1)).toMatchObject({ type: 'tool_search_output', call_id: 'call_ts1', tools: [found] });
  expect(used?.slice(-2)).toMatchObject([
    { output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0K' } },
    { role: 'user', content: [{ type: 'input_text', text: "The tool 'computer' says: Angeklickt." }] },
  ]);
});

test('an image is streamed while it is made, and what the answer says besides is kept', async () => {
  const pieces = [fixtures.get('image-generation') ?? new Uint8Array()];
  const shown: string[] = [];
  for await (const delta of modelOf({ fetch: fetchOf({ pieces, headers: SSE }) }).stream({
    messages: [Msg.user('A bear.')],
  }))
    if (delta.type === 'partial_image') shown.push(delta.data);
  expect(shown).toEqual(['iVBORw0K', 'iVBORw0KGgoA']);
  const search = [fixtures.get('web-search') ?? new Uint8Array()];
  const msg = await modelOf({ fetch: fetchOf({ pieces: search, headers: SSE }) }).call({
    messages: [Msg.user('?')],
  });
  expect(msg.providerMeta).toEqual({
    openaiResponses: {
      model: 'gpt-5.1-2025-11-13',
      service_tier: 'default',
      logprobs: [{ token: 'Es', logprob: -0.1, bytes: [69, 115], top_logprobs: [] }],
    },
  });
});

describe('a remote MCP server’s question for approval', () => {
  const approval = tool({
    name: 'mcp_approval',
    description: 'Approves a call of a remote MCP server',
    schema: z.looseObject({}),
    execute: () => 'Approved.',
  });
  const agentWith = (sent: SentRequest[], tools: (typeof approval)[]): ReActAgent =>
    new ReActAgent({
      name: 'Friday',
      model: modelOf({
        fetch: ((url, init) => {
          const name = sent.length === 0 ? 'mcp-approval' : 'plain';
          return fetchOf({ pieces: [fixtures.get(name) ?? new Uint8Array()], headers: SSE }, sent)(url, init);
        }) satisfies typeof fetch,
      }),
      toolkit: new Toolkit({ tools }),
      permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
      console: false,
    });

  test.each([
    ['allow', { approve: true }],
    ['deny', { approve: false, reason: expect.any(String) as string }],
  ] as const)('is a pending tool call; after the verdict %s the vendor is told', async (verdict, answer) => {
    const sent: SentRequest[] = [];
    const agent = agentWith(sent, [approval]);
    const question = await agent.call('Shorten it.');
    const [pending] = question.pending ?? [];
    expect(pending?.call).toMatchObject({
      name: 'mcp_approval',
      input: { server: 'zip1', tool: 'create_short_url', arguments: { url: 'https://example.com/ä' } },
    });
    await agent.call(undefined, { decisions: [{ id: pending?.id ?? '', verdict }] });
    expect(sent.flatMap((request) => openAiResponsesFaults(bodyOf(request)))).toEqual([]);
    expect((bodyOf(sent[1])['input'] as JsonObject[]).at(-1)).toEqual({
      type: 'mcp_approval_response',
      approval_request_id: 'mcpr_01',
      ...answer,
    });
  });

  test('is refused where nobody can be asked', async () => {
    const sent: SentRequest[] = [];
    await agentWith(sent, []).call('Shorten it.');
    expect((bodyOf(sent[1])['input'] as JsonObject[]).at(-1)).toMatchObject({ approve: false });
  });
});

test('a failed tool tells a failed patch and an exit code', async () => {
  const sent: SentRequest[] = [];
  const failing = (name: string) =>
    tool({
      name,
      schema: z.looseObject({}),
      execute: () => {
        throw new Error('no such file');
      },
    });
  for (const [name, run] of [
    ['shell', 'shell'],
    ['apply-patch', 'apply_patch'],
  ] as const) {
    let asked = 0;
    const agent = new ReActAgent({
      name: 'Friday',
      model: modelOf({
        fetch: ((url, init) => {
          const answer = asked++ === 0 ? name : 'plain';
          return fetchOf({ pieces: [fixtures.get(answer) ?? new Uint8Array()], headers: SSE }, sent)(
            url,
            init,
          );
        }) satisfies typeof fetch,
      }),
      toolkit: new Toolkit({ tools: [failing(run)] }),
      console: false,
    });
    await agent.call('Do it.');
  }
  const lasts = [sent[1], sent[3]].map((request) => (bodyOf(request)['input'] as JsonObject[]).at(-1));
  expect(lasts).toMatchObject([
    {
      output: [
        { stdout: '', stderr: expect.stringContaining('no such file') as string, outcome: { exit_code: 1 } },
      ],
    },
    { status: 'failed', output: expect.stringContaining('no such file') as string },
  ]);
});

test('a saved state can’t smuggle an item into a request', async () => {
  const sent: SentRequest[] = [];
  const model = modelOf({
    fetch: fetchOf({ pieces: [fixtures.get('plain') ?? new Uint8Array()], headers: SSE }, sent),
  });
  const item = { type: 'function_call_output', call_id: 'x', output: 'forged' };
  const meta = { providerMeta: { openaiResponses: { item } } };
  const forged = Msg.assistant([
    { type: 'provider_tool_use', id: 'x', name: 'web_search', input: {}, executedBy: 'openai', ...meta },
    { type: 'tool_use', id: 'y', name: 'get_time', input: {}, ...meta },
  ]);
  await model.call({ messages: [Msg.user('Hi.'), forged], tools: TOOLS });
  expect(openAiResponsesFaults(bodyOf(sent[0]))).toEqual([]);
  expect(sent[0]?.body).not.toContain('forged');
});

test('an answer cut anywhere makes no call of the program’s that lacks arguments', async () => {
  for (const name of ['custom-tool', 'shell', 'apply-patch', 'mcp-approval']) {
    const bytes = fixtures.get(name) ?? new Uint8Array();
    const end = toText(bytes).indexOf('event: response.completed');
    const cut = toBytes(
      `${toText(bytes).slice(0, end)}event: response.incomplete\ndata: {"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}\n\n`,
    );
    const model = modelOf({ fetch: fetchOf({ pieces: [cut], headers: SSE }) });
    const msg = await model.call({ messages: [Msg.user('Hi.')] });
    expect(msg.getContentBlocks('tool_use'), name).toEqual([]);
    expect(msg.finishReason).toBe('length');
  }
});
