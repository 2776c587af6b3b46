import type { ToolResultBlock } from '../message/blocks.ts';
import { isPendingCall, type PendingCall, type PendingDecision } from '../message/pending-call.ts';
import type { AuthorizeRequest } from '../toolkit/call/tool-call.ts';
import { foreignSourceOf, qualifiedName } from '../toolkit/tool/known-tools.ts';
import type { NestedSuspension, ToolResume } from '../toolkit/tool/tool-suspension.ts';
import { canonicalJson } from '../util/canonical-json.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import type { Verdict } from './decisions.ts';

/** Status of a tool call that is pending, or was decided and has no result yet. JSON: part of saved states. */
type ToolCallStatus = {
  /** Time spent on the tool call before it was suspended. @default 0 */
  readonly ms?: number;
  /** From a state that somebody may have edited: what the status allows does not count. @default false */
  readonly isUnverified?: boolean;
} &
  /**
   * Pending. `sent` are the arguments with which the tool call goes to the toolkit in place of the model's: those of an earlier decision,
   * which a hook or middleware then changed, so that approval is needed again.
   */
  (
    | { readonly kind: 'waiting'; readonly pending: PendingCall; readonly sent?: JsonObject }
    /** Tool calls of an agent in the tool are pending. */
    | ({ readonly kind: 'nested' } & NestedSuspension)
    /** Allowed: with the arguments that were asked about, or, if `isEdited`, with those of the decision. */
    | {
        readonly kind: 'granted';
        readonly name: string;
        /** The same as `source` of the pending tool call. */
        readonly source?: string;
        readonly input: JsonObject;
        readonly isEdited: boolean;
        /** The same as `sent` of `waiting`: `input` is what was allowed, and comes out of `sent` when the tool call runs. */
        readonly sent?: JsonObject;
      }
    /** No longer pending: its tool was allowed for the whole run by a decision about another tool call. The policy judges it anew. */
    | { readonly kind: 'released' }
    /** The pending tool calls of the agent in the tool are decided. */
    | ({ readonly kind: 'resumed'; readonly source?: string } & ToolResume)
  );

/** Statuses of the unfinished tool calls of one exchange, by tool call id. A tool call that never was pending has none. */
export class StatusTable {
  readonly #statuses = new Map<string, ToolCallStatus>();

  /** Pending tool calls, of agents in tools too. Two tool calls may wait for the same agent: each is listed once. */
  get pending(): readonly PendingCall[] {
    const all = [...this.#statuses.values()].flatMap(pendingIn);
    return [...new Map(all.map((one) => [one.id, one])).values()];
  }

  /** Pending tool calls of the exchange itself. */
  get ownPending(): readonly PendingCall[] {
    return [...this.#statuses.values()].flatMap((one) => (one.kind === 'waiting' ? [one.pending] : []));
  }

  get hasPending(): boolean {
    return [...this.#statuses.keys()].some((toolCallId) => this.isPending(toolCallId));
  }

  /** Whether a status allows a tool call, suggests to, or has the state of another agent, which may. */
  get hasGrants(): boolean {
    return [...this.#statuses.values()].some(
      ({ kind, ...status }) =>
        kind === 'granted' ||
        kind === 'resumed' ||
        kind === 'nested' ||
        ('pending' in status && 'suggestions' in status.pending),
    );
  }

  isPending(toolCallId: string): boolean {
    const kind = this.#statuses.get(toolCallId)?.kind;
    return kind === 'waiting' || kind === 'nested';
  }

  /** Whether the tool call is or was pending. */
  has(toolCallId: string): boolean {
    return this.#statuses.has(toolCallId);
  }

  /** Time spent on a tool call before it was suspended. */
  msOf(toolCallId: string): number {
    return this.#statuses.get(toolCallId)?.ms ?? 0;
  }

  /** @param ms time spent on the tool call so far */
  setPending(pending: PendingCall, ms: number): void {
    const sent = this.editedInput(pending.call.id);
    this.#statuses.set(pending.call.id, timed({ kind: 'waiting', pending, ...(sent && { sent }) }, ms));
  }

  /**
   * @param suspension with the state for the tool, when it is resumed
   * @param ms time spent on the tool call so far
   */
  setNestedPending(toolCallId: string, suspension: NestedSuspension, ms: number): void {
    this.#statuses.set(toolCallId, timed({ kind: 'nested', ...suspension }, ms));
  }

  /** States of suspended tools that were not resumed, by tool call id. */
  get suspended(): ReadonlyMap<string, JsonValue> {
    const nested = [...this.#statuses].flatMap(([id, status]) =>
      status.kind === 'nested' ? [[id, status.state] as const] : [],
    );
    return new Map(nested);
  }

  delete(toolCallId: string): void {
    this.#statuses.delete(toolCallId);
  }

  /** State and decisions for a tool that was suspended. */
  resumeOf(toolCallId: string): ToolResume | undefined {
    const status = this.#statuses.get(toolCallId);
    return status?.kind === 'resumed' ? status : undefined;
  }

  /** Whether a decision allowed this tool, of this source, with exactly these arguments. */
  isGranted({ call, sent, tool }: AuthorizeRequest): boolean {
    const status = this.#statuses.get(call.id);
    if (status?.kind !== 'resumed' && status?.kind !== 'granted') return false;
    if (status.source !== foreignSourceOf(tool)) return false;
    if (status.kind === 'resumed') return status.isUnverified !== true; // allowed before the suspension
    if (status.name !== call.name) return false;
    const { input } = status.isEdited ? sent : call;
    return canonicalJson(status.input) === canonicalJson(input);
  }

  /** Arguments from a decision, in place of the model's. */
  editedInput(toolCallId: string): JsonObject | undefined {
    const status = this.#statuses.get(toolCallId);
    if (status?.kind !== 'granted' && status?.kind !== 'waiting') return undefined;
    return status.kind === 'granted' && status.isEdited ? status.input : status.sent;
  }

  /**
   * Applies verdicts, by the ids of pending tool calls, and hands decisions about nested ones to their tool calls.
   * @param grantedTools tools, by `qualifiedName`, that need no further approval: their other pending tool calls are judged anew
   * @returns results from denials and supplied results; their statuses stay until the results are recorded
   */
  apply(
    decisions: readonly PendingDecision[],
    verdicts: ReadonlyMap<string, Verdict>,
    grantedTools: ReadonlySet<string>,
  ): readonly ToolResultBlock[] {
    const results: ToolResultBlock[] = [];
    const change = (toolCallId: string, status: ToolCallStatus): void =>
      void this.#statuses.set(toolCallId, timed(status, this.msOf(toolCallId)));
    for (const [toolCallId, status] of this.#statuses) {
      if (status.kind === 'waiting') {
        const verdict = verdicts.get(status.pending.id);
        if (verdict?.type === 'tool_result') results.push(verdict);
        else if (verdict !== undefined)
          change(toolCallId, granted(status.pending, verdict.input, status.sent));
        else if (!status.sent && needsNoApproval(status.pending, grantedTools))
          change(toolCallId, { kind: 'released' });
      } else if (status.kind === 'nested') {
        const inside = new Set(status.pending.map(({ id }) => id));
        const own = decisions.filter(({ id }) => inside.has(id));
        const { state, source, isUnverified = false } = status;
        if (own.length > 0)
          change(toolCallId, {
            kind: 'resumed',
            state,
            decisions: own,
            ...(source !== undefined && { source }),
            ...(isUnverified && { isUnverified }),
          });
      }
    }
    return results;
  }

  toJSON(): Record<string, ToolCallStatus> {
    return Object.fromEntries(this.#statuses);
  }

  /**
   * Reads the result of `toJSON`.
   * @param isUnfinished whether the exchange has such a tool call, without a result
   * @param acceptsGrants false to ask again about what was allowed
   * @throws TypeError if a status is not readable
   */
  load(
    json: JsonValue | undefined,
    isUnfinished: (toolCallId: string) => boolean,
    acceptsGrants: boolean,
  ): void {
    if (!isJsonObject(json)) throw new TypeError('the statuses of its tool calls are missing');
    for (const [id, status] of Object.entries(json)) {
      if (!isUnfinished(id) || !isToolCallStatus(status, id))
        throw new TypeError('the status of a tool call is not readable');
      const kept = acceptsGrants ? status : withoutGrants(status);
      if (kept !== undefined) this.#statuses.set(id, kept);
    }
  }
}

/** The status without what it allows and suggests to allow; undefined if the tool call begins anew. */
function withoutGrants(status: ToolCallStatus): ToolCallStatus | undefined {
  switch (status.kind) {
    case 'granted':
    case 'resumed':
      return undefined;
    case 'waiting':
      return { ...status, pending: withoutSuggestions(status.pending) };
    case 'nested':
      return { ...status, pending: status.pending.map(withoutSuggestions), isUnverified: true };
    default:
      return status;
  }
}

function withoutSuggestions({ suggestions: _, ...pending }: PendingCall): PendingCall {
  return pending;
}

/** The status with the time spent so far. No time is left out, so that states are as those of older versions. */
function timed(status: ToolCallStatus, ms: number): ToolCallStatus {
  return ms > 0 ? { ...status, ms } : status;
}

function pendingIn(status: ToolCallStatus): readonly PendingCall[] {
  if (status.kind === 'waiting') return [status.pending];
  return status.kind === 'nested' ? status.pending : [];
}

function granted(
  { call: { name, input }, source }: PendingCall,
  edited: JsonObject | undefined,
  sent: JsonObject | undefined,
): ToolCallStatus {
  const tool = { kind: 'granted', name, ...(source !== undefined && { source }) } as const;
  if (edited !== undefined) return { ...tool, input: edited, isEdited: true };
  return { ...tool, input, isEdited: false, ...(sent && { sent }) };
}

function needsNoApproval(
  { kind, call, source, isAskedEachTime = false }: PendingCall,
  grantedTools: ReadonlySet<string>,
): boolean {
  return kind === 'approval' && !isAskedEachTime && grantedTools.has(qualifiedName(call.name, source));
}

function isToolCallStatus(value: JsonValue, toolCallId: string): value is JsonValue & ToolCallStatus {
  if (!isJsonObject(value)) return false;
  const { kind, pending, name, source = '', input, isEdited, decisions } = value;
  const { sent = {}, ms = 0, isUnverified = false } = value;
  if (typeof isUnverified !== 'boolean' || !isJsonObject(sent) || typeof ms !== 'number' || ms < 0)
    return false;
  if (typeof source !== 'string') return false;
  switch (kind) {
    case 'waiting':
      return isPendingCall(pending) && pending.call.id === toolCallId;
    case 'nested':
      return Array.isArray(pending) && pending.length > 0 && pending.every(isPendingCall);
    case 'granted':
      return typeof name === 'string' && isJsonObject(input) && typeof isEdited === 'boolean';
    case 'released':
      return true;
    case 'resumed':
      return Array.isArray(decisions) && decisions.every(isJsonObject);
    default:
      return false;
  }
}
