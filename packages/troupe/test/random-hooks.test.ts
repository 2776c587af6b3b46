// Random programs whose hooks belong to classes: a base, two subclasses and a sub-agent, in a saved pipeline and a hub, with approvals, structured
// output, controls of the loop, interrupts, aborts, streams left early and killed processes. SEEDS=<seed> runs one alone.
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';

import type { Msg } from '../src/message/msg.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import {
  FanoutPipeline,
  gotoReasoning,
  MsgHub,
  ReActAgent,
  registerSubAgent,
  SequentialPipeline,
  SessionManager,
  stopAgent,
  TaskSubAgent,
  tool,
  withRunConfig,
  type AgentEvent,
  type CallOptions,
  type PendingDecision,
} from '../src/index.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import { Session } from '../src/session/session.ts';
import type { SessionStore } from '../src/session/format/session-store.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { validateWith } from '../src/util/schema.ts';
import { digestInTurns } from './digest-in-turns.ts';
import { sampleOf } from './fair-sample.ts';
import { Chronicle, nextTurn, RandomModel } from './random-model.ts';

const FULL = 1_500;
const STEPS = 10;
const MAX_ROUNDS = 80;
const Answer = z.object({ answer: z.number() });
const AGENTS = ['ann', 'bob'] as const;
type Name = (typeof AGENTS)[number];

let clock: Disposable | undefined;
beforeAll(async () => void (await validateWith({ type: 'object' }, {}))); // is loaded when it is first needed
beforeEach(() => {
  clock = new FakeClock().install(); // stands still: what settles, settles without waiting
  digestInTurns();
});
afterEach(() => {
  vi.restoreAllMocks();
  clock?.[Symbol.dispose]();
});

const NO_COUNTS = {
  ended: 0,
  redacted: 0,
  masked: 0,
  stopped: 0,
  sentBack: 0,
  structured: 0,
  asked: 0,
  resumed: 0,
};
type Counts = typeof NO_COUNTS;

const masked = (msg: Msg): Msg =>
  msg.with({
    content: msg
      .getContentBlocks()
      .map((block) =>
        block.type === 'text' ? { ...block, text: block.text.replaceAll('SECRET', '***') } : block,
      ),
  });

/** One "process". */
class Program {
  isDead = false;
  readonly agents: Readonly<Record<Name, ReActAgent>>;
  readonly pipeline: SequentialPipeline | FanoutPipeline;
  readonly manager: SessionManager;
  readonly hub: MsgHub;
  readonly #chronicle: Chronicle;
  readonly #counts: Counts;
  /** Runs of hooks, by hook and tool call or reply. */
  readonly #ran = new Map<string, number>();
  /** Tool calls that ran in this process. */
  readonly #executed = new Set<string>();
  readonly #Base: typeof ReActAgent;

  private constructor(seed: number, chronicle: Chronicle, counts: Counts) {
    this.#chronicle = chronicle;
    this.#counts = counts;
    const { dice, faults } = chronicle;
    class Base extends ReActAgent {}
    class Loud extends Base {}
    class Quiet extends Base {}
    this.#Base = Base;
    this.agents = { ann: this.#make(Loud, 'ann'), bob: this.#make(Quiet, 'bob') };
    this.#hookAll(Base, 'Base');
    Loud.registerClassHook('postActing', 'note', async (agent, { call }) => {
      if (agent.name !== 'ann') faults.push(`a hook of Loud ran for ${agent.name}`);
      this.#note(`Loud postActing ${call.id}`);
      await dice.wait(2);
      if (dice.roll(30) === 0) return (this.#counts.stopped++, stopAgent());
      if (dice.roll(30) === 0)
        return (this.#counts.sentBack++, gotoReasoning(`Once more ${chronicle.number()}.`));
      return undefined;
    });
    Loud.registerClassHook('postReasoning', 'steer', () => {
      if (dice.roll(30) === 0) return (this.#counts.stopped++, stopAgent());
      if (dice.roll(30) === 0) return (this.#counts.sentBack++, gotoReasoning());
      return undefined;
    });
    Quiet.registerClassHook('preReply', 'shape', async (agent) => {
      if (agent.name !== 'bob') faults.push(`a hook of Quiet ran for ${agent.name}`);
      await dice.wait(2);
      return dice.roll(4) === 0 ? { structuredModel: Answer } : undefined;
    });
    for (const agent of Object.values(this.agents)) {
      agent.registerInstanceHook('preObserve', 'slow', () => dice.wait(4));
      agent.registerInstanceHook('postActing', 'own', async (_, { call }) => {
        this.#note(`own postActing ${call.id}`);
        await dice.wait(2);
      });
      agent.on('*', (event) => this.#check(agent, event));
    }
    const members = [this.agents.ann, this.agents.bob];
    this.pipeline = seed % 2 === 0 ? new SequentialPipeline(members) : new FanoutPipeline(members);
    this.manager = SessionManager.forSessionId('team')
      .withSession(new Session(this.#store()))
      .addComponent('pipeline', this.pipeline);
    this.hub = new MsgHub({ participants: members });
  }

  static async start(seed: number, chronicle: Chronicle, counts: Counts): Promise<Program> {
    const program = new Program(seed, chronicle, counts);
    class Kid extends TaskSubAgent {}
    program.#hookAll(Kid, 'Kid');
    await registerSubAgent(program.agents.ann, Kid, {
      name: 'helper',
      description: 'Helps.',
      modelOverride: new RandomModel('helper', chronicle),
      tools: [program.#look(), program.#pay()],
    });
    await program.manager.loadIfExists();
    program.manager.autoSave();
    await program.hub.open();
    await program.#checkLoaded();
    return program;
  }

  kill(): void {
    this.isDead = true;
    for (const agent of Object.values(this.agents)) void agent.interrupt();
    void this.hub.close();
  }

  /** Registers a hook of the base class, or removes it, while agents work. */
  async hookLate(): Promise<void> {
    const { dice } = this.#chronicle;
    await dice.wait(20);
    const type = dice.pick(['preActing', 'prePrint', 'preReasoning', 'reasoningChunk', 'preReply']);
    const remove = this.#Base.registerClassHook(type, 'late', () => dice.wait(2));
    await dice.wait(20);
    remove();
  }

  async checkHistories(): Promise<void> {
    const { faults } = this.#chronicle;
    for (const name of AGENTS) {
      const history = await this.agents[name].memory.getMemory();
      for (const fault of findHistoryFaults(history)) faults.push(`${name}: ${fault}`);
      for (const msg of history)
        if (/SECRET|CARD-DATA/.test(JSON.stringify(msg)) && msg.role !== 'user')
          faults.push(`${name} remembers ${JSON.stringify(msg.content)}`);
      if (this.agents[name].isRunning) faults.push(`${name} is still running`);
    }
    for (const [key, count] of this.#ran) if (count > 1) faults.push(`${key} ran ${count} times`);
    if (/SECRET|CARD-DATA/.test(this.#chronicle.saved)) faults.push('something raw was saved');
  }

  async #checkLoaded(): Promise<void> {
    const { told, asked, faults } = this.#chronicle;
    for (const name of AGENTS) {
      const ids = new Set((await this.agents[name].memory.getMemory()).map(({ id }) => id));
      for (const one of told)
        if (one.name === name && !ids.has(one.id)) faults.push(`${name} has lost ${one.text}`);
      const pending = new Set(this.agents[name].pendingCalls.map(({ id }) => id));
      for (const [id, owner] of asked)
        if (owner === name && !pending.has(id)) faults.push(`${name} has lost the question ${id}`);
    }
  }

  /** Hooks of a class that hide texts: of tool results, and of model messages. */
  #hookAll(Class: typeof ReActAgent | typeof TaskSubAgent, label: string): void {
    const { dice } = this.#chronicle;
    Class.registerClassHook('postActing', 'redact', async (_, { call }, result) => {
      this.#note(`${label} postActing ${call.id}`);
      await dice.wait(4);
      this.#counts.redacted++;
      return { ...result, output: JSON.stringify(result.output).replaceAll('CARD-DATA', '***') };
    });
    for (const type of ['postReasoning', 'postSummary'] as const)
      Class.registerClassHook(type, 'mask', async (_: ReActAgent, __: object, msg: Msg) => {
        await dice.wait(3);
        this.#counts.masked++;
        return masked(msg);
      });
    for (const type of ['preReply', 'postReply'] as const)
      Class.registerClassHook(type, 'count', (_: ReActAgent, { turn }: { turn: Turn }) =>
        this.#note(`${label} ${type} ${turn.replyId}`),
      );
  }

  #note(key: string): void {
    this.#ran.set(key, (this.#ran.get(key) ?? 0) + 1);
  }

  #make(Class: typeof ReActAgent, name: Name): ReActAgent {
    const chronicle = this.#chronicle;
    return new Class({
      name,
      model: new RandomModel(name, chronicle, ({ messages }) => {
        if (this.isDead) return;
        const own = messages.filter(({ role }) => role !== 'user');
        if (/SECRET|CARD-DATA/.test(JSON.stringify(own)))
          chronicle.faults.push(`the model of ${name} was told something raw`);
      }),
      tools: [this.#look(), this.#watch(), this.#pay()],
      permissionPolicy: {
        decide: ({ call }) => ({
          behavior: call.name === 'pay' ? chronicle.dice.pick(['ask', 'allow']) : 'allow',
        }),
      },
      parallelToolCalls: chronicle.dice.roll(2) === 0,
      maxIters: 4,
      console: false,
    });
  }

  #look() {
    const { dice } = this.#chronicle;
    return tool({
      name: 'look',
      schema: z.object({ key: z.string() }),
      execute: async ({ key }) => {
        this.#executed.add(key);
        await dice.wait(4);
        if (dice.roll(6) === 0) throw new Error('It is CARD-DATA and dark.');
        return `seen ${key} CARD-DATA`;
      },
    });
  }

  #watch() {
    const { dice } = this.#chronicle;
    return tool({
      name: 'watch',
      schema: z.object({ key: z.string() }),
      async *execute({ key }) {
        for (let n = 1; n < 4; n++) {
          yield `${key} ${n} CARD-DATA`;
          await dice.wait(6);
        }
      },
    });
  }

  #pay() {
    const chronicle = this.#chronicle;
    return tool({
      name: 'pay',
      sideEffect: true,
      schema: z.object({ key: z.string() }),
      execute: async ({ key }) => {
        if (this.isDead) return 'dead';
        if (chronicle.paid.includes(key)) chronicle.faults.push(`${key} was paid twice`);
        chronicle.paid.push(key);
        await chronicle.dice.wait(4);
        return `paid ${key} CARD-DATA`;
      },
    });
  }

  /** A view of the lasting store that takes some time, and refuses saves of a dead process. */
  #store(): SessionStore {
    const chronicle = this.#chronicle;
    const { store, dice } = chronicle;
    return {
      minGarbage: store.minGarbage,
      isPrivate: true,
      readHead: (...args) => store.readHead(...args),
      readItems: (...args) => store.readItems(...args),
      commit: async (key, commit) => {
        await dice.wait(4);
        if (this.isDead) throw new Error('The process is dead.');
        let text = JSON.stringify(commit.parts);
        const head: typeof commit.head = (positions) => {
          const made = commit.head(positions);
          text += made;
          return made;
        };
        await store.commit(key, { ...commit, head });
        chronicle.saved += text;
      },
      list: (...args) => store.list(...args),
      delete: (...args) => store.delete(...args),
      locationOf: (...args) => store.locationOf(...args),
      close: async () => {},
    };
  }

  #check(agent: ReActAgent, event: AgentEvent): void {
    if (this.isDead) return;
    const { faults, saved, told, asked } = this.#chronicle;
    const name = agent.name === 'ann' ? 'ann' : 'bob';
    if (event.type === 'tool_result') {
      const { result } = event;
      if (JSON.stringify(event).includes('CARD-DATA'))
        faults.push(`a raw result was told: ${JSON.stringify(event)}`);
      if (result.status === 'ok' && this.#executed.has(result.id)) {
        const expected = name === 'ann' ? ['own', 'Base', 'Loud'] : ['own', 'Base'];
        for (const label of expected)
          if (this.#ran.get(`${label} postActing ${result.id}`) !== 1)
            faults.push(
              `${label} postActing ran ${this.#ran.get(`${label} postActing ${result.id}`)} times for ${result.id}`,
            );
      }
    }
    if (event.type === 'approval_needed') {
      this.#counts.asked++;
      asked.set(event.pending.id, name);
      if (!saved.includes(event.pending.id))
        faults.push(`the question ${event.pending.id} was told before its save`);
    }
    if (event.type !== 'run_end') return;
    const { msg, status } = event;
    if (status === 'interrupted' || status === 'aborted') {
      const pending = new Set(agent.pendingCalls.map(({ id }) => id));
      for (const [id, owner] of asked) if (owner === name && !pending.has(id)) asked.delete(id);
    }
    if (msg === undefined || (status !== 'finished' && status !== 'interrupted') || msg.pending !== undefined)
      return;
    this.#counts.ended++;
    if (msg.endReason !== 'stopped' && !told.some(({ id }) => id === msg.id))
      told.push({ name, id: msg.id, text: msg.text, after: 0 });
    if (msg.endReason !== 'stopped' && !saved.includes(msg.id))
      faults.push(`the answer ${msg.text} was told before its save`);
    if (/SECRET|CARD-DATA/.test(JSON.stringify(msg))) faults.push(`the raw answer ${msg.text} was told`);
    if (status === 'finished' && msg.endReason === 'structured') {
      this.#counts.structured++;
      if (!Answer.safeParse(msg.structured).success)
        faults.push(`the structured answer is ${JSON.stringify(msg.metadata)}`);
    }
    if (status !== 'finished') return;
    for (const type of ['preReply', 'postReply'])
      if (this.#ran.get(`Base ${type} ${event.replyId}`) !== 1)
        faults.push(`Base ${type} did not run once for ${msg.text}`);
  }
}

test('hooks of classes keep every promise in random programs', { timeout: 1_700_000 }, async () => {
  const only = process.env['SEEDS']?.split(',').map(Number);
  const seeds =
    only ??
    Array.from({ length: sampleOf('random programs with hooks of classes', FULL, 25) }, (_, i) => i + 1);
  const counts = { ...NO_COUNTS };
  for (const seed of seeds) {
    const { faults, told } = await withRunConfig({ logging: 'silent' }, () => runProgram(seed, counts));
    expect({ seed, faults: [...new Set(faults)] }).toEqual({ seed, faults: [] });
    if (seed % 20 === 0) await expectSameProgram(seed, told);
  }
  if (only !== undefined) return;
  for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(seeds.length / 10);
});

/** A program that failed can be run again alone. */
async function expectSameProgram(seed: number, told: Chronicle['told']): Promise<void> {
  const again = await withRunConfig({ logging: 'silent' }, () => runProgram(seed, { ...NO_COUNTS }));
  const texts = (all: Chronicle['told']): string[] => all.map(({ text }) => text);
  expect({ seed, told: texts(again.told) }).toEqual({ seed, told: texts(told) });
}

async function runProgram(seed: number, counts: Counts): Promise<Chronicle> {
  const chronicle = new Chronicle(seed);
  const { dice } = chronicle;
  let program = await Program.start(seed, chronicle, counts);
  for (let step = 0; step < STEPS; step++) {
    const isAlive = await act(
      program,
      chronicle,
      dice.pick(['none', 'none', 'interrupt', 'abort', 'leave', 'kill']),
    );
    if (isAlive && dice.roll(6) > 0) await program.checkHistories();
    else {
      program.kill();
      program = await Program.start(seed, chronicle, counts);
    }
  }
  await finish(program, chronicle, counts);
  await program.checkHistories();
  program.kill();
  return chronicle;
}

/** The pipeline comes to its end, and each agent answers a plain call. */
async function finish({ pipeline, agents }: Program, chronicle: Chronicle, counts: Counts): Promise<void> {
  let round = 0;
  const isOpen = (): boolean => pipeline.stateDict()['progress'] !== null || pipeline.pendingCalls.length > 0;
  for (; isOpen() && round < MAX_ROUNDS; round++) {
    counts.resumed++;
    const [pending] = pipeline.pendingCalls;
    const owner = pending && Object.values(agents).find(({ pendingCalls }) => pendingCalls.includes(pending));
    const structured = round % 2 === 1 && { structuredModel: Answer }; // a reply is resumed as it was begun
    const options = { ...structured, decisions: owner === undefined ? [] : allow(owner, chronicle) };
    const target = round % 4 > 1 ? (owner ?? agents.ann) : pipeline; // some replies were begun by a call of the agent alone
    await target.call(undefined, options).catch((error: unknown) => checkError(error, chronicle));
  }
  if (round === MAX_ROUNDS) chronicle.faults.push('the pipeline does not come to its end');
  for (const agent of Object.values(agents)) {
    let answer: Msg | undefined;
    for (let n = 0; n < MAX_ROUNDS && answer === undefined; n++) {
      const msg = await agent
        .call(`Final ${n}`, { onPending: 'close' })
        .catch((error: unknown) => checkError(error, chronicle));
      for (const [id, owner] of chronicle.asked) if (owner === agent.name) chronicle.asked.delete(id);
      if (msg !== undefined && msg.pending === undefined) answer = msg;
    }
    if (answer === undefined) chronicle.faults.push(`${agent.name} does not answer any more`);
  }
}

function allow({ pendingCalls }: Pick<ReActAgent, 'pendingCalls'>, { asked }: Chronicle): PendingDecision[] {
  for (const { id } of pendingCalls) asked.delete(id);
  return pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }));
}

async function act(
  program: Program,
  chronicle: Chronicle,
  how: 'none' | 'interrupt' | 'abort' | 'leave' | 'kill',
): Promise<boolean> {
  const { dice, asked } = chronicle;
  const name = dice.pick(['ann', 'bob']);
  const agent = program.agents[name];
  const isPipeline = how !== 'leave' && dice.roll(3) > 0;
  const target = isPipeline ? program.pipeline : agent;
  const pending = target.pendingCalls;
  const abort = new AbortController();
  const decided =
    pending.length > 0 && dice.roll(4) > 0 ? pending.slice(0, 1 + dice.roll(pending.length)) : [];
  for (const { id } of decided) asked.delete(id);
  const options: CallOptions = {
    signal: abort.signal,
    decisions: decided.map(({ id }) =>
      dice.roll(3) === 0 ? { id, verdict: 'deny' } : { id, verdict: 'allow' },
    ),
    ...(dice.roll(4) === 0 && { structuredModel: Answer }),
    ...(dice.roll(5) === 0 && { onPending: 'close' as const }),
  };
  if (options.onPending === 'close') for (const { id } of pending) asked.delete(id);
  const input = decided.length === 0 && dice.roll(4) > 0 ? `Input ${chronicle.number()}` : undefined;
  let isSettled = false;
  const call = isPipeline
    ? program.pipeline.call(input, options)
    : how === 'leave'
      ? leave(agent, input, options, chronicle)
      : agent.call(input, options);
  const settled = Promise.resolve(call)
    .then(
      () => {},
      (error: unknown) => checkError(error, chronicle),
    )
    .then(() => void (isSettled = true));
  const late = dice.roll(2) === 0 ? program.hookLate() : undefined;
  if (how === 'interrupt' || how === 'abort' || how === 'kill') {
    for (let left = dice.roll(60); left > 0 && !isSettled; left--) await nextTurn();
    if (how === 'kill') {
      program.kill();
      abort.abort(new Error('killed'));
    } else if (how === 'abort') abort.abort(new Error('aborted by the caller'));
    else for (const one of Object.values(program.agents)) void one.interrupt('Stop.');
  }
  await settled;
  await late;
  return how !== 'kill';
}

async function leave(
  agent: ReActAgent,
  input: string | undefined,
  options: CallOptions,
  { dice }: Chronicle,
): Promise<void> {
  let left = dice.roll(40);
  for await (const _ of agent.stream(input, { ...options, capacity: dice.pick([1, 3, 64]) }))
    if (left-- <= 0) return;
}

function checkError(error: unknown, { faults }: Chronicle): undefined {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (
    !/killed|aborted by the caller|The model is gone|pending|give structured output|belongs to no agent/.test(
      text,
    )
  )
    faults.push(`rejected with ${text}`);
  return undefined;
}
