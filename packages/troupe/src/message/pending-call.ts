import type { JsonObject } from '../util/json.ts';
import type { ToolOutputBlock, ToolStatus, ToolUseBlock } from './blocks.ts';

/** A call that waits for somebody outside. It is JSON. */
export interface PendingCall {
  /** By which it is decided. It belongs to this call with exactly these arguments, and is good for one decision. */
  readonly id: string;
  /** The agents from the outermost to the one that made the call. */
  readonly agentPath: readonly string[];
  /** `approval`: somebody has to say whether it may run. `external`: somebody has to run it, and say what came of it. */
  readonly kind: 'approval' | 'external';
  readonly call: ToolUseBlock;
  /** Why it waits. */
  readonly reason?: string;
}

/** What somebody outside says to a pending call. */
export type PendingDecision =
  | {
      readonly id: string;
      readonly verdict: 'allow';
      /** Arguments to run with, in the place of the model's. */
      readonly input?: JsonObject;
      /** `run`: nobody is asked about this tool again until the reply is there. @default 'once' */
      readonly scope?: 'once' | 'run';
    }
  | { readonly id: string; readonly verdict: 'deny'; readonly reason?: string }
  | {
      readonly id: string;
      readonly verdict: 'result';
      readonly output: string | readonly ToolOutputBlock[];
      /** @default 'ok' */
      readonly status?: ToolStatus;
    };
