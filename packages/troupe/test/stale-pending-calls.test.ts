// A memory that is stored on its own, and a session: killed between their two writes, the session still lists tool calls as
// pending that the memory has results for.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { Msg, ReActAgent, tool, Toolkit, type AgentEvent, type PendingDecision } from '../src/index.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { SqliteDatabase, SqliteMemory } from '../src/stores/sqlite/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/index.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';

class Program {
  readonly ran: string[] = [];
  readonly #database = new SqliteDatabase(':memory:');

  /** The agent of one process: the memory is shared by all of them. */
  agent(script: readonly (string | ScriptedTurn)[], saved?: JsonObject): ReActAgent {
    const remove = tool({
      name: 'remove',
      schema: z.object({ path: z.string() }),
      sideEffect: true,
      execute: ({ path }) => {
        this.ran.push(path);
        return `removed ${path}`;
      },
    });
    const agent = new ReActAgent({
      name: 'Friday',
      model: new ScriptedModel(script),
      toolkit: new Toolkit({ tools: [remove] }),
      memory: new SqliteMemory(this.#database, { sessionId: 's' }),
      permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
      console: false,
    });
    if (saved !== undefined) agent.loadStateDict(saved);
    return agent;
  }
}

const ASKS: ScriptedTurn = { toolCalls: [{ name: 'remove', id: 'c1', input: { path: '/a' } }] };

/** A program that was killed after its memory was written, and before its session was. */
async function killed(end: 'before the answer' | 'after the answer'): Promise<{
  program: Program;
  saved: JsonObject;
  decisions: readonly PendingDecision[];
}> {
  const program = new Program();
  const agent = program.agent([ASKS, end === 'after the answer' ? 'Done.' : { error: new Error('killed') }]);
  await agent.call('Clean up.');
  const saved = parseJson(JSON.stringify(agent.stateDict())) as JsonObject;
  const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
  await agent.call(undefined, { decisions }).catch(() => {});
  expect(program.ran).toEqual(['/a']);
  return { program, saved, decisions };
}

async function textsIn(agent: ReActAgent): Promise<readonly string[]> {
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  return history.map((msg) => `${msg.role} ${msg.text}`.trim());
}

describe('a decision about a tool call that is answered in the stored memory', () => {
  test('continues the reply, and runs nothing again', async () => {
    const { program, saved, decisions } = await killed('before the answer');
    const agent = program.agent(['Done.'], saved);
    expect(agent.pendingCalls.map(({ id }) => id)).toEqual(decisions.map(({ id }) => id));
    expect((await agent.call(undefined, { decisions })).text).toBe('Done.');
    expect([program.ran, agent.pendingCalls]).toEqual([['/a'], []]);
    expect(await textsIn(agent)).toEqual(['user Clean up.', 'assistant', 'system', 'assistant Done.']);
  });

  test('gives the existing answer, without a model call', async () => {
    const { program, saved, decisions } = await killed('after the answer');
    const agent = program.agent([], saved);
    const events: AgentEvent[] = [];
    const stream = agent.stream(undefined, { decisions });
    for await (const event of stream) events.push(event);
    const answer = await stream.answer;
    expect([answer.text, answer.endReason]).toEqual(['Done.', 'finished']);
    expect(events.map(({ type }) => type)).toEqual([
      'reply_start',
      'block_start',
      'text_delta',
      'block_end',
      'reply_end',
      'run_end',
    ]);
    expect(await textsIn(agent)).toEqual(['user Clean up.', 'assistant', 'system', 'assistant Done.']);
    expect([program.ran, agent.pendingCalls]).toEqual([['/a'], []]);
  });

  test('with a message: the message is answered', async () => {
    const { program, saved, decisions } = await killed('after the answer');
    const agent = program.agent(['Sure.'], saved);
    expect((await agent.call('And be quick.', { decisions })).text).toBe('Sure.');
    expect((await textsIn(agent)).slice(-2)).toEqual(['user And be quick.', 'assistant Sure.']);
    expect(program.ran).toEqual(['/a']);
  });

  test('as a result in a message: the first result counts', async () => {
    const { program, saved } = await killed('before the answer');
    const agent = program.agent(['Done.'], saved);
    const result = {
      type: 'tool_result',
      id: 'c1',
      name: 'remove',
      output: 'by hand',
      status: 'ok',
    } as const;
    expect((await agent.call(Msg.system([result]))).text).toBe('Done.');
    const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results.map(({ output }) => output)).toEqual(['removed /a']);
  });

  test('beside one about a tool call that nobody knows: refused, and nothing changes', async () => {
    const { program, saved, decisions } = await killed('before the answer');
    const agent = program.agent(['Done.'], saved);
    const wrong = [...decisions, { id: 'other', verdict: 'allow' as const }];
    await expect(agent.call(undefined, { decisions: wrong })).rejects.toMatchObject({
      code: 'decision_refused',
    });
    expect(agent.stateDict()).toEqual(saved);
    expect((await agent.call(undefined, { decisions })).text).toBe('Done.');
  });
});
