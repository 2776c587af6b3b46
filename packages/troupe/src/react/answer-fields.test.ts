// Fields of an agent's answer about the model message behind it: its model, and whether the text was cut off.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import type { AgentEvent } from '../event/agent-event.ts';
import { Msg } from '../message/msg.ts';
import { ModelError } from '../model/model-error.ts';
import { FallbackModel } from '../model/wrappers/fallback-model.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { tool } from '../toolkit/tool/tool.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import { ReActAgent } from './react-agent.ts';

const look = tool({ name: 'look', execute: () => 'Nothing there.' });
const lookCall = { name: 'look', input: {} };
const CUT: ScriptedTurn = { text: 'It all began', finish: 'length' };

function agentWith(
  model: ReActAgentOptions['model'] | readonly (string | ScriptedTurn)[],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  const chat = Array.isArray(model) ? new ScriptedModel(model) : (model as ReActAgentOptions['model']);
  return new ReActAgent({ name: 'Friday', model: chat, tools: [look], console: false, ...options });
}

const reasons = ({ endReason, finishReason }: Msg): unknown => ({ endReason, finishReason });

describe('an answer that was cut off at the limit of tokens', () => {
  test('says so, in the call, in memory, when saved, and at the end of the stream', async () => {
    const agent = agentWith([CUT]);
    const events: AgentEvent[] = [];
    const stream = agent.stream('Tell me.');
    for await (const event of stream) events.push(event);
    const answer = await stream.answer;
    expect(answer.text).toBe('It all began');
    expect(reasons(answer)).toEqual({ endReason: 'length', finishReason: 'length' });
    const [, stored] = await agent.memory.getMemory();
    expect(reasons(stored!)).toEqual({ endReason: 'length', finishReason: 'length' });
    expect(reasons(Msg.from(JSON.parse(JSON.stringify(answer))))).toEqual(reasons(answer));
    expect(events.at(-1)).toMatchObject({
      type: 'run_end',
      status: 'finished',
      msg: { endReason: 'length' },
    });
  });

  test('behind tool calls says so too', async () => {
    const answer = await agentWith([{ toolCalls: [lookCall] }, CUT]).call('Tell me.');
    expect(reasons(answer)).toEqual({ endReason: 'length', finishReason: 'length' });
  });

  test('with a tool call that is not whole is the text, and the tool is not called', async () => {
    const cutCall: ScriptedTurn = {
      deltas: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use_start', index: 0, name: 'look' },
        { type: 'tool_input', index: 0, json: '{"at":"' },
        { type: 'finish', reason: 'length' },
      ],
    };
    const answer = await agentWith([cutCall]).call('Tell me.');
    expect(answer).toMatchObject({ endReason: 'length', content: [{ type: 'text', text: 'I look.' }] });
  });

  test('before its first word is tried again with a hint, and then an error that says what to raise', async () => {
    const nothing: ScriptedTurn = { thinking: 'Hm, hm', finish: 'length' };
    const model = new ScriptedModel([nothing, nothing, nothing]);
    const answer = await agentWith(model).call('Tell me.');
    expect(reasons(answer)).toEqual({ endReason: 'error', finishReason: 'length' });
    expect(answer.text).toBe(
      'The model gave no answer: each was cut off at its limit of tokens. Raise maxTokens in the generation options.',
    );
    expect(model.requests[1]?.messages.at(-1)?.text).toContain('cut off');
  });

  test('as a summary at the last step keeps both reasons', async () => {
    const answer = await agentWith([{ toolCalls: [lookCall] }, CUT], { maxIters: 1 }).call('Tell me.');
    expect(answer.text).toBe('It all began');
    expect(reasons(answer)).toEqual({ endReason: 'max_iters', finishReason: 'length' });
  });

  test('that is whole is finished', async () => {
    expect(reasons(await agentWith(['Hello.']).call('Hi.'))).toEqual({
      endReason: 'finished',
      finishReason: 'stop',
    });
  });
});

describe('an answer of one model among several', () => {
  const lost = new ModelError('The connection was lost.', { kind: 'network' });
  const fallback = (...script: (string | ScriptedTurn)[]): FallbackModel =>
    new FallbackModel([
      new ScriptedModel(
        script.map(() => ({ error: lost })),
        'big',
      ),
      new ScriptedModel(script, 'small'),
    ]);

  test('says which one gave it, also when the agent is saved and loaded', async () => {
    const agent = agentWith(fallback('Hello.'));
    const answer = await agent.call('Hi.');
    expect(answer.answeredBy).toEqual({ model: 'small' });
    const other = agentWith([]);
    other.loadStateDict(JSON.parse(JSON.stringify(agent.stateDict())));
    const stored = await other.memory.getMemory();
    expect(stored.map(({ answeredBy }) => answeredBy)).toEqual([undefined, { model: 'small' }]);
  });

  test('says so as structured output', async () => {
    const agent = agentWith(fallback({ toolCalls: [{ name: 'generate_response', input: { sum: 3 } }] }));
    const answer = await agent.call('Add.', { structuredModel: z.object({ sum: z.number() }) });
    expect([answer.metadata, answer.answeredBy]).toEqual([{ sum: 3 }, { model: 'small' }]);
  });

  test('says so as a summary at the last step', async () => {
    const agent = agentWith(fallback({ toolCalls: [lookCall] }, 'Nothing.'), { maxIters: 1 });
    expect((await agent.call('Look.')).answeredBy).toEqual({ model: 'small' });
  });
});
