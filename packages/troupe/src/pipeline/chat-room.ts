import type { AgentBase } from '../agent/agent-base.ts';
import { getLogger } from '../config/run-config.ts';
import { InterruptedError, messageOf, TroupeError } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { BoundedQueue } from '../util/async/bounded-queue.ts';
import { notifyOnReturn } from '../util/async/notify-on-return.ts';
import { MsgHub } from './msg-hub.ts';
import { stopAgents } from './stop-agents.ts';

export interface ChatRoomOptions {
  /** Maximum unread events before the agents wait. @default 64 */
  readonly capacity?: number;
}

/** State between `start` and `stop`. */
interface OpenRoom {
  readonly hub: MsgHub;
  readonly events: BoundedQueue<AgentEvent>;
  readonly controller: AbortController;
  readonly answers: Set<Promise<unknown>>;
  stopped?: Promise<void>;
}

/**
 * Chat of people and agents: every agent answers each input, and observes the answers of the other agents.
 *
 * All agents share one stream of events; `agentPath` tells the agent. Agents wait while nobody reads the
 * stream; leaving the stream stops the room.
 */
export class ChatRoom implements AsyncDisposable {
  readonly agents: readonly AgentBase[];
  readonly #capacity: number;
  #room: OpenRoom | undefined;

  constructor(agents: readonly AgentBase[], { capacity = 64 }: ChatRoomOptions = {}) {
    this.agents = [...new Set(agents)];
    this.#capacity = capacity;
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
   * Calls every agent with the input; a busy agent queues the call. Resolves when all agents have answered. A
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
    const answers = Promise.all(this.agents.map((agent) => answer(agent, msgs, room)));
    room.answers.add(answers);
    await answers.finally(() => room.answers.delete(answers));
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
    const work = { done: Promise.all(answers), agents: this.agents, controller };
    await stopAgents(work, new InterruptedError('The chat room', 'user'));
    await hub.close();
    events.close();
    this.#room = undefined;
  }
}

async function answer(
  agent: AgentBase,
  msgs: readonly Msg[],
  { events, controller }: OpenRoom,
): Promise<void> {
  const { signal } = controller;
  try {
    for await (const event of agent.stream(msgs, { onBusy: 'queue', signal })) {
      const waits = events.put(event);
      if (waits) await waits;
    }
  } catch (error) {
    if (signal.aborted) return;
    getLogger().log('warn', `${agent.name} failed in the chat room: ${messageOf(error)}`);
    if (TroupeError.isInstance(error) && error.code === 'pending_calls') await observeInput(agent, msgs);
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
