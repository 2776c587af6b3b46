import type { A2AError } from '@a2a-js/sdk/errors';

import type { AgentBase } from '../../agent/agent-base.ts';
import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { Session } from '../../session/session.ts';
import { withDeadline } from '../../util/async/deadline.ts';
import { newId } from '../../util/ids.ts';
import { a2aErrors } from '../protocol/sdk.ts';
import { SavedContext, type A2AContext } from './saved-context.ts';
import { ServedContext } from './served-context.ts';
import { ServedTask } from './served-task.ts';

/** One agent for all conversations, or a function that makes an agent for each. */
export type A2AAgentSource = AgentBase | ((context: A2AContext) => AgentBase | Promise<AgentBase>);

export interface OpenContextsOptions {
  readonly maxContexts: number;
  /** Store of conversations. */
  readonly session?: Session | undefined;
}

/** Task and its conversation. */
export interface FoundTask {
  readonly task: ServedTask;
  readonly context: ServedContext;
}

/** Conversation, open or still opening. */
interface ContextEntry {
  readonly user: string;
  readonly opening: Promise<ServedContext>;
  context: ServedContext | undefined;
}

/** Maximum tasks of a context, ended and open. */
const MAX_TASKS = 100;
/** Time limit of closing all conversations. */
const CLOSE_MS = 10_000;
/** Prefix of session ids. */
const SCOPE = 'a2a@';

/**
 * Open conversations and their tasks. Ids are looked up among the user's own.
 *
 * Beyond `maxContexts` one idle conversation is closed with its tasks: the least recently used one of the
 * user with the most. A busy conversation is never closed. With a session nothing is lost: the conversation
 * is opened again from its saved state.
 */
export class OpenContexts {
  readonly #source: A2AAgentSource;
  readonly #maxContexts: number;
  readonly #session: Session | undefined;
  /** By user and id, least recently used first. */
  readonly #contexts = new Map<string, ContextEntry>();
  readonly #tasks = new Map<string, FoundTask>();
  #isClosed = false;

  constructor(source: A2AAgentSource, { maxContexts, session }: OpenContextsOptions) {
    this.#source = source;
    this.#maxContexts = maxContexts;
    this.#session = session?.scoped(SCOPE);
  }

  /** Tasks of a user in memory, or the tasks of one conversation, loaded if needed. */
  async tasksOf(user: string, contextId: string): Promise<readonly ServedTask[]> {
    if (contextId !== '') {
      const context = await this.#reopen({ user, contextId });
      return [...(context?.tasks ?? [])].filter((task) => task.contextId === contextId);
    }
    const prefix = keyOf(user, '');
    return [...this.#tasks].filter(([key]) => key.startsWith(prefix)).map(([, { task }]) => task);
  }

  /** Finds a task of a user. */
  async find(user: string, id: string): Promise<FoundTask | undefined> {
    const key = keyOf(user, id);
    const found = this.#tasks.get(key);
    if (found !== undefined && !isStale(found.context)) return found;
    const end = id.lastIndexOf('.');
    if (end > 0) await this.#reopen({ user, contextId: id.slice(0, end) });
    return this.#tasks.get(key);
  }

  /** Makes a new task. @throws A2AError if there are too many. */
  async newTask(who: A2AContext): Promise<FoundTask> {
    let context = await this.#contextOf(who);
    // closed meanwhile in favour of another conversation
    while (context.isClosed) context = await this.#contextOf(who);
    const open = [...context.tasks].filter((task) => !task.hasEnded);
    if (open.length >= MAX_TASKS) throw busy();
    for (const old of context.tasks) {
      if (context.tasks.size < MAX_TASKS) break;
      if (old.hasEnded) this.forget(who.user, { task: old, context });
    }
    // The id of a saved task contains its conversation.
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

  /**
   * Ends all work, and disposes agents that were made here. Waits for a limited time, so that an agent that
   * is never made or a store that hangs can't block.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const openings = [...this.#contexts.values()].map(({ opening }) => opening);
    this.#contexts.clear();
    this.#tasks.clear();
    const closings = openings.map(async (opening) => this.#closeContext(await opening));
    try {
      await withDeadline({ timeoutMs: CLOSE_MS, signal: undefined }, () => Promise.allSettled(closings));
    } catch {
      getLogger().log('error', `Served conversations were not closed within ${CLOSE_MS} ms.`);
    }
  }

  async #contextOf(who: A2AContext): Promise<ServedContext> {
    const key = this.#keyOf(who);
    for (;;) {
      const entry = this.#enter(key, who);
      const context = await entry.opening;
      if (this.#contexts.get(key) === entry && !isStale(context)) return context;
    }
  }

  /** Opens a conversation that is in memory or saved. */
  async #reopen(who: A2AContext): Promise<ServedContext | undefined> {
    const isThere =
      this.#contexts.has(this.#keyOf(who)) || (await this.#savedContext(who)?.exists()) === true;
    return isThere ? this.#contextOf(who) : undefined;
  }

  /**
   * Returns the entry of a conversation as most recently used. A new entry is added at once, so that the
   * maximum holds.
   */
  #enter(key: string, who: A2AContext): ContextEntry {
    if (this.#isClosed) throw new a2aErrors.A2AError('The server is closed.');
    let entry = this.#contexts.get(key);
    let closing: Promise<void> | undefined;
    if (entry?.context !== undefined && isStale(entry.context)) {
      closing = this.#drop(key, entry.user, entry.context);
      entry = undefined;
    }
    if (entry === undefined) {
      closing ??= this.#contexts.size < this.#maxContexts ? undefined : this.#closeIdle();
      entry = { user: who.user, opening: this.#open(who, closing), context: undefined };
      this.#register(key, entry);
    }
    this.#contexts.delete(key);
    this.#contexts.set(key, entry);
    return entry;
  }

  #register(key: string, entry: ContextEntry): void {
    entry.opening.then(
      (context) => {
        if (this.#contexts.get(key) !== entry) return;
        entry.context = context;
        for (const task of context.tasks) this.#tasks.set(keyOf(entry.user, task.id), { task, context });
      },
      () => this.#contexts.get(key) === entry && this.#contexts.delete(key),
    );
  }

  async #open(who: A2AContext, closing: Promise<void> | undefined): Promise<ServedContext> {
    await closing;
    const isShared = typeof this.#source !== 'function';
    let agent: AgentBase | undefined;
    try {
      agent = typeof this.#source === 'function' ? await this.#source(who) : this.#source;
      return await ServedContext.open(agent, this.#savedContext(who));
    } catch (error) {
      getLogger().log('error', `An agent for an A2A conversation could not be made: ${messageOf(error)}`);
      if (!isShared) await agent?.[Symbol.asyncDispose]();
      throw new a2aErrors.A2AError('The agent could not be made.'); // the reason is not for the client
    }
  }

  /** Closes an idle conversation. @throws A2AError if all are busy. */
  #closeIdle(): Promise<void> {
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

  #savedContext({ user, contextId }: A2AContext): SavedContext | undefined {
    const isShared = typeof this.#source !== 'function';
    return this.#session && new SavedContext(this.#session, { user, contextId: isShared ? '' : contextId });
  }

  #keyOf({ user, contextId }: A2AContext): string {
    return typeof this.#source === 'function' ? keyOf(user, contextId) : '';
  }
}

/** Whether the conversation was continued elsewhere and is idle here. */
function isStale(context: ServedContext): boolean {
  return context.isOutdated && !context.isBusy;
}

/** Key of a user's task or message. The quoted user id keeps keys of different users distinct. */
export function keyOf(user: string, id: string): string {
  return `${JSON.stringify(user)} ${id}`;
}

function busy(): A2AError {
  return new a2aErrors.A2AError('The server is busy. Try again later.');
}
