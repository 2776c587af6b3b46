import type { Part } from '@a2a-js/sdk';

import { AgentBase, type AgentOptions, type CallOptions } from '../../agent/agent-base.ts';
import type { Interrupt } from '../../agent/interrupt.ts';
import { checkAnswers } from '../../approval/answers.ts';
import { readDecisions } from '../../approval/decisions.ts';
import { controlOf } from '../../agent/turn/current-turn.ts';
import type { Turn } from '../../agent/turn/turn.ts';
import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { Msg, type MsgInput } from '../../message/msg.ts';
import type { PendingCall } from '../../message/pending-call.ts';
import { AnswerSchema } from '../../model/structured/answer-schema.ts';
import { traced } from '../../tracing/instrumentation.ts';
import { abortable } from '../../util/abort.ts';
import { startTimer } from '../../util/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { AnySchema } from '../../util/schema.ts';
import { MAX_BYTES } from '../../util/net/safe-fetch.ts';
import { A2AError } from '../protocol/a2a-error.ts';
import type { AgentCardResolver } from './agent-card-resolver.ts';
import type { CardKey } from '../protocol/card-signature.ts';
import type { A2AHeaders } from './limited-fetch.ts';
import { loadA2AClientSdk } from '../protocol/sdk.ts';
import { OpenTask } from './open-task.ts';
import { textPart, toParts } from '../protocol/parts.ts';
import { responseSchemaPart } from '../protocol/response-schema.ts';
import { withStructuredOutput } from './structured-answer.ts';
import type { RemoteAgent, RemoteAnswer } from './remote-agent.ts';

export interface A2AAgentOptions extends Omit<AgentOptions, 'name'> {
  /** Card of the remote agent as JSON, or a resolver that finds the card. */
  readonly card: JsonObject | AgentCardResolver;
  /** Name of the agent. @default the name on the card, if the card is given as JSON */
  readonly name?: string;
  /** Sent with each request to the agent, and only there; e.g. `authorization`. */
  readonly headers?: A2AHeaders;
  /** Origins of the agent besides the origin of its card, such as `https://api.example`. */
  readonly allowedOrigins?: readonly string[];
  /** Public keys; one of them must have signed the card. @default the card may be unsigned */
  readonly cardKeys?: readonly CardKey[];
  /** Time limit of one agent call. @default 10 minutes */
  readonly timeoutMs?: number;
  /** Maximum bytes of one response. @default 20 MiB */
  readonly maxBytes?: number;
}

const TIMEOUT_MS = 600_000;

/**
 * Remote agent that speaks A2A. An agent call sends the messages observed since the last call together with
 * the new messages, and returns the remote answer. All calls belong to one conversation.
 *
 * A task that needs input ends the reply with `pending`, like a pending tool call, and the next call
 * continues that task. An interrupt cancels the remote task without waiting for the server. Content from the
 * remote agent is treated as data, never as instructions. Folder `a2a/client`: start here.
 */
export class A2AAgent extends AgentBase {
  static override readonly componentName: string = 'a2AAgent';

  readonly #options: A2AAgentOptions;
  #remote: RemoteAgent | undefined;
  #isDelivered = false;
  /** Observed messages, not sent yet. */
  protected observed: Msg[] = [];
  protected contextId: string | null = null;
  protected openTask: OpenTask | null = null;

  /** @throws TroupeError if there is no name, or an option is out of range. */
  constructor(options: A2AAgentOptions) {
    const { card, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = options ?? {};
    if (!isJsonObject(card)) {
      const advice = `new A2AAgent({ name, card: new WellKnownAgentCardResolver('https://agent.example') })`;
      throw new TroupeError('invalid_config', `An A2AAgent needs a card: ${advice}.`);
    }
    super({ ...options, name: options.name ?? nameOn(card) });
    checkNumber('timeoutMs', timeoutMs, { least: 1, most: MAX_TIMER_MS });
    checkNumber('maxBytes', maxBytes, { least: 1 });
    this.#options = options;
    this.registerStateList('observed', {
      toJson: (msg: Msg) => msg.toJSON(),
      fromJson: (json) => Msg.from(json),
    });
    this.registerState('contextId', { toJson: (id: string | null) => id, fromJson: textOrNull });
    this.registerState('openTask', {
      toJson: (task: OpenTask | null) => task?.toJSON() ?? null,
      fromJson: (json) => (json === null ? null : OpenTask.fromJson(json)),
    });
  }

  /** Questions and tool calls for which the remote task waits. */
  override get pendingCalls(): readonly PendingCall[] {
    return this.openTask?.pending ?? [];
  }

  /** New input answers a waiting task, unless the agent call says otherwise. */
  override refusesInput(onPending?: CallOptions['onPending']): boolean {
    return this.openTask !== null && onPending === 'refuse';
  }

  /** Keeps messages for the next agent call. */
  override async observe(msgs: MsgInput): Promise<void> {
    this.observed.push(...Msg.list(msgs));
  }

  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    this.#isDelivered = false;
    const schema = turn.structuredModel && new AnswerSchema(turn.structuredModel);
    const given = readDecisions(turn.takeDecisions());
    const hasAnswers = given.some(({ verdict }) => verdict === 'answer');
    const decisions = hasAnswers ? await checkAnswers(given, this.pendingCalls) : given;
    const answers = decisions.length === 0 ? [] : this.#partsFor(decisions);
    const isNew = msgs.length > 0 && decisions.length === 0;
    if (this.openTask !== null && isNew) await this.#leaveOpenTask(this.openTask, turn);
    const observedCount = this.observed.length;
    const said = [...mergedParts([...this.observed, ...msgs]), ...answers];
    const wanted =
      schema === undefined || (said.length === 0 && this.openTask)
        ? []
        : [responseSchemaPart(schema.jsonSchema)];
    // an agent call without input says nothing, as a message with one empty text; of an open task it asks for the state
    const parts = said.length + wanted.length > 0 || this.openTask ? [...said, ...wanted] : [textPart('')];
    const waits = controlOf(turn).accept();
    if (waits) await waits;
    const delivered = (contextId: string | undefined): void => {
      if (turn.signal.aborted) return;
      this.contextId = contextId ?? this.contextId; // also when this call fails
      if (this.#isDelivered) return;
      this.#isDelivered = true;
      this.observed.splice(0, observedCount);
    };
    try {
      const answer = await turn.step({ kind: 'agent', name: 'a2a' }, () =>
        traced(
          () => ({ type: 'a2a', agentName: this.name }),
          () => this.#ask(parts, turn, delivered),
          { signal: turn.signal },
        ),
      );
      delivered(answer.contextId); // also when the answer was replayed
      return await this.#answer(answer, turn, schema);
    } catch (error) {
      const isWaiting = !this.#isDelivered && isRepeatable(error);
      if (!isWaiting) this.openTask = null; // ended, or being canceled
      throw error;
    }
  }

  protected override get mayRefuse(): boolean {
    return true;
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    this.openTask = null; // being canceled
    this.observed.push(...(this.#isDelivered ? [] : msgs), ...interrupt.unread, ...interrupt.msgs);
    return super.handleInterrupt(msgs, interrupt);
  }

  /** Interrupts running calls, and waits until abandoned tasks are canceled, for a limited time. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#remote?.whenIdle();
  }

  async #answer(
    { msg, state, taskId, closing }: RemoteAnswer,
    turn: Turn,
    schema: AnswerSchema<AnySchema> | undefined,
  ): Promise<Msg> {
    let answer = msg instanceof Msg ? msg : Msg.from(msg); // a replayed step gives JSON
    this.openTask = null;
    if (taskId !== undefined && (state === 'input_required' || state === 'auth_required')) {
      const open = OpenTask.from(taskId, state, closing, turn.agentPath);
      answer = answer.with({ endReason: 'tool_suspended', pending: open.pending });
      this.openTask = open;
    } else if (schema !== undefined) answer = await withStructuredOutput(answer, schema);
    turn.commit(answer);
    await this.print(answer);
    return answer;
  }

  #partsFor(decisions: Parameters<OpenTask['partsFor']>[0]): readonly Part[] {
    if (this.openTask !== null) return this.openTask.partsFor(decisions);
    throw new TroupeError('decision_refused', `${this.name} has no pending tool call.`);
  }

  /**
   * Decides about a task waiting for input when new messages come: answers it with the messages, cancels it, or
   * refuses the messages, by `onPending`.
   * @throws TroupeError
   */
  async #leaveOpenTask({ taskId, pending }: OpenTask, { onPending, signal }: Turn): Promise<void> {
    if (onPending === 'refuse') {
      const ids = pending.map(({ id }) => id).join(', ');
      const advice = 'Answer that first, by call(undefined, { decisions }).';
      throw new TroupeError('pending_calls', `${this.name} waits for ${ids}. ${advice}`);
    }
    if (onPending !== 'close') return;
    const remote = await this.#connect(signal);
    this.openTask = null;
    void remote.cancel(taskId);
  }

  async #ask(
    parts: readonly Part[],
    turn: Turn,
    onDelivered: (contextId: string | undefined) => void,
  ): Promise<RemoteAnswer> {
    const { name } = this;
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    const late = new AbortController();
    const problem = `The remote agent ${name} gave no answer within ${timeoutMs} ms.`;
    const stopTimer = startTimer(timeoutMs, () => late.abort(new A2AError('timed_out', problem)));
    try {
      const remote = await abortable(this.#connect(turn.signal), late.signal);
      return await remote.ask(
        { parts, contextId: this.contextId ?? undefined, taskId: this.openTask?.taskId },
        {
          name,
          signal: turn.signal,
          deadline: late.signal,
          print: (msg, last) => this.print(msg, last),
          onDelivered,
        },
      );
    } finally {
      stopTimer();
    }
  }

  /** Connects once. After a failure or abort, the next call tries again. */
  async #connect(signal: AbortSignal): Promise<RemoteAgent> {
    return (this.#remote ??= await abortable(this.#open(signal), signal));
  }

  async #open(signal: AbortSignal): Promise<RemoteAgent> {
    const { card, headers, allowedOrigins = [], cardKeys, maxBytes = MAX_BYTES } = this.#options;
    await loadA2AClientSdk();
    const { RemoteAgent } = await import('./remote-agent.ts');
    const found = isResolver(card) ? await card.resolve(signal) : { card };
    return RemoteAgent.connect(found, { headers, allowedOrigins, cardKeys, maxBytes });
  }
}

/** Whether the remote agent has not processed the request, so that it can be sent again. */
function isRepeatable(error: unknown): boolean {
  if (!A2AError.isInstance(error)) return false;
  const { failure, reason = 'INTERNAL_ERROR' } = error; // a plain HTTP error is not an answer of the agent
  return failure === 'unreachable' || (failure === 'refused' && reason === 'INTERNAL_ERROR');
}

/** Merges several messages into one. With several senders, each message starts with the sender's name. */
function mergedParts(msgs: readonly Msg[]): readonly Part[] {
  const isSeveral = new Set(msgs.map(({ name }) => name)).size > 1;
  return msgs.flatMap((msg) => {
    const parts = toParts(msg.getContentBlocks());
    return isSeveral && parts.length > 0 ? [textPart(`${msg.name}:`), ...parts] : parts;
  });
}

function isResolver(card: JsonObject | AgentCardResolver): card is AgentCardResolver {
  return typeof card['resolve'] === 'function';
}

function nameOn(card: JsonObject | AgentCardResolver): string {
  const name = isResolver(card) ? undefined : card['name'];
  if (typeof name === 'string') return name;
  throw new TroupeError(
    'invalid_config',
    `An A2AAgent needs a name, unless the card is given: { name: 'planner', card }.`,
  );
}

function textOrNull(json: JsonValue): string | null {
  if (json === null || typeof json === 'string') return json;
  throw new TypeError('it is no text');
}
