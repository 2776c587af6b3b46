import { randomUUID } from 'node:crypto';

import { SessionManager, type CallOptions, type ReActAgent, type Session } from 'troupe';
import type { ConversationState } from 'troupe/events';

/** Maximum conversations of one server. */
const MAX_CONVERSATIONS = 1000;

/** An agent with its session, which keeps messages and pending tool calls. */
export class Conversation {
  readonly #agent: ReActAgent;
  readonly #session: SessionManager;
  /** Resolves when no run is left. */
  #idle: Promise<unknown> = Promise.resolve();

  constructor(agent: ReActAgent, session: SessionManager) {
    this.#agent = agent;
    this.#session = session;
    session.autoSave(); // after each run, and before a postcard is sent
  }

  /**
   * Starts a run, or resumes a suspended one, and sends its events. A reader that leaves interrupts the run.
   * @throws TroupeError with `isRefusal` if the agent refuses; nothing is sent then
   */
  async run(
    input: string | undefined,
    options: CallOptions,
    send: (events: Response) => Promise<void>,
  ): Promise<void> {
    const stream = this.#agent.stream(input, options);
    const run = async (): Promise<void> => {
      try {
        await stream.started; // rejects if the agent is busy or waits for a decision
        await send(stream.toResponse());
      } finally {
        await stream.return(); // waits until the agent is free
      }
    };
    const over = run();
    this.#idle = Promise.allSettled([this.#idle, over]).then(() => {});
    await over;
  }

  /** The conversation for a page that was loaded again. Waits for the end of a run. */
  async state(): Promise<ConversationState> {
    await this.#idle;
    const pending = this.#agent.pendingCalls;
    const status = pending.length > 0 ? 'suspended' : 'idle';
    return { messages: await this.#agent.memory.getMemory(), pending, status };
  }

  async close(): Promise<void> {
    await this.#agent.interrupt();
    await this.#session[Symbol.asyncDispose](); // saves what is left
  }
}

/** All conversations, each with an id that nobody can guess. Those of an earlier process are loaded when they are asked for. */
export class Conversations {
  readonly #store: Session;
  readonly #makeAgent: () => ReActAgent;
  readonly #open = new Map<string, Promise<Conversation | undefined>>();

  constructor(store: Session, makeAgent: () => ReActAgent) {
    this.#store = store;
    this.#makeAgent = makeAgent;
  }

  /** The id of a new conversation; undefined if there are too many. */
  async create(): Promise<string | undefined> {
    if (this.#open.size >= MAX_CONVERSATIONS) return undefined;
    const id = randomUUID();
    const { agent, session } = this.#prepare(id);
    await session.saveSession();
    this.#open.set(id, Promise.resolve(new Conversation(agent, session)));
    return id;
  }

  async find(id: string): Promise<Conversation | undefined> {
    let found = this.#open.get(id);
    if (found === undefined && this.#open.size < MAX_CONVERSATIONS) {
      found = this.#load(id);
      this.#open.set(id, found); // two requests at once get the same agent
    }
    const conversation = await found;
    if (conversation === undefined) this.#open.delete(id);
    return conversation;
  }

  async close(): Promise<void> {
    for (const found of this.#open.values()) await (await found)?.close();
  }

  async #load(id: string): Promise<Conversation | undefined> {
    const { agent, session } = this.#prepare(id);
    return (await session.loadIfExists()) ? new Conversation(agent, session) : undefined;
  }

  #prepare(id: string): { agent: ReActAgent; session: SessionManager } {
    const agent = this.#makeAgent();
    const session = SessionManager.forSessionId(id).withSession(this.#store).addComponent(agent);
    return { agent, session };
  }
}
