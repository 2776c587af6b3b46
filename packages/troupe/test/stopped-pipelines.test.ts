// Agents in a hub and a pipeline, with a sub-agent, an approval and autosave, stopped at every point: histories stay valid, what was told is saved, and nothing is paid twice.
import assert from 'node:assert/strict';

import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { AgentBase } from '../src/agent/agent-base.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import type { StepRunner } from '../src/event/step.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg, type MsgInput } from '../src/message/msg.ts';
import type { ModelRequest } from '../src/model/chat-model-base.ts';
import { FanoutPipeline } from '../src/pipeline/fanout-pipeline.ts';
import { MsgHub } from '../src/pipeline/msg-hub.ts';
import { SequentialPipeline } from '../src/pipeline/sequential-pipeline.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { InMemoryStore } from '../src/session/in-memory-session.ts';
import { SessionManager } from '../src/session/session-manager.ts';
import { Session } from '../src/session/session.ts';
import { registerSubAgent } from '../src/subagent/register-sub-agent.ts';
import { TaskSubAgent } from '../src/subagent/task-sub-agent.ts';
import {
  abortAtEvery,
  failAtEvery,
  InjectedFault,
  interruptAtEvery,
  leaveAtEvery,
  type Outcome,
  type Scenario,
} from '../src/testing/drivers.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { ScriptedModel } from '../src/testing/scripted-model.ts';
import { StepJournal } from '../src/testing/step-journal.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { validateWith } from '../src/util/schema.ts';
import { strideOf } from './fair-sample.ts';

const MINUTE = 60_000;
const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
let clock: Disposable | undefined;
beforeAll(async () => void (await validateWith({ type: 'object' }, {}))); // is loaded when it is first needed
beforeEach(() => {
  process.on('unhandledRejection', onUnhandled);
  clock = new FakeClock().install(); // stands still: what settles, settles at once
});
afterEach(async () => {
  clock?.[Symbol.dispose]();
  await new Promise((resolve) => void setImmediate(resolve));
  process.off('unhandledRejection', onUnhandled);
  assert.deepEqual(unhandled.splice(0), []);
});

type Kind = 'sequence' | 'fanout';
type Pipeline = SequentialPipeline | FanoutPipeline;

/** Runs a pipeline in a hub, and allows what its agents ask for. */
class Leader extends AgentBase {
  readonly #pipeline: Pipeline;

  constructor(pipeline: Pipeline) {
    super({ name: 'leader', console: false });
    this.#pipeline = pipeline;
  }

  async reply(msgs: readonly Msg[], { signal }: Turn): Promise<Msg> {
    const pipeline = this.#pipeline;
    await using _hub = await MsgHub.open({ participants: pipeline.agents, announcement: 'Work together.' });
    await pipeline.call(msgs, { signal });
    while (pipeline.pendingCalls.length > 0) await pipeline.call(undefined, { signal, ...allowed(pipeline) });
    return Msg.assistant('All done.', { name: this.name });
  }
}

const allowed = ({ pendingCalls }: Pipeline) => ({
  decisions: pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const })),
});

/** A store with the text of all saves. */
class NotingStore extends InMemoryStore {
  saved = '';

  override async commit(...[key, commit]: Parameters<InMemoryStore['commit']>): Promise<void> {
    let text = JSON.stringify(commit.parts);
    const head: typeof commit.head = (positions) => {
      const made = commit.head(positions);
      text += made;
      return made;
    };
    await super.commit(key, { ...commit, head });
    this.saved += text;
  }
}

interface Story {
  readonly leader: Leader;
  readonly pipeline: Pipeline;
  readonly agents: readonly ReActAgent[];
  /** Names of those who paid. */
  readonly paid: readonly string[];
  /** Ids of outcomes told too early: before their save. */
  readonly untimely: readonly string[];
  /** Number of answers and questions that were told. */
  readonly told: () => number;
  dispose(): Promise<void>;
}

/** Whether the agent has tried to pay; observed messages may follow. */
const isAnswered = ({ messages }: ModelRequest): boolean =>
  messages.some((msg) => msg.hasContentBlocks('tool_result'));

/** Ann has a sub-agent pay, bob has to ask before he pays, and eve just pays. */
async function tellStory(kind: Kind, paid: string[]): Promise<Story> {
  const pay = (name: string) =>
    tool({
      name: 'pay',
      sideEffect: true,
      execute: async () => {
        paid.push(name);
        return 'paid';
      },
    });
  const payer = (name: string) =>
    new ReActAgent({
      name,
      model: new ScriptedModel([
        { when: isAnswered, text: `${name} is done.`, chunkSize: 5 },
        { when: () => true, toolCalls: [{ name: 'pay', input: {} }] },
      ]),
      tools: [pay(name)],
      permissionPolicy: { decide: () => ({ behavior: name === 'bob' ? 'ask' : 'allow' }) },
      console: false,
    });
  const ann = new ReActAgent({
    name: 'ann',
    model: new ScriptedModel([
      { when: isAnswered, text: 'ann is done.' },
      { when: () => true, toolCalls: [{ name: 'agent_helper', input: { task: 'Pay.' } }] },
    ]),
    console: false,
  });
  const helper = {
    name: 'helper',
    description: 'Pays.',
    modelOverride: new ScriptedModel([
      { when: isAnswered, text: 'The helper is done.' },
      { when: () => true, toolCalls: [{ name: 'pay', input: {} }] },
    ]),
    tools: [pay('helper')],
  };
  await registerSubAgent(ann, TaskSubAgent, helper);
  const agents = [ann, payer('bob'), payer('eve')];
  const pipeline = kind === 'fanout' ? new FanoutPipeline(agents) : new SequentialPipeline(agents);
  const leader = new Leader(pipeline);
  const stream = leader.stream.bind(leader);
  Object.assign(leader, { stream: (input: MsgInput) => stream(input, { nested: true }) }); // to leave it at every event of all
  const store = new NotingStore();
  const manager = SessionManager.forSessionId('story')
    .withSession(new Session(store))
    .addComponent(pipeline)
    .addComponent('leader', leader);
  manager.autoSave();
  let told = 0;
  const untimely: string[] = [];
  const tell = (id: string): void => {
    told++;
    if (!store.saved.includes(id)) untimely.push(id);
  };
  for (const agent of agents) {
    agent.on('approval_needed', ({ pending }) => tell(pending.id));
    agent.on('run_end', ({ msg, status }) => {
      if (msg !== undefined && status !== 'suspended') tell(msg.id);
    });
  }
  return {
    leader,
    pipeline,
    agents,
    paid,
    untimely,
    told: () => told,
    dispose: () => manager[Symbol.asyncDispose](),
  };
}

/** Checks the agents, lets the pipeline go on to its end, and checks again. */
async function checkStory(story: Story): Promise<void> {
  const { pipeline, agents, paid, untimely } = story;
  expect(pipeline.isRunning).toBe(false);
  await checkHistories(agents);
  for (let round = 0; pipeline.stateDict()['progress'] !== null; round++) {
    expect(round).toBeLessThan(10);
    await pipeline.call(undefined, allowed(pipeline));
  }
  await checkHistories(agents);
  expect(paid.toSorted()).toEqual([...new Set(paid)].toSorted());
  expect(untimely).toEqual([]);
  await story.dispose();
}

async function checkHistories(agents: readonly ReActAgent[]): Promise<void> {
  for (const agent of agents) {
    expect(findHistoryFaults(await agent.memory.getMemory()), agent.name).toEqual([]);
    expect([agent.name, agent.abandonedReplies]).toEqual([agent.name, 0]);
  }
}

function scenarioOf(
  kind: Kind,
  expectOutcome: (outcome: Outcome) => void = () => {},
  counts: { told: number } = { told: 0 },
): () => Promise<Scenario> {
  return async () => {
    const story = await tellStory(kind, []);
    return {
      agent: story.leader,
      input: 'Go.',
      async check(outcome) {
        try {
          expectOutcome(outcome);
          await checkStory(story);
        } catch (error) {
          throw new Error(`Disturbed at point ${outcome.point}`, { cause: error });
        }
        counts.told += story.told();
      },
    };
  };
}

describe.each(['sequence', 'fanout'] as const)('a %s of agents in a hub', (kind) => {
  const EVERY = { stride: strideOf('ticks of a saved pipeline in a hub at which it is stopped', 61) };

  test(
    'interrupted at every tick, it answers, and the pipeline goes on',
    async () => {
      const counts = { told: 0 };
      const { points } = await interruptAtEvery(
        scenarioOf(
          kind,
          ({ msg, error }) => expect([msg?.role, error]).toEqual(['assistant', undefined]),
          counts,
        ),
        EVERY,
      );
      expect(points).toBeGreaterThan(200);
      expect(counts.told).toBeGreaterThan(points / EVERY.stride);
    },
    10 * MINUTE,
  );

  test(
    'aborted at every tick, it rejects with the reason, or had answered',
    async () => {
      await abortAtEvery(
        scenarioOf(kind, ({ msg, error }) => {
          if (msg === undefined) expect(error).toBeInstanceOf(InjectedFault);
        }),
        EVERY,
      );
    },
    10 * MINUTE,
  );

  test(
    'left after every event, it is in order',
    async () => {
      const stride = strideOf('events of a saved pipeline in a hub after which its stream is left', 7);
      const { points } = await leaveAtEvery(scenarioOf(kind), { stride });
      expect(points).toBeGreaterThan(30);
    },
    10 * MINUTE,
  );

  test(
    'with a fault in every step, it fails clearly or goes on',
    async () => {
      const stride = strideOf('steps of a saved pipeline in a hub that fail', 5);
      const { points } = await failAtEvery(scenarioOf(kind), { stride });
      expect(points).toBeGreaterThan(20);
    },
    10 * MINUTE,
  );

  test(
    'cut before every step and replayed, it ends the same, and every tool runs once',
    async () => {
      const stride = strideOf('steps of a saved pipeline in a hub before which it is cut and replayed', 5);
      const input = Msg.user('Go.');
      for (let point = 0; ; point += stride) {
        const journal = new StepJournal();
        const paid: string[] = [];
        let steps = 0;
        const cut = Promise.withResolvers<void>();
        const attempt = journal.attempt();
        const runStep: StepRunner = (step, body) => {
          if (steps++ < point) return attempt(step, body);
          cut.resolve();
          return new Promise(() => {});
        };
        const first = await tellStory(kind, paid);
        await Promise.race([first.leader.call(input, { runStep }), cut.promise]);
        await new Promise((resolve) => void setImmediate(resolve)); // steps that run are recorded
        const second = await tellStory(kind, paid);
        const answer = await second.leader.call(input, { runStep: journal.attempt() });
        expect([point, answer.text, paid.toSorted()]).toEqual([point, 'All done.', ['bob', 'eve', 'helper']]);
        await checkStory(second);
        if (steps > point) continue;
        expect(point).toBeGreaterThan(20);
        break;
      }
    },
    10 * MINUTE,
  );
});
