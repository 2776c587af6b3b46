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
  /** How many events may wait to be read before the agents wait. @default 64 */
  readonly capacity?: number;
}

/** What lives from a start to the stop. */
interface Session {
  readonly hub: MsgHub;
  readonly events: BoundedQueue<AgentEvent>;
  readonly controller: AbortController;
  readonly answers: Set<Promise<unknown>>;
  stopped?: Promise<void>;
}

/**
 * A room in which people and agents talk: every agent answers what comes in, and
 * hears what the others answer, but never itself.
 *
 * All that the agents do comes out as one stream of events, which tell by their `agentPath`
 * whose they are. Agents wait while nobody reads it; leaving it stops the room.
 */
export class ChatRoom implements AsyncDisposable {
  readonly agents: readonly AgentBase[];
  readonly #capacity: number;
  #session: Session | undefined;

  constructor(agents: readonly AgentBase[], { capacity = 64 }: ChatRoomOptions = {}) {
    this.agents = [...new Set(agents)];
    this.#capacity = capacity;
  }

  /**
   * Opens the room. A room that was stopped can be started again.
   * @throws TroupeError if it is open.
   */
  start(): AsyncGenerator<AgentEvent, void, void> {
    if (this.#session !== undefined) throw new TroupeError('invalid_input', 'The chat room is already open.');
    const session: Session = {
      hub: new MsgHub({ participants: this.agents }),
      events: new BoundedQueue(this.#capacity),
      controller: new AbortController(),
      answers: new Set(),
    };
    void session.hub.open(); // with nothing to announce it is open at once
    this.#session = session;
    return notifyOnReturn(this.#read(session), () => void this.#stop(session));
  }

  /**
   * Gives the input to every agent; an agent that is busy answers it afterwards. Resolves when all have
   * answered. An agent that fails does not disturb the others: its run ends in the stream as failed. One whose calls are
   * pending hears the input, and can answer once somebody has decided.
   * @throws TroupeError if the room is closed.
   */
  async handleInput(input: MsgInput): Promise<void> {
    const session = this.#session;
    if (session === undefined || session.stopped !== undefined) {
      throw new TroupeError('invalid_input', 'The chat room is closed. Call start() first.');
    }
    const msgs = Msg.list(input);
    const answers = Promise.all(this.agents.map((agent) => answer(agent, msgs, session)));
    session.answers.add(answers);
    await answers.finally(() => session.answers.delete(answers));
  }

  /** Interrupts the agents, lets nobody hear anybody any more, and ends the stream. */
  async stop(): Promise<void> {
    if (this.#session !== undefined) await this.#stop(this.#session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async *#read(session: Session): AsyncGenerator<AgentEvent, void, void> {
    try {
      yield* session.events;
    } finally {
      await this.#stop(session);
    }
  }

  #stop(session: Session): Promise<void> {
    return (session.stopped ??= this.#end(session));
  }

  async #end({ hub, events, controller, answers }: Session): Promise<void> {
    events.liftCapacity();
    const work = { done: Promise.all(answers), agents: this.agents, controller };
    await stopAgents(work, new InterruptedError('The chat room', 'user'));
    await hub.close();
    events.close();
    this.#session = undefined;
  }
}

async function answer(
  agent: AgentBase,
  msgs: readonly Msg[],
  { events, controller }: Session,
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
    if (TroupeError.isInstance(error) && error.code === 'pending_calls') await hear(agent, msgs);
  }
}

/** An agent that waits for a decision answers later, and knows by then what was said. */
async function hear(agent: AgentBase, msgs: readonly Msg[]): Promise<void> {
  try {
    await agent.observe(msgs);
  } catch (error) {
    getLogger().log('warn', `${agent.name} did not hear what was said: ${messageOf(error)}`);
  }
}
