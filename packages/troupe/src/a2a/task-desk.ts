import {
  TaskState,
  type AgentCard,
  type CancelTaskRequest,
  type GetTaskRequest,
  type ListTasksRequest,
  type ListTasksResponse,
  type Message,
  type Part,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
} from '@a2a-js/sdk';
import {
  A2AError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';

import type { AgentBase } from '../agent/agent-base.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { newId } from '../util/ids.ts';
import { isJsonObject } from '../util/json.ts';
import { ServedContext } from './served-context.ts';
import { ServedTask } from './served-task.ts';

/** Whom an agent is made for. */
export interface A2AContext {
  /** Whom `authenticate` has recognised; the empty string where nobody is asked. */
  readonly user: string;
  /** The conversation, as the client knows it. */
  readonly contextId: string;
}

/** An agent for all, or what makes one for each conversation. */
export type A2AAgentSource = AgentBase | ((context: A2AContext) => AgentBase | Promise<AgentBase>);

/** Under this key a request says when its client has left. */
export const LEFT = 'left';

const MAX_ID = 200;
/** How many tasks of one context are kept, and how many may wait there. */
const MAX_TASKS = 100;
const PAGE = 50;

/** A conversation, which may still be opening. */
interface ContextEntry {
  readonly user: string;
  readonly opening: Promise<ServedContext>;
  context: ServedContext | undefined;
}

/**
 * Takes requests of the protocol, and has agents work on them. All that a user can name by an id is looked up among what is theirs:
 * what belongs to somebody else is not there, like what never was. When there are too many contexts, the one that was silent
 * for the longest time makes room, with its tasks; one that is worked on never does.
 */
export class TaskDesk implements A2ARequestHandler {
  readonly #source: A2AAgentSource;
  readonly #maxContexts: number;
  readonly #card: AgentCard;
  /** By user and id. The ones at the front were silent for the longest time. */
  readonly #contexts = new Map<string, ContextEntry>();
  readonly #tasks = new Map<string, { readonly task: ServedTask; readonly context: ServedContext }>();

  constructor(source: A2AAgentSource, maxContexts: number, card: AgentCard) {
    this.#source = source;
    this.#maxContexts = maxContexts;
    this.#card = card;
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#card;
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    throw new UnsupportedOperationError('There is no extended agent card.');
  }

  async sendMessage(request: SendMessageRequest, context: ServerCallContext): Promise<Task> {
    const { task, begin } = await this.#accept(request, context);
    begin();
    const { returnImmediately = false, historyLength } = request.configuration ?? {};
    if (!returnImmediately) await task.settled(leftOf(context));
    return task.snapshot({ historyLength });
  }

  async *sendMessageStream(
    request: SendMessageRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { task, begin } = await this.#accept(request, context);
    const updates = task.updates({ historyLength: request.configuration?.historyLength }, leftOf(context));
    begin();
    yield* updates;
  }

  async *resubscribe(
    { id }: SubscribeToTaskRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { task } = this.#find(id, context);
    if (task.hasEnded) throw new UnsupportedOperationError('The task has ended.');
    yield* task.updates({}, leftOf(context));
  }

  async getTask({ id, historyLength }: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    return this.#find(id, context).task.snapshot({ historyLength });
  }

  async cancelTask({ id }: CancelTaskRequest, call: ServerCallContext): Promise<Task> {
    const { task, context } = this.#find(id, call);
    if (task.state === TaskState.TASK_STATE_INPUT_REQUIRED) context.abandon(task);
    else if (!task.hasEnded) {
      await task.cancel?.();
      await task.settled(leftOf(call));
    }
    if (task.state !== TaskState.TASK_STATE_CANCELED) throw new TaskNotCancelableError('The task has ended.');
    return task.snapshot();
  }

  async listTasks(request: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    const {
      contextId,
      status,
      pageSize = PAGE,
      pageToken,
      historyLength,
      statusTimestampAfter: after,
    } = request;
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > 100)
      throw new RequestMalformedError('pageSize must be a whole number from 1 to 100.');
    const prefix = keyOf(userOf(context), '');
    const found = [...this.#tasks]
      .filter(([key]) => key.startsWith(prefix))
      .map(([, { task }]) => task)
      .filter((task) => contextId === '' || task.contextId === contextId)
      .filter((task) => status === TaskState.TASK_STATE_UNSPECIFIED || task.state === status)
      .filter((task) => after === undefined || task.changedAt >= after)
      .reverse(); // the latest first
    const start = pageToken === '' ? 0 : found.findIndex(({ id }) => id === pageToken);
    if (start < 0) throw new RequestMalformedError('The pageToken is not valid.');
    const withArtifacts = request.includeArtifacts === true;
    return {
      tasks: found
        .slice(start, start + pageSize)
        .map((task) => task.snapshot({ historyLength, withArtifacts })),
      nextPageToken: found[start + pageSize]?.id ?? '',
      pageSize,
      totalSize: found.length,
    };
  }

  async createTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async getTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async listTaskPushNotificationConfigs(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async deleteTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  /** Ends all tasks, and the agents that were made here. */
  async close(): Promise<void> {
    const openings = [...this.#contexts.values()].map(({ opening }) => opening);
    this.#contexts.clear();
    this.#tasks.clear();
    await Promise.allSettled(openings.map(async (opening) => this.#closeContext(await opening)));
  }

  /** Finds or makes the task of a message. The work on it is yet to `begin`. */
  async #accept(
    { message, configuration }: SendMessageRequest,
    call: ServerCallContext,
  ): Promise<{ task: ServedTask; begin: () => void }> {
    if (message === undefined || message.parts.length === 0)
      throw new RequestMalformedError('A message needs parts.');
    if (message.contextId.length > MAX_ID) throw new RequestMalformedError('The contextId is too long.');
    if (configuration?.taskPushNotificationConfig !== undefined)
      throw new PushNotificationNotSupportedError();
    const { task, context } =
      message.taskId === '' ? await this.#newTask(message, call) : this.#continued(message, call);
    const isWaiting = task.pending.length > 0;
    const work = isWaiting ? splitDecisions(message.parts) : { parts: message.parts, decisions: [] };
    task.addToHistory(message);
    task.setState(TaskState.TASK_STATE_SUBMITTED);
    return { task, begin: () => void context.work(task, work) };
  }

  #continued(message: Message, call: ServerCallContext): { task: ServedTask; context: ServedContext } {
    const found = this.#find(message.taskId, call);
    const { task } = found;
    if (message.contextId !== '' && message.contextId !== task.contextId)
      throw new RequestMalformedError('The task belongs to another context.');
    if (task.hasEnded)
      throw new UnsupportedOperationError('The task has ended. Leave the taskId out to begin another.');
    if (!task.isSettled) throw new UnsupportedOperationError('The task is being worked on.');
    return found;
  }

  async #newTask(
    { contextId }: Message,
    call: ServerCallContext,
  ): Promise<{ task: ServedTask; context: ServedContext }> {
    const user = userOf(call);
    const id = contextId || newId();
    const key = typeof this.#source === 'function' ? keyOf(user, id) : '';
    let entry: ContextEntry;
    let context: ServedContext;
    do {
      entry = this.#enter(key, { user, contextId: id });
      context = await entry.opening;
    } while (this.#contexts.get(key) !== entry); // it had to make room meanwhile
    const open = [...context.tasks].filter((task) => !task.hasEnded);
    if (open.length >= MAX_TASKS) throw busy();
    for (const old of context.tasks) {
      if (context.tasks.size < MAX_TASKS) break;
      if (old.hasEnded) this.#forget(old, context, user);
    }
    const task = new ServedTask(id);
    context.tasks.add(task);
    this.#tasks.set(keyOf(user, task.id), { task, context });
    return { task, context };
  }

  /** The conversation of that name, at the end of the line. A new one takes its place at once, so that there are never too many. */
  #enter(key: string, who: A2AContext): ContextEntry {
    let entry = this.#contexts.get(key);
    if (entry === undefined) {
      const room = this.#contexts.size < this.#maxContexts ? undefined : this.#makeRoom();
      entry = { user: who.user, opening: this.#open(who, room), context: undefined };
      this.#follow(key, entry);
    }
    this.#contexts.delete(key);
    this.#contexts.set(key, entry);
    return entry;
  }

  #follow(key: string, entry: ContextEntry): void {
    entry.opening.then(
      (context) => (entry.context = context),
      () => this.#contexts.get(key) === entry && this.#contexts.delete(key),
    );
  }

  async #open(who: A2AContext, room: Promise<void> | undefined): Promise<ServedContext> {
    await room;
    if (typeof this.#source !== 'function') return new ServedContext(this.#source);
    try {
      return new ServedContext(await this.#source(who));
    } catch (error) {
      getLogger().log('error', `An agent to be served could not be made: ${messageOf(error)}`);
      throw new A2AError('The agent could not be made.'); // why is not the client's affair
    }
  }

  /** Forgets the conversation that was silent for the longest time. @throws A2AError if none is. */
  #makeRoom(): Promise<void> {
    for (const [key, { user, context }] of this.#contexts) {
      if (context === undefined || context.isBusy) continue;
      this.#contexts.delete(key);
      for (const task of context.tasks) this.#tasks.delete(keyOf(user, task.id));
      return this.#closeContext(context);
    }
    throw busy();
  }

  #closeContext(context: ServedContext): Promise<void> {
    return context.close(typeof this.#source === 'function');
  }

  #forget(task: ServedTask, context: ServedContext, user: string): void {
    context.tasks.delete(task);
    this.#tasks.delete(keyOf(user, task.id));
  }

  #find(id: string, call: ServerCallContext): { task: ServedTask; context: ServedContext } {
    const found = this.#tasks.get(keyOf(userOf(call), id));
    if (found === undefined) throw new TaskNotFoundError();
    return found;
  }
}

/** The decisions in a message, and what else it holds. */
function splitDecisions(parts: readonly Part[]): {
  parts: readonly Part[];
  decisions: readonly PendingDecision[];
} {
  const decisions: PendingDecision[] = [];
  const rest = parts.filter(({ content }) => {
    const list: unknown =
      content?.$case === 'data' && isJsonObject(content.value) ? content.value['decisions'] : undefined;
    if (!Array.isArray(list)) return true;
    decisions.push(...list.filter(isJsonObject).map((one) => one as typeof one & PendingDecision)); // the agent checks them
    return false;
  });
  return { parts: rest, decisions };
}

/** No user can have a key of another: the user is in it, and marked off. */
function keyOf(user: string, id: string): string {
  return `${JSON.stringify(user)} ${id}`;
}

function userOf(call: ServerCallContext): string {
  return call.user?.userName ?? '';
}

function leftOf(call: ServerCallContext): AbortSignal {
  const signal = call.state.get(LEFT);
  return signal instanceof AbortSignal ? signal : new AbortController().signal;
}

function busy(): A2AError {
  return new A2AError('The server is busy. Try again later.');
}
