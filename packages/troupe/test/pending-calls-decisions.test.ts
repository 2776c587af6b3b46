// Decisions about a pending tool call: forged and odd ones, at other places and other times.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { agentTool } from '../src/subagent/agent-tool.ts';
import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg } from '../src/message/msg.ts';
import type { PendingDecision } from '../src/message/pending-call.ts';
import { MsgHub } from '../src/pipeline/msg-hub.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';

type Script = readonly (string | ScriptedTurn)[];

/** An agent with a tool that needs approval, and the removed files. */
function remover(
  script: Script,
  options: Partial<ReActAgentOptions> = {},
  more: readonly Tool[] = [],
): { agent: ReActAgent; removed: string[] } {
  const removed: string[] = [];
  const remove = tool({
    name: 'remove',
    schema: z.object({ path: z.string().max(20), note: z.string().optional() }),
    execute: ({ path }) => `${removed.push(path)} removed`,
  });
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    toolkit: new Toolkit({ tools: [remove, ...more], maxOutputChars: 1000 }),
    permissionPolicy: {
      decide: ({ call: { name, input } }) => {
        if (input['path'] === '/forbidden') return { behavior: 'deny' };
        return { behavior: name === 'remove' ? 'ask' : 'allow' };
      },
    },
    ...options,
  });
  agent.setConsoleOutputEnabled(false);
  return { agent, removed };
}

const remove = (id: string, path = '/a') => ({ name: 'remove', id, input: { path } });
const ONE: Script = [{ toolCalls: [remove('c1')] }, 'Done.'];
const idOf = (agent: ReActAgent): string => agent.pendingCalls[0]?.id ?? 'none';
const saved = (agent: ReActAgent): JsonObject => parseJson(JSON.stringify(agent.stateDict())) as JsonObject;
const linesOf = async (agent: ReActAgent): Promise<string[]> =>
  (await agent.memory.getMemory()).flatMap(({ name, text }) => (text === '' ? [] : [`${name}: ${text}`]));
const resultsIn = async (agent: ReActAgent): Promise<unknown[]> =>
  (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));

/** An agent that asks another one, which has to be allowed something. */
function nested(
  innerScript: Script = ONE,
  outerScript?: Script,
): { outer: ReActAgent; inner: ReActAgent; removed: string[] } {
  const { agent: inner, removed } = remover(innerScript, { name: 'inner' });
  const asking = { toolCalls: [{ name: 'inner', id: 'o1', input: { query: 'go' } }] };
  const tools = [agentTool(inner, { description: 'inner' })];
  const { agent: outer } = remover(outerScript ?? [asking, 'All done.'], { name: 'outer' }, tools);
  return { outer, inner, removed };
}

describe('a decision', () => {
  const allow = { verdict: 'allow' } as const;
  test.each<[string, (id: string) => unknown, string]>([
    ['is null', () => null, 'decisions[0] is not readable: it is null'],
    ['is a text', () => 'allow', 'decisions[0] is not readable: it is a string'],
    ['is a list', (id) => [id, 'allow'], 'decisions[0] is not readable: it is an array'],
    ['is one by its prototype', (id) => Object.create({ id, ...allow }) as unknown, 'not a plain object'],
    [
      'has a prototype as its key',
      (id) => parseJson(`{"__proto__":{"id":"${id}","verdict":"allow"}}`),
      "call 'undefined'",
    ],
    [
      'has a getter',
      (id) => ({
        id,
        get verdict() {
          return 'allow';
        },
      }),
      'it.verdict is a getter',
    ],
    [
      'names the call, not what is pending',
      () => ({ id: 'c1', ...allow }),
      "'c1' is a tool call: decide by the `id` that",
    ],
    ['has arguments that are null', (id) => ({ id, ...allow, input: null }), 'input is null, not an object'],
    [
      'has arguments that are a number',
      (id) => ({ id, ...allow, input: 0 }),
      'input is a number, not an object',
    ],
    ['has an unknown scope', (id) => ({ id, ...allow, scope: 'forever' }), "scope must be 'once' or 'run'"],
    [
      'has no result',
      (id) => ({ id, verdict: 'result' }),
      'output must be a string or a list of blocks, not undefined.',
    ],
    [
      'has a reason that is no text',
      (id) => ({ id, verdict: 'deny', reason: {} }),
      'reason must be a string',
    ],
  ])('that %s is refused, and the tool call stays pending', async (_, make, problem) => {
    const { agent, removed } = remover(ONE);
    await agent.call('go');
    const id = idOf(agent);
    await expect(agent.call(undefined, { decisions: [make(id) as PendingDecision] })).rejects.toMatchObject({
      code: 'decision_refused',
      message: expect.stringContaining(problem) as string,
    });
    expect([removed, idOf(agent)]).toEqual([[], id]);
    await agent.call(undefined, { decisions: [{ id, ...allow }] });
    expect(removed).toEqual(['/a']);
  });

  test('has to be in a list', async () => {
    const { agent } = remover(ONE);
    await agent.call('go');
    for (const decisions of [{}, 'x', { length: 1 }] as never[]) {
      await expect(agent.call('more', { decisions })).rejects.toThrow('decisions must be a list');
    }
    expect(agent.pendingCalls).toHaveLength(1);
  });

  test.each<[string, JsonObject, string]>([
    ['do not fit', { path: 'x'.repeat(30) }, 'error'],
    ['are not all there', {}, 'error'],
    ['the policy denies', { path: '/forbidden' }, 'denied'],
  ])('with arguments that %s runs nothing, and the model is told', async (_, input, status) => {
    const { agent, removed } = remover(ONE);
    await agent.call('go');
    expect((await agent.call(undefined, { decisions: [{ id: idOf(agent), ...allow, input }] })).text).toBe(
      'Done.',
    );
    expect([removed, await resultsIn(agent)]).toMatchObject([[], [{ id: 'c1', status }]]);
  });

  test.each<[string, (id: string) => PendingDecision, number]>([
    ['a reason', (id) => ({ id, verdict: 'deny', reason: 'x'.repeat(1e6) }), 1200],
    ['a result', (id) => ({ id, verdict: 'result', output: 'x'.repeat(1e6) }), 1200],
    ['arguments', (id) => ({ id, ...allow, input: { path: '/b', note: 'x'.repeat(1e6) } }), 10_200],
  ])('brings no more of %s to the model than a tool could', async (_, make, most) => {
    const { agent } = remover(ONE);
    await agent.call('go');
    await agent.call(undefined, { decisions: [make(idOf(agent))] });
    const size = JSON.stringify(await resultsIn(agent)).length;
    expect(size).toBeGreaterThan(1000);
    expect(size).toBeLessThan(most);
  });

  test('counts once, also for those who decide while the agent is busy with it', async () => {
    const { agent, removed } = remover(ONE);
    await agent.call('go');
    const decisions = [{ id: idOf(agent), ...allow }];
    const outcomes = await Promise.allSettled([
      agent.call(undefined, { decisions }),
      agent.call(undefined, { decisions }),
      agent.call(undefined, { decisions, onBusy: 'queue' }),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { text: 'Done.' } },
      { status: 'rejected', reason: { code: 'agent_busy' } },
      { status: 'rejected', reason: { code: 'decision_refused' } },
    ]);
    expect(removed).toEqual(['/a']);
  });

  test('is not used up by an agent call that was aborted before it began', async () => {
    const { agent, removed } = remover(ONE);
    await agent.call('go');
    const decisions = [{ id: idOf(agent), ...allow }];
    await expect(agent.call(undefined, { decisions, signal: AbortSignal.abort() })).rejects.toThrow(
      'aborted',
    );
    await agent.call(undefined, { decisions });
    expect(removed).toEqual(['/a']);
  });

  test('about tool calls of another state is refused', async () => {
    const { agent, removed } = remover([{ toolCalls: [remove('c1')] }, { toolCalls: [remove('c2')] }]);
    const before = saved(agent);
    await agent.call('go');
    const id = idOf(agent);
    agent.loadStateDict(before);
    expect(agent.pendingCalls).toEqual([]);
    await agent.call('go again');
    await expect(agent.call(undefined, { decisions: [{ id, ...allow }] })).rejects.toMatchObject({
      code: 'decision_refused',
    });
    expect([removed, agent.pendingCalls.length]).toEqual([[], 1]);
  });
});

describe('input together with decisions', () => {
  test('is read when the allowed tool calls have run', async () => {
    const { agent, removed } = remover(ONE);
    await agent.call('go');
    const decisions = [{ id: idOf(agent), verdict: 'allow' } as const];
    expect((await agent.call('and be quick', { decisions })).text).toBe('Done.');
    expect(removed).toEqual(['/a']);
    expect(await linesOf(agent)).toEqual(['user: go', 'user: and be quick', 'Friday: Done.']);
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  });

  test('is kept when another tool call needs approval first', async () => {
    const { agent, removed } = remover([{ toolCalls: [remove('c1'), remove('c2', '/b')] }, 'Done.']);
    await agent.call('go');
    await agent.call('and be quick', { decisions: [{ id: idOf(agent), verdict: 'allow' }] });
    const { agent: other, removed: later } = remover(['Done.']);
    other.loadStateDict(saved(agent));
    await other.call(undefined, { decisions: [{ id: idOf(other), verdict: 'allow' }] });
    expect([removed, later]).toEqual([['/a'], ['/b']]);
    expect(await linesOf(other)).toEqual(['user: go', 'user: and be quick', 'Friday: Done.']);
  });

  test('is refused while something is left undecided', async () => {
    const both = { toolCalls: [remove('c1'), remove('c2', '/b')] };
    const { agent, removed } = remover([both, 'Done.'], { parallelToolCalls: true });
    await agent.call('go');
    const decisions = [{ id: idOf(agent), verdict: 'allow' } as const];
    await expect(agent.call('and be quick', { decisions })).rejects.toMatchObject({ code: 'pending_calls' });
    expect([removed, agent.pendingCalls.length]).toEqual([[], 2]);
  });
});

describe('an agent in a tool', () => {
  test('is decided about where its question came out, and nowhere else', async () => {
    const { outer, inner, removed } = nested();
    await outer.call('go');
    outer.loadStateDict(saved(outer));
    const decisions = [{ id: idOf(outer), verdict: 'allow' } as const];
    await expect(inner.call(undefined, { decisions })).rejects.toMatchObject({
      code: 'decision_refused',
      message: expect.stringContaining('called by outer, which waits for the answer: decide there') as string,
    });
    const result = Msg.system([{ type: 'tool_result', id: 'c1', name: 'remove', output: 'x', status: 'ok' }]);
    await expect(inner.call(result)).rejects.toMatchObject({ code: 'decision_refused' });
    expect(removed).toEqual([]);
    expect((await outer.call(undefined, { decisions })).text).toBe('All done.');
    expect(removed).toEqual(['/a']);
    expect(await resultsIn(outer)).toMatchObject([{ id: 'o1', output: 'Done.' }]);
  });

  test('that a tool has called by itself, and nobody waits for, is decided about by itself', async () => {
    const { agent: inner, removed } = remover(ONE, { name: 'inner' });
    const byHand = tool({ name: 'by_hand', execute: async () => (await inner.call('go')).text });
    const script = [{ toolCalls: [{ name: 'by_hand', id: 'o1', input: {} }] }, 'It asks.'];
    const { agent: outer } = remover(script, { name: 'outer' }, [byHand]);
    expect((await outer.call('go')).text).toBe('It asks.');
    expect(outer.pendingCalls).toEqual([]);
    const decisions = [{ id: idOf(inner), verdict: 'allow' } as const];
    expect((await inner.call(undefined, { decisions })).text).toBe('Done.');
    expect(removed).toEqual(['/a']);
  });

  test('whose outer tool call is over can be freed', async () => {
    const { outer, inner, removed } = nested([...ONE, 'Hello.']);
    await outer.call('go');
    await outer.closePending();
    await inner.closePending();
    expect([inner.pendingCalls, (await inner.call('hi')).text, removed]).toEqual([[], 'Done.', []]);
  });

  test('shows where it is in the event, also to a program that starts up later', async () => {
    const { outer } = nested();
    const paths: unknown[] = [];
    const watch = async (agent: ReActAgent, input?: string): Promise<void> => {
      for await (const event of agent.stream(input))
        if (event.type === 'approval_needed') paths.push([event.agentPath, event.pending.agentPath]);
    };
    await watch(outer, 'go');
    const { outer: later } = nested();
    later.loadStateDict(saved(outer));
    expect(later.pendingCalls).toEqual(outer.pendingCalls);
    await watch(later);
    const asked = [['outer'], ['outer', 'inner']];
    expect(paths).toEqual([asked, asked]);
  });
});

test('a question is not heard by the others in a hub; the answer is', async () => {
  const { agent } = remover(ONE);
  const { agent: other } = remover([], { name: 'Sunday' });
  await using _hub = await MsgHub.open({ participants: [agent, other] });
  await agent.call('go');
  expect(await linesOf(other)).toEqual([]);
  await agent.call(undefined, { decisions: [{ id: idOf(agent), verdict: 'allow' }] });
  expect(await linesOf(other)).toEqual(['Friday: Done.']);
});

test.each<[string, unknown]>([
  ['a number', 5],
  ['a result without an output', { type: 'tool_result', id: 'c1', name: 'remove' }],
  ['a text', { type: 'text', id: 'c1', text: 'x' }],
])('a saved answer that is %s is refused', async (_, answer) => {
  const { agent } = remover([{ toolCalls: [remove('c1')] }]);
  await agent.call('go');
  const state = saved(agent);
  const open = { ...(state['openExchange'] as JsonObject), standings: {}, answers: [answer as JsonObject] };
  const { agent: other } = remover([]);
  expect(() => other.loadStateDict({ ...state, openExchange: open })).toThrow('openExchange was refused');
  expect(await other.memory.getMemory()).toEqual([]);
});
