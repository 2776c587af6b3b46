import type { MediaBlock } from '../../formatter/prompt.ts';
import { MOONSHOT_MODELS, OPENAI_MODELS, VLLM_MODELS, XAI_MODELS, type ModelRule } from './model-rules.ts';

/**
 * What sets the vendors apart that speak OpenAI's Chat Completions. Quirks are data: a new
 * vendor is a new row, and the table in the docs is made of this one.
 */
export interface ChatVendor {
  /** As it is called in errors and docs. */
  readonly title: string;
  /** Undefined where it differs for every customer. */
  readonly baseUrl: string | undefined;
  /** The environment variable of the key; the first one that is set is used. */
  readonly keyVariables: readonly string[];
  /** Whether it works without a key. */
  readonly isKeyOptional?: boolean;
  /** The header of the key. */
  readonly keyHeader: 'authorization' | 'api-key';
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** How thinking is turned on and off. */
  readonly thinkingSwitch: 'reasoning_effort' | 'enable_thinking' | 'thinking' | 'reasoning' | 'none';
  /** Which answers get their thinking back: none, those that called tools, or all. */
  readonly thinkingBack: 'never' | 'with_tool_calls' | 'always';
  /** The field in which it goes back. */
  readonly thinkingField: 'reasoning_content' | 'reasoning';
  /** Which models reject calls in the history that come without their thinking. */
  readonly thinkingNeeded: RegExp;
  /** Which forced tool choices it takes; others are sent as 'auto'. */
  readonly forcedChoice: 'any' | 'named' | 'none';
  readonly forcedTools: 'always' | 'without_thinking' | 'never';
  /** Whether it can be held to a JSON Schema. */
  readonly structured: 'native' | 'none';
  /** Whether the output count leaves the thinking out. */
  readonly countsThinkingApart?: boolean;
  /** Whether messages may carry the name of who speaks. */
  readonly takesNames: boolean;
  /** Whether `top_k` is known. */
  readonly takesTopK: boolean;
  /** Which models see images, and hear sound. */
  readonly vision: RegExp;
  readonly audio: RegExp;
  readonly video: RegExp;
  readonly files: RegExp;
  /** What stands before the base64 of input sound. */
  readonly audioPrefix: string;
  /**
   * Which media it fetches from their address by itself. A server of one's own must not:
   * an address that a model or a user made up would reach into one's own network.
   */
  readonly fetches: readonly MediaBlock['type'][];
  /** What the id of a call may look like. Others are replaced. */
  readonly callIds: RegExp;
  /** What its models make of the options; the first rule that fits stands. */
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
  /** Any other server that speaks the same. */
  compatible: {
    ...PLAIN,
    title: 'The server',
    baseUrl: undefined,
    keyVariables: [],
    isKeyOptional: true,
    vision: EVERY,
    models: OPENAI_MODELS,
  },
} as const satisfies Record<string, ChatVendor>;

export type ChatVendorName = keyof typeof CHAT_VENDORS;

/** The vendor whose address it is; 'compatible' if it is nobody's. */
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
