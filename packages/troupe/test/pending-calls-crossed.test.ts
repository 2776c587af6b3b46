// Pending calls together with the rest: leave for a run, shapes, long-term memory, compression, hooks, streams, rooms and plans.
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';

import { agentTool } from '../src/subagent/agent-tool.ts';
import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import type { ContextCompressor, CompressionTask } from '../src/compression/context-compressor.ts';
import { LongTermMemoryBase } from '../src/longterm/long-term-memory-base.ts';
import { InMemoryMemory } from '../src/memory/in-memory-memory.ts';
import { Msg } from '../src/message/msg.ts';
import type { PendingDecision } from '../src/message/pending-call.ts';
import { ChatRoom } from '../src/pipeline/chat-room.ts';
import { PlanNotebook } from '../src/plan/plan-notebook.ts';
import { PermissionRules } from '../src/permission/permission-rules.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { BackgroundTools } from '../src/toolkit/background-tools.ts';
import { knownTool } from '../src/toolkit/tool/known-tools.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';

/** A tool that adds its runs to a log. */
function shell(ran: string[]): Tool {
  const made = tool({
    name: 'execute_shell_command',
    checkConfinement: async () => undefined,
    schema: z.object({ command: z.string() }),
    execute: ({ command }) => `ran ${ran.push(command)}`,
  });
  return knownTool(made, { command: 'command' });
}

const run = (id: string, command: string) => ({ name: 'execute_shell_command', id, input: { command } });
const words = (name: string) => ({ name, description: name, expected_outcome: name });
const says = (...toolCalls: NonNullable<ScriptedTurn['toolCalls']>): ScriptedTurn => ({ toolCalls });

function agentWith(
  script: readonly (string | ScriptedTurn)[],
  ran: string[],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    toolkit: new Toolkit({ tools: [shell(ran)] }),
    permissionPolicy: new PermissionRules(),
    ...options,
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

const allowAll = (agent: ReActAgent): readonly PendingDecision[] =>
  agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }));
/** Another process with the same state. */
function restarted(before: ReActAgent, after: ReActAgent): ReActAgent {
  after.loadStateDict(parseJson(JSON.stringify(before.stateDict())) as JsonObject);
  return after;
}
const resultsIn = async (agent: ReActAgent): Promise<unknown[]> =>
  (await agent.memory.getMemory()).flatMap((msg) =>
    msg.getContentBlocks('tool_result').map(({ id, status }) => [id, status]),
  );

test('permission for the run does not include another dangerous tool call that is pending beside', async () => {
  const ran: string[] = [];
  const script = [says(run('c1', 'npm run build'), run('c2', 'rm -rf ~'), run('c3', 'make')), 'Done.'];
  const first = agentWith(script, ran, { parallelToolCalls: true });
  await first.call('go');
  const [build, remove, make] = first.pendingCalls;
  expect([build, remove, make].map((one) => one?.isAskedEachTime)).toEqual([undefined, true, undefined]);

  const agent = restarted(first, agentWith(['Done.'], ran, { parallelToolCalls: true }));
  await agent.call(undefined, { decisions: [{ id: String(build?.id), verdict: 'allow', scope: 'run' }] });
  expect(ran).toEqual(['npm run build', 'make']);
  expect(agent.pendingCalls).toEqual([remove]);
  const decisions = [{ id: String(remove?.id), verdict: 'deny' }] as const;
  expect((await agent.call(undefined, { decisions })).text).toBe('Done.');
  expect(ran).toEqual(['npm run build', 'make']);
});

test('permission for the run does not include a tool call beside about which a policy has become strict', async () => {
  const ran: string[] = [];
  let isAskedEachTime = false;
  const agent = agentWith([says(run('c1', 'a'), run('c2', 'b')), 'Done.'], ran, {
    parallelToolCalls: true,
    permissionPolicy: { decide: () => ({ behavior: 'ask', isAskedEachTime }) },
  });
  await agent.call('go');
  isAskedEachTime = true;
  const id = String(agent.pendingCalls[0]?.id);
  await agent.call(undefined, { decisions: [{ id, verdict: 'allow', scope: 'run' }] });
  expect(ran).toEqual(['a']);
  expect(agent.pendingCalls).toMatchObject([{ call: { id: 'c2' } }]);
});

test('an agent whose calls are always allowed comes to an end like any other', async () => {
  const ran: string[] = [];
  const think = (n: number): ScriptedTurn => says(run(`c${n}`, `make ${n}`));
  const options = { maxIters: 3 };
  let agent = agentWith([think(0)], ran, options);
  await agent.call('go');
  for (const n of [1, 2]) {
    agent = restarted(agent, agentWith([think(n)], ran, options));
    await agent.call(undefined, { decisions: allowAll(agent) });
  }
  agent = restarted(agent, agentWith(['Too much.', think(9)], ran, options));
  const answer = await agent.call(undefined, { decisions: allowAll(agent) });
  expect([answer.text, answer.endReason]).toEqual(['Too much.', 'max_iters']);
  expect(ran).toEqual(['make 0', 'make 1', 'make 2']);
});

test('a pending tool call is resumed also where fewer model calls are allowed by now', async () => {
  const ran: string[] = [];
  const first = agentWith([says(run('c0', 'ls')), says(run('c1', 'make'))], ran);
  await first.call('go');
  const agent = restarted(first, agentWith(['That was it.'], ran, { maxIters: 1 }));
  await agent.call(undefined, { decisions: allowAll(agent) });
  expect(ran).toEqual(['ls', 'make']);
  expect(agent.pendingCalls).toEqual([]);
});

test('a message beside decisions does not lose the structured output', async () => {
  const structuredModel = z.object({ city: z.string() });
  const form = says({ name: 'generate_response', id: 'f', input: { city: 'Lima' } });
  const agent = agentWith([says(run('c1', 'make')), form, 'As you like.'], []);
  await agent.call('Which city?', { structuredModel });
  const decisions = allowAll(agent);
  await expect(agent.call('Be quick.', { decisions })).rejects.toMatchObject({ code: 'pending_calls' });
  expect(agent.pendingCalls).toHaveLength(1);
  const { metadata } = await agent.call('Be quick.', { decisions, structuredModel });
  expect(metadata).toMatchObject({ city: 'Lima' });
});

test.each(['default', 'explore', 'dont_ask'] as const)(
  'in the mode %s an agent may give structured output, choose its tools, plan, and manage its tasks',
  async (mode) => {
    const script = [
      says({ name: 'reset_equipped_tools', id: 'm', input: { plan_related: true } }),
      says({ name: 'create_plan', id: 'p', input: { ...words('P'), subtasks: [words('one')] } }),
      says({ name: 'view_task', id: 'v', input: { task_id: 'none' } }),
      says({ name: 'generate_response', id: 'f', input: { city: 'Lima' } }),
    ];
    const agent = agentWith(script, [], {
      permissionPolicy: new PermissionRules({ mode }),
      planNotebook: new PlanNotebook(),
      background: new BackgroundTools(),
      enableMetaTool: true,
    });
    const answer = await agent.call('Which city?', { structuredModel: z.object({ city: z.string() }) });
    expect([answer.metadata, answer.endReason]).toEqual([{ city: 'Lima' }, 'structured']);
    expect(await resultsIn(agent)).toEqual([
      ['m', 'ok'],
      ['p', 'ok'],
      ['v', 'error'],
      ['f', 'ok'],
    ]);
    expect(agent.planNotebook?.currentPlan?.name).toBe('P');
  },
);

test('input that ends a reply with structured output needs none', async () => {
  const agent = agentWith([says(run('c1', 'make')), 'Never mind.'], []);
  await agent.call('Which city?', { structuredModel: z.object({ city: z.string() }) });
  const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'deny' }) as const);
  expect((await agent.call('Forget it.', { decisions })).text).toBe('Never mind.');
});

class Diary extends LongTermMemoryBase {
  readonly entries: string[][] = [];

  async retrieve(): Promise<string> {
    return 'Likes tea.';
  }

  async record(msgs: readonly Msg[]): Promise<void> {
    this.entries.push(msgs.map(({ role, text }) => text || role));
  }
}

test('a long-term memory gets all of a reply with pending tool calls, twice and across a restart', async () => {
  const longTermMemory = new Diary();
  const options = { longTermMemory, longTermMemoryMode: 'static_control' } as const;
  const first = agentWith([says(run('c1', 'make'))], [], options);
  await first.call('Build it.');
  expect(longTermMemory.entries).toEqual([]);
  const agent = restarted(first, agentWith([says(run('c2', 'make test')), 'Done.'], [], options));
  await agent.call(undefined, { decisions: allowAll(agent) });
  await agent.call('Be quick.', { decisions: allowAll(agent) });
  expect(longTermMemory.entries).toEqual([
    ['Build it.', 'assistant', 'system', 'assistant', 'system', 'Be quick.', 'Done.'],
  ]);
});

/** A memory that records the messages of the request, which compression must keep. */
class Compressor extends InMemoryMemory implements ContextCompressor {
  readonly contextTools: readonly Tool[] = [];
  readonly contextInstruction: string = '';
  kept: string[] = [];

  async compress({ requestIds }: CompressionTask): Promise<boolean> {
    this.kept = (await this.getMemory()).filter(({ id }) => requestIds.has(id)).map(({ text }) => text);
    return false;
  }
}

test.each(['allow', 'deny'] as const)(
  'the request stays the request while its tool calls are pending, with a message in between: %s',
  async (verdict) => {
    const first = agentWith([says(run('c1', 'make'))], [], { memory: new Compressor() });
    await first.call('Build it.');
    const memory = new Compressor();
    const agent = restarted(first, agentWith(['Done.'], [], { memory }));
    await agent.call('Be quick.', { decisions: agent.pendingCalls.map(({ id }) => ({ id, verdict })) });
    expect(memory.kept).toEqual(['Build it.', 'Be quick.']);
  },
);

test('a tool call has its own result, which is withheld, when one hook renames it and another fails', async () => {
  const ran: string[] = [];
  const agent = agentWith([says(run('c1', 'make'))], ran, { permissionPolicy: undefined });
  agent.registerInstanceHook('preActing', 'rename', (_, { call }) => ({
    call: { ...call, id: 'other' },
  }));
  agent.registerInstanceHook('postActing', 'broken', () => {
    throw new Error('boom');
  });
  await expect(agent.call('go')).rejects.toThrow('boom');
  expect(ran).toEqual(['make']);
  expect(await resultsIn(agent)).toEqual([['c1', 'error']]);
});

test('arguments that somebody has changed stay so when a hook has made others of them, and they are asked about again', async () => {
  const ran: string[] = [];
  const rooted = (agent: ReActAgent): ReActAgent => {
    agent.registerInstanceHook('preActing', 'root', (_, { call }) => ({
      call: { ...call, input: { command: `time ${String(call.input['command'])}` } },
    }));
    return agent;
  };
  const first = rooted(agentWith([says(run('c1', 'make'))], ran));
  await first.call('go');
  const id = String(first.pendingCalls[0]?.id);
  const input = { command: 'make test' };
  await first.call(undefined, { decisions: [{ id, verdict: 'allow', input }] });
  expect(first.pendingCalls).toMatchObject([{ call: { input: { command: 'time make test' } } }]);

  const agent = restarted(first, rooted(agentWith(['Done.'], ran)));
  expect((await agent.call(undefined, { decisions: allowAll(agent) })).text).toBe('Done.');
  expect(ran).toEqual(['time make test']);
});

test.each(['postReply', 'postCall'] as const)(
  'a question in other words, by a %s hook, is still one for the agent around it',
  async (type) => {
    const ran: string[] = [];
    const inner = agentWith([says(run('c1', 'make')), 'Built.'], ran, { name: 'inner' });
    const politely = (_: unknown, __: unknown, { text }: Msg): Msg => Msg.assistant(`Please: ${text}`);
    inner.registerInstanceHook(type, 'polite', politely);
    const outer = agentWith([says({ name: 'inner', id: 'o1', input: { query: 'go' } }), 'Done.'], ran, {
      permissionPolicy: undefined,
      toolkit: new Toolkit({ tools: [agentTool(inner, { description: 'Builds.' })] }),
    });
    await outer.call('go');
    expect(outer.pendingCalls).toMatchObject([{ call: { id: 'c1' } }]);
    expect((await outer.call(undefined, { decisions: allowAll(outer) })).text).toBe('Done.');
    expect(ran).toEqual(['make']);
  },
);

test.each([false, true])(
  'a reader that leaves a stream at the question leaves the tool call pending (side by side: %s)',
  async (parallelToolCalls) => {
    const ran: string[] = [];
    const script = [says(run('c1', 'make'), run('c2', 'ls')), 'Done.'];
    const agent = agentWith(script, ran, { parallelToolCalls });
    for await (const { type } of agent.stream('go')) if (type === 'approval_needed') break;
    expect(agent.pendingCalls).toMatchObject([{ call: { id: 'c1' } }]);
    expect((await agent.call(undefined, { decisions: allowAll(agent) })).text).toBe('Done.');
    expect(ran.toSorted()).toEqual(['ls', 'make']);
  },
);

test('messages in a chat room reach an agent that waits for a decision', async () => {
  const agent = agentWith([says(run('c1', 'make')), 'Done.'], []);
  const other = agentWith(['One.', 'Two.'], [], { name: 'Monday' });
  const room = new ChatRoom([agent, other]);
  const questions: string[] = [];
  const read = (async () => {
    for await (const event of room.start())
      if (event.type === 'approval_needed') questions.push(event.pending.call.id);
  })();
  await room.handleInput('Build it.');
  await room.handleInput('Be quick.');
  expect((await agent.call(undefined, { decisions: allowAll(agent) })).text).toBe('Done.');
  await room.stop();
  await read;
  expect(questions).toEqual(['c1']);
  const texts = async (one: ReActAgent) => (await one.memory.getMemory()).map(({ text }) => text);
  expect((await texts(agent)).filter(Boolean).toSorted()).toEqual([
    'Be quick.',
    'Build it.',
    'Done.',
    'One.',
    'Two.',
  ]);
  expect(await texts(other)).toContain('Done.');
});

test('decisions are typed where they are written, and may have nothing in a place', () => {
  expectTypeOf<{ id: string; verdict: 'deny'; reason: string | undefined }>().toExtend<PendingDecision>();
  expectTypeOf<{ id: string; verdict: 'allow'; input: JsonObject | undefined }>().toExtend<PendingDecision>();
  const inline = (agent: ReActAgent) =>
    agent.call(undefined, { decisions: agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' })) });
  expectTypeOf(inline).returns.resolves.toEqualTypeOf<Msg>();
});
