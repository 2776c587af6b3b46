// The contract of chat models, for adapters without a contract test of their own.
import { describe, test } from 'vitest';
import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import { OllamaChatModel } from '../../src/providers/ollama/ollama-chat-model.ts';
import { OpenAIChatModel } from '../../src/providers/openai/openai-chat-model.ts';
import { OpenAIResponsesModel } from '../../src/providers/openai/openai-responses-model.ts';
import { chatModelContract, CONTRACT_CALLS, CONTRACT_TEXT } from '../../src/testing/chat-model-contract.ts';
import type { ContractScenario } from '../../src/testing/chat-model-case.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { fetchOf, toBytes, type SentRequest } from './replay.ts';

const KEY = 'sk-4711-very-secret';

interface Wire {
  readonly make: (fetch: Fetch) => ChatModelBase;
  readonly text: (text: string) => readonly object[];
  readonly calls: readonly object[];
  readonly end: (hasCalls: boolean) => readonly object[];
  readonly isLines?: boolean;
}

const WIRES: Readonly<Record<string, Wire>> = {
  'Chat Completions': {
    make: (fetch) => new OpenAIChatModel({ modelName: 'm', apiKey: KEY, fetch }),
    text: (content) => [{ id: 'r1', choices: [{ delta: { content } }] }],
    calls: CONTRACT_CALLS.map(({ name, input }, index) => ({
      choices: [
        {
          delta: {
            tool_calls: [{ index, id: `c${index}`, function: { name, arguments: JSON.stringify(input) } }],
          },
        },
      ],
    })),
    end: (hasCalls) => [
      { choices: [{ delta: {}, finish_reason: hasCalls ? 'tool_calls' : 'stop' }] },
      { choices: [], usage: { prompt_tokens: 5, completion_tokens: 7 } },
    ],
  },
  Responses: {
    make: (fetch) => new OpenAIResponsesModel({ modelName: 'm', apiKey: KEY, fetch }),
    text: (delta) => [{ type: 'response.output_text.delta', output_index: 0, delta }],
    calls: CONTRACT_CALLS.flatMap(({ name, input }, output_index) => {
      const item = { type: 'function_call', call_id: `c${output_index}`, name };
      return [
        { type: 'response.output_item.added', output_index, item },
        { type: 'response.function_call_arguments.delta', output_index, delta: JSON.stringify(input) },
        { type: 'response.output_item.done', output_index, item },
      ];
    }),
    end: () => [{ type: 'response.completed', response: { usage: { input_tokens: 5, output_tokens: 7 } } }],
  },
  Ollama: {
    make: (fetch) => new OllamaChatModel({ modelName: 'm', apiKey: KEY, fetch }),
    text: (content) => [{ message: { role: 'assistant', content } }],
    calls: CONTRACT_CALLS.map(({ name, input }) => ({
      message: { content: '', tool_calls: [{ function: { name, arguments: input } }] },
    })),
    end: () => [
      { message: { content: '' }, done: true, done_reason: 'stop', prompt_eval_count: 5, eval_count: 7 },
    ],
    isLines: true,
  },
};

for (const [name, wire] of Object.entries(WIRES)) {
  const requests = new WeakMap<ChatModelBase, SentRequest[]>();

  function deliveryOf(scenario: ContractScenario): Parameters<typeof fetchOf>[0] {
    if (scenario === 'failure') {
      return { pieces: [toBytes(`{"error":{"message":"Bad key ${KEY}"}}`)], status: 401 };
    }
    const words = CONTRACT_TEXT.split(/(?<= )/).flatMap(wire.text);
    const content = scenario === 'tools' ? wire.calls : words;
    const isWhole = scenario === 'text' || scenario === 'tools';
    const events = [...content, ...(isWhole ? wire.end(scenario === 'tools') : [])];
    const lines = events.map((event) =>
      wire.isLines ? `${JSON.stringify(event)}\n` : `data: ${JSON.stringify(event)}\n\n`,
    );
    return { pieces: lines.map(toBytes), stalls: scenario === 'stall', breaks: scenario === 'breaks' };
  }

  function make(scenario: ContractScenario): ChatModelBase {
    const sent: SentRequest[] = [];
    const model = wire.make(fetchOf(deliveryOf(scenario), sent));
    requests.set(model, sent);
    return model;
  }

  const cases = chatModelContract(make, { secret: KEY, workOf: (model) => requests.get(model)?.length ?? 0 });
  describe(`${name} keeps the contract:`, () => {
    test.each(cases.map(({ name, run }) => [name, run] as const))('%s', (_name, run) => run());
  });
}
