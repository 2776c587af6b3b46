// Pending calls in hard places: decisions that are half right, agents in agents that are left alone, states saved in between, histories of others.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { agentTool } from '../src/subagent/agent-tool.ts';
import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import type { AgentEvent } from '../src/event/agent-event.ts';
import { LongTermMemoryBase } from '../src/longterm/long-term-memory-base.ts';
import { InMemoryMemory } from '../src/memory/in-memory-memory.ts';
import type { MemoryFilter } from '../src/memory/memory-base.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg } from '../src/message/msg.ts';
import type { PendingDecision } from '../src/message/pending-call.ts';
import { ModelError } from '../src/model/model-error.ts';
import { sequentialPipeline } from '../src/pipeline/sequential-pipeline.ts';
import { PlanNotebook } from '../src/plan/plan-notebook.ts';
import { interruptAtEvery } from '../src/testing/drivers.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { BackgroundTools } from '../src/toolkit/background-tools.ts';
import { externalTool } from '../src/toolkit/tool/external-tool.ts';
import { isSuspended } from '../src/toolkit/call/tool-call-outcome.ts';
import { ToolSuspension } from '../src/toolkit/tool/tool-suspension.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';

const schema = z.object({ path: z.string() });

/** A tool that adds its runs to a log. */
function logged(name: string, ran: string[], extra: Partial<Tool> = {}): Tool {
  const run = tool({
    name,
    schema,
    execute: ({ path }) => {
      ran.push(`${name} ${path}`);
      return `${name}: ${path}`;
    },
  });
  return { ...run, ...extra };
}

const call = (name: string, id: string, path = '/a') => ({ name, id, input: { path } });
const ask = (name: string, id: string) => ({ name, id, input: { query: 'go' } });
const says = (...toolCalls: NonNullable<ScriptedTurn['toolCalls']>): ScriptedTurn => ({ toolCalls });

function agentWith(
  script: readonly (string | ScriptedTurn)[],
  tools: readonly Tool[],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    toolkit: new Toolkit({ tools }),
    permissionPolicy: { decide: ({ call: { name } }) => ({ behavior: name === 'remove' ? 'ask' : 'allow' }) },
    ...options,
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

const resultsIn = async (agent: ReActAgent): Promise<unknown[]> =>
  (await agent.memory.getMemory()).flatMap((msg) =>
    msg.getContentBlocks('tool_result').map(({ id, status, output }) => [id, status, output]),
  );
const textsIn = async (agent: ReActAgent): Promise<string[]> =>
  (await agent.memory.getMemory()).map(({ text }) => text).filter((text) => text !== '');
const allowAll = (agent: ReActAgent): readonly PendingDecision[] =>
  agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }));
const saved = (agent: ReActAgent): JsonObject => parseJson(JSON.stringify(agent.stateDict())) as JsonObject;
const asTool = (agent: ReActAgent): Tool => agentTool(agent, { description: agent.name });

describe('a policy decides about the arguments that run', () => {
  test('a policy sees arguments as the schema has left them, without presets', async () => {
    const got: unknown[] = [];
    const seen: unknown[] = [];
    const wipe = tool({
      name: 'wipe',
      schema: z.object({ force: z.boolean(), path: z.string().default('/'), key: z.string() }),
      preset: { key: 'secret' },
      execute: (input) => void got.push(input),
    });
    const agent = agentWith([says({ name: 'wipe', id: 'c1', input: { force: 'true' } }), 'Done.'], [wipe], {
      permissionPolicy: {
        decide: (request) => {
          seen.push(request.call.input);
          return { behavior: 'ask' };
        },
      },
    });
    await agent.call('go');
    expect(agent.pendingCalls[0]?.call.input).toEqual({ force: true, path: '/' });
    await agent.call(undefined, { decisions: allowAll(agent) });
    expect(seen).toEqual([
      { force: true, path: '/' },
      { force: true, path: '/' },
    ]);
    expect(got).toEqual([{ force: true, path: '/', key: 'secret' }]);
  });

  test('changed arguments are run as the schema leaves them', async () => {
    const ran: string[] = [];
    const move = tool({
      name: 'remove',
      schema: z.object({ path: z.string(), times: z.number().default(1) }),
      execute: ({ path, times }) => void ran.push(`${path} ${times}`),
    });
    const agent = agentWith([says(call('remove', 'c1')), 'Done.'], [move]);
    await agent.call('go');
    const [pending] = allowAll(agent);
    await agent.call(undefined, { decisions: [{ ...pending, input: { path: '/b' } } as PendingDecision] });
    expect(ran).toEqual(['/b 1']);
  });

  test('permission for one tool is none for another with the same arguments', async () => {
    const ran: string[] = [];
    const agent = agentWith(
      [says(call('remove', 'c1')), 'Done.'],
      [logged('remove', ran), logged('wipe', ran)],
      {
        permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
      },
    );
    await agent.call('go');
    agent.toolkit.registerMiddleware((made, next) => next({ ...made, name: 'wipe' }));
    await agent.call(undefined, { decisions: allowAll(agent) });
    expect(ran).toEqual([]);
    expect(agent.pendingCalls).toMatchObject([{ call: { name: 'wipe' } }]);
  });

  test('an agent that acts in a way of its own is judged too; where nobody can be asked, no is the answer', async () => {
    const ran: string[] = [];
    class Hasty extends ReActAgent {
      override async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
        const result = await this.acting({ type: 'tool_use', ...call('remove', 'x') }, turn);
        return Msg.assistant(isSuspended(result) ? 'pending' : String(result.output), { name: this.name });
      }
    }
    const { model, toolkit } = agentWith([], [logged('remove', ran)]);
    for (const behavior of ['deny', 'ask'] as const) {
      const agent = new Hasty({
        name: 'H',
        model,
        toolkit,
        permissionPolicy: { decide: () => ({ behavior }) },
      });
      agent.setConsoleOutputEnabled(false);
      expect((await agent.call('go')).text).toContain('PermissionDenied');
    }
    expect(ran).toEqual([]);
  });
});

describe('decisions', () => {
  test.each<[string, object]>([
    ['a result that is none', { verdict: 'result', output: 42 }],
    ['arguments that are no JSON', { verdict: 'allow', input: { path: new Date(0) } }],
  ])('of which one has %s change nothing', async (_name, wrong) => {
    const ran: string[] = [];
    const agent = agentWith(
      [says(call('remove', 'c1'), call('remove', 'c2', '/b')), 'Done.'],
      [logged('remove', ran)],
      {
        parallelToolCalls: true,
      },
    );
    await agent.call('go');
    const [first, second] = agent.pendingCalls;
    const decisions = [
      { id: first?.id, verdict: 'allow' },
      { id: second?.id, ...wrong },
    ] as PendingDecision[];
    await expect(agent.call(undefined, { decisions })).rejects.toMatchObject({ code: 'decision_refused' });
    expect(agent.pendingCalls).toEqual([first, second]);
    await agent.call();
    expect(ran).toEqual([]);
  });

  test('that are none are refused', async () => {
    const decisions = [null as never];
    const idle = agentWith(['x'], []);
    await expect(idle.call('hi', { decisions })).rejects.toMatchObject({ code: 'decision_refused' });
    const waiting = agentWith([says(call('remove', 'c1'))], [logged('remove', [])]);
    await waiting.call('go');
    await expect(waiting.call(undefined, { decisions })).rejects.toMatchObject({ code: 'decision_refused' });
  });

  test('for the whole run hold for tool calls that are pending already', async () => {
    const ran: string[] = [];
    const agent = agentWith(
      [says(call('remove', 'c1'), call('remove', 'c2', '/b')), 'Done.'],
      [logged('remove', ran)],
      {
        parallelToolCalls: true,
      },
    );
    await agent.call('go');
    const decisions = [{ id: String(agent.pendingCalls[0]?.id), verdict: 'allow', scope: 'run' } as const];
    expect((await agent.call(undefined, { decisions })).text).toBe('Done.');
    expect(ran).toEqual(['remove /a', 'remove /b']);
  });

  test('for the whole run don’t hold where a policy wants to be asked each time', async () => {
    const ran: string[] = [];
    const script = [says(call('remove', 'c1')), says(call('remove', 'c2', '/etc')), 'Done.'];
    const agent = agentWith(script, [logged('remove', ran)], {
      permissionPolicy: {
        decide: ({ call: { input } }) => ({ behavior: 'ask', isAskedEachTime: input['path'] === '/etc' }),
      },
    });
    await agent.call('go');
    const decisions = [{ id: String(agent.pendingCalls[0]?.id), verdict: 'allow', scope: 'run' } as const];
    await agent.call(undefined, { decisions });
    expect(ran).toEqual(['remove /a']);
    expect(agent.pendingCalls).toMatchObject([{ call: { input: { path: '/etc' } } }]);
    await agent.call(undefined, { decisions: allowAll(agent) });
    expect(ran).toEqual(['remove /a', 'remove /etc']);
  });

  test('and supplied results are told as events', async () => {
    const agent = agentWith([says(call('remove', 'c1')), 'I see.'], [logged('remove', [])]);
    await agent.call('go');
    const events: AgentEvent[] = [];
    const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'deny' }) as const);
    for await (const event of agent.stream(undefined, { decisions })) events.push(event);
    expect(events.filter(({ type }) => type === 'tool_result')).toMatchObject([
      { result: { id: 'c1', status: 'denied' } },
    ]);
  });

  test('with other arguments are no part of an answer that a tool gives by itself', async () => {
    const agent = agentWith([says(call('remove', 'c1'))], [logged('remove', [], { returnDirect: true })]);
    await agent.call('go');
    const decisions = agent.pendingCalls.map(
      ({ id }) => ({ id, verdict: 'allow', input: { path: '/b' } }) as const,
    );
    expect((await agent.call(undefined, { decisions })).text).toBe('remove: /b');
  });

  test('continue a reply with structured output only with the same schema', async () => {
    const structuredModel = z.object({ city: z.string() });
    const form = says({ name: 'generate_response', id: 'f', input: { city: 'Lima' } });
    const agent = agentWith([says(call('remove', 'c1')), form], [logged('remove', [])]);
    await agent.call('go', { structuredModel });
    const decisions = allowAll(agent);
    await expect(agent.call(undefined, { decisions })).rejects.toMatchObject({ code: 'pending_calls' });
    await expect(agent.call('And be quick.', { decisions })).rejects.toMatchObject({ code: 'pending_calls' });
    expect((await agent.call(undefined, { decisions, structuredModel })).metadata).toMatchObject({
      city: 'Lima',
    });
  });
});

describe('messages that come while a tool call becomes pending', () => {
  test.each(['followUp', 'steer'] as const)(
    'by %s is kept, also over a restart, and read when it goes on',
    async (way) => {
      const ran: string[] = [];
      const look = tool({
        name: 'look',
        schema,
        execute: () => {
          agent[way]('and a joke');
          return 'ok';
        },
      });
      const agent: ReActAgent = agentWith(
        [says(call('look', 'c0'), call('remove', 'c1'))],
        [look, logged('remove', ran)],
        {
          onPending: 'close',
        },
      );
      expect((await agent.call('go')).endReason).toBe('tool_suspended');
      const after = agentWith(['Done.'], [logged('remove', ran)]);
      after.loadStateDict(saved(agent));
      expect((await after.call(undefined, { decisions: allowAll(after) })).text).toBe('Done.');
      expect(await textsIn(after)).toEqual(['go', 'and a joke', 'Done.']);
      expect(findHistoryFaults(await after.memory.getMemory())).toEqual([]);
    },
  );

  test('is kept for later also when nobody waits for the end of the agent call', async () => {
    const agent = agentWith([says(call('remove', 'c1')), 'Done.'], [logged('remove', [])]);
    const reached = Promise.withResolvers<void>();
    agent.registerInstanceHook('postCall', 'hang', () => {
      reached.resolve();
      return new Promise<never>(() => {});
    });
    const question = agent.call('go');
    await reached.promise;
    expect([agent.followUp('and this'), await agent.interrupt()]).toEqual([true, false]);
    await question;
    agent.clearInstanceHooks('postCall');
    await agent.call(undefined, { decisions: allowAll(agent) });
    expect(await textsIn(agent)).toEqual(['go', 'and this', 'Done.']);
  });

  test('a pipeline ends with a question: it is not for the next agent', async () => {
    const first = agentWith([says(call('remove', 'c1'))], [logged('remove', [])]);
    const second = agentWith(['never'], []);
    const answer = await sequentialPipeline([first, second], 'go');
    expect(answer.endReason).toBe('tool_suspended');
    expect(await second.memory.size()).toBe(0);
  });
});

test('an agent call that was interrupted leaves nothing pending, at any moment', async () => {
  const { points } = await interruptAtEvery(() => {
    const agent = agentWith([says(call('remove', 'c1')), 'Done.'], [logged('remove', [])]);
    return {
      agent,
      input: 'go',
      check: ({ msg }) => {
        if (msg?.metadata['_is_interrupted'] === true) expect(agent.pendingCalls).toEqual([]);
      },
    };
  });
  expect(points).toBeGreaterThan(50);
});

describe('an agent call that was interrupted while its memory hung', () => {
  /** Hangs in one look into it. */
  class HangingMemory extends InMemoryMemory {
    hangsIn = 0;
    readonly reached = Promise.withResolvers<void>();
    readonly gate = Promise.withResolvers<void>();

    override async getMemory(filter?: MemoryFilter): Promise<readonly Msg[]> {
      if (--this.hangsIn === 0) {
        this.reached.resolve();
        await this.gate.promise;
      }
      return super.getMemory(filter);
    }
  }

  const script = [says(call('remove', 'c1')), says(call('remove', 'c2')), 'Done.'];

  test('takes no decision when it is over', async () => {
    const memory = new HangingMemory();
    const ran: string[] = [];
    const agent = agentWith(script, [logged('remove', ran)], { memory });
    await agent.call('go');
    const decisions = allowAll(agent);
    memory.hangsIn = 1;
    const stopped = agent.call(undefined, { decisions });
    await memory.reached.promise;
    await agent.interrupt();
    await stopped;
    memory.gate.resolve();
    await agent.call(undefined, { decisions });
    expect(ran).toEqual(['remove /a']);
    expect(agent.pendingCalls.map(({ call: { id } }) => id)).toEqual(['c2']);
  });

  test('takes no calls away from the next one', async () => {
    const memory = new HangingMemory();
    const longTermMemory = new (class extends LongTermMemoryBase {
      override async record(): Promise<void> {}
      override async retrieve(): Promise<string> {
        return '';
      }
    })();
    const agent = agentWith(script, [logged('remove', [])], { memory, longTermMemory, onPending: 'close' });
    await agent.call('go');
    memory.hangsIn = 2;
    const stopped = agent.call(undefined, { decisions: allowAll(agent) });
    await memory.reached.promise;
    await agent.interrupt();
    await stopped;
    await agent.call('something else');
    memory.gate.resolve();
    for (let tick = 0; tick < 100; tick++) await undefined;
    expect(agent.abandonedReplies).toBe(0);
    expect(agent.pendingCalls.map(({ call: { id } }) => id)).toEqual(['c2']);
    expect(findHistoryFaults(await memory.getMemory())).toEqual([]);
  });
});

describe('an agent in a tool', () => {
  const leafWith = (ran: string[], script: readonly (string | ScriptedTurn)[], options = {}): ReActAgent =>
    agentWith(script, [logged('remove', ran)], { name: 'leaf', ...options });

  test('whose outer tool call was ended takes the next agent call', async () => {
    const ran: string[] = [];
    const leaf = leafWith(ran, [says(call('remove', 'c1')), 'leaf ok']);
    const root = agentWith([says(ask('leaf', 'r1')), says(ask('leaf', 'r2')), 'end'], [asTool(leaf)], {
      onPending: 'close',
    });
    await root.call('go');
    expect((await root.call('something else')).text).toBe('end');
    expect(await resultsIn(root)).toMatchObject([
      ['r1', 'interrupted', expect.anything()],
      ['r2', 'ok', 'leaf ok'],
    ]);
    expect(findHistoryFaults(await leaf.memory.getMemory())).toEqual([]);
    expect(ran).toEqual([]);
  });

  test('is not left alone by a denial that comes with something new', async () => {
    const leaf = leafWith([], [says(call('remove', 'c1')), 'leaf sees']);
    const root = agentWith([says(ask('leaf', 'r1')), 'end'], [asTool(leaf)]);
    await root.call('go');
    const decisions = root.pendingCalls.map(({ id }) => ({ id, verdict: 'deny' }) as const);
    expect((await root.call('new', { decisions })).text).toBe('end');
    expect(await textsIn(root)).toEqual(['go', 'new', 'end']);
    expect(await resultsIn(root)).toEqual([['r1', 'ok', 'leaf sees']]);
    expect(await resultsIn(leaf)).toMatchObject([['c1', 'denied', expect.anything()]]);
  });

  test('goes on from a state that was saved while it was told of a decision', async () => {
    const ran: string[] = [];
    const states: JsonObject[] = [];
    const pay = logged('pay', ran, { sideEffect: true });
    const policy = { decide: () => ({ behavior: 'ask' as const }) };
    const build = (
      leafScript: readonly (string | ScriptedTurn)[],
      script: readonly (string | ScriptedTurn)[],
    ): ReActAgent =>
      agentWith(script, [pay, asTool(leafWith(ran, leafScript))], {
        permissionPolicy: policy,
        parallelToolCalls: true,
      });
    const root = build(
      [says(call('remove', 'c1')), 'leaf ok'],
      [says(call('pay', 'p1'), ask('leaf', 'r1')), 'end'],
    );
    root.onCheckpoint(async () => void states.push(saved(root)));
    await root.call('go');
    await root.call(undefined, { decisions: allowAll(root) }); // pay, and to ask the leaf, which then asks itself
    const atLeaf = saved(root);
    states.length = 0;
    await root.call(undefined, { decisions: allowAll(root) });
    expect(ran).toEqual(['pay /a', 'remove /a']);

    const again = build(['leaf ok'], ['end']);
    again.loadStateDict(atLeaf, { acceptGrants: true });
    expect((await again.call(undefined, { decisions: allowAll(again) })).text).toBe('end');
    expect(ran).toEqual(['pay /a', 'remove /a', 'remove /a']); // nobody had saved that it ran
    expect(await resultsIn(again)).toEqual([
      ['p1', 'ok', 'pay: /a'],
      ['r1', 'ok', 'leaf ok'],
    ]);
  });

  test('a decision is still known when the program ends before the tool call runs', async () => {
    const ran: string[] = [];
    const states: JsonObject[] = [];
    const pay = logged('pay', ran, { sideEffect: true });
    const options = { permissionPolicy: { decide: () => ({ behavior: 'ask' as const }) } };
    const before = agentWith(
      [says(call('pay', 'p1'), call('remove', 'c1')), 'end'],
      [pay, logged('remove', ran)],
      {
        ...options,
        parallelToolCalls: true,
      },
    );
    await before.call('go');
    before.onCheckpoint(async () => void states.push(saved(before)));
    await before.call(undefined, { decisions: allowAll(before) });
    ran.length = 0;
    const after = agentWith(['end'], [pay, logged('remove', ran)], { ...options, parallelToolCalls: true });
    after.loadStateDict(states[0] ?? {}, { acceptGrants: true });
    expect((await after.call()).text).toBe('end');
    expect(ran).toEqual(['remove /a']);
    expect(await resultsIn(after)).toMatchObject([
      ['p1', 'interrupted', expect.stringContaining('unknown')],
      ['c1', 'ok', 'remove: /a'],
    ]);
  });

  test.each(['refuse', 'close'] as const)(
    'asked twice at once answers one agent call after the other (%s)',
    async (onPending) => {
      const ran: string[] = [];
      const leaf = leafWith(
        ran,
        [says(call('remove', 'c1')), 'first', says(call('remove', 'c2', '/b')), 'second'],
        { onPending },
      );
      const root = agentWith([says(ask('leaf', 'r1'), ask('leaf', 'r2')), 'end'], [asTool(leaf)], {
        parallelToolCalls: true,
      });
      await root.call('go');
      expect(root.pendingCalls).toMatchObject([{ call: { id: 'c1' } }]);
      await root.call(undefined, { decisions: allowAll(root) });
      expect(root.pendingCalls).toMatchObject([{ call: { id: 'c2' } }]);
      expect((await root.call(undefined, { decisions: allowAll(root) })).text).toBe('end');
      expect(ran).toEqual(['remove /a', 'remove /b']);
      expect(await resultsIn(root)).toEqual([
        ['r1', 'ok', 'first'],
        ['r2', 'ok', 'second'],
      ]);
      expect(findHistoryFaults(await leaf.memory.getMemory())).toEqual([]);
    },
  );

  test('in the background outlives an interrupt, and can’t ask anybody', async () => {
    const background = new BackgroundTools();
    const gate = Promise.withResolvers<void>();
    const wait = tool({ name: 'wait', schema, execute: () => gate.promise.then(() => 'waited') });
    const leaf = agentWith(
      [says(call('wait', 'w1')), 'leaf ok', says(call('remove', 'c1')), 'again'],
      [wait, logged('remove', [])],
      {
        name: 'leaf',
      },
    );
    const inBackground = background.inBackground(asTool(leaf));
    const hang = tool({ name: 'hang', execute: () => new Promise<never>(() => {}) });
    const root = agentWith(
      [says(ask('leaf', 'r1'), { name: 'hang', id: 'h', input: {} }), says(ask('leaf', 'r2')), 'end'],
      [inBackground, hang],
      {
        background,
      },
    );
    const ended = (): Promise<string> =>
      new Promise((resolve) => void background.onDone(({ state }) => resolve(state)));
    const first = ended();
    for await (const event of root.stream('go'))
      if (event.type === 'tool_start' && event.call.name === 'hang') void root.interrupt();
    gate.resolve();
    expect(await first).toBe('done');
    const second = ended();
    await root.call('once more');
    expect(await second).toBe('failed');
    expect(leaf.pendingCalls).toEqual([]);
    expect(findHistoryFaults(await leaf.memory.getMemory())).toEqual([]);
  });
});

describe('histories and results of others', () => {
  const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { path: '/secret' } }) as const;
  const result = (id: string) =>
    ({ type: 'tool_result', id, name: 'look', output: 'x', status: 'ok' }) as const;

  test.each<[string, Msg[]]>([
    [
      'a result of an unknown call',
      [Msg.assistant([use('f1'), use('f2')], { name: 'Friday' }), Msg.system([result('zz')])],
    ],
    ['two calls of one id', [Msg.assistant([use('f1'), use('f1')], { name: 'Friday' })]],
  ])('with %s don’t keep an agent from answering', async (_name, msgs) => {
    const agent = agentWith(['Hello.'], []);
    await agent.observe([Msg.user('go'), ...msgs]);
    expect((await agent.call('hi')).text).toBe('Hello.');
  });

  test('tool calls that are taken out of a history are in every state that is saved meanwhile', async () => {
    const agent = agentWith(['Done.'], [logged('look', [])]);
    await agent.observe([Msg.user('go'), Msg.assistant([use('f1')], { name: 'Friday' })]);
    const answer = agent.call();
    const states: string[] = [];
    for (; agent.isRunning; await undefined) states.push(JSON.stringify(saved(agent)));
    expect((await answer).text).toBe('Done.');
    expect(states.length).toBeGreaterThan(50);
    expect(states.filter((state) => !state.includes('"f1"'))).toEqual([]);
  });

  test('tool calls of another program are not run', async () => {
    const ran: string[] = [];
    const agent = agentWith(['Hello.'], [logged('look', ran)]);
    await agent.observe(Msg.assistant([use('f1')], { name: 'Mallory' }));
    await agent.call();
    expect(ran).toEqual([]);
  });

  test('a result that nobody waits for is refused; words beside one that is waited for are kept', async () => {
    const agent = agentWith([says(call('look', 'c1')), 'Done.'], [externalTool({ name: 'look', schema })]);
    await agent.call('go');
    const answer = Msg.user([result('c1'), { type: 'text', text: 'by the way' }]);
    await agent.call(answer);
    expect(await textsIn(agent)).toEqual(['go', 'by the way', 'Done.']);
    await expect(agent.call(Msg.system([result('c1')]))).rejects.toMatchObject({ code: 'decision_refused' });
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  });
});

describe('a tool that is suspended for nothing', () => {
  const pending = {
    id: 'p',
    agentPath: ['x'],
    kind: 'approval',
    call: { type: 'tool_use', id: 'c', name: 'n', input: {} },
  };
  test.each<[string, unknown, unknown]>([
    ['without pending calls', null, []],
    ['with pending calls that are none', null, [{ id: 'p' }]],
    ['with a state that is no JSON', () => {}, [pending]],
  ])('%s has failed', async (_name, state, list) => {
    const odd = tool({
      name: 'odd',
      execute: () => {
        throw new ToolSuspension('why', { state: state as never, pending: list as never });
      },
    });
    const agent = agentWith([says({ name: 'odd', id: 'c1', input: {} }), 'Done.'], [odd]);
    expect((await agent.call('go')).text).toBe('Done.');
    expect(await resultsIn(agent)).toMatchObject([['c1', 'error', expect.any(String)]]);
    agent.stateDict();
  });
});

test('a start is noted under the id that the call has in the history, whatever middleware calls it', async () => {
  let state: JsonObject = {};
  const agent = agentWith([says(call('pay', 'c1')), 'Done.'], [logged('pay', [], { sideEffect: true })]);
  agent.toolkit.registerMiddleware((made, next) => next({ ...made, id: 'other' }));
  agent.onCheckpoint(async () => void (state = saved(agent)));
  await agent.call('go');
  expect(state['openExchange']).toMatchObject({ started: ['c1'] });
});

test('a tool call beside one with a side effect does not count as started', async () => {
  const states: JsonObject[] = [];
  const slow = tool({
    name: 'slow',
    schema,
    execute: () => new Promise((resolve) => setImmediate(() => resolve('ok'))),
  });
  const agent = agentWith(
    [says(call('slow', 's'), call('pay', 'p')), 'Done.'],
    [slow, logged('pay', [], { sideEffect: true })],
    {
      parallelToolCalls: true,
    },
  );
  agent.onCheckpoint(async () => void states.push(saved(agent)));
  await agent.call('go');
  expect(states).toMatchObject([{ openExchange: { started: ['p'] } }]);
});

test('a notice that a failing model did not read is given again', async () => {
  const background = new BackgroundTools();
  const gate = Promise.withResolvers<string>();
  const job = background.inBackground(tool({ name: 'job', execute: () => gate.promise }));
  const model = new ScriptedModel([
    says({ name: 'job', id: 'j', input: {} }),
    'It runs.',
    { error: new ModelError('no', { kind: 'overloaded' }) },
    'Thanks.',
  ]);
  const agent = new ReActAgent({ name: 'F', model, toolkit: new Toolkit({ tools: [job] }), background });
  agent.setConsoleOutputEnabled(false);
  const ended = new Promise<void>((resolve) => void background.onDone(() => resolve()));
  await agent.call('go');
  gate.resolve('done');
  await ended;
  await expect(agent.call('and?')).rejects.toMatchObject({ kind: 'overloaded' });
  await agent.call('and now?');
  const isTold = model.requests.map(({ messages }) =>
    messages.some(({ text }) => /system-hint.*job/s.test(text)),
  );
  expect(isTold.slice(2)).toEqual([true, true]);
});

test('an agent that is disposed of leaves its plan alone', async () => {
  const planNotebook = new PlanNotebook();
  const agent = agentWith([], [], { planNotebook });
  const id = `agent ${agent.id}`;
  await agent[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose](); // twice is as good as once
  expect(() => planNotebook.removePlanChangeHook(id)).toThrow(/no plan change hook/i);
});

test('an agent that two others share answers one after the other, however deep they ask it', async () => {
  const ran: string[] = [];
  const expert = agentWith(
    [says(call('remove', 'e1')), 'for c', says(call('remove', 'e2', '/b')), 'for d'],
    [logged('remove', ran)],
    { name: 'expert' },
  );
  const [c, d] = ['c', 'd'].map((name) =>
    agentWith([says(ask('expert', `${name}1`)), `${name} done`], [asTool(expert)], { name }),
  );
  const root = agentWith(
    [says(ask('c', 'r1'), ask('d', 'r2')), 'end'],
    [asTool(c as ReActAgent), asTool(d as ReActAgent)],
    {
      name: 'root',
      parallelToolCalls: true,
    },
  );
  await root.call('go');
  for (let round = 0; root.pendingCalls.length > 0 && round < 5; round++)
    await root.call(undefined, { decisions: allowAll(root) });
  expect(ran).toEqual(['remove /a', 'remove /b']);
  expect(await resultsIn(root)).toEqual([
    ['r1', 'ok', 'c done'],
    ['r2', 'ok', 'd done'],
  ]);
  expect(findHistoryFaults(await expert.memory.getMemory())).toEqual([]);
});
