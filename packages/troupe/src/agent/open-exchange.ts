import { TroupeError } from '../errors.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Exchange } from '../message/exchange.ts';
import { Msg } from '../message/msg.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { ToolResume } from '../toolkit/tool-suspension.ts';
import { canonicalJson } from '../util/canonical-json.ts';
import { copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';

/** A call that waits: for a decision about itself, or about calls of an agent in its tool. */
export type WaitingCall =
  | { readonly pending: PendingCall }
  | { readonly nested: { readonly state: JsonValue; readonly pending: readonly PendingCall[] } };

/** What was decided about a call that waited. */
export interface Grant {
  /** The arguments for which it holds. */
  readonly input: JsonObject;
  readonly isEdited: boolean;
}

const OUTCOME_UNKNOWN =
  'The call was started, and then the program ended: its outcome is unknown. It may have taken effect. Check before you call it again.';

/**
 * The calls of a thought while they are being made: what each gave, which of them wait for somebody outside, and which that
 * change something have been started. As it is part of the agent's state, nothing of it is forgotten when the program ends:
 * what was answered is not asked again, and what was started is not run again by itself.
 */
export class OpenExchange {
  readonly exchange: Exchange;
  readonly #started = new Set<string>();
  readonly #waiting = new Map<string, WaitingCall>();
  /** Tools about which nobody is asked any more in this run. */
  readonly grantedTools: Set<string>;
  readonly #grants = new Map<string, Grant>();
  readonly #resumes = new Map<string, ToolResume>();

  /** @param grantedTools is added to when somebody allows a tool for the whole run */
  constructor(thought: Msg, grantedTools = new Set<string>()) {
    this.exchange = new Exchange(thought);
    this.grantedTools = grantedTools;
  }

  /** The calls that are neither answered nor waiting. */
  get toDo(): readonly ToolUseBlock[] {
    return this.exchange.calls.filter(
      ({ id }) => this.exchange.answerTo(id) === undefined && !this.#waiting.has(id),
    );
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** What somebody outside has to decide, calls of agents in tools included. */
  get pending(): readonly PendingCall[] {
    return [...this.#waiting.values()].flatMap(pendingOf);
  }

  /** Those of them that are calls of this very exchange. */
  get ownPending(): readonly PendingCall[] {
    return [...this.#waiting.values()].flatMap((one) => ('pending' in one ? [one.pending] : []));
  }

  answer(result: ToolResultBlock): void {
    this.exchange.answer(result);
  }

  /** Lets a call wait. */
  wait(callId: string, waiting: WaitingCall): void {
    this.#waiting.set(callId, waiting);
  }

  /** Notes that a call which changes something is about to run. */
  start(callId: string): void {
    this.#started.add(callId);
  }

  /** What a call is run with: the model's arguments, or those that somebody has put in their place. */
  runnable(call: ToolUseBlock): ToolUseBlock {
    const grant = this.#grants.get(call.id);
    return grant?.isEdited ? { ...call, input: grant.input } : call;
  }

  /** What a tool that waited goes on with. */
  resumeOf(callId: string): ToolResume | undefined {
    return this.#resumes.get(callId);
  }

  /** Whether somebody has allowed the call with exactly these arguments, or its tool for the whole run. */
  isGranted({ id, name, input }: ToolUseBlock): boolean {
    const grant = this.#grants.get(id);
    return (
      this.grantedTools.has(name) ||
      (grant !== undefined && canonicalJson(grant.input) === canonicalJson(input))
    );
  }

  /** A result that says so if somebody has changed the arguments: the model knows only its own. */
  noted(result: ToolResultBlock): ToolResultBlock {
    const grant = this.#grants.get(result.id);
    if (!grant?.isEdited) return result;
    const note = `<system-info>The user changed the arguments to ${JSON.stringify(grant.input)}.</system-info>`;
    const { output } = result;
    return {
      ...result,
      output: typeof output === 'string' ? `${note}\n${output}` : [{ type: 'text', text: note }, ...output],
    };
  }

  /**
   * Takes decisions in: all of them or none.
   * @throws TroupeError if one is about a call that is not pending, or says what can't be said about it.
   */
  decide(decisions: readonly PendingDecision[]): void {
    const open = new Map(this.pending.map((pending) => [pending.id, pending]));
    for (const decision of decisions) {
      const pending = open.get(decision.id);
      if (pending === undefined)
        throw refused(decision.id, 'was never asked for, or has been decided already');
      open.delete(decision.id); // good for one decision
      checkDecision(decision, pending);
    }
    for (const [callId, waiting] of this.#waiting) this.#apply(callId, waiting, decisions);
  }

  #apply(callId: string, waiting: WaitingCall, decisions: readonly PendingDecision[]): void {
    const ids = new Set(pendingOf(waiting).map(({ id }) => id));
    const mine = decisions.filter(({ id }) => ids.has(id));
    const [first] = mine;
    if (first === undefined) return;
    this.#waiting.delete(callId);
    if ('nested' in waiting) {
      this.#resumes.set(callId, { state: waiting.nested.state, decisions: mine });
      return;
    }
    const { call } = waiting.pending;
    if (first.verdict === 'allow') {
      const { input, scope } = first;
      this.#grants.set(callId, {
        input: input === undefined ? call.input : copyJsonObject(input, 'input'),
        isEdited: input !== undefined,
      });
      if (scope === 'run') this.grantedTools.add(call.name);
    } else {
      const result =
        first.verdict === 'deny'
          ? { output: rejectionText(first.reason), status: 'denied' as const }
          : { output: first.output, status: first.status ?? 'ok' };
      this.answer({ type: 'tool_result', id: callId, name: call.name, ...result });
    }
  }

  /** What was started is not run again. */
  #closeStarted(): void {
    for (const { id, name } of this.exchange.calls) {
      if (this.#started.has(id) && this.exchange.answerTo(id) === undefined && !this.#waiting.has(id))
        this.answer({ type: 'tool_result', id, name, output: OUTCOME_UNKNOWN, status: 'interrupted' });
    }
  }

  toJSON(): JsonObject {
    const { thought, calls } = this.exchange;
    const answers = calls.map(({ id }) => this.exchange.answerTo(id)).filter((one) => one !== undefined);
    return copyJsonObject(
      {
        thought: thought.toJSON(),
        answers,
        started: [...this.#started],
        waiting: Object.fromEntries(this.#waiting),
        grantedTools: [...this.grantedTools],
      },
      'the open exchange',
    );
  }

  /** @throws if it is not what `toJSON` gave. */
  static from(json: JsonValue): OpenExchange {
    if (!isJsonObject(json)) throw new TypeError('it is no object');
    const { thought, answers, started, waiting, grantedTools } = json;
    const open = new OpenExchange(Msg.from(thought), new Set(texts(grantedTools)));
    const ids = new Set(open.exchange.calls.map(({ id }) => id));
    if (!Array.isArray(answers) || !isJsonObject(waiting)) throw new TypeError('it has no answers');
    for (const answer of answers as readonly JsonValue[]) open.answer(answer as JsonValue & ToolResultBlock);
    for (const id of texts(started)) open.start(id);
    for (const [id, value] of Object.entries(waiting)) {
      if (!ids.has(id)) throw new TypeError(`it has no call '${id}'`);
      open.wait(id, waitingFrom(value));
    }
    open.#closeStarted();
    return open;
  }
}

function pendingOf(waiting: WaitingCall): readonly PendingCall[] {
  return 'nested' in waiting ? waiting.nested.pending : [waiting.pending];
}

function checkDecision(decision: PendingDecision, { id, kind }: PendingCall): void {
  const { verdict } = decision;
  if (verdict !== 'allow' && verdict !== 'deny' && verdict !== 'result')
    throw refused(id, "needs a verdict: 'allow', 'deny' or 'result'");
  if (verdict === 'allow' && kind === 'external') throw refused(id, 'is run elsewhere: supply its result');
  if (verdict === 'allow' && decision.input !== undefined && !isJsonObject(decision.input))
    throw refused(id, 'can be run only with an object as its arguments');
}

function refused(id: unknown, problem: string): TroupeError {
  return new TroupeError('decision_refused', `The pending call '${String(id).slice(0, 64)}' ${problem}.`);
}

function rejectionText(reason: string | undefined): string {
  return `PermissionDenied: The user did not allow the call, and it did not run${reason ? `: ${reason}` : '.'}`;
}

function texts(value: JsonValue | undefined): readonly string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value as string[];
  throw new TypeError('it has no list of names');
}

function waitingFrom(value: JsonValue): WaitingCall {
  if (isJsonObject(value)) {
    const { pending, nested } = value;
    if (isPending(pending)) return { pending };
    if (isJsonObject(nested)) {
      const { state = null, pending: inner } = nested;
      if (Array.isArray(inner) && inner.every(isPending)) return { nested: { state, pending: inner } };
    }
  }
  throw new TypeError('a waiting call is not readable');
}

function isPending(value: unknown): value is JsonObject & PendingCall {
  if (!isJsonObject(value)) return false;
  const { id, agentPath, kind, call } = value;
  return (
    typeof id === 'string' &&
    Array.isArray(agentPath) &&
    (kind === 'approval' || kind === 'external') &&
    isJsonObject(call) &&
    isJsonObject(call['input'])
  );
}
