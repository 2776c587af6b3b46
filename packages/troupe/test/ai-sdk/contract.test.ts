// The bridge over real packages is a chat model like any other, and sends only what a strict server takes.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { MultiAgentFormatter } from '../../src/formatter/multi-agent-formatter.ts';
import { AiSdkModel } from '../../src/providers/ai-sdk/index.ts';
import { chatModelContract, CONTRACT_CALLS, CONTRACT_TEXT } from '../../src/testing/chat-model-contract.ts';
import type { ContractScenario } from '../../src/testing/chat-model-case.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/util/json.ts';
import { anthropicFaults } from '../wire/anthropic-rules.ts';
import { geminiFaults } from '../wire/gemini-rules.ts';
import { HISTORIES, TOOLS } from '../wire/histories.ts';
import { openAiChatFaults } from '../wire/openai-chat-rules.ts';
import { openAiResponsesFaults } from '../wire/openai-responses-rules.ts';
import type { WireAnswer } from './bodies.ts';
import { Loopback, type Answer } from './loopback.ts';
import { ANTHROPIC, CHAT_WIRES, KEY, RESPONSES_WIRES, WIRES, type Wire } from './wires.ts';

let server: Loopback;
beforeAll(async () => {
  server = await new Loopback().listen();
});
afterEach(() => {
  server.answersWith = undefined;
});
afterAll(() => server.close());

function answerIn(scenario: ContractScenario, { body, reasons }: Wire): Answer {
  const cut = (text: string): readonly string[] => [text.slice(0, 20), text.slice(20, 40), text.slice(40)];
  const calls = CONTRACT_CALLS.map(({ name, input }, i) => ({
    id: `call_${i}`,
    name,
    json: JSON.stringify(input),
  }));
  const answers: Record<ContractScenario, WireAnswer & Omit<Answer, 'body'>> = {
    text: { text: cut(CONTRACT_TEXT), reason: reasons.stop },
    tools: { calls, reason: reasons.calls },
    stall: { text: ['Well, ', 'let me see'], end: 'never' },
    failure: { status: 503 },
    breaks: { text: ['Well, ', 'let me see'], end: 'closed' },
  };
  const answer = answers[scenario];
  return { ...answer, body: scenario === 'failure' ? '{"error":{"message":"Busy."}}' : body(answer) };
}

describe.each(WIRES)('the contract, $title', (wire) => {
  const cases = chatModelContract(
    (scenario) => {
      server.answersWith = answerIn(scenario, wire);
      return new AiSdkModel(wire.model(server.url));
    },
    { secret: KEY, workOf: () => server.requests.length },
  );
  test('has cases', () => expect(cases.length).toBeGreaterThan(25));
  test.each(cases)('$name', ({ run }) => run());
});

describe.each(Object.entries(HISTORIES))('%s', (_name, messages) => {
  const request = { messages, tools: TOOLS, agentName: 'Friday' };

  test.each(WIRES)('$title', async (wire) => {
    for (const formatter of [undefined, new MultiAgentFormatter()]) {
      server.willAnswer(wire.body({ text: ['Fine.'], reason: wire.reasons.stop }));
      const model = new AiSdkModel(wire.model(server.url), { onRepair: () => {} });
      const msg = await model.call({ ...request, ...(formatter && { formatter }) });
      expect(msg.text).toBe('Fine.');
      const body = server.requests.at(-1)?.body ?? {};
      expect(faultsIn(wire, body)).toEqual([]);
    }
  });
});

function faultsIn(wire: Wire, body: JsonObject): readonly string[] {
  if (CHAT_WIRES.includes(wire)) return openAiChatFaults(body);
  if (RESPONSES_WIRES.includes(wire)) return openAiResponsesFaults(withLists(body, 'input', 'input_text'));
  const faults =
    wire === ANTHROPIC
      ? anthropicFaults(withLists(body, 'messages', 'text'))
      : geminiFaults(body, 'gemini-3-pro-preview');
  return faults.filter((fault) => !KNOWN_BETTER.test(fault));
}

/** Features that only the packages use: another way to stream arguments, and files from any address. */
const KNOWN_BETTER = /eager_input_streaming is unknown|fileUri must be text like/;

/** The body with texts in lists: the APIs take them by themselves as well, and the packages send them so. */
function withLists(body: JsonObject, field: string, type: string): JsonObject {
  const inLists = (value: JsonValue): JsonValue => {
    if (!isJsonObject(value)) return value;
    const { content, role } = value;
    if (Array.isArray(content)) return { ...value, content: content.map(inLists) };
    if (typeof content !== 'string') return value;
    const { content: _empty, ...rest } = value;
    const part = { type: role === 'assistant' ? 'output_text' : type, text: content };
    return content === '' ? rest : { ...rest, content: [part] };
  };
  return { ...body, [field]: (body[field] as readonly JsonValue[]).map(inLists) };
}
