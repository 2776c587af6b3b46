import { expect } from 'vitest';

import type { Msg } from '../src/message/msg.ts';
import type { ChatModelBase, ModelRequest } from '../src/model/chat-model-base.ts';
import { AnthropicChatModel } from '../src/providers/anthropic/index.ts';
import { GeminiChatModel } from '../src/providers/gemini/index.ts';
import { OllamaChatModel } from '../src/providers/ollama/index.ts';
import { OpenAIChatModel, OpenAIResponsesModel } from '../src/providers/openai/index.ts';
import type { Fetch } from '../src/util/net/http.ts';
import type { JsonObject } from '../src/util/json.ts';
import { anthropicFaults } from './wire/anthropic-rules.ts';
import { geminiFaults } from './wire/gemini-rules.ts';
import { ollamaFaults } from './wire/ollama-rules.ts';
import { openAiChatFaults } from './wire/openai-chat-rules.ts';
import { openAiResponsesFaults } from './wire/openai-responses-rules.ts';

let body = '';
const capture: Fetch = async (_url, init) => {
  body = String(init?.body);
  throw new TypeError('not sent');
};

const WIRES: readonly [ChatModelBase, (body: JsonObject) => string[]][] = [
  [new OpenAIChatModel({ modelName: 'gpt-4.1', apiKey: 'k', fetch: capture }), openAiChatFaults],
  [new OpenAIResponsesModel({ modelName: 'gpt-4.1', apiKey: 'k', fetch: capture }), openAiResponsesFaults],
  [new AnthropicChatModel({ modelName: 'claude-sonnet-4-5', apiKey: 'k', fetch: capture }), anthropicFaults],
  [
    new GeminiChatModel({ modelName: 'gemini-2.5-flash', apiKey: 'k', fetch: capture }),
    (json) => geminiFaults(json, 'gemini-2.5-flash'),
  ],
  [new OllamaChatModel({ modelName: 'qwen3', fetch: capture }), ollamaFaults],
];

/** Bodies that the five wires send for a request, by the name of the model. */
export async function bodiesOf(request: ModelRequest): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (const [model] of WIRES) bodies.push(await bodyOf(model, request));
  return bodies;
}

/** Faults of a request by the rules of a strict server of any of the five wires. */
export async function rejectionsOf(
  messages: readonly Msg[],
  more: Partial<ModelRequest> = {},
): Promise<string[]> {
  const found: string[] = [];
  for (const [model, faultsIn] of WIRES) {
    const json = JSON.parse(await bodyOf(model, { messages, ...more })) as JsonObject;
    found.push(...faultsIn(json).map((fault) => `${model.modelName}: ${fault}`));
  }
  return found;
}

async function bodyOf(model: ChatModelBase, request: ModelRequest): Promise<string> {
  body = '';
  await model.call(request).catch(() => {});
  expect(body).not.toBe('');
  return body;
}
