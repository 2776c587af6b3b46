import type { AgentBase } from '../agent/agent-base.ts';
import { getLogger } from '../config/run-config.ts';
import { InterruptedError, messageOf, TroupeError } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { whenAborted } from '../util/abort.ts';
import { BoundedQueue } from '../util/async/bounded-queue.ts';
import { notifyOnReturn } from '../util/async/stoppable.ts';
import { checkAgents } from './check-agents.ts';
import { MsgHub } from './msg-hub.ts';
import { stopAllAgents } from './stop-all-agents.ts';

export interface ChatRoomOptions {
  /** Maximum unread events before the agents wait. @default 64 */
  readonly capacity?: number;
}

/** State between `start` and `stop`. */
interface OpenRoom {
  readonly hub: MsgHub;
  readonly events: BoundedQueue<AgentEvent>;
  readonly controller: AbortController;
  readonly answers: Set<RoomAnswer>;
  stopped?: Promise<void>;
}

/**
 * Chat of people and agents: every agent answers each input, and observes the answers of the other agents.
 *
 * All agents share one stream of events; `agentPath` tells the agent. Agents wait while nobody reads the
 * stream; leaving the stream stops the room. Agents may join and leave at any time.
 */
export class ChatRoom implements AsyncDisposable {
  #agents: readonly AgentBase[];
  readonly #capacity: number;
  #room: OpenRoom | undefined;

  constructor(agents: readonly AgentBase[], { capacity = 64 }: ChatRoomOptions = {}) {
    this.#agents = [...new Set(checkAgents('A ChatRoom', agents))];
    this.#capacity = capacity;
  }

  get agents(): readonly AgentBase[] {
    return this.#agents;
  }

  /** Adds agents, which answer and observe from then on. Agents that are in the room already are unaffected. */
  join(agents: AgentBase | readonly AgentBase[]): void {
    const joining = [agents].flat();
    this.#agents = [...new Set([...this.#agents, ...joining])];
    this.#room?.hub.add(joining);
  }

  /**
   * Removes agents. A leaving agent observes nothing more, and neither the other agents nor the stream get its running reply, which
   * goes on by itself: `agent.interrupt()` stops it. Inputs that it has not begun to answer are dropped. Its pending tool calls stay
   * pending. An unknown agent only causes a warning.
   */
  leave(agents: AgentBase | readonly AgentBase[]): void {
    const leaving = new Set([agents].flat());
    for (const { name } of [...leaving].filter((agent) => !this.#agents.includes(agent)))
      getLogger().log('warn', `${name} can't leave the chat room: it is not in it.`);
    const present = this.#agents.filter((agent) => leaving.has(agent));
    this.#agents = this.#agents.filter((agent) => !leaving.has(agent));
    this.#room?.hub.delete(present);
    for (const answer of this.#room?.answers ?? []) if (leaving.has(answer.agent)) answer.leave();
  }

  /**
   * Opens the room. A stopped room can be started again.
   * @throws TroupeError if the room is open.
   */
  start(): AsyncGenerator<AgentEvent, void, void> {
    if (this.#room !== undefined) throw new TroupeError('invalid_input', 'The chat room is already open.');
    const room: OpenRoom = {
      hub: new MsgHub({ participants: this.agents }),
      events: new BoundedQueue(this.#capacity),
      controller: new AbortController(),
      answers: new Set(),
    };
    void room.hub.open(); // opens synchronously without an announcement
    this.#room = room;
    return notifyOnReturn(this.#read(room), () => void this.#stop(room));
  }

  /**
   * Calls every agent with the input; a busy agent queues the call. Resolves when all agents have answered or left. A
   * failing agent does not affect the others: its run ends as failed in the stream. An agent with pending
   * tool calls observes the input, and can answer after the decisions.
   * @throws TroupeError if the room is closed.
   */
  async handleInput(input: MsgInput): Promise<void> {
    const room = this.#room;
    if (room === undefined || room.stopped !== undefined) {
      throw new TroupeError('invalid_input', 'The chat room is closed. Call start() first.');
    }
    const msgs = Msg.list(input);
    const answers = this.#agents.map((agent) => new RoomAnswer(agent, msgs, room));
    for (const answer of answers) room.answers.add(answer);
    await Promise.all(answers.map(({ done }) => done));
  }

  /** Interrupts the agents, ends their subscriptions, and ends the stream. */
  async stop(): Promise<void> {
    if (this.#room !== undefined) await this.#stop(this.#room);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async *#read(room: OpenRoom): AsyncGenerator<AgentEvent, void, void> {
    try {
      yield* room.events;
    } finally {
      await this.#stop(room);
    }
  }

  #stop(room: OpenRoom): Promise<void> {
    return (room.stopped ??= this.#end(room));
  }

  async #end({ hub, events, controller, answers }: OpenRoom): Promise<void> {
    events.liftCapacity();
    const done = Promise.all(Array.from(answers, (answer) => answer.done));
    const work = { done, agents: this.#agents, controller };
    await stopAllAgents(work, new InterruptedError('The chat room', 'user'));
    await hub.close();
    events.close();
    this.#room = undefined;
  }
}

/** Answer of one agent to an input. */
class RoomAnswer {
  readonly agent: AgentBase;
  /** Resolves when the agent has answered or left. */
  readonly done: Promise<void>;
  readonly #room: OpenRoom;
  readonly #controller = new AbortController();
  readonly #unlink: () => void;
  readonly #whenLeft = Promise.withResolvers<void>();
  #hasBegun = false;
  #hasLeft = false;

  constructor(agent: AgentBase, msgs: readonly Msg[], room: OpenRoom) {
    this.agent = agent;
    this.#room = room;
    this.#unlink = whenAborted(room.controller.signal, (reason) => this.#controller.abort(reason));
    this.done = Promise.race([this.#answer(msgs), this.#whenLeft.promise]).finally(() => {
      this.#unlink();
      room.answers.delete(this);
    });
  }

  /** Takes the answer out of the room. A reply that has begun goes on by itself. */
  leave(): void {
    this.#hasLeft = true;
    this.#unlink();
    if (!this.#hasBegun) this.#controller.abort(new InterruptedError(this.agent.name, 'user'));
    this.#whenLeft.resolve();
  }

  async #answer(msgs: readonly Msg[]): Promise<void> {
    const { agent } = this;
    const { signal } = this.#controller;
    try {
      for await (const event of agent.stream(msgs, { onBusy: 'queue', signal })) {
        this.#hasBegun = true;
        const waits = this.#hasLeft ? undefined : this.#room.events.put(event);
        if (waits) await Promise.race([waits, this.#whenLeft.promise]);
      }
    } catch (error) {
      if (signal.aborted) return;
      getLogger().log('warn', `${agent.name} failed in the chat room: ${messageOf(error)}`);
      const isPending = TroupeError.isInstance(error) && error.code === 'pending_calls';
      if (isPending && !this.#hasLeft) await observeInput(agent, msgs);
    }
  }
}

/**
 * Adds the input to the memory of an agent with pending tool calls, so that a later answer takes it into
 * account.
 */
async function observeInput(agent: AgentBase, msgs: readonly Msg[]): Promise<void> {
  try {
    await agent.observe(msgs);
  } catch (error) {
    getLogger().log('warn', `${agent.name} could not observe the input: ${messageOf(error)}`);
  }
}
