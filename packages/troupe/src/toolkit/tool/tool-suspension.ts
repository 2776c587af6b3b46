import { TroupeError } from '../../errors.ts';
import type { PendingCall, PendingDecision } from '../../message/pending-call.ts';
import type { JsonValue } from '../../util/json.ts';

/** Why a tool call has no result yet. JSON. */
export type Suspension =
  | Omit<PendingCall, 'id' | 'agentPath'>
  /** The tool is an agent, or runs agents, with pending tool calls. */
  | { readonly kind: 'nested'; readonly state: JsonValue; readonly pending: readonly PendingCall[] };

/** Passed to a suspended tool when it runs again. */
export interface ToolResume {
  /** State given to the suspension. */
  readonly state: JsonValue;
  readonly decisions: readonly PendingDecision[];
  /** True if the state comes from a saved state that somebody may have edited. @default false */
  readonly isUnverified?: boolean;
}

export interface ToolSuspensionOptions {
  /** State that the tool needs to resume. */
  readonly state: JsonValue;
  /** Pending tool calls to decide first. */
  readonly pending: readonly PendingCall[];
}

/**
 * Thrown by a tool whose result comes from outside. The agent's reply ends, and resumes when the result is
 * supplied. With `pending` tool calls, the tool runs again after their decisions and finds them in `resume`.
 */
export class ToolSuspension extends TroupeError {
  override readonly name = 'ToolSuspension';

  constructor(
    readonly reason?: string,
    readonly nested?: ToolSuspensionOptions,
  ) {
    super('tool_suspended', reason ?? 'The tool call waits for its result from outside.');
  }

  static override isInstance(value: unknown): value is ToolSuspension {
    return TroupeError.isInstance(value) && value.code === 'tool_suspended';
  }
}
