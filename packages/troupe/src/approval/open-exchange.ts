import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Exchange } from '../message/exchange.ts';
import { Msg } from '../message/msg.ts';
import { isPendingCall, type PendingCall, type PendingDecision } from '../message/pending-call.ts';
import type { AuthorizeRequest } from '../toolkit/call/tool-call.ts';
import type { ToolResume } from '../toolkit/tool/tool-suspension.ts';
import { canonicalJson } from '../util/canonical-json.ts';
import { copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import { refused, verdictOf, type FitResult } from './decisions.ts';
import { Spending } from '../agent/spending.ts';

/** Where a call stands that has no result yet. It is JSON. */
type Standing =
  | { readonly kind: 'waiting'; readonly pending: PendingCall; readonly sent?: JsonObject }
  /** An agent in its tool waits. */
  | { readonly kind: 'nested'; readonly state: JsonValue; readonly pending: readonly PendingCall[] }
  /** Somebody has allowed it: with the arguments that were asked about, or with others. */
  | {
      readonly kind: 'granted';
      readonly name: string;
      readonly input: JsonObject;
      readonly isEdited: boolean;
      /** What it is sent with, if it was asked about again because a hook made something else of what somebody had changed. */
      readonly sent?: JsonObject;
    }
  /** What the agent in its tool waited for is decided. */
  | ({ readonly kind: 'resumed' } & ToolResume);

export interface OpenExchangeOptions {
  /** Tools about which nobody is asked any more in this run. It is added to. */
  readonly grantedTools?: Set<string>;
  /** The ids of what the reply answers. It is added to. */
  readonly requestIds?: ReadonlySet<string>;
  /** The ids of what the reply has added to memory so far. */
  readonly saidIds?: ReadonlySet<string>;
  /** The tool calls in which the agent works, from the outermost on. */
  readonly owner?: readonly string[];
  /** Whether the reply is to have a shape. */
  readonly wantsShape?: boolean;
}

const OUTCOME_UNKNOWN =
  'The call was started, and then the program ended: its outcome is unknown. It may have taken effect. Check before you call it again.';

/** The model is told no more than that of arguments that somebody has changed. */
const MAX_NOTE_CHARS = 10_000;

/**
 * The calls of a thought while they are being made: what each gave, which of them wait for somebody outside, and which that
 * change something have been started. As it is part of the agent's state, nothing of it is forgotten when the program ends:
 * what was answered or decided is not asked again, and what was started is not run again by itself.
 */
export class OpenExchange {
  readonly exchange: Exchange;
  readonly grantedTools: Set<string>;
  readonly requestIds: ReadonlySet<string>;
  readonly saidIds: ReadonlySet<string>;
  readonly owner: readonly string[];
  readonly wantsShape: boolean;
  /** What was said while it waited, to be read when it is over. */
  readonly later: Msg[] = [];
  /** What was spent on the reply. */
  spending = new Spending();
  /** How many thoughts of the reply came before. */
  iteration = 0;
  /** Whether the call that owns it waits for what is pending, and takes the decisions. */
  isAskedThrough = false;
  readonly #standings = new Map<string, Standing>();
  readonly #started = new Set<string>();

  constructor(thought: Msg, options: OpenExchangeOptions = {}) {
    this.exchange = new Exchange(thought);
    this.grantedTools = options.grantedTools ?? new Set();
    this.requestIds = options.requestIds ?? new Set();
    this.saidIds = options.saidIds ?? new Set();
    this.owner = options.owner ?? [];
    this.wantsShape = options.wantsShape ?? false;
  }

  /** The calls that are neither answered nor waiting. */
  get toDo(): readonly ToolUseBlock[] {
    return this.exchange.calls.filter(({ id }) => !this.exchange.answerTo(id) && !this.#isWaiting(id));
  }

  get isWaiting(): boolean {
    return [...this.#standings.keys()].some((callId) => this.#isWaiting(callId));
  }

  /** What somebody outside has to decide, calls of agents in tools included. */
  get pending(): readonly PendingCall[] {
    const all = [...this.#standings.values()].flatMap(pendingOf);
    return [...new Map(all.map((one) => [one.id, one])).values()]; // two may wait for one agent
  }

  /** Those of them that are calls of this very exchange. */
  get ownPending(): readonly PendingCall[] {
    return [...this.#standings.values()].flatMap((one) => (one.kind === 'waiting' ? [one.pending] : []));
  }

  /** Whether a call of this exchange has no result yet. */
  isOpen(callId: string): boolean {
    return (
      this.exchange.calls.some(({ id }) => id === callId) && this.exchange.answerTo(callId) === undefined
    );
  }

  answer(result: ToolResultBlock): void {
    if (this.exchange.answer(result)) this.#standings.delete(result.id);
  }

  /** Lets a call wait for a decision about itself. */
  wait(pending: PendingCall): void {
    const sent = this.#editedInput(pending.call.id);
    this.#standings.set(pending.call.id, { kind: 'waiting', pending, ...(sent && { sent }) });
  }

  /** Lets a call wait for decisions about calls of the agent in its tool. */
  waitInside(callId: string, state: JsonValue, pending: readonly PendingCall[]): void {
    this.#standings.set(callId, { kind: 'nested', state, pending });
  }

  /** Notes that a call which can't be run twice is about to run. */
  start(callId: string): void {
    this.#started.add(callId);
  }

  /** What a call is run with: the model's arguments, or those that somebody has put in their place. */
  runnable(call: ToolUseBlock): ToolUseBlock {
    const edited = this.#editedInput(call.id);
    return edited === undefined ? call : { ...call, input: edited };
  }

  /** What a tool that waited goes on with. */
  resumeOf(callId: string): ToolResume | undefined {
    const standing = this.#standings.get(callId);
    return standing?.kind === 'resumed' ? standing : undefined;
  }

  /** Whether somebody has allowed this tool with exactly these arguments, or, unless it is asked each time, the tool for the whole run. */
  isGranted({ call, sent }: AuthorizeRequest, isAskedEachTime = false): boolean {
    if (this.grantedTools.has(call.name) && !isAskedEachTime) return true;
    const standing = this.#standings.get(call.id);
    if (standing?.kind === 'resumed') return true; // it has run, and goes on
    if (standing?.kind !== 'granted' || standing.name !== call.name) return false;
    const { input } = standing.isEdited ? sent : call;
    return canonicalJson(standing.input) === canonicalJson(input);
  }

  /** A result that says so if somebody has changed the arguments: the model knows only its own. */
  noted(result: ToolResultBlock): ToolResultBlock {
    const edited = this.#editedInput(result.id);
    if (edited === undefined) return result;
    const text = JSON.stringify(edited);
    const shown = text.length > MAX_NOTE_CHARS ? `${text.slice(0, MAX_NOTE_CHARS)}… (cut)` : text;
    const note = `<system-info>The user changed the arguments to ${shown}.</system-info>`;
    const { output } = result;
    return {
      ...result,
      output: typeof output === 'string' ? `${note}\n${output}` : [{ type: 'text', text: note }, ...output],
    };
  }

  /** Whether every call would have a result with these results and decisions. */
  isWholeAfter(results: readonly ToolResultBlock[], decisions: readonly PendingDecision[]): boolean {
    const decided = new Set(decisions.filter(({ verdict }) => verdict !== 'allow').map(({ id }) => id));
    const answered = new Set(results.map(({ id }) => id));
    for (const { id, call } of this.ownPending) if (decided.has(id)) answered.add(call.id);
    return this.exchange.calls.every(({ id }) => this.exchange.answerTo(id) || answered.has(id));
  }

  /** Whether calls wait, and these are decisions about all of them. */
  isDecidedBy(decisions: readonly PendingDecision[]): boolean {
    const decided = new Set(decisions.map(({ id }) => id));
    return this.isWaiting && this.pending.every(({ id }) => decided.has(id));
  }

  /**
   * Takes decisions in, as `readDecisions` gives them: all of them or none.
   * @returns the results that they brought
   * @throws TroupeError if one is about a call that is not pending, or says what can't be said about it.
   */
  decide(decisions: readonly PendingDecision[], fit: FitResult): readonly ToolResultBlock[] {
    const open = new Map(this.pending.map((pending) => [pending.id, pending]));
    const verdicts = new Map(
      decisions.map((decision) => {
        const pending = open.get(decision.id);
        if (pending === undefined) throw refused(decision.id, this.#whyUnknown(decision.id));
        open.delete(decision.id); // good for one decision
        return [decision.id, verdictOf(decision, pending, fit)];
      }),
    );
    const own = new Map(this.ownPending.map(({ id, call }) => [id, call.name]));
    for (const decision of decisions) {
      const name = own.get(decision.id);
      if (name !== undefined && decision.verdict === 'allow' && decision.scope === 'run')
        this.grantedTools.add(name);
    }
    const results: ToolResultBlock[] = [];
    for (const [callId, standing] of this.#standings) {
      if (standing.kind === 'waiting') {
        const { id, call } = standing.pending;
        const verdict = verdicts.get(id);
        if (verdict?.type === 'tool_result') results.push(verdict);
        else if (verdict !== undefined)
          this.#standings.set(callId, granted(call, verdict.input, standing.sent));
        else if (!standing.sent && this.#isAllowedForRun(standing.pending)) this.#standings.delete(callId); // it is judged anew
      } else if (standing.kind === 'nested') {
        const inside = new Set(standing.pending.map(({ id }) => id));
        const mine = decisions.filter(({ id }) => inside.has(id));
        if (mine.length > 0)
          this.#standings.set(callId, { kind: 'resumed', state: standing.state, decisions: mine });
      }
    }
    for (const result of results) this.answer(result);
    return results;
  }

  toJSON(): JsonObject {
    const { thought, calls } = this.exchange;
    const answers = calls.map(({ id }) => this.exchange.answerTo(id)).filter((one) => one !== undefined);
    return copyJsonObject(
      {
        thought: thought.toJSON(),
        answers,
        started: [...this.#started],
        standings: Object.fromEntries(this.#standings),
        grantedTools: [...this.grantedTools],
        later: this.later.map((msg) => msg.toJSON()),
        requestIds: [...this.requestIds],
        saidIds: [...this.saidIds],
        owner: this.owner,
        wantsShape: this.wantsShape,
        spent: this.spending.toJSON(),
        iteration: this.iteration,
        isAskedThrough: this.isAskedThrough,
      },
      'the open exchange',
    );
  }

  /** @throws if it is not what `toJSON` gave. */
  static from(json: JsonValue): OpenExchange {
    if (!isJsonObject(json)) throw new TypeError('it is no object');
    const { wantsShape, standings, spent, iteration = 0 } = json;
    if (!Number.isSafeInteger(iteration) || Number(iteration) < 0)
      throw new TypeError('it does not say how many thoughts came before');
    const thought = Msg.from(json['thought']);
    if (thought.role !== 'assistant') throw new TypeError('its thought is not that of an assistant');
    const open = new OpenExchange(thought, {
      grantedTools: new Set(texts(json, 'grantedTools')),
      requestIds: new Set(texts({ requestIds: [], ...json }, 'requestIds')), // older states have none
      saidIds: new Set(texts({ saidIds: [], ...json }, 'saidIds')),
      owner: texts(json, 'owner'),
      wantsShape: wantsShape === true,
    });
    open.spending = new Spending(spent);
    open.iteration = Number(iteration);
    for (const answer of list(json, 'answers')) open.answer(answer as JsonValue & ToolResultBlock);
    for (const id of texts(json, 'started')) open.start(id);
    for (const msg of list(json, 'later')) open.later.push(Msg.from(msg));
    if (!isJsonObject(standings)) throw new TypeError('it does not say where its calls stand');
    for (const [id, standing] of Object.entries(standings)) {
      if (!open.isOpen(id) || !isStanding(standing, id))
        throw new TypeError('one of its calls is not readable');
      open.#standings.set(id, standing);
    }
    open.isAskedThrough = json['isAskedThrough'] === true;
    open.#closeStarted();
    return open;
  }

  #whyUnknown(id: unknown): string {
    const isCallId = this.pending.some(({ call }) => call.id === id);
    if (isCallId) return 'is a tool call: decide by the `id` that stands beside `call` in pendingCalls';
    return 'was never asked for, or has been decided already';
  }

  /** What was started before the program ended is not run again. */
  #closeStarted(): void {
    for (const { id, name } of this.toDo) {
      if (this.#started.has(id))
        this.answer({ type: 'tool_result', id, name, output: OUTCOME_UNKNOWN, status: 'interrupted' });
    }
  }

  #isWaiting(callId: string): boolean {
    const kind = this.#standings.get(callId)?.kind;
    return kind === 'waiting' || kind === 'nested';
  }

  #editedInput(callId: string): JsonObject | undefined {
    const standing = this.#standings.get(callId);
    if (standing?.kind !== 'granted' && standing?.kind !== 'waiting') return undefined;
    return standing.kind === 'granted' && standing.isEdited ? standing.input : standing.sent;
  }

  #isAllowedForRun({ kind, call, isAskedEachTime = false }: PendingCall): boolean {
    return kind === 'approval' && !isAskedEachTime && this.grantedTools.has(call.name);
  }
}

function pendingOf(standing: Standing): readonly PendingCall[] {
  if (standing.kind === 'waiting') return [standing.pending];
  return standing.kind === 'nested' ? standing.pending : [];
}

function granted({ name, input }: ToolUseBlock, edited: JsonObject | undefined, sent?: JsonObject): Standing {
  if (edited !== undefined) return { kind: 'granted', name, input: edited, isEdited: true };
  return { kind: 'granted', name, input, isEdited: false, ...(sent && { sent }) };
}

function list(json: JsonObject, key: string): readonly JsonValue[] {
  const value = json[key];
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw new TypeError(`it has no list '${key}'`);
}

function texts(json: JsonObject, key: string): readonly string[] {
  const found = list(json, key).filter((one) => typeof one === 'string');
  if (found.length === list(json, key).length) return found;
  throw new TypeError(`not all of '${key}' are texts`);
}

function isStanding(value: JsonValue, callId: string): value is JsonValue & Standing {
  if (!isJsonObject(value)) return false;
  const { kind, pending, name, input, isEdited, decisions, sent = {} } = value;
  if (!isJsonObject(sent)) return false;
  switch (kind) {
    case 'waiting':
      return isPendingCall(pending) && pending.call.id === callId;
    case 'nested':
      return Array.isArray(pending) && pending.length > 0 && pending.every(isPendingCall);
    case 'granted':
      return typeof name === 'string' && isJsonObject(input) && typeof isEdited === 'boolean';
    case 'resumed':
      return Array.isArray(decisions) && decisions.every(isJsonObject);
    default:
      return false;
  }
}
