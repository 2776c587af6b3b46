// A conversation moves to another vendor after an answer with thinking and tool calls: every request keeps the rules of
// the vendor that gets it. The history is saved and loaded in between.
import { expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/index.ts';
import { GeminiChatModel } from '../../src/providers/gemini/index.ts';
import { OllamaChatModel } from '../../src/providers/ollama/index.ts';
import {
  OpenAIChatModel,
  OpenAIResponsesModel,
  type ChatVendorName,
} from '../../src/providers/openai/index.ts';
import type { JsonObject } from '../../src/util/json.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { anthropicFaults } from './anthropic-rules.ts';
import { geminiFaults } from './gemini-rules.ts';
import { TOOLS } from './histories.ts';
import { ollamaFaults } from './ollama-rules.ts';
import { openAiChatFaults, STRICTNESS } from './openai-chat-rules.ts';
import { openAiResponsesFaults } from './openai-responses-rules.ts';
import { fetchOf, readFixtures, type SentRequest } from './replay.ts';

interface Vendor {
  readonly folder: string;
  readonly make: (fetch: Fetch) => ChatModelBase;
  readonly faultsIn: (body: JsonObject) => string[];
}

const GEMINI = 'gemini-3-flash-preview';
const CHAT_MODELS: Readonly<Record<string, string>> = {
  moonshot: 'kimi-k2.5',
  openai: 'gpt-4.1',
  azure: 'gpt-4.1',
};

const VENDORS: Readonly<Record<string, Vendor>> = {
  responses: {
    folder: 'openai-responses',
    make: (fetch) => new OpenAIResponsesModel({ vendor: 'openai', modelName: 'gpt-5.1', apiKey: 'k', fetch }),
    faultsIn: openAiResponsesFaults,
  },
  'responses that are stored': {
    folder: 'openai-responses',
    make: (fetch) =>
      new OpenAIResponsesModel({ vendor: 'openai', modelName: 'gpt-5.1', store: true, apiKey: 'k', fetch }),
    faultsIn: openAiResponsesFaults,
  },
  'responses without reasoning': {
    folder: 'openai-responses',
    make: (fetch) => new OpenAIResponsesModel({ vendor: 'openai', modelName: 'gpt-4.1', apiKey: 'k', fetch }),
    faultsIn: openAiResponsesFaults,
  },
  anthropic: {
    folder: 'anthropic',
    make: (fetch) => new AnthropicChatModel({ modelName: 'claude-sonnet-4-5', apiKey: 'k', fetch }),
    faultsIn: anthropicFaults,
  },
  gemini: {
    folder: 'gemini',
    make: (fetch) => new GeminiChatModel({ modelName: GEMINI, apiKey: 'k', fetch }),
    faultsIn: (body) => geminiFaults(body, GEMINI),
  },
  ollama: {
    folder: 'ollama',
    make: (fetch) => new OllamaChatModel({ modelName: 'qwen3', fetch }),
    faultsIn: ollamaFaults,
  },
  ...Object.fromEntries(
    (Object.keys(STRICTNESS) as ChatVendorName[]).map((vendor) => [
      vendor,
      {
        folder: vendor === 'openai' ? 'openai-chat' : `openai-chat-${vendor}`,
        make: (fetch: Fetch) =>
          new OpenAIChatModel({
            vendor,
            modelName: CHAT_MODELS[vendor] ?? 'm',
            apiKey: 'k',
            baseUrl: 'http://x.test',
            fetch,
          }),
        faultsIn: (body: JsonObject) => openAiChatFaults(body, STRICTNESS[vendor]),
      },
    ]),
  ),
};

/** Conversations whose last answer each recording of a vendor is. */
async function conversationsOf({ folder, make }: Vendor): Promise<readonly (readonly Msg[])[]> {
  const conversations: Msg[][] = [];
  for (const recording of readFixtures(folder).values()) {
    const question = Msg.user('Go.');
    const answer = await make(fetchOf({ pieces: [recording] }))
      .call({ messages: [question], tools: TOOLS })
      .catch(() => undefined); // a recorded failure
    if (answer === undefined || answer.content.length === 0) continue;
    const results = answer
      .getContentBlocks('tool_use')
      .map(({ id, name }) => ({ type: 'tool_result', id, name, output: 'So.', status: 'ok' }) as const);
    const next = [...(results.length > 0 ? [Msg.system(results)] : []), Msg.user('And now?')];
    conversations.push([question, answer, ...next].map((msg) => Msg.from(JSON.parse(JSON.stringify(msg)))));
  }
  return conversations;
}

test.each(Object.entries(VENDORS))('from %s to every vendor', async (_, from) => {
  const conversations = await conversationsOf(from);
  expect(conversations.length).toBeGreaterThan(0);
  for (const [name, to] of Object.entries(VENDORS)) {
    const sent: SentRequest[] = [];
    const model = to.make(fetchOf({ pieces: [readFixtures(to.folder).get('plain')!] }, sent));
    for (const messages of conversations) await model.call({ messages, tools: TOOLS });
    const faults = sent.flatMap(({ body }) => to.faultsIn(JSON.parse(body) as JsonObject));
    expect(faults, `to ${name}`).toEqual([]);
    expect(sent).toHaveLength(conversations.length);
  }
});
