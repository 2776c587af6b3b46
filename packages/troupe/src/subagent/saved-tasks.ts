import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import { InMemorySession } from '../session/in-memory-session.ts';
import type { Session } from '../session/session.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { newId } from '../util/ids.ts';
import { isJsonObject, type JsonValue } from '../util/json.ts';
import { currentTurn } from '../agent/turn/current-turn.ts';
import { Refusal } from './sub-agent-error.ts';
import type { SubAgent } from './sub-agent.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';

/** Finished task to save. */
export interface FinishedTask {
  readonly id: string;
  readonly agent: SubAgent;
}

/** Task with an id, already saved or saved when finished. */
export interface EarlierTask {
  readonly id: string;
  /** Revision of the save to continue; 0 before the first save. */
  readonly revision: number;
}

const SAVE_LIMIT_MS = 10_000;
/** Maximum saved tasks in memory for each kind of sub-agent, when the host has no session. */
const MAX_OWN_TASKS = 1000;
const TASK_IN_USE = 'is being continued by another tool call. Wait until that ends.';
const NO_SUCH_TASK = 'has no earlier task of that id. Leave continue_id out to begin a new one.';

/**
 * Saved tasks of one kind of sub-agent, by id, in the granted session or else in memory. One tool call at a
 * time continues a task.
 */
export class SavedTasks {
  readonly #subagent: string;
  readonly #locked = new Set<string>();
  /** Store for sub-agents without a session. */
  readonly #own = new InMemorySession();
  /** Task ids in `#own`, newest last. */
  readonly #ownIds = new Set<string>();

  constructor(subagent: string) {
    this.#subagent = subagent;
  }

  /**
   * Runs work with the task locked. Without an id there is nothing to lock.
   * @throws Refusal if another tool call has the lock
   */
  async withLock<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    if (id === undefined) return work();
    if (this.#locked.has(id)) throw new Refusal({ code: 'unavailable', cause: TASK_IN_USE });
    this.#locked.add(id);
    try {
      return await work();
    } finally {
      this.#locked.delete(id);
    }
  }

  /**
   * Loads the saved state of a task into a sub-agent.
   * @throws Refusal if the task is unknown; TroupeError if it can't be read
   */
  async load(id: string, agent: SubAgent): Promise<EarlierTask> {
    const session = this.#sessionOf(agent);
    try {
      const revision = await session.revisionOf(id);
      if (await session.load(id, { agent })) return { id, revision };
    } catch (error) {
      if (!TroupeError.isInstance(error) || error.code !== 'invalid_id') throw error;
    }
    throw new Refusal({ code: 'invalid_input', cause: NO_SUCH_TASK });
  }

  /**
   * Loads the task that a suspended delegation continued. If the task was saved again meanwhile, or can't be
   * read, the delegation gets a new task id, so that no save is overwritten.
   */
  async reload({ id, revision }: EarlierTask, agent: SubAgent): Promise<EarlierTask> {
    const session = this.#sessionOf(agent);
    try {
      const isUnchanged = (await session.revisionOf(id)) === revision;
      if (isUnchanged && (revision === 0 || (await session.load(id, { agent })))) return { id, revision };
    } catch (error) {
      getLogger().log(
        'warn',
        `An earlier task of ${this.#subagent} can't be read: ${redactedMessage(error)}`,
      );
    }
    return newTask(false);
  }

  /**
   * Saves a task and puts its id into the response. If saving fails, the response stays without an id and a
   * warning is logged.
   */
  async save(response: ToolResponse, task: FinishedTask, signal: AbortSignal): Promise<ToolResponse> {
    const { id, agent } = task;
    try {
      await withDeadline({ timeoutMs: SAVE_LIMIT_MS, signal }, () =>
        this.#sessionOf(agent).save(id, { agent }),
      );
      if (agent.permissions.session === undefined) await this.#dropOldest(id);
      return withContinueId(response, id);
    } catch (error) {
      signal.throwIfAborted();
      const problem = redactedMessage(error);
      getLogger().log('warn', `A task of the sub-agent ${this.#subagent} can't be continued: ${problem}`);
      return response;
    }
  }

  #sessionOf({ permissions: { session = this.#own } }: SubAgent): Session {
    return session;
  }

  /** Limits the number of tasks in memory: drops the oldest. */
  async #dropOldest(newest: string): Promise<void> {
    this.#ownIds.delete(newest);
    this.#ownIds.add(newest);
    const [oldest] = this.#ownIds;
    if (oldest === undefined || this.#ownIds.size <= MAX_OWN_TASKS) return;
    this.#ownIds.delete(oldest);
    await this.#own.delete(oldest);
  }
}

/**
 * Makes a new task id, as a step of the host's run (so that a replay gives the same id) unless in the
 * background.
 */
export async function newTask(isBackground: boolean): Promise<EarlierTask> {
  const turn = isBackground ? undefined : currentTurn();
  const id =
    turn === undefined ? newId() : await turn.step({ kind: 'id', name: 'continue id' }, async () => newId());
  return { id, revision: 0 };
}

/** Reads a task from the saved state of a suspended delegation. */
export function toEarlierTask(saved: JsonValue | undefined): EarlierTask | undefined {
  const { id, revision } = isJsonObject(saved) ? saved : {};
  return typeof id === 'string' && typeof revision === 'number' ? { id, revision } : undefined;
}

function withContinueId(response: ToolResponse, id: string): ToolResponse {
  const { content, metadata = {}, status } = response;
  // the id is for the model, and no part of an answer
  const responseMsg = response.responseMsg === true ? Msg.assistant(content) : response.responseMsg;
  const note = `continue_id: ${id}`;
  const shown =
    typeof content === 'string'
      ? `${note}\n\n${content}`
      : [{ type: 'text', text: note } as const, ...content];
  return new ToolResponse(shown, { status, metadata: { ...metadata, continue_id: id }, responseMsg });
}
