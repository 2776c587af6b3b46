import { TroupeError } from '../../errors.ts';
import type { PendingCall, PendingDecision } from '../../message/pending-call.ts';
import type { JsonValue } from '../../util/json.ts';

/** Why a call has no result yet. It is JSON. */
export type Suspension =
  | Omit<PendingCall, 'id' | 'agentPath'>
  /** The tool itself waits: an agent in it has calls that are pending. */
  | { readonly kind: 'nested'; readonly state: JsonValue; readonly pending: readonly PendingCall[] };

/** What a tool that was suspended goes on with. */
export interface ToolResume {
  /** What it was suspended with. */
  readonly state: JsonValue;
  readonly decisions: readonly PendingDecision[];
}

export interface ToolSuspensionOptions {
  /** What the tool needs to go on. */
  readonly state: JsonValue;
  /** What has to be decided before. */
  readonly pending: readonly PendingCall[];
}

/**
 * A tool throws it when its result has to come from outside. The agent's reply then ends, and goes on when the result is
 * supplied; with `pending` calls of its own, the tool is run again once those are decided, and finds them in `resume`.
 */
export class ToolSuspension extends TroupeError {
  override readonly name = 'ToolSuspension';

  constructor(
    readonly reason?: string,
    readonly nested?: ToolSuspensionOptions,
  ) {
    super('tool_suspended', reason ?? 'The call waits for its result from outside.');
  }

  static override isInstance(value: unknown): value is ToolSuspension {
    return TroupeError.isInstance(value) && value.code === 'tool_suspended';
  }
}
