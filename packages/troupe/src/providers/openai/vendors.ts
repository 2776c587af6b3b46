import type { MediaBlock } from '../../formatter/prompt.ts';
import { MOONSHOT_MODELS, OPENAI_MODELS, VLLM_MODELS, XAI_MODELS, type ModelRule } from './model-rules.ts';

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
  readonly thinkingSwitch: 'reasoning_effort' | 'enable_thinking' | 'thinking' | 'reasoning' | 'none';
  /** Answers whose thinking is sent back: none, those with tool calls, or all. */
  readonly thinkingBack: 'never' | 'with_tool_calls' | 'always';
  /** Field of the thinking that is sent back. */
  readonly thinkingField: 'reasoning_content' | 'reasoning';
  /** Models that reject tool calls in the history without their thinking. */
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
  /** Rules of the vendor's models; the first match wins. */
  readonly models: readonly ModelRule[];
}

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
    structured: 'native',
    countsThinkingApart: true,
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
    takesTopK: true,
    vision: EVERY,
    audio: EVERY,
    files: EVERY,
    fetches: ['image', 'video', 'file'],
  },
  vllm: {
    ...PLAIN,
    title: 'vLLM',
    baseUrl: 'http://127.0.0.1:8000/v1',
    keyVariables: ['VLLM_API_KEY'],
    isKeyOptional: true,
    thinkingSwitch: 'reasoning_effort',
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
  };
  return others[host] ?? 'compatible';
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
