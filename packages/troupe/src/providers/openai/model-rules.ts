import type { GenerationOptions } from '../../model/chat-model-base.ts';
import type { JsonObject } from '../../util/json.ts';

export type Effort = NonNullable<GenerationOptions['reasoningEffort']>;

/** All efforts, from the least to the most. */
export const EFFORTS = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
] as const satisfies readonly Effort[];

/** Options that some models of a vendor accept. Models answer other options with an error. */
export interface ModelRule {
  /** Pattern of the model names. */
  readonly models: RegExp;
  /** Whether the models think; undefined if unknown. */
  readonly isReasoning: boolean | undefined;
  /** When the models accept `temperature` and `topP`. */
  readonly sampling: 'always' | 'without_thinking' | 'never';
  /** Whether the models accept `presencePenalty` and `frequencyPenalty`. */
  readonly penalties: boolean;
  readonly stop: boolean;
  /** Whether Chat Completions accepts `parallelToolCalls`. */
  readonly parallelCalls: boolean;
  /** Accepted efforts. Empty: the field itself is not accepted. */
  readonly efforts: readonly Effort[];
  /** Requirement of Chat Completions with tools: no effort, or effort 'none'. */
  readonly chatTools?: 'without_effort' | 'effort_none';
  /** Thinking switch of these models, where different from the vendor's. */
  readonly thinkingSwitch?: 'reasoning_effort' | 'none';
  /** Whether the models accept `seed`. @default true */
  readonly seed?: boolean;
  /** Fields that every request to these models needs. */
  readonly always?: JsonObject;
}

/** Rule for unknown models: all options are sent as given. */
const ANY: ModelRule = {
  models: /(?:)/,
  isReasoning: undefined,
  sampling: 'always',
  penalties: true,
  stop: true,
  parallelCalls: true,
  efforts: EFFORTS,
};

const PLAIN: ModelRule = { ...ANY, isReasoning: false, efforts: [] };

const REASONING: ModelRule = {
  ...ANY,
  isReasoning: true,
  sampling: 'never',
  penalties: false,
  stop: false,
  efforts: ['low', 'medium', 'high'],
};

/** Rule for GPT-5.1 and later: with thinking off, the sampling options of older models work. */
const SWITCHABLE: ModelRule = {
  ...REASONING,
  sampling: 'without_thinking',
  efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
};

/** Rules in order; the first match wins. Fine-tuned models have a prefix. */
export const OPENAI_MODELS: readonly ModelRule[] = [
  { ...PLAIN, models: /^gpt-[\w.-]+-search/, sampling: 'never', penalties: false },
  { ...PLAIN, models: /^(?:ft:)?(?:gpt-[34]|chatgpt|gpt-5-chat)/ },
  { ...REASONING, models: /^o1-(?:mini|preview)/, efforts: [], parallelCalls: false },
  { ...REASONING, models: /^(?:ft:)?o\d(?![^-:])/, parallelCalls: false },
  { ...REASONING, models: /^gpt-[\d.]+-chat/, efforts: ['medium'] },
  { ...REASONING, models: /^gpt-5-pro/, efforts: ['high'] },
  { ...REASONING, models: /^gpt-[\d.]+-pro/, efforts: ['medium', 'high', 'xhigh'] },
  { ...REASONING, models: /^(?:codex|gpt-5(?:\.1)?-codex(?!-max))/ },
  { ...REASONING, models: /^gpt-5\.\d+-codex/, efforts: ['low', 'medium', 'high', 'xhigh'] },
  { ...REASONING, models: /^gpt-5(?!\.)/, efforts: ['minimal', 'low', 'medium', 'high'] },
  { ...SWITCHABLE, models: /^gpt-5\.1(?!\d)/, efforts: ['none', 'low', 'medium', 'high'] },
  { ...SWITCHABLE, models: /^gpt-5\.[23](?!\d)/ },
  { ...SWITCHABLE, models: /^gpt-5\.4(?!\d)/, chatTools: 'without_effort' },
  { ...SWITCHABLE, models: /^gpt-5\./, chatTools: 'effort_none' },
  { ...SWITCHABLE, models: /^gpt-6-(?:sol|luna)/, sampling: 'never', chatTools: 'effort_none' },
  { ...REASONING, models: /^gpt-(?:[6-9]|\d\d)/, efforts: ['low', 'medium', 'high', 'xhigh'] },
  { ...ANY, models: /gpt-oss/, isReasoning: true, efforts: ['low', 'medium', 'high'] },
];

const GROK: ModelRule = { ...REASONING, sampling: 'always' };

export const XAI_MODELS: readonly ModelRule[] = [
  { ...PLAIN, models: /^grok-.*non-reasoning/, penalties: false },
  { ...GROK, models: /^grok-3-mini/, efforts: ['low', 'high'] },
  { ...PLAIN, models: /^grok-[23]/ },
  { ...GROK, models: /^grok-4\.3(?!\d)/, efforts: ['none', 'low', 'medium', 'high'] },
  { ...GROK, models: /^grok-4\.5(?!\d)/ },
  { ...GROK, models: /^grok-(?:4\.6(?!\d)|.*multi-agent)/, efforts: ['low', 'medium', 'high', 'xhigh'] },
  { ...GROK, models: /^grok/, efforts: [] },
];

/** Kimi from K2.5 on: the sampling is fixed, and K2.7 and K3 always think. */
const KIMI: ModelRule = { ...ANY, isReasoning: true, sampling: 'never', penalties: false };

export const MOONSHOT_MODELS: readonly ModelRule[] = [
  { ...KIMI, models: /k2\.7/, thinkingSwitch: 'none' },
  { ...KIMI, models: /k2\.[5-9]/ },
  { ...KIMI, models: /k[3-9]/, thinkingSwitch: 'reasoning_effort', efforts: ['low', 'high'] },
];

export const VLLM_MODELS: readonly ModelRule[] = [
  { ...ANY, models: /gpt-oss/, isReasoning: true, efforts: ['low', 'medium', 'high'] },
  { ...ANY, efforts: ['none', 'low', 'medium', 'high'] },
];

const GPT_OSS: ModelRule = {
  ...ANY,
  models: /gpt-oss/,
  isReasoning: true,
  efforts: ['low', 'medium', 'high'],
  thinkingSwitch: 'reasoning_effort',
};

export const GPT_OSS_MODELS: readonly ModelRule[] = [GPT_OSS];

/** Models of Mistral think at the effort 'high', or not at all. */
export const MISTRAL_MODELS: readonly ModelRule[] = [
  { ...ANY, models: /magistral/, isReasoning: true, efforts: [] },
  { ...ANY, efforts: ['none', 'high'] },
];

/** Qwen on Groq puts its thinking into the text unless asked to keep both apart. */
export const GROQ_MODELS: readonly ModelRule[] = [
  GPT_OSS,
  {
    ...ANY,
    models: /qwen|deepseek/,
    isReasoning: true,
    efforts: ['none'],
    always: { reasoning_format: 'parsed' },
  },
  { ...ANY, efforts: [] },
];

export const CEREBRAS_MODELS: readonly ModelRule[] = [
  { ...GPT_OSS, penalties: false },
  { ...ANY, penalties: false, efforts: ['none'] },
];

export const PERPLEXITY_MODELS: readonly ModelRule[] = [
  {
    ...ANY,
    models: /reasoning|deep-research/,
    isReasoning: true,
    efforts: ['minimal', 'low', 'medium', 'high'],
    seed: false,
    parallelCalls: false,
  },
  { ...ANY, efforts: [], seed: false, parallelCalls: false },
];

export const MINIMAX_MODELS: readonly ModelRule[] = [
  { ...ANY, isReasoning: true, penalties: false, parallelCalls: false, seed: false },
];

export const HUNYUAN_MODELS: readonly ModelRule[] = [{ ...ANY, penalties: false, parallelCalls: false }];

export function ruleFor(modelName: string, rules: readonly ModelRule[]): ModelRule {
  return rules.find(({ models }) => models.test(modelName)) ?? ANY;
}
