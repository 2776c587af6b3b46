import { TaskState, type Message, type Part } from '@a2a-js/sdk';

import type { AgentBase } from '../../agent/agent-base.ts';
import { pendingIn } from '../../approval/suspension-msg.ts';
import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { Msg } from '../../message/msg.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import { StateModule } from '../../state/state-module.ts';
import { abortable } from '../../util/abort.ts';
import type { JsonObject } from '../../util/json.ts';
import type { ContextKeeper } from './context-keeper.ts';
import { pendingPart, textPart, toBlocks, toParts } from '../protocol/parts.ts';
import { ServedTask } from './served-task.ts';

export interface Work {
  readonly parts: readonly Part[];
  readonly decisions: readonly PendingDecision[];
}

/** A conversation with one agent: its tasks are worked on one after the other. They are its state, and can be kept with the agent's. */
export class ServedContext extends StateModule {
  readonly tasks = new Set<ServedTask>();
  readonly #agent: AgentBase;
  readonly #keeper: ContextKeeper | undefined;
  /** Settles when all work that was given is done. */
  #work: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(agent: AgentBase, keeper?: ContextKeeper) {
    super();
    this.#agent = agent;
    this.#keeper = keeper;
    this.registerStateList('records', {
      toJson: (record: JsonObject) => record,
      fromJson: (json) => ServedTask.fromJson(json).toJSON(),
    });
  }

  /** A conversation as it was kept, or a new one. */
  static async open(agent: AgentBase, keeper: ContextKeeper | undefined): Promise<ServedContext> {
    const context = new ServedContext(agent, keeper);
    await keeper?.open({ agent, context });
    return context;
  }

  /** Whether a task is being worked on, or waits for its turn. */
  get isBusy(): boolean {
    return [...this.tasks].some((task) => !task.isSettled);
  }

  /** Whether nothing can be done here any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether it has gone on elsewhere, so that what is here is old. */
  get isOutdated(): boolean {
    return this.#keeper?.isOutdated === true;
  }

  protected get records(): readonly JsonObject[] {
    return [...this.tasks].map((task) => task.toJSON());
  }

  protected set records(records: readonly JsonObject[]) {
    this.tasks.clear();
    for (const record of records) this.tasks.add(ServedTask.fromJson(record));
  }

  /** Takes a message for a task, and returns what begins the work on it. Rejects, and has taken nothing, if it can't be kept. */
  async accept(task: ServedTask, message: Message, work: Work): Promise<() => void> {
    const stop = new AbortController();
    const takeBack = task.submit(message);
    task.cancel = async () => stop.abort();
    try {
      await this.#keeper?.save();
    } catch (error) {
      task.cancel = undefined;
      takeBack();
      throw error;
    }
    return () => {
      this.#work = Promise.all([this.#work, this.#workOn(task, work, this.#work, stop)]);
    };
  }

  /** Works on a task until it is settled. Never rejects. */
  async #workOn(
    task: ServedTask,
    { parts, decisions }: Work,
    before: Promise<unknown>,
    stop: AbortController,
  ): Promise<void> {
    let isRunning = false;
    let isCanceled = false;
    task.cancel = async () => {
      isCanceled = true;
      // Another task may be the one that the agent works on.
      if (isRunning) await this.#agent.interrupt();
      else stop.abort();
    };
    if (this.#isClosed) stop.abort(); // it was on its way when this was closed
    try {
      await abortable(before, stop.signal);
      const blocks = toBlocks(parts);
      const isAnythingWaiting = [...this.tasks].some((one) => one.isWaiting) || task.pending.length > 0;
      const events = this.#agent.stream(blocks.length === 0 ? undefined : Msg.user(blocks), {
        signal: stop.signal,
        onBusy: 'queue',
        onPending: isAnythingWaiting ? undefined : 'close', // what was asked in a task that is over is asked no more
        decisions,
        lifetime: 'detached',
      });
      let msgId: string | undefined;
      for (let step = await events.next(); ; step = await events.next()) {
        if (step.done) return await this.#settle(task, step.value);
        const event = step.value;
        if (event.type === 'reply_start' && !isRunning) {
          isRunning = true;
          task.setState(TaskState.TASK_STATE_WORKING);
        }
        if (isCanceled) continue; // what it has said so far stays
        const isAnew = event.type === 'msg_reset' || (event.type === 'text_delta' && event.msgId !== msgId);
        if (isAnew) task.startAnswer();
        if (event.type !== 'text_delta') continue;
        msgId = event.msgId;
        task.addText(event.text, event.index);
      }
    } catch (error) {
      await this.#fail(task, error, stop.signal.aborted);
    } finally {
      task.cancel = undefined;
    }
  }

  /** Gives up a task that nobody works on. */
  async abandon(task: ServedTask): Promise<void> {
    task.pending = [];
    await this.#end(task, TaskState.TASK_STATE_CANCELED);
  }

  /** Ends all work, and the agent if it was made for this context. Tasks that wait are over, unless they are kept. */
  async close(disposes: boolean): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.tasks].map(async (task) => task.cancel?.()));
    await this.#work;
    if (this.#keeper === undefined)
      for (const task of this.tasks) if (task.isWaiting) await this.abandon(task);
    try {
      await this.#keeper?.close();
    } catch (error) {
      getLogger().log('error', `A conversation that was served could not be saved: ${messageOf(error)}`);
    }
    if (disposes) await this.#agent[Symbol.asyncDispose]();
  }

  async #settle(task: ServedTask, answer: Msg): Promise<void> {
    const parts = toParts(answer.getContentBlocks());
    const pending = pendingIn(answer);
    task.pending = pending ?? [];
    if (pending !== undefined) {
      task.startAnswer(); // what was said so far is the question
      return this.#end(task, TaskState.TASK_STATE_INPUT_REQUIRED, [...parts, pendingPart(pending)]);
    }
    if (answer.metadata['_is_interrupted'] === true)
      return this.#end(task, TaskState.TASK_STATE_CANCELED, parts);
    task.setAnswer(parts);
    const hasFailed = answer.metadata['_end_reason'] === 'error';
    return this.#end(task, hasFailed ? TaskState.TASK_STATE_FAILED : TaskState.TASK_STATE_COMPLETED);
  }

  async #fail(task: ServedTask, error: unknown, isCanceled: boolean): Promise<void> {
    if (isCanceled) return this.abandon(task);
    const code = TroupeError.isInstance(error) ? error.code : undefined;
    if (code === 'pending_calls' || code === 'decision_refused') {
      // Nothing has happened yet: words are no decision.
      if (task.pending.length === 0)
        return this.#end(task, TaskState.TASK_STATE_REJECTED, [textPart(OTHERS_WAIT)]);
      const parts = [textPart(DECIDE), pendingPart(task.pending)];
      return this.#end(task, TaskState.TASK_STATE_INPUT_REQUIRED, parts);
    }
    getLogger().log('error', `An agent that is served has failed: ${messageOf(error)}`);
    task.pending = [];
    return this.#end(task, TaskState.TASK_STATE_FAILED, [textPart('The agent has failed.')]);
  }

  /** Says where a task has come to, once that is kept. If it can't be, it is said all the same: it has happened. */
  async #end(task: ServedTask, state: TaskState, parts: readonly Part[] = []): Promise<void> {
    await task.settle(state, parts, async () => {
      try {
        await this.#keeper?.save();
      } catch (error) {
        getLogger().log('error', `A task that is served could not be saved: ${messageOf(error)}`);
      }
    });
  }
}

const DECIDE =
  'Calls wait for a decision. Send a data part: {"decisions":[{"id":"…","verdict":"allow"}]}, or "deny", or "result" with an "output".';
const OTHERS_WAIT = 'Another task of this context waits for a decision. Decide about it, or cancel it.';
