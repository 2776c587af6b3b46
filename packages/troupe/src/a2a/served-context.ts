import { TaskState, type Part } from '@a2a-js/sdk';

import type { AgentBase } from '../agent/agent-base.ts';
import { pendingIn } from '../agent/agent-tool.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { copyJson } from '../util/json.ts';
import { dataPart, textPart, toBlocks, toParts } from './parts.ts';
import type { ServedTask } from './served-task.ts';

export interface Work {
  readonly parts: readonly Part[];
  readonly decisions: readonly PendingDecision[];
}

/** A conversation with one agent: its tasks are worked on one after the other. */
export class ServedContext {
  readonly tasks = new Set<ServedTask>();
  readonly #agent: AgentBase;
  /** What was asked in tasks that were canceled since: the agent still has to hear that it may not. */
  #denials: PendingDecision[] = [];

  constructor(agent: AgentBase) {
    this.#agent = agent;
  }

  /** Whether a task is being worked on, or waits for its turn. */
  get isBusy(): boolean {
    return [...this.tasks].some((task) => !task.isSettled);
  }

  /** Works on a task until it is settled. Never rejects. */
  async work(task: ServedTask, { parts, decisions }: Work): Promise<void> {
    const stop = new AbortController();
    let isRunning = false;
    task.cancel = async () => {
      // Another task may be the one that the agent works on.
      if (isRunning) await this.#agent.interrupt();
      else stop.abort();
    };
    try {
      const blocks = toBlocks(parts);
      const denials = task.pending.length > 0 ? [] : this.#denials;
      const events = this.#agent.stream(blocks.length === 0 ? undefined : Msg.user(blocks), {
        signal: stop.signal,
        onBusy: 'queue',
        decisions: [...denials, ...decisions],
        detached: true,
      });
      let msgId: string | undefined;
      for (let step = await events.next(); ; step = await events.next()) {
        if (step.done) {
          this.#denials = this.#denials.filter((denial) => !denials.includes(denial));
          return this.#settle(task, step.value);
        }
        const event = step.value;
        if (event.type === 'reply_start' && !isRunning) {
          isRunning = true;
          task.setState(TaskState.TASK_STATE_WORKING);
        }
        const isAnew = event.type === 'msg_reset' || (event.type === 'text_delta' && event.msgId !== msgId);
        if (isAnew) task.startAnswer();
        if (event.type !== 'text_delta') continue;
        msgId = event.msgId;
        task.addText(event.text, event.index);
      }
    } catch (error) {
      this.#fail(task, error, stop.signal.aborted);
    } finally {
      task.cancel = undefined;
    }
  }

  /** Gives up a task that waits for input. */
  abandon(task: ServedTask): void {
    const reason = 'The task was canceled.';
    this.#denials.push(...task.pending.map(({ id }) => ({ id, verdict: 'deny', reason }) as const));
    task.pending = [];
    task.setState(TaskState.TASK_STATE_CANCELED);
  }

  /** Ends all tasks, and the agent if it was made for this context. */
  async close(disposes: boolean): Promise<void> {
    const stopped = [...this.tasks].map(async (task) => task.cancel?.());
    for (const task of this.tasks) if (task.state === TaskState.TASK_STATE_INPUT_REQUIRED) this.abandon(task);
    await Promise.all(stopped);
    if (disposes) await this.#agent[Symbol.asyncDispose]();
  }

  #settle(task: ServedTask, answer: Msg): void {
    const pending = pendingIn(answer);
    if (pending !== undefined) {
      task.pending = pending;
      task.startAnswer(); // what was said so far is the question
      const parts = [
        ...toParts(answer.getContentBlocks()),
        dataPart({ pending: copyJson(pending, 'pending') }),
      ];
      return task.setState(TaskState.TASK_STATE_INPUT_REQUIRED, parts);
    }
    task.pending = [];
    if (answer.metadata['_is_interrupted'] === true) {
      return task.setState(TaskState.TASK_STATE_CANCELED, toParts(answer.getContentBlocks()));
    }
    task.setAnswer(toParts(answer.getContentBlocks()));
    const hasFailed = answer.metadata['_end_reason'] === 'error';
    task.setState(hasFailed ? TaskState.TASK_STATE_FAILED : TaskState.TASK_STATE_COMPLETED);
  }

  #fail(task: ServedTask, error: unknown, isCanceled: boolean): void {
    if (isCanceled) return task.setState(TaskState.TASK_STATE_CANCELED);
    const code = TroupeError.isInstance(error) ? error.code : undefined;
    if (code === 'pending_calls' || code === 'decision_refused') {
      // Nothing has happened yet: words are no decision.
      if (task.pending.length === 0)
        return task.setState(TaskState.TASK_STATE_REJECTED, [textPart(OTHERS_WAIT)]);
      const parts = [textPart(DECIDE), dataPart({ pending: copyJson(task.pending, 'pending') })];
      return task.setState(TaskState.TASK_STATE_INPUT_REQUIRED, parts);
    }
    getLogger().log('error', `An agent that is served has failed: ${messageOf(error)}`);
    task.setState(TaskState.TASK_STATE_FAILED, [textPart('The agent has failed.')]);
  }
}

const DECIDE =
  'Calls wait for a decision. Send a data part: {"decisions":[{"id":"…","verdict":"allow"}]}, or "deny", or "result" with an "output".';
const OTHERS_WAIT = 'Another task of this context waits for a decision. Decide about it, or cancel it.';
