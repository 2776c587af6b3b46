// The table of features in the docs. Each cell is found by asking the adapter itself: its capabilities, the request that
// it writes, and what it sends back of an answer. Nothing goes to the network.

import { Msg } from '../packages/troupe/src/message/msg.ts';
import type { ChatModelBase, GenerationOptions } from '../packages/troupe/src/model/chat-model-base.ts';
import type { HttpModelOptions } from '../packages/troupe/src/model/http/http-chat-model.ts';
import { AnthropicChatModel } from '../packages/troupe/src/providers/anthropic/index.ts';
import { bedrock } from '../packages/troupe/src/providers/bedrock/index.ts';
import { GeminiChatModel } from '../packages/troupe/src/providers/gemini/index.ts';
import { OllamaChatModel } from '../packages/troupe/src/providers/ollama/index.ts';
import {
  CHAT_VENDORS,
  OpenAIChatModel,
  OpenAIResponsesModel,
  type ChatVendorName,
} from '../packages/troupe/src/providers/openai/index.ts';
import { vertex } from '../packages/troupe/src/providers/vertex/index.ts';

type Options = Pick<HttpModelOptions, 'apiKey' | 'fetch' | 'baseUrl'>;

/** A vendor, or a platform that hosts its models. */
interface Subject {
  readonly title: string;
  readonly modelName: string;
  readonly make: (options: Options, modelName: string) => ChatModelBase;
  /** An answer with thinking and a tool call, in plain JSON. */
  readonly answer: object;
  /** An answer with a search that the vendor has run, and a cited text. */
  readonly searched?: object;
}

const THOUGHT = 'A-THOUGHT-OF-THE-MODEL';
const called = { name: 'get_time', arguments: '{}' };

const CHAT_ANSWER = {
  id: 'r',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: null,
        reasoning_content: THOUGHT,
        tool_calls: [{ id: 'call_1', type: 'function', function: called }],
      },
    },
  ],
};
const RESPONSES_ANSWER = {
  id: 'r',
  object: 'response',
  status: 'completed',
  output: [
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: THOUGHT }],
      encrypted_content: 'e30=',
    },
    { type: 'function_call', call_id: 'call_1', ...called },
  ],
};
const ANTHROPIC_ANSWER = {
  id: 'r',
  type: 'message',
  stop_reason: 'tool_use',
  content: [
    { type: 'thinking', thinking: THOUGHT, signature: 'e30=' },
    { type: 'tool_use', id: 'call_1', name: 'get_time', input: {} },
  ],
};
const GEMINI_ANSWER = {
  candidates: [
    {
      content: {
        parts: [
          { text: THOUGHT, thought: true, thoughtSignature: 'e30=' },
          { functionCall: { name: 'get_time', args: {} } },
        ],
      },
      finishReason: 'STOP',
    },
  ],
};
const OLLAMA_ANSWER = {
  message: {
    content: '',
    thinking: THOUGHT,
    tool_calls: [{ function: { name: 'get_time', arguments: {} } }],
  },
  done: true,
};

const PAGE = 'https://example.com/found';
const SEARCH_ID = 'srvtoolu_search';
const CITED = 'It is noon.';

const CHAT_SEARCHED = {
  id: 'r',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      message: {
        role: 'assistant',
        content: CITED,
        executed_tools: [{ index: 0, type: 'search', arguments: '{"query":"time"}', output: 'noon' }],
        annotations: [{ type: 'url_citation', url_citation: { url: PAGE, start_index: 0, end_index: 5 } }],
      },
    },
  ],
};
const RESPONSES_SEARCHED = {
  id: 'r',
  object: 'response',
  status: 'completed',
  output: [
    {
      type: 'web_search_call',
      id: SEARCH_ID,
      status: 'completed',
      action: { type: 'search', query: 'time' },
    },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      content: [
        {
          type: 'output_text',
          text: CITED,
          annotations: [{ type: 'url_citation', url: PAGE, title: 'A', start_index: 0, end_index: 5 }],
        },
      ],
    },
  ],
};
const ANTHROPIC_SEARCHED = {
  id: 'r',
  type: 'message',
  stop_reason: 'end_turn',
  content: [
    { type: 'server_tool_use', id: SEARCH_ID, name: 'web_search', input: { query: 'time' } },
    { type: 'web_search_tool_result', tool_use_id: SEARCH_ID, content: [] },
    {
      type: 'text',
      text: CITED,
      citations: [{ type: 'web_search_result_location', url: PAGE, title: 'A', encrypted_index: 'e30=' }],
    },
  ],
};
const GEMINI_SEARCHED = {
  candidates: [
    {
      content: {
        parts: [
          { toolCall: { toolType: 'GOOGLE_SEARCH_WEB', id: SEARCH_ID, args: { queries: ['time'] } } },
          { toolResponse: { toolType: 'GOOGLE_SEARCH_WEB', id: SEARCH_ID, response: {} } },
          { text: CITED },
        ],
      },
      groundingMetadata: { groundingChunks: [{ web: { uri: PAGE, title: 'A' } }] },
      finishReason: 'STOP',
    },
  ],
};

/** A usual model of each vendor. What a vendor can do may depend on the model. */
const CHAT_MODELS: Readonly<Record<ChatVendorName, string>> = {
  openai: 'gpt-5.1',
  azure: 'gpt-5.1',
  dashscope: 'qwen3.5-plus',
  deepseek: 'deepseek-v4-flash',
  moonshot: 'kimi-k2.5',
  zhipu: 'glm-4.6v',
  xai: 'grok-4.3',
  openrouter: 'anthropic/claude-sonnet-4.6',
  mistral: 'mistral-small-latest',
  groq: 'openai/gpt-oss-120b',
  together: 'zai-org/GLM-4.7',
  fireworks: 'accounts/fireworks/models/kimi-k2p5',
  cerebras: 'gpt-oss-120b',
  perplexity: 'sonar-reasoning-pro',
  minimax: 'MiniMax-M3',
  hunyuan: 'hunyuan-2.0-thinking',
  volcengine: 'doubao-seed-1-8',
  vllm: 'Qwen/Qwen3-8B',
  compatible: 'my-model',
};

const CLAUDE = 'claude-sonnet-4-5';
const GEMINI = 'gemini-3-flash-preview';
const onBedrock = bedrock({ region: 'us-east-1', apiKey: 'k' });
const onVertex = vertex({ project: 'p', token: 't' });

const SUBJECTS: readonly Subject[] = [
  {
    title: 'OpenAI, Responses',
    modelName: 'gpt-5.1',
    make: (options, modelName) => new OpenAIResponsesModel({ vendor: 'openai', modelName, ...options }),
    answer: RESPONSES_ANSWER,
    searched: RESPONSES_SEARCHED,
  },
  {
    title: 'Anthropic',
    modelName: CLAUDE,
    make: (options, modelName) => new AnthropicChatModel({ modelName, ...options }),
    answer: ANTHROPIC_ANSWER,
    searched: ANTHROPIC_SEARCHED,
  },
  {
    title: 'Anthropic on Bedrock',
    modelName: `us.anthropic.${CLAUDE}-20250929-v1:0`,
    make: (options, modelName) => new AnthropicChatModel({ modelName, hosting: onBedrock, ...options }),
    answer: ANTHROPIC_ANSWER,
    searched: ANTHROPIC_SEARCHED,
  },
  {
    title: 'Anthropic on Vertex AI',
    modelName: `${CLAUDE}@20250929`,
    make: (options, modelName) => new AnthropicChatModel({ modelName, hosting: onVertex, ...options }),
    answer: ANTHROPIC_ANSWER,
    searched: ANTHROPIC_SEARCHED,
  },
  {
    title: 'Gemini',
    modelName: GEMINI,
    make: (options, modelName) => new GeminiChatModel({ modelName, ...options }),
    answer: GEMINI_ANSWER,
    searched: GEMINI_SEARCHED,
  },
  {
    title: 'Gemini on Vertex AI',
    modelName: GEMINI,
    make: (options, modelName) => new GeminiChatModel({ modelName, hosting: onVertex, ...options }),
    answer: GEMINI_ANSWER,
    searched: GEMINI_SEARCHED,
  },
  {
    title: 'Ollama',
    modelName: 'qwen3-vl',
    make: (options, modelName) => new OllamaChatModel({ modelName, ...options }),
    answer: OLLAMA_ANSWER,
  },
  ...(Object.keys(CHAT_VENDORS) as ChatVendorName[]).map((vendor) => ({
    title: CHAT_VENDORS[vendor].title,
    modelName: CHAT_MODELS[vendor],
    make: (options: Options, modelName: string) =>
      new OpenAIChatModel({ vendor, modelName, baseUrl: 'http://127.0.0.1:9/v1', ...options }),
    answer: CHAT_ANSWER,
    searched: CHAT_SEARCHED,
  })),
];

const TOOLS = [{ name: 'get_time', parameters: { type: 'object', properties: {} } }];

/** Asks a subject, and returns the requests of the adapter. */
class Probe {
  readonly model: ChatModelBase;
  readonly #sent: string[] = [];

  constructor({ make, modelName, answer }: Subject) {
    this.model = make(
      {
        apiKey: 'k',
        fetch: async (_url, init) => {
          this.#sent.push(`${JSON.stringify(init?.headers)} ${JSON.stringify(init?.body)}`);
          return new Response(JSON.stringify(answer));
        },
      },
      modelName,
    );
  }

  async ask(
    messages: readonly Msg[],
    generation: GenerationOptions = {},
  ): Promise<[answer: Msg, sent: string]> {
    const answer = await this.model.call({ messages, tools: TOOLS, generation, http: { stream: false } });
    return [answer, this.#sent.at(-1) ?? ''];
  }

  /** Whether an option of a model call changes its request. */
  async heeds(generation: GenerationOptions): Promise<boolean> {
    const messages = [Msg.system('Be short.'), Msg.user('Hi.')];
    const [, without] = await this.ask(messages);
    const [, body] = await this.ask(messages, generation);
    return body !== without;
  }

  /** Follows a search of the vendor and citations into the message, and into the next request. */
  async searched(): Promise<{ readonly tool: string; readonly citations: string }> {
    const question = Msg.user('What time is it?');
    const [answer] = await this.ask([question]);
    const [, body] = await this.ask([question, answer, Msg.user('And now?')]);
    const isCited = answer.getContentBlocks('text').some(({ citations = [] }) => citations.length > 0);
    const back = (is: boolean, isRaw: boolean): string => (is ? (isRaw ? 'yes, and go back' : 'yes') : '–');
    return {
      tool: back(answer.hasContentBlocks('provider_tool_use'), body.includes(SEARCH_ID)),
      citations: back(isCited, body.includes(PAGE) && !body.includes('Sources:')),
    };
  }

  /** Whether the thinking of an answer goes back with the result of its tool call. */
  async returnsThinking(): Promise<boolean> {
    const question = Msg.user('What time is it?');
    const [answer] = await this.ask([question]);
    const results = answer
      .getContentBlocks('tool_use')
      .map(({ id, name }) => ({ type: 'tool_result', id, name, output: 'Noon.', status: 'ok' }) as const);
    const [, body] = await this.ask([question, answer, Msg.system(results)]);
    return body.includes(THOUGHT);
  }
}

const yes = (is: boolean): string => (is ? 'yes' : '–');
const FORCED = { always: 'yes', without_thinking: 'not while it thinks', never: '–' };

type Column = readonly [heading: string, cell: (probe: Probe, subject: Subject) => string | Promise<string>];

/** Asks a subject whose vendor has searched. */
async function searchedBy(subject: Subject): Promise<{ readonly tool: string; readonly citations: string }> {
  const { searched } = subject;
  if (searched === undefined) return { tool: '–', citations: '–' };
  return new Probe({ ...subject, answer: searched }).searched();
}

const COLUMNS: readonly Column[] = [
  ['Vendor', (_, { title, modelName }) => `${title} (\`${modelName}\`)`],
  ['Tools', ({ model }) => yes(model.capabilities.tools)],
  ['Forced tools', ({ model }) => (model.capabilities.tools ? FORCED[model.capabilities.forcedTools] : '–')],
  ['JSON Schema', ({ model }) => (model.capabilities.structured === 'native' ? 'yes' : 'by a tool')],
  ['Thinking is set', async (probe) => yes(await probe.heeds({ reasoningEffort: 'high' }))],
  ['Thinking goes back', async (probe) => yes(await probe.returnsThinking())],
  ['Tools that the vendor ran are read', async (_, subject) => (await searchedBy(subject)).tool],
  ['Citations are read', async (_, subject) => (await searchedBy(subject)).citations],
  ['Images', ({ model }) => yes(model.capabilities.vision)],
  ['Sound', ({ model }) => yes(model.capabilities.audio)],
  ['Video', ({ model }) => yes(model.capabilities.video)],
  ['Documents', ({ model }) => yes(model.capabilities.files)],
  ['Caching is set', async (probe) => yes(await probe.heeds({ caching: { ttl: '1h', key: 'k' } }))],
  ['Service tier', async (probe) => yes(await probe.heeds({ serviceTier: 'flex' }))],
  [
    'Without streaming',
    async (probe) => yes((await probe.ask([Msg.user('Hi.')]))[0].hasContentBlocks('tool_use')),
  ],
];

export async function featureTable(): Promise<string> {
  const rows: string[][] = [];
  for (const subject of SUBJECTS) {
    const probe = new Probe(subject);
    const cells: string[] = [];
    for (const [, cell] of COLUMNS) cells.push(await cell(probe, subject));
    rows.push(cells);
  }
  const lines = [COLUMNS.map(([heading]) => heading), COLUMNS.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
