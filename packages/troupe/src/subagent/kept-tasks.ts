import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { InMemorySession } from '../session/in-memory-session.ts';
import type { Session } from '../session/session.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { newId } from '../util/ids.ts';
import { isJsonObject, type JsonValue } from '../util/json.ts';
import { currentTurn } from '../agent/current-turn.ts';
import { Refusal } from './sub-agent-error.ts';
import type { SubAgent } from './sub-agent.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';

/** A task that is done and is to be kept. */
export interface DoneTask {
  readonly id: string;
  readonly agent: SubAgent;
}

/** A task that is kept, or will be. */
export interface EarlierTask {
  readonly id: string;
  /** Which save of it is gone on with; 0 if there is none yet. */
  readonly revision: number;
}

const SAVE_LIMIT_MS = 10_000;
/** How many tasks are kept in memory, for each kind of sub-agent. */
const MAX_OWN_TASKS = 1000;
const IS_CONTINUED = 'is being gone on with by another call. Wait for that.';
const NO_SUCH_TASK = 'has no earlier task of that id. Leave continue_id out to begin a new one.';

/** The tasks of a kind of sub-agent that can be gone on with, by their ids. One call at a time goes on with one. */
export class KeptTasks {
  readonly #subagent: string;
  readonly #inUse = new Set<string>();
  /** For hosts that have no session. */
  readonly #own = new InMemorySession();
  /** The ids of what is in there, the newest last. */
  readonly #ownIds = new Set<string>();

  constructor(subagent: string) {
    this.#subagent = subagent;
  }

  /** Goes on with an earlier task, if there is one. @throws Refusal if somebody else does */
  async alone<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    if (id === undefined) return work();
    if (this.#inUse.has(id)) throw new Refusal({ code: 'unavailable', cause: IS_CONTINUED });
    this.#inUse.add(id);
    try {
      return await work();
    } finally {
      this.#inUse.delete(id);
    }
  }

  /** Gives a sub-agent what it knew when the task was done. @throws Refusal if there is no such task; TroupeError if it can't be read */
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

  /** Lets a task that waited be kept in its place. If that was gone on with meanwhile, it becomes another task, so that nothing is lost. */
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

  /** Keeps a task, and tells its id in the response. An answer that can't be kept is an answer all the same: it was worked for. */
  async keep(response: ToolResponse, task: DoneTask, signal: AbortSignal): Promise<ToolResponse> {
    const { id, agent } = task;
    try {
      await withDeadline({ timeoutMs: SAVE_LIMIT_MS, signal }, () =>
        this.#sessionOf(agent).save(id, { agent }),
      );
      if (agent.permissions.session === undefined) await this.#forgetOldest(id);
      return withContinueId(response, id);
    } catch (error) {
      signal.throwIfAborted();
      const problem = redactedMessage(error);
      getLogger().log('warn', `A task of the sub-agent ${this.#subagent} can't be gone on with: ${problem}`);
      return response;
    }
  }

  #sessionOf({ permissions: { session = this.#own } }: SubAgent): Session {
    return session;
  }

  /** A host may go on for ever; without a session, its tasks do not. */
  async #forgetOldest(newest: string): Promise<void> {
    this.#ownIds.delete(newest);
    this.#ownIds.add(newest);
    const [oldest] = this.#ownIds;
    if (oldest === undefined || this.#ownIds.size <= MAX_OWN_TASKS) return;
    this.#ownIds.delete(oldest);
    await this.#own.delete(oldest);
  }
}

/** A task with a new id: the same one when the run of the host is replayed, unless it works in the background. */
export async function newTask(isBackground: boolean): Promise<EarlierTask> {
  const turn = isBackground ? undefined : currentTurn();
  const id = turn === undefined ? newId() : await turn.step('continue id', async () => newId());
  return { id, revision: 0 };
}

/** A task as it was saved with a call that waits; undefined if it is none. */
export function toEarlierTask(saved: JsonValue | undefined): EarlierTask | undefined {
  const { id, revision } = isJsonObject(saved) ? saved : {};
  return typeof id === 'string' && typeof revision === 'number' ? { id, revision } : undefined;
}

function withContinueId({ content, metadata = {}, status }: ToolResponse, id: string): ToolResponse {
  const note = `continue_id: ${id}`;
  const shown =
    typeof content === 'string'
      ? `${note}\n\n${content}`
      : [{ type: 'text', text: note } as const, ...content];
  return new ToolResponse(shown, { status, metadata: { ...metadata, continue_id: id } });
}
