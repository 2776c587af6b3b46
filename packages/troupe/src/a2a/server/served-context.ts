import type { Message, Part, TaskState } from '@a2a-js/sdk';

import type { AgentBase } from '../../agent/agent-base.ts';
import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { isInterruptReply } from '../../message/end-reason.ts';
import { Msg } from '../../message/msg.ts';
import { questionText } from '../../approval/answers.ts';
import type { PendingCall, PendingDecision } from '../../message/pending-call.ts';
import { StateModule } from '../../state/state-module.ts';
import { abortable } from '../../util/abort.ts';
import { copyJsonObject, isJsonObject, type JsonObject } from '../../util/json.ts';
import type { SavedContext } from './saved-context.ts';
import { blocksOfParts, dataPart, pendingPart, textPart, toParts } from '../protocol/parts.ts';
import { a2aSdk } from '../protocol/sdk.ts';
import { ServedTask } from './served-task.ts';

export interface Work {
  readonly parts: readonly Part[];
  readonly decisions: readonly PendingDecision[];
  /** Schema of the structured output that the client wants. */
  readonly schema: JsonObject | undefined;
}

/**
 * Conversation with one agent. Its tasks run one after the other. The tasks are its state, saved together
 * with the agent's state.
 */
export class ServedContext extends StateModule {
  readonly tasks = new Set<ServedTask>();
  readonly #agent: AgentBase;
  readonly #saved: SavedContext | undefined;
  /** Settles when all accepted work is done. */
  #work: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(agent: AgentBase, saved?: SavedContext) {
    super();
    this.#agent = agent;
    this.#saved = saved;
    this.registerStateList('records', {
      toJson: (record: JsonObject) => record,
      fromJson: (json) => ServedTask.fromJson(json).toJSON(),
    });
  }

  /** Opens a conversation from its saved state, or a new one. */
  static async open(agent: AgentBase, saved: SavedContext | undefined): Promise<ServedContext> {
    const context = new ServedContext(agent, saved);
    await saved?.open({ agent, context });
    return context;
  }

  /** Whether a task is running or queued. */
  get isBusy(): boolean {
    return [...this.tasks].some((task) => !task.isSettled);
  }

  /** Whether no more work is accepted. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the conversation was continued elsewhere, so that the state here is outdated. */
  get isOutdated(): boolean {
    return this.#saved?.isOutdated === true;
  }

  protected get records(): readonly JsonObject[] {
    return [...this.tasks].map((task) => task.toJSON());
  }

  protected set records(records: readonly JsonObject[]) {
    this.tasks.clear();
    for (const record of records) this.tasks.add(ServedTask.fromJson(record));
  }

  /**
   * Accepts a message for a task. The returned function starts the work. Rejects without any change if saving
   * fails.
   */
  async accept(task: ServedTask, message: Message, work: Work): Promise<() => void> {
    const stop = new AbortController();
    const undo = task.submit(message, work.schema);
    task.cancel = async () => stop.abort();
    try {
      await this.#saved?.save();
    } catch (error) {
      task.cancel = undefined;
      undo();
      throw error;
    }
    return () => {
      this.#work = Promise.all([this.#work, this.#workOn(task, work, this.#work, stop)]);
    };
  }

  /** Works on a task until it is settled. Never rejects. */
  async #workOn(
    task: ServedTask,
    { parts, decisions, schema }: Work,
    before: Promise<unknown>,
    stop: AbortController,
  ): Promise<void> {
    let isRunning = false;
    let isCanceled = false;
    task.cancel = async () => {
      isCanceled = true;
      // The agent may be working on another task.
      if (isRunning) await this.#agent.interrupt();
      else stop.abort();
    };
    if (this.#isClosed) stop.abort(); // closed between accepting and starting
    try {
      await abortable(before, stop.signal);
      const blocks = blocksOfParts(parts);
      const isAnyTaskWaiting = [...this.tasks].some((one) => one.isWaiting) || task.pending.length > 0;
      const events = this.#agent.stream(blocks.length === 0 ? undefined : Msg.user(blocks), {
        signal: stop.signal,
        onBusy: 'queue',
        // closes pending tool calls of tasks that have ended
        onPending: isAnyTaskWaiting ? undefined : 'close',
        decisions,
        structuredModel: schema,
        lifetime: 'detached',
      });
      let msgId: string | undefined;
      for (let step = await events.next(); ; step = await events.next()) {
        if (step.done) return await this.#settle(task, step.value);
        const event = step.value;
        if (event.type === 'reply_start' && !isRunning) {
          isRunning = true;
          task.setState(a2aSdk.TaskState.TASK_STATE_WORKING);
        }
        if (isCanceled) continue; // text so far stays
        const isNewAnswer =
          event.type === 'msg_reset' || (event.type === 'text_delta' && event.msgId !== msgId);
        if (isNewAnswer) task.startAnswer();
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

  /** Cancels a task that nobody works on. */
  async abandon(task: ServedTask): Promise<void> {
    task.pending = [];
    await this.#end(task, a2aSdk.TaskState.TASK_STATE_CANCELED);
  }

  /**
   * Ends all work, and disposes the agent if requested. Waiting tasks are canceled, unless they are saved.
   */
  async close(disposes: boolean): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.tasks].map(async (task) => task.cancel?.()));
    await this.#work;
    if (this.#saved === undefined)
      for (const task of this.tasks) if (task.isWaiting) await this.abandon(task);
    for (const task of this.tasks) task.release();
    try {
      await this.#saved?.close();
    } catch (error) {
      getLogger().log('error', `A served conversation could not be saved: ${messageOf(error)}`);
    }
    if (disposes) await this.#agent[Symbol.asyncDispose]();
  }

  async #settle(task: ServedTask, answer: Msg): Promise<void> {
    const parts = toParts(answer.getContentBlocks());
    const { pending, endReason } = answer;
    task.pending = pending ?? [];
    if (pending !== undefined) {
      task.startAnswer(); // the text so far is the question
      return this.#end(task, a2aSdk.TaskState.TASK_STATE_INPUT_REQUIRED, [...parts, pendingPart(pending)]);
    }
    if (isInterruptReply(answer)) return this.#end(task, a2aSdk.TaskState.TASK_STATE_CANCELED, parts);
    task.setAnswer(withStructured(parts, answer));
    return this.#end(
      task,
      endReason === 'error' ? a2aSdk.TaskState.TASK_STATE_FAILED : a2aSdk.TaskState.TASK_STATE_COMPLETED,
    );
  }

  async #fail(task: ServedTask, error: unknown, isCanceled: boolean): Promise<void> {
    if (isCanceled) return this.abandon(task);
    const code = TroupeError.isInstance(error) ? error.code : undefined;
    if (code === 'pending_calls' || code === 'decision_refused') {
      // The agent did nothing: text is not a decision.
      if (task.pending.length === 0)
        return this.#end(task, a2aSdk.TaskState.TASK_STATE_REJECTED, [textPart(OTHERS_WAIT)]);
      const parts = [textPart(adviceFor(task.pending, error)), pendingPart(task.pending)];
      return this.#end(task, a2aSdk.TaskState.TASK_STATE_INPUT_REQUIRED, parts);
    }
    getLogger().log('error', `A served agent has failed: ${messageOf(error)}`);
    task.pending = [];
    return this.#end(task, a2aSdk.TaskState.TASK_STATE_FAILED, [textPart('The agent has failed.')]);
  }

  /**
   * Saves a task and then announces its state. The state is announced even if saving fails, because it is a
   * fact.
   */
  async #end(task: ServedTask, state: TaskState, parts: readonly Part[] = []): Promise<void> {
    await task.settle(state, parts, async () => {
      try {
        await this.#saved?.save();
      } catch (error) {
        getLogger().log('error', `A served task could not be saved: ${messageOf(error)}`);
      }
    });
  }
}

/** Parts of an answer, with its structured output as data in place of the same as text. */
function withStructured(parts: readonly Part[], { structured, text }: Msg): readonly Part[] {
  if (!isJsonObject(structured)) return parts;
  const data = dataPart(copyJsonObject(structured, 'the structured output'));
  return text === JSON.stringify(structured) ? [data] : [...parts, data];
}

/** Advice for a client whose message decided nothing: the problem of an answer with the question, or how to decide. */
function adviceFor(pending: readonly PendingCall[], error: unknown): string {
  const questions = pending.flatMap(({ question }) =>
    question === undefined ? [] : [questionText(question)],
  );
  const isRefused = TroupeError.isInstance(error) && error.code === 'decision_refused';
  return [questions.length > 0 && isRefused ? messageOf(error) : DECIDE, ...questions].join('\n');
}

const DECIDE =
  'Calls wait for a decision. Send a data part: {"decisions":[{"id":"…","verdict":"allow"}]}, or "deny", or "answer" with an "answer", or "result" with an "output".';
const OTHERS_WAIT = 'Another task of this context waits for a decision. Decide about it, or cancel it.';
