import { InvalidMsgError, messageOf } from '../errors.ts';
import { copyJson, isJsonObject, type JsonObject } from '../util/json.ts';
import {
  MAX_BLOCK_DEPTH,
  toBlock,
  type ToolOutputBlock,
  type ToolStatus,
  type ToolUseBlock,
} from './blocks.ts';

/** A call that waits for somebody outside. It is JSON. */
export interface PendingCall {
  /** By which it is decided. It belongs to this call with exactly these arguments, and is good for one decision. */
  readonly id: string;
  /** The agents from the outermost to the one that made the call. */
  readonly agentPath: readonly string[];
  /** `approval`: somebody has to say whether it may run. `external`: somebody has to run it, and say what came of it. */
  readonly kind: 'approval' | 'external';
  /** With the arguments that the tool will get, but for presets. */
  readonly call: ToolUseBlock;
  /** Why it waits. */
  readonly reason?: string;
  /** Rules, as JSON, after which the policy that asked would not ask about such a call. */
  readonly suggestions?: readonly JsonObject[];
  /** Whether the policy wants to be asked about such a call each time: leave for the whole run is none for it. */
  readonly isAskedEachTime?: boolean;
}

/** What somebody outside says to a pending call. */
export type PendingDecision =
  | {
      readonly id: string;
      readonly verdict: 'allow';
      /** Arguments to run with, in the place of the model's. */
      readonly input?: JsonObject | undefined;
      /** `run`: nobody is asked about this tool again until the reply is there. @default 'once' */
      readonly scope?: 'once' | 'run' | undefined;
    }
  | { readonly id: string; readonly verdict: 'deny'; readonly reason?: string | undefined }
  | {
      readonly id: string;
      readonly verdict: 'result';
      readonly output: string | readonly ToolOutputBlock[];
      /** @default 'ok' */
      readonly status?: ToolStatus | undefined;
    };

/** A frozen copy of pending tool calls. @throws InvalidMsgError */
export function toPendingCalls(value: unknown): readonly PendingCall[] {
  const calls = copied(value);
  if (Array.isArray(calls) && calls.every(isPendingCall)) return calls;
  throw new InvalidMsgError('pending must be a list of pending tool calls.');
}

function copied(value: unknown): unknown {
  try {
    return copyJson(value, 'pending', { maxDepth: MAX_BLOCK_DEPTH + 3 });
  } catch (error) {
    throw new InvalidMsgError(`${messageOf(error)}.`, { cause: error });
  }
}

/** Whether something that was saved, or comes from elsewhere, is a pending call. */
export function isPendingCall(value: unknown): value is JsonObject & PendingCall {
  if (!isJsonObject(value)) return false;
  const { id, agentPath, kind, call, reason = '', suggestions = [], isAskedEachTime = false } = value;
  const isNamed = typeof id === 'string' && id !== '' && typeof reason === 'string';
  const isPlaced = Array.isArray(agentPath) && agentPath.every((name) => typeof name === 'string');
  const isKnown = kind === 'approval' || kind === 'external';
  const isJudged = Array.isArray(suggestions) && typeof isAskedEachTime === 'boolean';
  return isNamed && isPlaced && isKnown && isJudged && isToolUse(call);
}

function isToolUse(value: unknown): boolean {
  try {
    return toBlock(value, 'call').type === 'tool_use';
  } catch {
    return false;
  }
}
