// A real agent over a hosted model, over whole answers and over a token function: interrupted, aborted and left at every
// point, saved and loaded, and continued by a request that keeps the rules of the vendor.
import { beforeAll, describe, expect, test } from 'vitest';

import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/index.ts';
import { bedrock } from '../../src/providers/bedrock/index.ts';
import { OpenAIChatModel } from '../../src/providers/openai/index.ts';
import { ReActAgent } from '../../src/react/react-agent.ts';
import { findHistoryFaults } from '../../src/message/history.ts';
import { abortAtEvery, interruptAtEvery, leaveAtEvery, type Scenario } from '../../src/testing/drivers.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { validateWith } from '../../src/util/schema.ts';
import { parseJson, type JsonObject } from '../../src/util/json.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { strideOf } from '../fair-sample.ts';
import { anthropicFaults } from './anthropic-rules.ts';
import { asBedrockStream } from './aws-frames.ts';
import { openAiChatFaults } from './openai-chat-rules.ts';
import { fetchOf, readFixtures, toBytes, type SentRequest } from './replay.ts';
import { wholeChat, wholeMessage } from './whole-answer.ts';

interface Over {
  readonly make: (fetch: Fetch) => ChatModelBase;
  readonly answer: (name: string) => Uint8Array;
  readonly faultsIn: (body: JsonObject) => string[];
}

const OVERS: Readonly<Record<string, Over>> = {
  'Claude on Bedrock': {
    make: (fetch) =>
      new AnthropicChatModel({
        modelName: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
        hosting: bedrock({ region: 'us-east-1', apiKey: async () => 'k' }),
        fetch,
      }),
    answer: (name) => asBedrockStream(readFixtures('anthropic').get(name)!),
    faultsIn: ({ anthropic_version: _, ...body }) =>
      anthropicFaults({ ...body, model: 'claude-sonnet-4-5', stream: true }),
  },
  'Claude without streaming': {
    make: (fetch) =>
      new AnthropicChatModel({ modelName: 'claude-sonnet-4-5', apiKey: 'k', stream: false, fetch }),
    answer: (name) => toBytes(JSON.stringify(wholeMessage(readFixtures('anthropic').get(name)!))),
    faultsIn: (body) => anthropicFaults({ ...body, stream: true }),
  },
  'OpenAI without streaming, with a function for the key': {
    make: (fetch) =>
      new OpenAIChatModel({ modelName: 'gpt-4.1', apiKey: async () => 'k', stream: false, fetch }),
    answer: (name) => toBytes(JSON.stringify(wholeChat(readFixtures('openai-chat').get(name)!))),
    faultsIn: (body) => openAiChatFaults(body),
  },
};

/** First an answer with two tool calls, then answers of text. */
function agentOver({ make, answer }: Over, sent: SentRequest[], begin = 'parallel-tools'): ReActAgent {
  let next = begin;
  const fetch: Fetch = (url, init) => {
    const pieces = [answer(next)];
    next = 'plain';
    return fetchOf({ pieces }, sent)(url, init);
  };
  const tools = ['get_capital', 'get_time'].map((name) => tool({ name, execute: async () => 'So.' }));
  return new ReActAgent({
    name: 'Friday',
    model: make(fetch),
    tools,
    parallelToolCalls: true,
    console: false,
  });
}

const scenarioOf = (over: Over) => (): Scenario => {
  const sent: SentRequest[] = [];
  const agent = agentOver(over, sent);
  return {
    agent,
    input: 'go',
    check: async () => {
      expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
      const again = agentOver(over, sent, 'plain');
      again.loadStateDict(parseJson(JSON.stringify(agent.stateDict())) as JsonObject);
      await again.call('and now?');
      expect(sent.flatMap(({ body }) => over.faultsIn(JSON.parse(body) as JsonObject))).toEqual([]);
    },
  };
};

beforeAll(async () => {
  await validateWith({ type: 'object' }, {}); // the validator is loaded when it is first needed
});

const EVERY = { stride: strideOf('ticks of an agent over hosted models at which it is stopped', 7) };

describe.each(Object.entries(OVERS))('an agent over %s', (_, over) => {
  test('is interrupted at every point', async () => {
    expect((await interruptAtEvery(scenarioOf(over), EVERY)).points).toBeGreaterThan(20);
  });

  test('is aborted at every point', async () => {
    expect((await abortAtEvery(scenarioOf(over), EVERY)).points).toBeGreaterThan(20);
  });

  test('is left after every event', async () => {
    expect((await leaveAtEvery(scenarioOf(over))).points).toBeGreaterThan(5);
  });
});
