import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAI as createOpenAIV2 } from 'ai-sdk-openai-v2';
import { createOpenAI as createOpenAIV3 } from 'ai-sdk-openai-v3';

import type { AiSdkLanguageModel } from '../../src/providers/ai-sdk/index.ts';
import { anthropic, gemini, openaiChat, openaiResponses, type WireAnswer } from './bodies.ts';

/** A key that must not appear anywhere but in the header. */
export const KEY = 'sk-secret-4711-do-not-show';

/** A real package, and the form of the answers for this package. */
export interface Wire {
  readonly title: string;
  readonly model: (url: string) => AiSdkLanguageModel;
  readonly body: (answer: WireAnswer) => string;
  /** The vendor's words for how an answer ends. */
  readonly reasons: {
    readonly stop: string;
    readonly calls: string;
    readonly length: string;
    /** Where there is one. */
    readonly filter?: string;
  };
  readonly responseId: string;
}

const CHAT = {
  body: openaiChat,
  reasons: { stop: 'stop', calls: 'tool_calls', length: 'length', filter: 'content_filter' },
  responseId: 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG',
};
const RESPONSES = {
  body: openaiResponses,
  reasons: {
    stop: 'completed',
    calls: 'completed',
    length: 'max_output_tokens',
    filter: 'content_filter',
  },
  responseId: 'resp_67c9fdcecf488190bdd9a0409de3a1ec07b8b0ad4e5eb654',
};
const at = (baseURL: string): { apiKey: string; baseURL: string } => ({ apiKey: KEY, baseURL });

export const CHAT_WIRES: readonly Wire[] = [
  { ...CHAT, title: 'OpenAI chat, v2', model: (url) => createOpenAIV2(at(url)).chat('gpt-4.1') },
  { ...CHAT, title: 'OpenAI chat, v3', model: (url) => createOpenAIV3(at(url)).chat('gpt-4.1') },
  { ...CHAT, title: 'OpenAI chat, v4', model: (url) => createOpenAI(at(url)).chat('gpt-4.1') },
];
export const RESPONSES_WIRES: readonly Wire[] = [
  { ...RESPONSES, title: 'OpenAI responses, v2', model: (url) => createOpenAIV2(at(url)).responses('gpt-5') },
  { ...RESPONSES, title: 'OpenAI responses, v3', model: (url) => createOpenAIV3(at(url)).responses('gpt-5') },
  { ...RESPONSES, title: 'OpenAI responses, v4', model: (url) => createOpenAI(at(url)).responses('gpt-5') },
];
export const ANTHROPIC: Wire = {
  title: 'Anthropic, v4',
  model: (url) => createAnthropic(at(url))('claude-sonnet-4-5'),
  body: anthropic,
  reasons: { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens' },
  responseId: 'msg_01BhHPxbT1sAtjvnvrpXYSXa',
};
export const GEMINI: Wire = {
  title: 'Gemini, v4',
  model: (url) => createGoogleGenerativeAI(at(url))('gemini-3-pro-preview'),
  body: gemini,
  reasons: { stop: 'STOP', calls: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY' },
  responseId: 'KWpTaJ2pHp',
};
export const WIRES: readonly Wire[] = [...CHAT_WIRES, ...RESPONSES_WIRES, ANTHROPIC, GEMINI];
