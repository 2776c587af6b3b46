// Pipelines whose agents ask for approval: decisions, resuming and saving.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { findHistoryFaults } from '../message/history.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import type { MsgInput } from '../message/msg.ts';
import { stopAgent } from '../agent/turn/loop-control.ts';
import { ReActAgent } from '../react/react-agent.ts';
import type { ReActAgentOptions } from '../react/react-agent-options.ts';
import { InMemorySession } from '../session/in-memory-session.ts';
import { SessionManager } from '../session/session-manager.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { FanoutPipeline, fanoutPipeline } from './fanout-pipeline.ts';
import { SequentialPipeline, sequentialPipeline } from './sequential-pipeline.ts';

const paying = (id: string): ScriptedTurn => ({ toolCalls: [{ name: 'pay', id, input: {} }] });

/** Agent whose tool `pay` needs an approval and notes in `paid` that it ran. */
function payer(
  name: string,
  script: readonly (string | ScriptedTurn)[],
  paid: string[] = [],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  const pay = tool({
    name: 'pay',
    execute: () => {
      paid.push(name);
      return 'paid';
    },
  });
  return new ReActAgent({
    name,
    model: new ScriptedModel(script),
    tools: [pay],
    permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
    console: false,
    ...options,
  });
}

const allow = (...agents: readonly ReActAgent[]): PendingDecision[] =>
  agents.flatMap((agent) => agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const })));
const texts = (msgs: readonly { text: string }[]): string[] => msgs.map(({ text }) => text);
const memoryOf = async (agent: ReActAgent): Promise<string[]> => {
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  return history.map((msg) => {
    const [result] = msg.getContentBlocks('tool_result');
    if (result !== undefined) return `${result.name}: ${result.status}`;
    return msg.hasContentBlocks('tool_use') ? 'calls' : `${msg.name}: ${msg.text}`;
  });
};
const input: MsgInput = 'Pay the bill.';

describe('a fanout', () => {
  test.each(['function', 'object'])(
    '%s: decisions go to the agent that asked, and its tool runs',
    async (form) => {
      const paid: string[] = [];
      const [ann, bob] = [
        payer('ann', [paying('1'), 'ann is done'], paid),
        payer('bob', ['bob is done'], paid),
      ];
      const pipeline = new FanoutPipeline([ann, bob]);
      const first = form === 'object' ? await pipeline.call(input) : await fanoutPipeline([ann, bob], input);
      expect(first.map(({ endReason, pending }) => [endReason, pending?.length])).toEqual([
        ['tool_suspended', 1],
        ['finished', undefined],
      ]);
      const options = { decisions: allow(ann) };
      const resumed =
        form === 'object'
          ? await pipeline.call(undefined, options)
          : await fanoutPipeline([ann, bob], undefined, options);
      expect(texts(resumed)).toEqual(form === 'object' ? ['ann is done', 'bob is done'] : ['ann is done']);
      expect(paid).toEqual(['ann']);
      expect(await memoryOf(ann)).toEqual(['user: Pay the bill.', 'calls', 'pay: ok', 'ann: ann is done']);
      expect(await memoryOf(bob)).toEqual(['user: Pay the bill.', 'bob: bob is done']);
    },
  );

  test('decisions for several agents are given together or one after the other', async () => {
    for (const isTogether of [true, false]) {
      const paid: string[] = [];
      const [ann, bob, eve] = ['ann', 'bob', 'eve'].map((name) =>
        payer(name, [paying(name), `${name} is done`], paid),
      ) as [ReActAgent, ReActAgent, ReActAgent];
      const pipeline = new FanoutPipeline([ann, bob, eve]);
      await pipeline.call(input);
      expect(pipeline.pendingCalls.map(({ call }) => call.id)).toEqual(['ann', 'bob', 'eve']);
      if (!isTogether) {
        const some = await pipeline.call(undefined, { decisions: allow(bob) });
        expect(some.map(({ pending, text }) => (pending ? 'asks' : text))).toEqual([
          'asks',
          'bob is done',
          'asks',
        ]);
      }
      const all = await pipeline.call(undefined, { decisions: allow(eve, bob, ann) });
      expect(texts(all)).toEqual(['ann is done', 'bob is done', 'eve is done']);
      expect(paid.toSorted()).toEqual(['ann', 'bob', 'eve']);
    }
  });

  test('a decision that fits no agent is refused before anything runs', async () => {
    const paid: string[] = [];
    const [ann, bob] = [
      payer('ann', [paying('1'), 'ann is done'], paid),
      payer('bob', ['bob is done'], paid),
    ];
    const pipeline = new FanoutPipeline([ann, bob]);
    await pipeline.call(input);
    const decisions = [...allow(ann), { id: 'pending_unknown', verdict: 'allow' as const }];
    for (const call of [
      () => pipeline.call(undefined, { decisions }),
      () => fanoutPipeline([ann, bob], undefined, { decisions }),
      () => sequentialPipeline([ann, bob], undefined, { decisions }),
    ])
      await expect(call()).rejects.toMatchObject({
        code: 'decision_refused',
        isRefusal: true,
        message: "The pending tool call 'pending_unknown' belongs to no agent that the pipeline waits for.",
      });
    expect([paid, ann.pendingCalls.length]).toEqual([[], 1]);
    expect(texts(await pipeline.call(undefined, { decisions: allow(ann) }))).toEqual([
      'ann is done',
      'bob is done',
    ]);
  });

  test('new input is refused before anything runs, or closes the pending tool calls', async () => {
    const [ann, bob] = [payer('ann', [paying('1'), 'ann again']), payer('bob', ['bob is done', 'bob again'])];
    const pipeline = new FanoutPipeline([bob, ann]);
    await pipeline.call(input);
    await expect(pipeline.call('Hello?')).rejects.toMatchObject({ code: 'pending_calls', isRefusal: true });
    expect(await memoryOf(bob)).toEqual(['user: Pay the bill.', 'bob: bob is done']);
    expect(texts(await pipeline.call('Hello?', { onPending: 'close' }))).toEqual(['bob again', 'ann again']);
  });

  test('a failed agent is called again with the input, the others are not', async () => {
    const [ann, bob] = [
      payer('ann', [paying('1'), 'ann is done']),
      payer('bob', [{ error: new Error('no line') }, 'bob is done']),
    ];
    const pipeline = new FanoutPipeline([ann, bob, payer('eve', ['eve is done'])]);
    await expect(pipeline.call(input)).rejects.toThrow('no line');
    const answers = await pipeline.call(undefined, { decisions: allow(ann) });
    expect(texts(answers)).toEqual(['ann is done', 'bob is done', 'eve is done']);
    expect(await memoryOf(bob)).toEqual(['user: Pay the bill.', 'bob: bob is done']);
  });
});

describe('a sequence', () => {
  test.each(['function', 'object'])('%s: goes on after the suspended agent', async (form) => {
    const paid: string[] = [];
    const agents = [
      payer('ann', ['ann is done'], paid),
      payer('bob', [paying('1'), 'bob is done'], paid),
      payer('eve', ['eve is done'], paid),
    ] as const;
    const [ann, bob, eve] = agents;
    const pipeline = new SequentialPipeline(agents);
    const call = (given?: MsgInput, decisions: PendingDecision[] = []) =>
      form === 'object'
        ? pipeline.call(given, { decisions })
        : sequentialPipeline(agents, given, { decisions });
    expect(await call(input)).toMatchObject({ name: 'bob', endReason: 'tool_suspended' });
    expect(await call()).toMatchObject({ name: 'bob', endReason: 'tool_suspended' }); // still undecided
    expect(await call(undefined, allow(bob))).toMatchObject({ name: 'eve', text: 'eve is done' });
    expect(paid).toEqual(['bob']);
    expect(await memoryOf(ann)).toEqual(['user: Pay the bill.', 'ann: ann is done']);
    expect(await memoryOf(bob)).toEqual(['ann: ann is done', 'calls', 'pay: ok', 'bob: bob is done']);
    expect(await memoryOf(eve)).toEqual(['bob: bob is done', 'eve: eve is done']);
  });

  test('new input while a later agent waits is refused before the first agent runs', async () => {
    const [ann, bob] = [payer('ann', ['ann is done', 'ann again']), payer('bob', [paying('1'), 'bob again'])];
    const pipeline = new SequentialPipeline([ann, bob]);
    await pipeline.call(input);
    await expect(pipeline.call('Hello?')).rejects.toMatchObject({ code: 'pending_calls', isRefusal: true });
    expect(await memoryOf(ann)).toEqual(['user: Pay the bill.', 'ann: ann is done']);
    expect(await pipeline.call('Hello?', { onPending: 'close' })).toMatchObject({ text: 'bob again' });
  });

  test('decisions for two agents at once are refused', async () => {
    const [ann, bob] = [payer('ann', [paying('1')]), payer('bob', [paying('2')])];
    await fanoutPipeline([ann, bob], input);
    const call = sequentialPipeline([ann, bob], undefined, { decisions: allow(ann, bob) });
    await expect(call).rejects.toMatchObject({ code: 'decision_refused' });
    expect([ann.pendingCalls.length, bob.pendingCalls.length]).toEqual([1, 1]);
  });

  test('an agent that failed is called again with the answer before it', async () => {
    const [ann, bob] = [
      payer('ann', ['ann is done']),
      payer('bob', [{ error: new Error('no line') }, 'bob is done']),
    ];
    const pipeline = new SequentialPipeline([ann, bob]);
    await expect(pipeline.call(input)).rejects.toThrow('no line');
    expect(await pipeline.call()).toMatchObject({ text: 'bob is done' });
    expect(await memoryOf(bob)).toEqual(['ann: ann is done', 'bob: bob is done']);
  });

  test('a structuredModel is for the last agent', async () => {
    const [ann, bob] = [
      payer('ann', ['ann is done']),
      payer('bob', [{ toolCalls: [{ name: 'generate_response', input: { sum: 3 } }] }], [], {
        permissionPolicy: undefined,
      }),
    ];
    const structuredModel = z.object({ sum: z.number() });
    const answer = await sequentialPipeline([ann, bob], input, { structuredModel });
    expect(answer.metadata).toEqual({ sum: 3 });
    expect(await memoryOf(ann)).toEqual(['user: Pay the bill.', 'ann: ann is done']);
  });
});

describe('an agent that a hook stops before its tool calls', () => {
  const stopped = (paid: string[]): ReActAgent => {
    const agent = payer('ann', [paying('1'), 'ann is done'], paid, { permissionPolicy: undefined });
    let isFirst = true;
    agent.registerInstanceHook('postReasoning', 'stop', () => {
      if (!isFirst) return undefined;
      isFirst = false;
      return stopAgent();
    });
    return agent;
  };

  test('suspends a sequence, which goes on when it is called without input', async () => {
    const paid: string[] = [];
    const [ann, bob] = [stopped(paid), payer('bob', ['bob is done'])];
    const pipeline = new SequentialPipeline([ann, bob]);
    expect(await pipeline.call(input)).toMatchObject({ name: 'ann', endReason: 'stopped' });
    expect(await memoryOf(bob)).toEqual([]); // unfinished tool calls are no input
    expect(await pipeline.call()).toMatchObject({ name: 'bob', text: 'bob is done' });
    expect(paid).toEqual(['ann']);
    expect(await memoryOf(ann)).toEqual(['user: Pay the bill.', 'calls', 'pay: ok', 'ann: ann is done']);
    expect(await memoryOf(bob)).toEqual(['ann: ann is done', 'bob: bob is done']);
  });

  test('is the only one that a fanout calls again', async () => {
    const paid: string[] = [];
    const pipeline = new FanoutPipeline([stopped(paid), payer('bob', ['bob is done'])]);
    expect(await pipeline.call(input)).toMatchObject([{ endReason: 'stopped' }, { text: 'bob is done' }]);
    expect(texts(await pipeline.call())).toEqual(['ann is done', 'bob is done']);
    expect(paid).toEqual(['ann']);
  });
});

describe('a saved pipeline', () => {
  const make = {
    sequence: (agents: readonly ReActAgent[]) => new SequentialPipeline(agents),
    fanout: (agents: readonly ReActAgent[]) => new FanoutPipeline(agents),
  };

  test.each([
    { kind: 'sequence', beside: false },
    { kind: 'sequence', beside: true },
    { kind: 'fanout', beside: false },
    { kind: 'fanout', beside: true },
  ] as const)('$kind resumes in another process (agents beside it: $beside)', async ({ kind, beside }) => {
    const session = new InMemorySession();
    const paid: string[] = [];
    const start = (scripts: readonly (readonly (string | ScriptedTurn)[])[]) => {
      const agents = scripts.map((script, i) => payer(`agent ${i}`, script, paid));
      const pipeline = make[kind](agents);
      const manager = SessionManager.forSessionId('chat')
        .withSession(session)
        .addComponent('pipeline', pipeline);
      if (beside) agents.forEach((agent, i) => manager.addComponent(`agent${i}`, agent));
      return { agents, pipeline, manager };
    };
    {
      const { pipeline, manager } = start([
        ['0 is done'],
        [paying('1')],
        kind === 'fanout' ? ['2 is done'] : [],
      ]);
      manager.autoSave();
      await pipeline.call(input);
    } // the process ends without another save
    const { agents, pipeline, manager } = start([[], ['1 is done'], kind === 'fanout' ? [] : ['2 is done']]);
    await manager.loadOrThrow();
    expect(pipeline.pendingCalls).toHaveLength(1);
    const answers = await pipeline.call(undefined, { decisions: allow(...agents) });
    expect(texts([answers ?? []].flat() as { text: string }[])).toEqual(
      kind === 'fanout' ? ['0 is done', '1 is done', '2 is done'] : ['2 is done'],
    );
    expect(paid).toEqual(['agent 1']);
    expect((await agents[0]!.memory.getMemory()).map(({ text }) => text)).toEqual([
      'Pay the bill.',
      '0 is done',
    ]);
    expect(pipeline.stateDict()['progress']).toBeNull();
  });

  test('agents beside their pipeline are saved once', async () => {
    const session = new InMemorySession();
    const agent = payer('ann', ['the only answer']);
    const pipeline = new SequentialPipeline([agent, agent]);
    expect(Object.keys(pipeline.stateDict()['members'] as object)).toEqual(['agent_ann']);
    const manager = SessionManager.forSessionId('chat')
      .withSession(session)
      .addComponent(agent)
      .addComponent(pipeline);
    await agent.call('Hello');
    await manager.saveSession();
    const [a, b] = [payer('ann', []), payer('ann', [])];
    await session.load({ session: 'chat' }, { reActAgent: a });
    await session.load({ session: 'chat' }, { sequentialPipeline: new SequentialPipeline([b, b]) });
    for (const one of [a, b]) expect(await memoryOf(one)).toEqual(['user: Hello', 'ann: the only answer']);
  });

  test('progress is saved after each answer, and a call is resumed at the agent that the end of the process cut off', async () => {
    const session = new InMemorySession();
    const open = (pipeline: SequentialPipeline) =>
      SessionManager.forSessionId('chat').withSession(session).addComponent(pipeline);
    const reached = Promise.withResolvers<void>();
    const hung = payer('bob', []);
    hung.registerInstanceHook('preReply', 'hang', () => {
      reached.resolve();
      return new Promise(() => {});
    });
    const first = new SequentialPipeline([payer('ann', ['ann is done']), hung]);
    open(first).autoSave();
    void first.call(input);
    await reached.promise;
    const second = new SequentialPipeline([payer('ann', []), payer('bob', ['bob is done'])]);
    await open(second).loadOrThrow();
    expect(await second.call()).toMatchObject({ text: 'bob is done' });
    await hung.interrupt();
  });

  test.each(['sequence', 'fanout'] as const)(
    '%s: a question that the process told just before its end is resumed',
    async (kind) => {
      const bob = payer('bob', [paying('1')]);
      const before = make[kind]([payer('ann', ['ann is done']), bob]);
      let state = {};
      bob.onOutcome(async () => void (state = before.stateDict()));
      await before.call(input);
      const after = payer('bob', ['bob is done']);
      const pipeline = make[kind]([payer('ann', ['ann is done', 'ann is done']), after]);
      pipeline.loadStateDict(state);
      const asked = [await pipeline.call()].flat().at(-1);
      expect(asked).toMatchObject({ name: 'bob', endReason: 'tool_suspended' });
      pipeline.loadStateDict(state);
      const answer = [await pipeline.call(undefined, { decisions: allow(after) })].flat().at(-1);
      expect(answer).toMatchObject({ name: 'bob', text: 'bob is done' });
      const told = kind === 'sequence' ? 'ann: ann is done' : 'user: Pay the bill.';
      expect(await memoryOf(after)).toEqual([told, 'calls', 'pay: ok', 'bob: bob is done']);
    },
  );

  test('an agent that is saved beside its pipeline costs no further saves', async () => {
    const saves = async (isBeside: boolean): Promise<number> => {
      const session = new InMemorySession();
      const agents = [payer('ann', ['ann is done']), payer('bob', ['bob is done'])];
      const pipeline = new SequentialPipeline(agents);
      const manager = SessionManager.forSessionId('chat').withSession(session).addComponent(pipeline);
      if (isBeside) agents.forEach((agent, i) => manager.addComponent(`agent${i}`, agent));
      manager.autoSave();
      await pipeline.call(input);
      return session.revisionOf({ session: 'chat' });
    };
    expect([await saves(false), await saves(true)]).toEqual([4, 4]);
  });

  test('a state of a pipeline with another number of agents is refused', async () => {
    const agents = [payer('ann', [paying('1')]), payer('bob', [])];
    const pipeline = new SequentialPipeline(agents);
    await pipeline.call(input);
    const state = pipeline.stateDict();
    expect(() => new SequentialPipeline([payer('ann', [])]).loadStateDict(state)).toThrow(
      'it is of a pipeline with 2 agents, not 1',
    );
  });

  test('disposing of automatic saving waits for the whole pipeline', async () => {
    const session = new InMemorySession();
    const [ann, bob] = [payer('ann', ['ann is done']), payer('bob', ['bob is done'])];
    const pipeline = new SequentialPipeline([ann, bob]);
    const manager = SessionManager.forSessionId('chat').withSession(session).addComponent(pipeline);
    manager.autoSave({ debounceMs: 0 });
    const answer = pipeline.call(input);
    await manager[Symbol.asyncDispose]();
    expect(await memoryOf(bob)).toEqual(['ann: ann is done', 'bob: bob is done']);
    await answer;
  });

  test('a running call is not resumed', async () => {
    const door = Promise.withResolvers<void>();
    const [ann, bob] = [payer('ann', [paying('1'), 'ann is done']), payer('bob', ['bob is done'])];
    bob.registerInstanceHook('preReply', 'wait', () => door.promise);
    const pipeline = new FanoutPipeline([ann, bob]);
    const asked = new Promise<void>((resolve) => void ann.on('run_end', () => resolve()));
    const answers = pipeline.call(input);
    await asked;
    await expect(pipeline.call(undefined, { decisions: allow(ann) })).rejects.toMatchObject({
      code: 'agent_busy',
    });
    door.resolve();
    await answers;
    expect(texts(await pipeline.call(undefined, { decisions: allow(ann) }))).toEqual([
      'ann is done',
      'bob is done',
    ]);
  });

  test('of two calls at the same time, the end of the first leaves the progress of the second', async () => {
    const doors = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ann = payer('ann', ['One.', 'Two.'], [], { onBusy: 'queue' });
    let begun = 0;
    ann.registerInstanceHook('preReply', 'wait', () => doors[begun++]?.promise);
    const pipeline = new SequentialPipeline([ann]);
    const calls = [pipeline.call('First.'), pipeline.call('Second.')];
    doors[0]?.resolve();
    expect(await calls[0]).toMatchObject({ text: 'One.' });
    expect(pipeline.stateDict()).toMatchObject({ progress: { input: [{ content: 'Second.' }] } });
    doors[1]?.resolve();
    expect(await calls[1]).toMatchObject({ text: 'Two.' });
    expect(pipeline.stateDict()).toMatchObject({ progress: null });
  });
});

describe.each(['sequence', 'fanout'])('a suspended %s', (kind) => {
  test('takes no decision about a tool call that an agent outside of the pipeline call has asked about', async () => {
    const paid: string[] = [];
    const ann = payer('ann', ['ann is done', paying('2')], paid);
    const bob = payer('bob', [paying('1'), 'bob is done'], paid);
    const pipeline = kind === 'fanout' ? new FanoutPipeline([ann, bob]) : new SequentialPipeline([ann, bob]);
    await pipeline.call(input);
    await ann.call('Pay something else.');
    await expect(pipeline.call(undefined, { decisions: allow(ann, bob) })).rejects.toMatchObject({
      code: 'decision_refused',
    });
    expect([paid, ann.pendingCalls.length, bob.pendingCalls.length]).toEqual([[], 1, 1]);
    await pipeline.call(undefined, { decisions: allow(bob) });
    expect([paid, ann.pendingCalls.length]).toEqual([['bob'], 1]);
  });
});
