import type { AgentCard, Message, Part, StreamResponse, Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { ToolOutputBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import { abortable, abortableItems, whenAborted } from '../../util/abort.ts';
import { sleep, startTimer } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import type { JsonObject } from '../../util/json.ts';
import { SecretWords } from '../../util/redaction/secret-words.ts';
import { oneLine } from '../../util/text.ts';
import { yieldToEventLoop } from '#platform';
import { A2AError } from '../protocol/a2a-error.ts';
import { a2aSdk, a2aClient, a2aErrors } from '../protocol/sdk.ts';
import type { FoundCard } from './agent-card-resolver.ts';
import { originsOf, readAgentCard, type CardRules } from './agent-card.ts';
import { limitedFetch, unreachable, type LimitedFetchOptions } from './limited-fetch.ts';
import { RemoteReply } from './remote-reply.ts';
import type { SettledState } from './remote-state.ts';

export interface RemoteRequest {
  /** Message parts; empty to ask only for the state of the task. */
  readonly parts: readonly Part[];
  readonly contextId: string | undefined;
  /** Task to continue. */
  readonly taskId: string | undefined;
}

export interface AskOptions {
  /** Name of the agent in its answer. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Aborted with a reason when the time limit has passed. */
  readonly deadline: AbortSignal;
  readonly print: (msg: Msg, last: boolean) => Promise<void>;
  /** Called once the remote agent has received the message, with the id of the conversation. */
  readonly onDelivered: (contextId: string | undefined) => void;
}

/** Answer of a remote agent. JSON, except for the message. */
export interface RemoteAnswer {
  readonly msg: Msg;
  readonly state: SettledState;
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  /** Content of the last status: the question, if the task waits for input. */
  readonly closing: readonly ToolOutputBlock[];
}

const FIRST_POLL_MS = 200;
const MAX_POLL_MS = 5000;
const MAX_FAILED_POLLS = 3;
/** Time limit of canceling a task, and of waiting for the id of a new task to cancel. */
const CANCEL_MS = 2000;
const CANCEL_AGAIN_MS = 200;
const MAX_EXCERPT = 300;

const ENDINGS = { failed: 'has failed', rejected: 'rejected the task', canceled: 'canceled the task' };

/**
 * Remote agent, described by its card. One `ask` sends one message and follows the task: streamed if the card
 * allows it, otherwise polled, and also polled after a broken stream. An abandoned task is canceled in the
 * background.
 */
export class RemoteAgent {
  readonly #client: Client;
  readonly #isStreaming: boolean;
  readonly #secrets: SecretWords;
  /** By the signal of a request: the signal of the caller. */
  readonly #callers: WeakMap<AbortSignal, AbortSignal>;
  /** Running work, including cancellations that nobody waits for. */
  readonly #work = new Set<Promise<unknown>>();

  private constructor(
    client: Client,
    card: AgentCard,
    secrets: SecretWords,
    callers: WeakMap<AbortSignal, AbortSignal>,
  ) {
    this.#client = client;
    this.#isStreaming = card.capabilities?.streaming === true;
    this.#secrets = secrets;
    this.#callers = callers;
  }

  /** @throws A2AError if the card can't be used. */
  static async connect(
    found: FoundCard,
    rules: CardRules & Omit<LimitedFetchOptions, 'origins'>,
  ): Promise<RemoteAgent> {
    const card = readAgentCard(found, rules);
    const { headers = {} } = rules;
    const secrets = new SecretWords();
    const recordedHeaders = async (): Promise<Readonly<Record<string, string>>> => {
      const given = typeof headers === 'function' ? await headers() : headers;
      secrets.remember(Object.values(given));
      return given;
    };
    const callers = new WeakMap<AbortSignal, AbortSignal>();
    const beforeSend = (signal: AbortSignal | undefined): void =>
      signal && callers.get(signal)?.throwIfAborted(); // sends nothing for a caller that was aborted before
    const fetchImpl = limitedFetch({
      ...rules,
      headers: recordedHeaders,
      origins: originsOf(card),
      beforeSend,
    });
    const options = { fetchImpl, legacyCompat: { enabled: true } };
    const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = a2aClient;
    const transports = [new JsonRpcTransportFactory(options), new RestTransportFactory(options)];
    const client = await new ClientFactory({ transports }).createFromAgentCard(card);
    return new RemoteAgent(client, card, secrets, callers);
  }

  /** @throws A2AError if there is no answer; the reason of an aborted signal. */
  ask(request: RemoteRequest, options: AskOptions): Promise<RemoteAnswer> {
    return this.#tracked(this.#ask(request, options));
  }

  /** Resolves when all work is done; takes seconds at most if no `ask` is running. */
  async whenIdle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }

  async #ask(request: RemoteRequest, options: AskOptions): Promise<RemoteAnswer> {
    const { name, signal, deadline } = options;
    const reply = new RemoteReply(name, options.print, request.taskId);
    const stop = new AbortController();
    this.#callers.set(stop.signal, signal);
    const unlink = whenAborted(deadline, (reason) => stop.abort(reason));
    let stopTimer = (): void => {};
    const unlinkCaller = whenAborted(signal, (reason) => {
      // The caller has its answer already. A new task can only be canceled once its id is known.
      const isKnown = reply.taskId !== undefined || request.taskId !== undefined;
      if (isKnown) void yieldToEventLoop().then(() => stop.abort(reason));
      else stopTimer = startTimer(CANCEL_MS, () => stop.abort(reason));
    });
    let isOpen = false;
    try {
      await this.#follow(request, reply, options, stop.signal);
      return this.#answerOf(reply, name);
    } catch (error) {
      const failure = failureOf(stop.signal.aborted ? stop.signal.reason : error, reply);
      // A waiting task is unchanged if the request did not reach the server.
      isOpen = signal.aborted || !['unreachable', 'refused'].includes(failure.failure);
      throw signal.aborted ? signal.reason : failure;
    } finally {
      stopTimer();
      unlinkCaller();
      unlink();
      const taskId = reply.taskId ?? (isOpen ? request.taskId : undefined);
      if (taskId !== undefined && reply.settled === undefined) void this.cancel(taskId);
    }
  }

  async #follow(
    request: RemoteRequest,
    reply: RemoteReply,
    { signal, onDelivered }: AskOptions,
    stopped: AbortSignal,
  ): Promise<void> {
    let failure: unknown;
    try {
      for await (const update of abortableItems(this.#send(request, stopped), stopped)) {
        const taken = reply.take(update);
        onDelivered(reply.contextId);
        await taken;
        signal.throwIfAborted();
        if (reply.settled !== undefined) return;
      }
    } catch (error) {
      // The connection may break while the task continues.
      if (stopped.aborted || signal.aborted || reply.taskId === undefined || isFinal(error)) throw error;
      failure = error;
    }
    const taskId = reply.taskId ?? request.taskId;
    if (taskId === undefined) throw new A2AError('bad_answer', 'The remote agent answered with nothing.');
    await this.#poll(taskId, reply, stopped, failure);
  }

  async *#send({ parts, ...ids }: RemoteRequest, signal: AbortSignal): AsyncGenerator<StreamResponse> {
    if (parts.length === 0) return;
    const message: Message = {
      messageId: newId(),
      contextId: ids.contextId ?? '',
      taskId: ids.taskId ?? '',
      role: a2aSdk.Role.ROLE_USER,
      parts: [...parts],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
    const request = { tenant: '', message, metadata: undefined };
    const configuration = {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: 0, // the client knows the history
    };
    if (this.#isStreaming) {
      const sent = { ...request, configuration: { ...configuration, returnImmediately: false } };
      yield* this.#client.sendMessageStream(sent, { signal });
    } else {
      const sent = { ...request, configuration: { ...configuration, returnImmediately: true } };
      const result = await this.#client.sendMessage(sent, { signal });
      yield {
        payload:
          'messageId' in result ? { $case: 'message', value: result } : { $case: 'task', value: result },
      };
    }
  }

  /** Polls a task until it is settled. Tolerates a few failures in a row. */
  async #poll(taskId: string, reply: RemoteReply, signal: AbortSignal, failure?: unknown): Promise<void> {
    let failures = failure === undefined ? 0 : 1;
    for (let delay = FIRST_POLL_MS; ; delay = Math.min(delay * 1.6, MAX_POLL_MS)) {
      let task: Task;
      try {
        task = await abortable(
          this.#client.getTask({ tenant: '', id: taskId, historyLength: 0 }, { signal }),
          signal,
        );
        failures = 0;
      } catch (error) {
        if (signal.aborted || isFinal(error) || ++failures > MAX_FAILED_POLLS) throw error;
        await sleep(delay, signal);
        continue;
      }
      await reply.takeTask(task);
      if (reply.settled !== undefined) return;
      await sleep(delay, signal);
    }
  }

  /** @throws A2AError if the task failed, was rejected or canceled. */
  #answerOf(reply: RemoteReply, name: string): RemoteAnswer {
    const { settled = 'completed', taskId, contextId, closing } = reply;
    const about: JsonObject = { state: settled, ...(taskId && { taskId }), ...(contextId && { contextId }) };
    const msg = reply.finish({ a2a: about }).with({ endReason: 'finished' });
    if (settled !== 'failed' && settled !== 'rejected' && settled !== 'canceled') {
      return { msg, state: settled, taskId, contextId, closing };
    }
    const text = closing.flatMap((block) => (block.type === 'text' ? block.text : [])).join(' ');
    const redacted = this.#secrets.hide(text);
    const excerpt = redacted === '' ? '.' : `: ${oneLine(redacted).slice(0, MAX_EXCERPT)}`;
    throw new A2AError(settled, `The remote agent ${name} ${ENDINGS[settled]}${excerpt}`, {
      taskId,
      reply: msg,
    });
  }

  /** Cancels a task in the background, within a time limit. Never rejects. */
  cancel(taskId: string): Promise<void> {
    return this.#tracked(this.#cancel(taskId));
  }

  async #cancel(taskId: string): Promise<void> {
    await yieldToEventLoop();
    const stop = new AbortController();
    const stopTimer = startTimer(CANCEL_MS, () => stop.abort(new A2AError('timed_out', 'It took too long.')));
    const request = { tenant: '', id: taskId, metadata: undefined };
    const attempt = (): Promise<unknown> =>
      abortable(this.#client.cancelTask(request, { signal: stop.signal }), stop.signal);
    try {
      for (;;) {
        try {
          return void (await attempt());
        } catch (error) {
          if (stop.signal.aborted || isFinal(error)) throw error;
          await sleep(CANCEL_AGAIN_MS, stop.signal);
        }
      }
    } catch (error) {
      getLogger().log('debug', `A remote task could not be canceled: ${messageOf(failureOf(error))}`);
    } finally {
      stopTimer();
    }
  }

  #tracked<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work);
    const forget = (): void => void this.#work.delete(work);
    work.then(forget, forget);
    return work;
  }
}

/** Whether repeating the request is useless. */
function isFinal(error: unknown): boolean {
  if (A2AError.isInstance(error)) return error.failure !== 'unreachable';
  return error instanceof a2aErrors.A2AError;
}

/** Error without texts of the server or the network, which may contain sent data. */
function failureOf(error: unknown, reply?: RemoteReply): A2AError {
  const details = { taskId: reply?.taskId, reply: reply?.soFar() };
  if (A2AError.isInstance(error)) return new A2AError(error.failure, error.message, details);
  if (error instanceof a2aErrors.A2AError) {
    const reason = oneLine(error.reason).slice(0, 60);
    return new A2AError('refused', `The remote agent refused the request (${reason}).`, {
      ...details,
      reason,
    });
  }
  if (error instanceof Error && /maximum allowed size/.test(error.message))
    return new A2AError('too_large', 'The remote agent sent an event of more than 4 MiB.', details);
  if (error instanceof TypeError && error.cause !== undefined)
    return failureOf(unreachable('The agent', error), reply);
  return new A2AError('bad_answer', 'The answer of the remote agent is not valid by the protocol.', details);
}
