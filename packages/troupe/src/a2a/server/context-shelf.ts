import { A2AError } from '@a2a-js/sdk/errors';

import type { AgentBase } from '../../agent/agent-base.ts';
import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { Session } from '../../session/session.ts';
import { withDeadline } from '../../util/async/deadline.ts';
import { newId } from '../../util/ids.ts';
import { ContextKeeper, type A2AContext } from './context-keeper.ts';
import { ServedContext } from './served-context.ts';
import { ServedTask } from './served-task.ts';

/** An agent for all, or what makes one for each conversation. */
export type A2AAgentSource = AgentBase | ((context: A2AContext) => AgentBase | Promise<AgentBase>);

export interface ContextShelfOptions {
  readonly maxContexts: number;
  /** Where conversations are kept. */
  readonly session?: Session | undefined;
}

/** A task, and the conversation that it belongs to. */
export interface FoundTask {
  readonly task: ServedTask;
  readonly context: ServedContext;
}

/** A conversation, which may still be opening. */
interface ContextEntry {
  readonly user: string;
  readonly opening: Promise<ServedContext>;
  context: ServedContext | undefined;
}

/** How many tasks of one context are kept, and how many may wait there. */
const MAX_TASKS = 100;
/** How long it may take until all are closed. */
const CLOSE_MS = 10_000;
/** What the ids of sessions begin with. */
const SCOPE = 'a2a@';

/**
 * The conversations that are open, and their tasks. All that a user can name by an id is looked up among what is theirs.
 *
 * When there are too many, one makes room, with its tasks: of the user with the most, the one that was silent for the longest
 * time; one that is worked on never does. With a session nothing is lost by that: a conversation is opened again as it was.
 */
export class ContextShelf {
  readonly #source: A2AAgentSource;
  readonly #maxContexts: number;
  readonly #session: Session | undefined;
  /** By user and id. The ones at the front were silent for the longest time. */
  readonly #contexts = new Map<string, ContextEntry>();
  readonly #tasks = new Map<string, FoundTask>();
  #isClosed = false;

  constructor(source: A2AAgentSource, { maxContexts, session }: ContextShelfOptions) {
    this.#source = source;
    this.#maxContexts = maxContexts;
    this.#session = session?.scoped(SCOPE);
  }

  /** The tasks of a user that are here, or those of one conversation, which may be kept elsewhere. */
  async tasksOf(user: string, contextId: string): Promise<readonly ServedTask[]> {
    if (contextId !== '') {
      const context = await this.#reopen({ user, contextId });
      return [...(context?.tasks ?? [])].filter((task) => task.contextId === contextId);
    }
    const prefix = keyOf(user, '');
    return [...this.#tasks].filter(([key]) => key.startsWith(prefix)).map(([, { task }]) => task);
  }

  /** A task of a user, if there is one of that id. */
  async find(user: string, id: string): Promise<FoundTask | undefined> {
    const key = keyOf(user, id);
    const found = this.#tasks.get(key);
    if (found !== undefined && !isOld(found.context)) return found;
    const end = id.lastIndexOf('.');
    if (end > 0) await this.#reopen({ user, contextId: id.slice(0, end) });
    return this.#tasks.get(key);
  }

  /** A new task. @throws A2AError if there are too many. */
  async newTask(who: A2AContext): Promise<FoundTask> {
    let context = await this.#contextOf(who);
    while (context.isClosed) context = await this.#contextOf(who); // it had to make room meanwhile
    const open = [...context.tasks].filter((task) => !task.hasEnded);
    if (open.length >= MAX_TASKS) throw busy();
    for (const old of context.tasks) {
      if (context.tasks.size < MAX_TASKS) break;
      if (old.hasEnded) this.forget(who.user, { task: old, context });
    }
    // A task that is kept says by its id where it is.
    const id = this.#session === undefined ? newId() : `${who.contextId}.${newId()}`;
    const task = new ServedTask(who.contextId, id);
    context.tasks.add(task);
    this.#tasks.set(keyOf(who.user, id), { task, context });
    return { task, context };
  }

  forget(user: string, { task, context }: FoundTask): void {
    context.tasks.delete(task);
    this.#tasks.delete(keyOf(user, task.id));
  }

  /** Ends all work, and the agents that were made here. An agent that is never made, or a store that hangs, is not waited for in the end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const openings = [...this.#contexts.values()].map(({ opening }) => opening);
    this.#contexts.clear();
    this.#tasks.clear();
    const closings = openings.map(async (opening) => this.#closeContext(await opening));
    try {
      await withDeadline({ timeoutMs: CLOSE_MS, signal: undefined }, () => Promise.allSettled(closings));
    } catch {
      getLogger().log('error', `Conversations that are served were not closed within ${CLOSE_MS} ms.`);
    }
  }

  async #contextOf(who: A2AContext): Promise<ServedContext> {
    const key = this.#keyOf(who);
    for (;;) {
      const entry = this.#enter(key, who);
      const context = await entry.opening;
      if (this.#contexts.get(key) === entry && !isOld(context)) return context;
    }
  }

  /** A conversation that is here, or is kept. */
  async #reopen(who: A2AContext): Promise<ServedContext | undefined> {
    const isThere = this.#contexts.has(this.#keyOf(who)) || (await this.#keeperOf(who)?.exists()) === true;
    return isThere ? this.#contextOf(who) : undefined;
  }

  /** The conversation of that name, at the end of the line. A new one takes its place at once, so that there are never too many. */
  #enter(key: string, who: A2AContext): ContextEntry {
    if (this.#isClosed) throw new A2AError('The server is closed.');
    let entry = this.#contexts.get(key);
    let room: Promise<void> | undefined;
    if (entry?.context !== undefined && isOld(entry.context)) {
      room = this.#drop(key, entry.user, entry.context);
      entry = undefined;
    }
    if (entry === undefined) {
      room ??= this.#contexts.size < this.#maxContexts ? undefined : this.#makeRoom();
      entry = { user: who.user, opening: this.#open(who, room), context: undefined };
      this.#follow(key, entry);
    }
    this.#contexts.delete(key);
    this.#contexts.set(key, entry);
    return entry;
  }

  #follow(key: string, entry: ContextEntry): void {
    entry.opening.then(
      (context) => {
        if (this.#contexts.get(key) !== entry) return;
        entry.context = context;
        for (const task of context.tasks) this.#tasks.set(keyOf(entry.user, task.id), { task, context });
      },
      () => this.#contexts.get(key) === entry && this.#contexts.delete(key),
    );
  }

  async #open(who: A2AContext, room: Promise<void> | undefined): Promise<ServedContext> {
    await room;
    const isShared = typeof this.#source !== 'function';
    let agent: AgentBase | undefined;
    try {
      agent = typeof this.#source === 'function' ? await this.#source(who) : this.#source;
      return await ServedContext.open(agent, this.#keeperOf(who));
    } catch (error) {
      getLogger().log('error', `An agent to be served could not be made: ${messageOf(error)}`);
      if (!isShared) await agent?.[Symbol.asyncDispose]();
      throw new A2AError('The agent could not be made.'); // why is not the client's affair
    }
  }

  /** Forgets a conversation that is silent. @throws A2AError if none is. */
  #makeRoom(): Promise<void> {
    const counts = new Map<string, number>();
    for (const { user } of this.#contexts.values()) counts.set(user, (counts.get(user) ?? 0) + 1);
    let most = 0;
    let found: (() => Promise<void>) | undefined;
    for (const [key, { user, context }] of this.#contexts) {
      const count = counts.get(user) ?? 0;
      if (count <= most || context === undefined || context.isBusy) continue;
      most = count;
      found = () => this.#drop(key, user, context);
    }
    if (found === undefined) throw busy();
    return found();
  }

  #drop(key: string, user: string, context: ServedContext): Promise<void> {
    this.#contexts.delete(key);
    for (const task of context.tasks) this.#tasks.delete(keyOf(user, task.id));
    return this.#closeContext(context);
  }

  #closeContext(context: ServedContext): Promise<void> {
    return context.close(typeof this.#source === 'function');
  }

  #keeperOf({ user, contextId }: A2AContext): ContextKeeper | undefined {
    const isShared = typeof this.#source !== 'function';
    return this.#session && new ContextKeeper(this.#session, { user, contextId: isShared ? '' : contextId });
  }

  #keyOf({ user, contextId }: A2AContext): string {
    return typeof this.#source === 'function' ? keyOf(user, contextId) : '';
  }
}

/** Whether it has gone on elsewhere, and nothing happens here. */
function isOld(context: ServedContext): boolean {
  return context.isOutdated && !context.isBusy;
}

/** No user can have a key of another: the user is in it, and marked off. */
export function keyOf(user: string, id: string): string {
  return `${JSON.stringify(user)} ${id}`;
}

function busy(): A2AError {
  return new A2AError('The server is busy. Try again later.');
}
