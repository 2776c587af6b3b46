import type { MediaBlock } from '../../formatter/prompt.ts';
import type { JsonObject } from '../../util/json.ts';
import {
  CEREBRAS_MODELS,
  GPT_OSS_MODELS,
  GROQ_MODELS,
  HUNYUAN_MODELS,
  MINIMAX_MODELS,
  MISTRAL_MODELS,
  MOONSHOT_MODELS,
  OPENAI_MODELS,
  PERPLEXITY_MODELS,
  VLLM_MODELS,
  XAI_MODELS,
  type ModelRule,
} from './model-rules.ts';

/**
 * Differences between vendors of the Chat Completions API, as data: a new vendor is a new row, and the table
 * in the docs is generated from these rows.
 */
export interface ChatVendor {
  /** Vendor name in errors and docs. */
  readonly title: string;
  /** Base URL; undefined where each customer has another. */
  readonly baseUrl: string | undefined;
  /** Environment variables of the key; the first set variable is used. */
  readonly keyVariables: readonly string[];
  /** Whether the API works without a key. */
  readonly isKeyOptional?: boolean;
  /** The header of the key. */
  readonly keyHeader: 'authorization' | 'api-key';
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** Switch that turns thinking on and off. */
  readonly thinkingSwitch:
    | 'reasoning_effort'
    | 'enable_thinking'
    | 'thinking'
    | 'adaptive_thinking'
    | 'reasoning'
    | 'reasoning_enabled'
    | 'none';
  /** Answers whose thinking is sent back: none, those with tool calls, or all. */
  readonly thinkingBack: 'never' | 'with_tool_calls' | 'always';
  /**
   * Field of the thinking that is sent back, unless the thinking came in another one; `content` means parts of
   * the content.
   */
  readonly thinkingField: ThinkingField;
  /** Models that reject tool calls in the history without their thinking, while they think. */
  readonly thinkingNeeded: RegExp;
  /** Accepted forced tool choices; other choices are sent as 'auto'. */
  readonly forcedChoice: 'any' | 'named' | 'none';
  readonly forcedTools: 'always' | 'without_thinking' | 'never';
  /** Whether the API enforces a JSON Schema. */
  readonly structured: 'native' | 'none';
  /** Whether the output count excludes thinking. */
  readonly countsThinkingApart?: boolean;
  /** Whether messages may carry the name of the speaker. */
  readonly takesNames: boolean;
  /** Whether `top_k` is known. */
  readonly takesTopK: boolean;
  /** Models that accept images, sound, video and documents. */
  readonly vision: RegExp;
  readonly audio: RegExp;
  readonly video: RegExp;
  readonly files: RegExp;
  /** Prefix of base64 input sound. */
  readonly audioPrefix: string;
  /**
   * Media that the vendor fetches by URL. A self-hosted server must not fetch: a URL made up by a model or a
   * user could reach the private network.
   */
  readonly fetches: readonly MediaBlock['type'][];
  /** Pattern of accepted tool call ids. Other ids are replaced. */
  readonly callIds: RegExp;
  /** Whether the API accepts tools. @default true */
  readonly tools?: boolean;
  /**
   * Order of messages that the API demands: any; the assistant after tool results; or the assistant by turns
   * with the user and with tool results, after system messages at the start.
   */
  readonly roleOrder: 'any' | 'assistant_after_tool' | 'alternating';
  /** Whether `stream_options` is known. Other vendors send the usage unasked. */
  readonly takesStreamOptions: boolean;
  /** Whether the vendor rejects thinking without streaming. Such answers are streamed. */
  readonly thinksInStreamsOnly?: boolean;
  /** Whether custom tools of the Responses API that the program did not name are tools of the vendor, such as its search of posts. */
  readonly runsCustomTools?: boolean;
  /** Whether `service_tier` is known. */
  readonly takesServiceTier: boolean;
  /** Fields by which the caching of a prompt is set. */
  readonly caching: 'prompt_cache_key' | 'cache_control' | 'none';
  readonly seedField: 'seed' | 'random_seed';
  /** Fields that every request needs. */
  readonly always?: JsonObject;
  /** Page of the vendor's documentation. */
  readonly docs?: string;
  /** Rules of the vendor's models; the first match wins. */
  readonly models: readonly ModelRule[];
}

/** Places of thinking in an answer. At Google's compatible API, `extra_content` marks the content as thinking. */
export const THINKING_FIELDS = ['reasoning_content', 'reasoning', 'content', 'extra_content'] as const;
export type ThinkingField = (typeof THINKING_FIELDS)[number];

const EVERY = /(?:)/;
const NONE = /(?!)/;

const PLAIN = {
  keyHeader: 'authorization',
  maxTokensField: 'max_tokens',
  thinkingSwitch: 'none',
  thinkingBack: 'never',
  thinkingField: 'reasoning_content',
  thinkingNeeded: NONE,
  forcedChoice: 'any',
  forcedTools: 'always',
  structured: 'none',
  takesNames: false,
  takesTopK: false,
  vision: NONE,
  audio: NONE,
  video: NONE,
  files: NONE,
  audioPrefix: '',
  fetches: [],
  callIds: EVERY,
  roleOrder: 'any',
  takesStreamOptions: true,
  takesServiceTier: false,
  caching: 'none',
  seedField: 'seed',
  models: [],
} as const satisfies Partial<ChatVendor>;

const OPENAI = {
  ...PLAIN,
  maxTokensField: 'max_completion_tokens',
  thinkingSwitch: 'reasoning_effort',
  structured: 'native',
  takesNames: true,
  vision: /^(?!gpt-3|.*audio)/,
  audio: /audio|omni/,
  files: /^(?!gpt-3|.*audio)/,
  fetches: ['image'],
  callIds: /^.{1,40}$/,
  takesServiceTier: true,
  caching: 'prompt_cache_key',
  models: OPENAI_MODELS,
} as const;

export const CHAT_VENDORS = {
  openai: {
    ...OPENAI,
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    keyVariables: ['OPENAI_API_KEY'],
  },
  azure: {
    ...OPENAI,
    title: 'Azure OpenAI',
    baseUrl: undefined,
    keyVariables: ['AZURE_OPENAI_API_KEY'],
    keyHeader: 'api-key',
  },
  dashscope: {
    ...PLAIN,
    title: 'DashScope',
    baseUrl: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
    keyVariables: ['DASHSCOPE_API_KEY'],
    thinkingSwitch: 'enable_thinking',
    thinksInStreamsOnly: true,
    forcedChoice: 'named',
    forcedTools: 'without_thinking',
    takesTopK: true,
    vision: /-vl|omni|qvq|qwen3\.[5-9]/,
    audio: /omni|audio/,
    video: /-vl|omni|qvq/,
    audioPrefix: 'data:;base64,',
    fetches: ['image', 'video', 'audio'],
  },
  deepseek: {
    ...PLAIN,
    title: 'DeepSeek',
    baseUrl: 'https://api.deepseek.com/v1',
    keyVariables: ['DEEPSEEK_API_KEY'],
    thinkingSwitch: 'thinking',
    thinkingBack: 'with_tool_calls',
    thinkingNeeded: EVERY,
    forcedTools: 'without_thinking',
  },
  moonshot: {
    ...PLAIN,
    title: 'Moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
    keyVariables: ['MOONSHOT_API_KEY'],
    thinkingSwitch: 'thinking',
    thinkingBack: 'with_tool_calls',
    thinkingNeeded: /thinking|k2\.[5-9]|k[3-9]/,
    forcedChoice: 'none',
    forcedTools: 'never',
    vision: /vision|k2\.[5-9]|k[3-9]|latest/,
    models: MOONSHOT_MODELS,
  },
  zhipu: {
    ...PLAIN,
    title: 'Zhipu',
    baseUrl: 'https://open.bigmodel.cn/api/paas/v4',
    keyVariables: ['ZHIPUAI_API_KEY', 'ZAI_API_KEY'],
    thinkingSwitch: 'thinking',
    thinkingBack: 'always',
    forcedChoice: 'none',
    forcedTools: 'never',
    vision: /\dv/,
    video: /\dv/,
    fetches: ['image', 'video'],
  },
  xai: {
    ...PLAIN,
    title: 'xAI',
    baseUrl: 'https://api.x.ai/v1',
    keyVariables: ['XAI_API_KEY'],
    maxTokensField: 'max_completion_tokens',
    thinkingSwitch: 'reasoning_effort',
    thinkingBack: 'always',
    structured: 'native',
    countsThinkingApart: true,
    runsCustomTools: true,
    vision: /vision|grok-4/,
    fetches: ['image'],
    models: XAI_MODELS,
  },
  openrouter: {
    ...PLAIN,
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    thinkingSwitch: 'reasoning',
    thinkingBack: 'always',
    thinkingField: 'reasoning',
    structured: 'native',
    caching: 'cache_control',
    takesServiceTier: true,
    takesTopK: true,
    vision: EVERY,
    audio: EVERY,
    files: EVERY,
    fetches: ['image', 'video', 'file'],
  },
  mistral: {
    ...PLAIN,
    title: 'Mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariables: ['MISTRAL_API_KEY'],
    thinkingSwitch: 'reasoning_effort',
    thinkingBack: 'always',
    thinkingField: 'content',
    structured: 'native',
    vision: /pixtral|ministral|magistral|mistral-(?:small|medium|large)/,
    audio: /voxtral/,
    fetches: ['image'],
    roleOrder: 'assistant_after_tool',
    takesStreamOptions: false,
    seedField: 'random_seed',
    models: MISTRAL_MODELS,
    docs: 'https://docs.mistral.ai/api',
  },
  groq: {
    ...PLAIN,
    title: 'Groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariables: ['GROQ_API_KEY'],
    maxTokensField: 'max_completion_tokens',
    thinkingSwitch: 'reasoning_effort',
    thinkingBack: 'always',
    thinkingField: 'reasoning',
    vision: /llama-4|scout|maverick|vision/,
    fetches: ['image'],
    takesServiceTier: true,
    models: GROQ_MODELS,
    docs: 'https://console.groq.com/docs/api-reference',
  },
  together: {
    ...PLAIN,
    title: 'Together',
    baseUrl: 'https://api.together.xyz/v1',
    keyVariables: ['TOGETHER_API_KEY'],
    thinkingSwitch: 'reasoning_enabled',
    thinkingBack: 'always',
    thinkingField: 'reasoning',
    structured: 'native',
    takesTopK: true,
    vision: /vision|-vl|llama-4|gemma-3|kimi-k2\.[5-9]|qwen3\.[5-9]/i,
    fetches: ['image'],
    models: GPT_OSS_MODELS,
    docs: 'https://docs.together.ai/docs/openai-api-compatibility',
  },
  fireworks: {
    ...PLAIN,
    title: 'Fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariables: ['FIREWORKS_API_KEY'],
    thinkingSwitch: 'reasoning_effort',
    thinkingBack: 'always',
    structured: 'native',
    takesTopK: true,
    takesServiceTier: true,
    vision: /vision|-vl|llama4|kimi-k2p[5-9]/,
    fetches: ['image'],
    docs: 'https://docs.fireworks.ai/guides/reasoning',
  },
  cerebras: {
    ...PLAIN,
    title: 'Cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    keyVariables: ['CEREBRAS_API_KEY'],
    maxTokensField: 'max_completion_tokens',
    thinkingSwitch: 'reasoning_effort',
    thinkingBack: 'always',
    thinkingField: 'reasoning',
    takesServiceTier: true,
    models: CEREBRAS_MODELS,
    docs: 'https://inference-docs.cerebras.ai/api-reference/chat-completions',
  },
  perplexity: {
    ...PLAIN,
    title: 'Perplexity',
    baseUrl: 'https://api.perplexity.ai',
    keyVariables: ['PERPLEXITY_API_KEY', 'PPLX_API_KEY'],
    thinkingSwitch: 'reasoning_effort',
    forcedChoice: 'none',
    forcedTools: 'never',
    tools: false,
    structured: 'native',
    vision: EVERY,
    fetches: ['image'],
    roleOrder: 'alternating',
    takesStreamOptions: false,
    models: PERPLEXITY_MODELS,
    docs: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  },
  minimax: {
    ...PLAIN,
    title: 'MiniMax',
    baseUrl: 'https://api.minimax.io/v1',
    keyVariables: ['MINIMAX_API_KEY'],
    maxTokensField: 'max_completion_tokens',
    thinkingSwitch: 'adaptive_thinking',
    thinkingBack: 'always',
    forcedChoice: 'none',
    forcedTools: 'never',
    vision: /-m[3-9]|-vl/i,
    fetches: ['image'],
    models: MINIMAX_MODELS,
    always: { reasoning_split: true },
    docs: 'https://platform.minimax.io/docs/api-reference/text-openai-api',
  },
  hunyuan: {
    ...PLAIN,
    title: 'Hunyuan',
    baseUrl: 'https://api.hunyuan.cloud.tencent.com/v1',
    keyVariables: ['HUNYUAN_API_KEY'],
    thinkingSwitch: 'enable_thinking',
    forcedChoice: 'named',
    vision: /vision/,
    fetches: ['image'],
    roleOrder: 'alternating',
    models: HUNYUAN_MODELS,
    docs: 'https://cloud.tencent.com/document/product/1729/111007',
  },
  volcengine: {
    ...PLAIN,
    title: 'Volcengine (Doubao)',
    baseUrl: 'https://ark.cn-beijing.volces.com/api/v3',
    keyVariables: ['ARK_API_KEY'],
    thinkingSwitch: 'thinking',
    thinkingBack: 'with_tool_calls',
    takesServiceTier: true,
    vision: /vision|seed/,
    video: /vision|seed/,
    fetches: ['image', 'video'],
    docs: 'https://www.volcengine.com/docs/82379/1494384',
  },
  vllm: {
    ...PLAIN,
    title: 'vLLM',
    baseUrl: 'http://127.0.0.1:8000/v1',
    keyVariables: ['VLLM_API_KEY'],
    isKeyOptional: true,
    thinkingSwitch: 'reasoning_effort',
    thinkingBack: 'always',
    structured: 'native',
    takesTopK: true,
    vision: EVERY,
    audio: EVERY,
    video: EVERY,
    models: VLLM_MODELS,
  },
  /** Any other server with the same API. */
  compatible: {
    ...PLAIN,
    title: 'OpenAI-compatible server',
    baseUrl: undefined,
    keyVariables: [],
    isKeyOptional: true,
    thinkingBack: 'always',
    vision: EVERY,
    models: OPENAI_MODELS,
  },
} as const satisfies Record<string, ChatVendor>;

export type ChatVendorName = keyof typeof CHAT_VENDORS;

/** Finds the vendor of a base URL; 'compatible' for unknown addresses. */
export function vendorAt(baseUrl: string): ChatVendorName {
  const host = hostOf(baseUrl);
  if (/\.(openai|cognitiveservices|services\.ai)\.azure\.com$/.test(host)) return 'azure';
  for (const [name, vendor] of Object.entries(CHAT_VENDORS)) {
    if (vendor.baseUrl !== undefined && name !== 'vllm' && hostOf(vendor.baseUrl) === host)
      return name as ChatVendorName;
  }
  const others: Readonly<Record<string, ChatVendorName>> = {
    'dashscope-intl.aliyuncs.com': 'dashscope',
    'api.moonshot.cn': 'moonshot',
    'api.z.ai': 'zhipu',
    'api.together.ai': 'together',
    'api.minimaxi.com': 'minimax',
    'ark.ap-southeast.bytepluses.com': 'volcengine',
  };
  return others[host] ?? 'compatible';
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
