// A team for random programs: three agents in a hub, two of them in a pipeline, with approvals, questions, a sub-agent, hooks of
// both levels, speech, long-term memories and autosave over a store that outlives the "process". Each broken promise is written down as a fault.
import { z } from 'zod';

import { askUserTool } from '../src/entries/ask-user.ts';
import {
  FanoutPipeline,
  MsgHub,
  ReActAgent,
  registerSubAgent,
  SequentialPipeline,
  SessionManager,
  stopAgent,
  TaskSubAgent,
  tool,
  type AgentEvent,
  type Msg,
} from '../src/index.ts';
import type { ModelRequest } from '../src/model/chat-model-base.ts';
import type { SessionStore } from '../src/session/format/session-store.ts';
import { SimpleLongTermMemory } from '../src/longterm/simple-long-term-memory.ts';
import { Session } from '../src/session/session.ts';
import { ToneTtsModel } from '../src/testing/voice/tone-tts-model.ts';
import type { VectorStoreBase } from '../src/vector/vector-store-base.ts';
import { NAMES, nextTurn, RandomModel, type Chronicle, type Name } from './random-model.ts';

/** Turns of the event loop after which every observer has taken in what it was told. */
const TURNS_UNTIL_HEARD = 20;

/** One "process": agents made from the chronicle's store. */
export class Team {
  isDead = false;
  readonly agents: ReadonlyMap<Name, ReActAgent>;
  readonly pipeline: SequentialPipeline | FanoutPipeline;
  readonly manager: SessionManager;
  readonly hub: MsgHub;
  readonly #longTermMemory: SimpleLongTermMemory;
  /** Writes of the long-term memory under way. */
  #records = 0;
  readonly #chronicle: Chronicle;
  readonly #Member: typeof ReActAgent;
  /** Number of told answers when the current call of each agent began. */
  readonly #heardFrom = new Map<Name, number>();
  readonly #hookCounts = new Map<string, number>();
  readonly #ended = new Set<string>();
  readonly #abort = new AbortController();

  private constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle;
    const { dice } = chronicle;
    class Member extends ReActAgent {}
    this.#longTermMemory = new SimpleLongTermMemory({
      agentId: 'cat',
      store: this.#notes(),
      isBackground: dice.roll(2) === 0,
    });
    this.#Member = Member;
    this.agents = new Map(NAMES.map((name) => [name, this.#makeAgent(Member, name)]));
    this.#hook('class', (type, hook) => Member.registerClassHook(type, 'note', hook));
    for (const agent of this.agents.values()) {
      this.#hook('instance', (type, hook) => agent.registerInstanceHook(type, 'note', hook));
      agent.registerInstanceHook('postReply', 'redact', async (_, __, msg) => {
        this.#noteSaid(agent, msg);
        await dice.wait(3);
        return msg.with({ content: redacted(msg) });
      });
      agent.registerInstanceHook('preObserve', 'slow', () => dice.wait(4));
      agent.registerInstanceHook('postReasoning', 'stop', () =>
        dice.roll(40) === 0 ? stopAgent() : undefined,
      );
      agent.registerInstanceHook('postActing', 'stop', () =>
        dice.roll(40) === 0 ? stopAgent(`stop-${chronicle.number()}`) : undefined,
      );
      agent.on('*', (event) => this.#note(agent, event));
    }
    const members = [this.agent('ann'), this.agent('bob')];
    this.pipeline = dice.roll(2) === 0 ? new SequentialPipeline(members) : new FanoutPipeline(members);
    this.manager = SessionManager.forSessionId('team')
      .withSession(new Session(this.#store()))
      .addComponent('ann', this.agent('ann'))
      .addComponent('bob', this.agent('bob'))
      .addComponent('cat', this.agent('cat'));
    this.hub = new MsgHub({ participants: [...this.agents.values()], name: 'hub' });
  }

  static async start(chronicle: Chronicle): Promise<Team> {
    const team = new Team(chronicle);
    const spec = {
      name: 'helper',
      description: 'Helps.',
      modelOverride: new RandomModel('helper', chronicle),
      tools: [team.#pay()],
    };
    await registerSubAgent(team.agent('ann'), TaskSubAgent, spec);
    await team.manager.loadIfExists();
    team.manager.autoSave();
    await team.hub.open();
    await team.#checkLoaded();
    return team;
  }

  agent(name: Name): ReActAgent {
    const agent = this.agents.get(name);
    if (agent === undefined) throw new Error(`There is no ${name}.`);
    return agent;
  }

  /** Notes that a call begins: its model calls have to know what was told before. */
  begin(...names: readonly Name[]): void {
    for (const name of names) this.#heardFrom.set(name, this.#chronicle.told.length);
  }

  /** Ends the "process": nothing has an effect from now on. */
  async kill(): Promise<void> {
    if (!this.isDead)
      for (const [name, agent] of this.agents)
        this.#chronicle.orders.set(
          name,
          (await agent.memory.getMemory()).map(({ id }) => id),
        );
    this.isDead = true;
    this.#abort.abort(new Error('killed'));
    for (const agent of this.agents.values()) void agent.interrupt();
    await this.hub.close();
  }

  /** Ends the "process" in order: the next one finds the same histories and pending tool calls. */
  async end(): Promise<void> {
    const { counts, faults, left } = this.#chronicle;
    counts.ends++;
    for (const agent of this.agents.values()) await agent[Symbol.asyncDispose]();
    await this.#longTermMemory[Symbol.asyncDispose]();
    if (this.#records > 0) faults.push('the long-term memory was still writing after its disposal');
    await this.manager[Symbol.asyncDispose]();
    for (const [name, agent] of this.agents) left.set(name, await stateOf(agent));
    await this.kill();
  }

  /** Registers a hook, a listener or a queue at a random moment of a call, and removes it later. */
  async hookLate(name: Name): Promise<void> {
    const { dice } = this.#chronicle;
    const agent = this.agent(name);
    await dice.wait(20);
    const slow = (): Promise<void> => dice.wait(2);
    const remove = dice.pick([
      () => agent.registerInstanceHook('prePrint', 'late', slow),
      () => agent.registerInstanceHook('reasoningChunk', 'late', slow),
      () => this.#Member.registerClassHook('prePrint', 'late', slow),
      () => agent.on('text_delta', () => {}),
    ])();
    await dice.wait(20);
    remove();
  }

  /** Adds faults of histories. */
  async check(): Promise<void> {
    const { faults, told, dice } = this.#chronicle;
    const isCalm = dice.roll(2) === 0;
    if (isCalm) for (let turn = 0; turn < TURNS_UNTIL_HEARD; turn++) await nextTurn(); // observers of a stopped agent hear it a little later
    for (const [name, agent] of this.agents) {
      const history = await agent.memory.getMemory();
      if (isCalm) this.#checkOrder(name, told, history, 'has not heard');
      for (const msg of history) {
        const isAnother = msg.name !== name && msg.role === 'assistant';
        if (isAnother && msg.text.includes('SECRET')) faults.push(`${name} heard the raw answer ${msg.text}`);
      }
      const others = told.filter((one) => one.name !== name).map(({ id }) => id);
      const heard = history.map(({ id }) => id).filter((id) => others.includes(id));
      if (new Set(heard).size !== heard.length) faults.push(`${name} has heard something twice`);
    }
    for (const [key, count] of this.#hookCounts)
      if (count > 1) faults.push(`the hook ${key} ran ${count} times`);
  }

  async #checkLoaded(): Promise<void> {
    const { told, asked, faults, left } = this.#chronicle;
    for (const [name, agent] of this.agents) {
      const before = left.get(name);
      left.delete(name);
      if (before !== undefined && before !== (await stateOf(agent)))
        faults.push(`${name} is not what it was before the restart in order`);
      const loaded = (await agent.memory.getMemory()).map(({ id }) => id);
      const ids = new Set(loaded);
      const order = (this.#chronicle.orders.get(name) ?? loaded).filter((id) => ids.has(id));
      const known = new Set(order);
      if (order.join() !== loaded.filter((id) => known.has(id)).join())
        faults.push(`${name} has another order after the restart`);
      for (const one of told)
        if (!ids.has(one.id)) faults.push(`${name} has lost ${one.text} of ${one.name} by the restart`);
      const pending = new Set(agent.pendingCalls.map(({ id }) => id));
      for (const [id, owner] of asked)
        if (owner === name && !pending.has(id)) faults.push(`${name} has lost the question ${id}`);
    }
  }

  #makeAgent(Class: typeof ReActAgent, name: Name): ReActAgent {
    const chronicle = this.#chronicle;
    const look = tool({
      name: 'look',
      schema: z.object({ key: z.string() }),
      execute: async ({ key }) => {
        await chronicle.dice.wait(4);
        if (chronicle.dice.roll(6) === 0) throw new Error('It is dark.');
        return `seen ${key}`;
      },
    });
    return new Class({
      name,
      model: new RandomModel(name, chronicle, (request) => this.#checkHeard(name, request)),
      tools: [look, this.#pay(), askUserTool()],
      permissionPolicy: {
        decide: ({ call }) => ({
          behavior: call.name === 'pay' ? chronicle.dice.pick(['ask', 'allow']) : 'allow',
        }),
      },
      parallelToolCalls: chronicle.dice.roll(2) === 0,
      maxIters: 4,
      console: false,
      ...(name === 'bob' && { ttsModel: this.#voice() }),
      ...(name === 'cat' && { longTermMemory: this.#longTermMemory, longTermMemoryMode: 'static_control' }),
    });
  }

  #voice(): ToneTtsModel {
    const { dice, counts } = this.#chronicle;
    return new ToneTtsModel({
      takesTextStream: dice.roll(2) === 0,
      onText: async () => {
        counts.spoken++;
        await dice.wait(3);
        if (dice.roll(10) === 0) throw new Error('no voice');
      },
    });
  }

  /** A view of the lasting notes that takes some time, fails at times, and takes nothing of a dead process. */
  #notes(): VectorStoreBase {
    const { notes, dice, counts } = this.#chronicle;
    const upsert: VectorStoreBase['upsert'] = async (...args) => {
      this.#records++;
      try {
        await dice.wait(6);
        if (this.isDead || dice.roll(10) === 0) throw new Error('no disk');
        counts.recorded++;
        await notes.upsert(...args);
      } finally {
        this.#records--;
      }
    };
    return new Proxy(notes, {
      get: (target, key) => {
        if (key === 'upsert') return upsert;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
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
        return `paid ${key}`;
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

  #hook(
    level: string,
    register: (
      type: 'preReply' | 'postReply',
      hook: (agent: ReActAgent, args: { turn: { replyId: string } }) => Promise<void>,
    ) => void,
  ): void {
    for (const type of ['preReply', 'postReply'] as const) {
      register(type, async (_, { turn }) => {
        this.#chronicle.counts.hooks++;
        const key = `${level} ${type} ${turn.replyId}`;
        this.#hookCounts.set(key, (this.#hookCounts.get(key) ?? 0) + 1);
        await this.#chronicle.dice.wait(2);
      });
    }
  }

  #checkHeard(name: Name, { messages }: ModelRequest): void {
    if (this.isDead) return;
    const told = this.#chronicle.told.slice(0, this.#heardFrom.get(name) ?? 0);
    this.#checkOrder(name, told, messages, 'was asked before it had heard');
  }

  /** Adds faults where an agent lacks an answer of another one, or has two of them in the wrong order. */
  #checkOrder(name: Name, told: Chronicle['told'], msgs: readonly Msg[], lacks: string): void {
    const { faults } = this.#chronicle;
    const ids = msgs.map(({ id }) => id);
    const heard: (readonly [number, number])[] = [];
    for (const [i, one] of told.entries()) {
      if (one.name === name) continue;
      const place = ids.indexOf(one.id);
      if (place === -1) faults.push(`${name} ${lacks} ${one.text}`);
      else if (heard.some(([earlier, at]) => earlier < one.after && at > place))
        faults.push(`${name} has heard ${one.text} before what was said earlier`);
      heard.push([i, place]);
    }
  }

  /** The first answer of a run with a follow-up is in no `run_end`, but a later retry of its input returns it. */
  #noteSaid(agent: ReActAgent, { id }: Msg): void {
    const { said } = this.#chronicle;
    const name = nameOf(agent);
    if (!this.isDead && !said.has(id)) said.set(id, this.#heardFrom.get(name) ?? 0);
  }

  #forgetClosed(agent: ReActAgent): void {
    const { asked } = this.#chronicle;
    const pending = new Set(agent.pendingCalls.map(({ id }) => id));
    for (const [id, owner] of asked) if (owner === nameOf(agent) && !pending.has(id)) asked.delete(id);
  }

  #note(agent: ReActAgent, event: AgentEvent): void {
    if (this.isDead) return;
    const { faults, saved, asked, said, told, counts } = this.#chronicle;
    const name = nameOf(agent);
    if (this.#ended.has(event.runId)) faults.push(`${event.type} of ${name} came after the end of its run`);
    if (event.type === 'approval_needed') {
      counts.asked++;
      asked.set(event.pending.id, name);
      if (!saved.includes(event.pending.id))
        faults.push(`the question ${event.pending.id} was told before its save`);
    }
    if (event.type !== 'run_end') return;
    counts.runs++;
    this.#ended.add(event.runId);
    const { msg, status } = event;
    if (status === 'interrupted' || status === 'aborted') this.#forgetClosed(agent); // both close pending tool calls
    if (msg === undefined || (status !== 'finished' && status !== 'interrupted')) return;
    if (msg.pending !== undefined && msg.pending.length > 0) return;
    counts.told++;
    if (status === 'interrupted') counts.stopped++;
    const isRepeated = told.some(({ id }) => id === msg.id); // by a call with `isRetry`
    if (!isRepeated)
      told.push({
        name,
        id: msg.id,
        text: msg.text,
        after: said.get(msg.id) ?? this.#heardFrom.get(name) ?? 0,
      });
    if (!saved.includes(msg.id)) faults.push(`the answer ${msg.text} was told before its save`);
    if (msg.text.includes('SECRET')) faults.push(`the raw answer ${msg.text} was told, ${status}`);
    if (status !== 'finished') return;
    for (const key of ['instance preReply', 'class preReply', 'instance postReply', 'class postReply'])
      if (this.#hookCounts.get(`${key} ${event.replyId}`) !== 1)
        faults.push(
          `${key} ran ${this.#hookCounts.get(`${key} ${event.replyId}`) ?? 0} times for ${msg.text}`,
        );
  }
}

function nameOf({ name }: ReActAgent): Name {
  return NAMES.find((one) => one === name) ?? 'ann';
}

/** History and pending tool calls, as another process has to find them. */
async function stateOf(agent: ReActAgent): Promise<string> {
  return JSON.stringify([await agent.memory.getMemory(), agent.pendingCalls]);
}

function redacted(msg: Msg): Msg['content'] {
  if (typeof msg.content === 'string') return msg.content.replaceAll('SECRET', '***');
  return msg.content.map((block) =>
    block.type === 'text' ? { ...block, text: block.text.replaceAll('SECRET', '***') } : block,
  );
}
