import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import type { HttpModelOptions } from '../../src/model/http/http-chat-model.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/index.ts';
import { GeminiChatModel } from '../../src/providers/gemini/index.ts';
import { OllamaChatModel } from '../../src/providers/ollama/index.ts';
import { OpenAIChatModel, OpenAIResponsesModel } from '../../src/providers/openai/index.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { anthropicFaults } from './anthropic-rules.ts';
import { geminiFaults } from './gemini-rules.ts';
import { ollamaFaults } from './ollama-rules.ts';
import { openAiChatFaults } from './openai-chat-rules.ts';
import { openAiResponsesFaults } from './openai-responses-rules.ts';
import { readFixtures } from './replay.ts';

/** A wire format with the strict rules of its API. */
export interface CheckedWire {
  /** Folder of its fixtures. */
  readonly folder: string;
  readonly contentType: string;
  readonly faultsIn: (body: JsonObject) => string[];
}

export interface OtherWire extends CheckedWire {
  readonly plain: Uint8Array;
  readonly makeModel: (options: Omit<HttpModelOptions, 'modelName'>) => ChatModelBase;
}

const SSE = 'text/event-stream';
const plainOf = (folder: string): Uint8Array => readFixtures(folder).get('plain') ?? new Uint8Array();

/** One model of each wire format, to go on with in the middle of a conversation. */
export const OTHER_WIRES: readonly OtherWire[] = [
  {
    folder: 'anthropic',
    contentType: SSE,
    faultsIn: anthropicFaults,
    plain: plainOf('anthropic'),
    makeModel: (options) =>
      new AnthropicChatModel({ modelName: 'claude-sonnet-4-5', apiKey: 'key', ...options }),
  },
  {
    folder: 'openai-responses',
    contentType: SSE,
    faultsIn: openAiResponsesFaults,
    plain: plainOf('openai-responses'),
    makeModel: (options) =>
      new OpenAIResponsesModel({ vendor: 'openai', modelName: 'gpt-5.1', apiKey: 'key', ...options }),
  },
  {
    folder: 'openai-chat',
    contentType: SSE,
    faultsIn: (body) => openAiChatFaults(body),
    plain: plainOf('openai-chat'),
    makeModel: (options) =>
      new OpenAIChatModel({ vendor: 'openai', modelName: 'gpt-4.1', apiKey: 'key', ...options }),
  },
  {
    folder: 'gemini',
    contentType: SSE,
    faultsIn: (body) => geminiFaults(body, 'gemini-3-flash-preview'),
    plain: plainOf('gemini'),
    makeModel: (options) =>
      new GeminiChatModel({ modelName: 'gemini-3-flash-preview', apiKey: 'key', ...options }),
  },
  {
    folder: 'ollama',
    contentType: 'application/x-ndjson',
    faultsIn: ollamaFaults,
    plain: plainOf('ollama'),
    makeModel: (options) => new OllamaChatModel({ modelName: 'qwen3', ...options }),
  },
];
