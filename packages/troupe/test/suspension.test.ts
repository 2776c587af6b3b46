// The life of a suspension: from the tool through middleware and hooks to the pending tool calls of an agent, disturbed at every point.
import { beforeAll, describe, expect, test } from 'vitest';

import type { StepRunner } from '../src/event/step.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { agentTool } from '../src/subagent/agent-tool.ts';
import {
  abortAtEvery,
  failAtEvery,
  InjectedFault,
  interruptAtEvery,
  leaveAtEvery,
  type Scenario,
} from '../src/testing/drivers.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { ToolSuspension } from '../src/toolkit/tool/tool-suspension.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { parseJson } from '../src/util/json.ts';
import { validateWith } from '../src/util/schema.ts';
import { strideOf } from './fair-sample.ts';

const EVERY = { stride: strideOf('ticks of a reply with suspended tool calls at which it is stopped', 5) };

type Kind = 'approval' | 'external' | 'nested';

const KINDS: readonly Kind[] = ['approval', 'external', 'nested'];
const BOTH: ScriptedTurn = {
  toolCalls: [
    { name: 'waits', id: 'c1', input: { query: 'x' } },
    { name: 'look', id: 'c2', input: {} },
  ],
};

interface Made {
  readonly agent: ReActAgent;
  /** Runs of hooks and middleware, with their arguments. */
  readonly seen: string[];
}

function agentWith(name: string, script: readonly (string | ScriptedTurn)[], toolkit: Toolkit): ReActAgent {
  const agent = new ReActAgent({
    name,
    model: new ScriptedModel(script),
    toolkit,
    parallelToolCalls: true,
    onPending: 'close',
    permissionPolicy: {
      decide: ({ call }) => ({ behavior: call.name === 'remove' ? 'ask' : 'allow' }),
    },
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

function waitingTool(kind: Kind): Tool {
  if (kind === 'external')
    return tool({
      name: 'waits',
      execute: () => {
        throw new ToolSuspension('somebody has to do it');
      },
    });
  const remove = tool({ name: 'remove', execute: () => 'removed' });
  if (kind === 'approval') return { ...remove, name: 'waits' };
  const helper = agentWith(
    'Helper',
    [{ toolCalls: [{ name: 'remove', id: 'h1', input: {} }] }, 'Helped.', 'Helped.'],
    new Toolkit({ tools: [remove] }),
  );
  return agentTool(helper, { name: 'waits', description: 'Helps.' });
}

function setUp(kind: Kind): Made {
  const seen: string[] = [];
  const look = tool({ name: 'look', execute: () => 'seen' });
  const toolkit = new Toolkit({ tools: [waitingTool(kind), look] });
  toolkit.registerMiddleware(async (call, next) => {
    seen.push(`enter ${call.name}`);
    const given = await next();
    seen.push(`leave ${call.name} ${'kind' in given ? given.kind : given.status}`);
    return given;
  });
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel([BOTH, 'Done.', 'Next.', 'Next.']),
    toolkit,
    parallelToolCalls: true,
    onPending: 'close',
    permissionPolicy: {
      decide: ({ call }) => ({ behavior: kind === 'approval' && call.name === 'waits' ? 'ask' : 'allow' }),
    },
  });
  agent.setConsoleOutputEnabled(false);
  agent.registerInstanceHook('preActing', 'note', (_, { call }) => void seen.push(`pre ${call.name}`));
  agent.registerInstanceHook('postActing', 'note', (_, { call }, result) => {
    seen.push(`post ${call.name} ${result.status}`);
  });
  return { agent, seen };
}

beforeAll(async () => {
  await validateWith({ type: 'object' }, {}); // the validator is loaded when it is first needed
});

describe.each(KINDS)('a tool call suspended for a reason of the kind %s', (kind) => {
  test('passes middleware as a suspension, and no postActing hook', async () => {
    const { agent, seen } = setUp(kind);
    await agent.call('go');
    expect(seen.filter((one) => one.includes('waits'))).toEqual([
      'pre waits',
      'enter waits',
      'leave waits suspended',
    ]);
    expect(seen.filter((one) => one.includes('look'))).toEqual([
      'pre look',
      'enter look',
      'leave look ok',
      'post look ok',
    ]);
    expect(agent.pendingCalls).toHaveLength(1);
  });

  test('is the same when the step that ran the tool is replayed from JSON', async () => {
    const { agent } = setUp(kind);
    const recorded: unknown[] = [];
    const runStep = (async (_step: unknown, body: () => Promise<unknown>) => {
      const value = await body();
      recorded.push(value);
      return value === undefined ? undefined : parseJson(JSON.stringify(value));
    }) as StepRunner;
    await agent.call('go', { runStep });
    expect(recorded).toContainEqual(expect.objectContaining({ kind: 'suspended' }));
    expect(recorded).toContainEqual(
      expect.objectContaining({ kind: 'result', result: expect.objectContaining({ output: 'seen' }) }),
    );
    expect(agent.pendingCalls).toHaveLength(1);
  });

  test('gets its result when it is decided', async () => {
    const { agent } = setUp(kind);
    await agent.call('go');
    const decisions = agent.pendingCalls.map(({ id }) =>
      kind === 'external'
        ? ({ id, verdict: 'result', output: 'done by Ann' } as const)
        : ({ id, verdict: 'allow' } as const),
    );
    expect((await agent.call(undefined, { decisions })).text).toBe('Done.');
    const output = { approval: 'removed', external: 'done by Ann', nested: 'Helped.' }[kind];
    const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results.map((one) => [one.id, one.status, one.output])).toEqual([
      ['c1', 'ok', output],
      ['c2', 'ok', 'seen'],
    ]);
  });

  describe('disturbed at every point, leaves a valid history and either a pending tool call or none', () => {
    const scenario = (): Scenario => {
      const { agent } = setUp(kind);
      return {
        agent,
        input: 'go',
        check: async ({ msg, error }) => {
          if (error !== undefined) expect(error).toBeInstanceOf(InjectedFault);
          expect(agent.isRunning).toBe(false);
          const isInterrupted = msg?.metadata['_is_interrupted'] === true;
          if (isInterrupted || error !== undefined) expect(agent.pendingCalls).toEqual([]);
          else if (msg !== undefined && kind !== 'nested') expect(agent.pendingCalls).toHaveLength(1);
          const history = await agent.memory.getMemory();
          expect(findHistoryFaults(history)).toEqual([]);
          const results = history.flatMap((one) => one.getContentBlocks('tool_result'));
          for (const { id, status } of results) if (id === 'c1') expect(status).not.toBe('ok');
          await agent.call('and now?');
          expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
        },
      };
    };

    test('by an interrupt', async () => {
      expect((await interruptAtEvery(scenario, EVERY)).points).toBeGreaterThan(40);
    });
    test('by the caller', async () => {
      expect((await abortAtEvery(scenario, EVERY)).points).toBeGreaterThan(40);
    });
    test('by a consumer that leaves', async () => {
      expect((await leaveAtEvery(scenario)).points).toBeGreaterThan(5);
    });
    test('by a fault in every step', async () => {
      expect((await failAtEvery(scenario)).points).toBeGreaterThan(6);
    });
  });
});
