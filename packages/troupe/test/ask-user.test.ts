import { describe, expect, test } from 'vitest';

import { askUserTool } from '../src/entries/ask-user.ts';
import { findHistoryFaults, ReActAgent, type JsonObject, type PendingCall } from '../src/index.ts';
import { ScriptedModel } from '../src/testing/index.ts';

type Script = ConstructorParameters<typeof ScriptedModel>[0];

const asking = (input: JsonObject, id = 'q1'): Script[number] => ({
  toolCalls: [{ name: 'ask_user', id, input }],
});

function friday(
  script: Script,
  options: Partial<ConstructorParameters<typeof ReActAgent>[0]> = {},
): ReActAgent {
  const model = new ScriptedModel(script);
  return new ReActAgent({ name: 'Friday', model, tools: [askUserTool()], console: false, ...options });
}

function only(agent: { readonly pendingCalls: readonly PendingCall[] }): PendingCall {
  expect(agent.pendingCalls).toHaveLength(1);
  return agent.pendingCalls[0]!;
}

const TRIP = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 2, description: 'Where to' },
    nights: { type: 'integer', minimum: 1, maximum: 30, default: 2 },
    seat: { type: 'string', enum: ['aisle', 'window'] },
    extras: { type: 'array', items: { type: 'string', enum: ['meal', 'wifi'] }, default: [] },
    insured: { type: 'boolean', default: false },
  },
  required: ['city', 'nights'],
};

describe('a question of a model', () => {
  test('is pending with its text, and its answer is the tool result', async () => {
    const agent = friday([asking({ question: 'Which city?' }), 'Booked.']);
    const question = await agent.call('Book a trip.');
    expect([question.text, question.endReason]).toEqual(['Which city?', 'tool_suspended']);
    const pending = only(agent);
    expect(pending).toEqual({
      id: pending.id,
      agentPath: ['Friday'],
      kind: 'question',
      call: { type: 'tool_use', id: 'q1', name: 'ask_user', input: { question: 'Which city?' } },
      question: { message: 'Which city?' },
    });
    const answer = await agent.call(undefined, {
      decisions: [{ id: pending.id, verdict: 'answer', answer: 'Berlin' }],
    });
    expect(answer.text).toBe('Booked.');
    const history = await agent.memory.getMemory();
    expect(history.flatMap((msg) => msg.getContentBlocks('tool_result'))).toEqual([
      {
        type: 'tool_result',
        id: 'q1',
        name: 'ask_user',
        output: 'The user answered: Berlin',
        status: 'ok',
        metadata: { answer: 'Berlin' },
      },
    ]);
    expect(findHistoryFaults(history)).toEqual([]);
  });
});
