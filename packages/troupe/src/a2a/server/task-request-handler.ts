import type {
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  Part,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '@a2a-js/sdk';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import { newId } from '../../util/ids.ts';
import { isJsonObject } from '../../util/json.ts';
import { a2aSdk, a2aErrors } from '../protocol/sdk.ts';
import { takeResponseSchema } from '../protocol/response-schema.ts';
import { assertAcceptable } from './accepted-content.ts';
import { AcceptedMessages } from './accepted-messages.ts';
import { keyOf, type OpenContexts, type FoundTask } from './open-contexts.ts';
import type { Work } from './served-context.ts';
import type { ServedTask } from './served-task.ts';
import { splitAnswer } from './split-answer.ts';

/** Key of the request state for the signal that is aborted when the client disconnects. */
export const DISCONNECTED = 'disconnected';

const PAGE = 50;

/**
 * Handles protocol requests and lets agents work on tasks. Tasks of other users are reported as not found.
 * Sending the same message again returns the same task.
 */
export class TaskRequestHandler implements A2ARequestHandler {
  readonly #contexts: OpenContexts;
  readonly #card: AgentCard;
  readonly #accepted = new AcceptedMessages();

  constructor(contexts: OpenContexts, card: AgentCard) {
    this.#contexts = contexts;
    this.#card = card;
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#card;
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    throw new a2aErrors.UnsupportedOperationError('There is no extended agent card.');
  }

  async sendMessage(request: SendMessageRequest, context: ServerCallContext): Promise<Task> {
    const { task, begin } = await this.#accept(request, context);
    begin();
    const { returnImmediately = false, historyLength } = request.configuration ?? {};
    if (!returnImmediately) await task.settled(disconnectSignal(context));
    return task.snapshot({ historyLength });
  }

  async *sendMessageStream(
    request: SendMessageRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { task, begin } = await this.#accept(request, context);
    const updates = task.updates(
      { historyLength: request.configuration?.historyLength },
      disconnectSignal(context),
    );
    begin();
    yield* updates;
  }

  async *resubscribe(
    { id }: SubscribeToTaskRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { task } = await this.#find(id, context);
    if (task.hasEnded) throw new a2aErrors.UnsupportedOperationError('The task has ended.');
    yield* task.updates({ untilEnd: true }, disconnectSignal(context));
  }

  async getTask({ id, historyLength }: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    return (await this.#find(id, context)).task.snapshot({ historyLength });
  }

  async cancelTask({ id }: CancelTaskRequest, call: ServerCallContext): Promise<Task> {
    const { task, context } = await this.#find(id, call);
    if (task.hasEnded) throw new a2aErrors.TaskNotCancelableError('The task has ended.');
    while (!task.hasEnded) {
      if (task.isWaiting) await context.abandon(task);
      else {
        await task.cancel?.();
        await task.settled(disconnectSignal(call));
      }
    }
    if (task.state !== a2aSdk.TaskState.TASK_STATE_CANCELED)
      throw new a2aErrors.TaskNotCancelableError('The task has ended.');
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
      throw new a2aErrors.RequestMalformedError('pageSize must be a whole number from 1 to 100.');
    const since = after === undefined ? -Infinity : Date.parse(after);
    if (Number.isNaN(since)) throw new a2aErrors.RequestMalformedError('statusTimestampAfter is no time.');
    const found = (await this.#contexts.tasksOf(userOf(context), contextId))
      .filter((task) => status === a2aSdk.TaskState.TASK_STATE_UNSPECIFIED || task.state === status)
      .filter((task) => Date.parse(task.changedAt) >= since)
      .reverse()
      .toSorted((a, b) => b.changedAt.localeCompare(a.changedAt)); // latest first
    const start = pageToken === '' ? 0 : found.findIndex(({ id }) => id === pageToken);
    if (start < 0) throw new a2aErrors.RequestMalformedError('The pageToken is not valid.');
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
    throw new a2aErrors.PushNotificationNotSupportedError();
  }

  async getTaskPushNotificationConfig(): Promise<never> {
    throw new a2aErrors.PushNotificationNotSupportedError();
  }

  async listTaskPushNotificationConfigs(): Promise<never> {
    throw new a2aErrors.PushNotificationNotSupportedError();
  }

  async deleteTaskPushNotificationConfig(): Promise<never> {
    throw new a2aErrors.PushNotificationNotSupportedError();
  }

  /** Finds or makes the task of a message. The work starts with `begin`. */
  async #accept(
    { message, configuration }: SendMessageRequest,
    call: ServerCallContext,
  ): Promise<{ task: ServedTask; begin: () => void }> {
    if (message === undefined) throw new a2aErrors.RequestMalformedError('params.message is missing.');
    assertAcceptable(message.parts, this.#card.defaultInputModes);
    if (configuration?.taskPushNotificationConfig !== undefined)
      throw new a2aErrors.PushNotificationNotSupportedError();
    const user = userOf(call);
    const key = keyOf(user, message.messageId);
    const again = this.#accepted.taskOf(key, message);
    const known = again === undefined ? undefined : await this.#contexts.find(user, await again);
    if (known !== undefined) return { task: known.task, begin: () => {} };
    const accepting = this.#acceptNew(message, call);
    const taskId = accepting.then(({ task }) => task.id);
    this.#accepted.add(key, message, taskId);
    return accepting;
  }

  async #acceptNew(
    message: Message,
    call: ServerCallContext,
  ): Promise<{ task: ServedTask; begin: () => void }> {
    const who = { user: userOf(call), contextId: message.contextId || newId() };
    const repeated = await this.#findRepeated(message, who.user);
    if (repeated !== undefined) return { task: repeated, begin: () => {} };
    const isNew = message.taskId === '';
    let found = await (isNew ? this.#contexts.newTask(who) : this.#find(message.taskId, call));
    const work = await workOf(message.parts, found.task);
    // closed meanwhile in favour of another conversation
    while (!isNew && found.context.isClosed) found = await this.#find(message.taskId, call);
    const { task, context } = found;
    if (!isNew) assertCanContinue(task, message);
    try {
      return { task, begin: await context.accept(task, message, work) };
    } catch (error) {
      getLogger().log('error', `A task could not be saved, and was not begun: ${messageOf(error)}`);
      if (isNew) this.#contexts.forget(who.user, found);
      throw new a2aErrors.A2AError('The message was not taken. Try again later.');
    }
  }

  /** Finds the task that accepted the same message, also before a restart. */
  async #findRepeated(message: Message, user: string): Promise<ServedTask | undefined> {
    const { contextId, taskId } = message;
    if (taskId === '' && contextId === '') return undefined;
    const found = taskId === '' ? undefined : await this.#contexts.find(user, taskId);
    const tasks = taskId === '' ? await this.#contexts.tasksOf(user, contextId) : found ? [found.task] : [];
    return tasks.find((task) => task.hasMessage(message));
  }

  async #find(id: string, call: ServerCallContext): Promise<FoundTask> {
    const found = await this.#contexts.find(userOf(call), id);
    if (found === undefined) throw new a2aErrors.TaskNotFoundError();
    return found;
  }
}

/** @throws A2AError if a message can't continue the task. */
function assertCanContinue(task: ServedTask, { contextId }: Message): void {
  if (contextId !== '' && contextId !== task.contextId)
    throw new a2aErrors.RequestMalformedError('The task belongs to another context.');
  if (task.hasEnded)
    throw new a2aErrors.UnsupportedOperationError(
      'The task has ended. Leave the taskId out to begin another.',
    );
  if (!task.isSettled) throw new a2aErrors.UnsupportedOperationError('The task is being worked on.');
}

/** Work of a message: for a waiting task decisions or the answer to its question, the wanted structured output, and the other parts. */
async function workOf(given: readonly Part[], { pending, responseSchema }: ServedTask): Promise<Work> {
  const { parts, schema = responseSchema } = takeResponseSchema(given);
  const decided = pending.length > 0 ? splitDecisions(parts) : { parts, decisions: [] };
  if (decided.decisions.length > 0) return { ...decided, schema };
  return { ...(await splitAnswer(decided.parts, pending)), schema };
}

/** Splits a message into decisions and other parts. */
function splitDecisions(parts: readonly Part[]): Pick<Work, 'parts' | 'decisions'> {
  const decisions: PendingDecision[] = [];
  const rest = parts.filter(({ content }) => {
    const list: unknown =
      content?.$case === 'data' && isJsonObject(content.value) ? content.value['decisions'] : undefined;
    if (!Array.isArray(list)) return true;
    // the agent validates decisions
    decisions.push(...list.filter(isJsonObject).map((one) => one as typeof one & PendingDecision));
    return false;
  });
  return { parts: rest, decisions };
}

function userOf(call: ServerCallContext): string {
  return call.user?.userName ?? '';
}

function disconnectSignal(call: ServerCallContext): AbortSignal {
  const signal = call.state.get(DISCONNECTED);
  return signal instanceof AbortSignal ? signal : new AbortController().signal;
}
