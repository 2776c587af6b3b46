import { InvalidMsgError, messageOf } from '../errors.ts';
import { copyJson, isJsonObject, type JsonObject } from '../util/json.ts';
import {
  MAX_BLOCK_DEPTH,
  toBlock,
  type ToolOutputBlock,
  type ToolStatus,
  type ToolUseBlock,
} from './blocks.ts';
import { isUserQuestion, type UserAnswer, type UserQuestion } from './user-question.ts';

/** A tool call that waits for a decision, for an answer or for a result from outside. Plain JSON. */
export interface PendingCall {
  /** Id for the decision: belongs to this tool call with exactly these arguments, and is valid for one decision. */
  readonly id: string;
  /** Agent names from the outermost agent to the agent of the tool call. */
  readonly agentPath: readonly string[];
  /**
   * `approval`: the tool call needs permission to run. `external`: somebody outside runs the tool and gives the result.
   * `question`: a person answers a question.
   */
  readonly kind: 'approval' | 'external' | 'question';
  /** The tool call with the arguments for the tool, without presets. */
  readonly call: ToolUseBlock;
  /** Source of a tool that comes from elsewhere, such as `mcp:files`. @default a tool of the program or of this library */
  readonly source?: string;
  /** Reason for the wait. */
  readonly reason?: string;
  /** Rules, as JSON, with which the permission policy would no longer ask about such a tool call. */
  readonly suggestions?: readonly JsonObject[];
  /** True if the permission policy asks about every such tool call: an approval with scope `run` does not cover it. */
  readonly isAskedEachTime?: boolean;
  /** The question to a person, if the kind is `question`. */
  readonly question?: UserQuestion;
}

/**
 * Decision about a pending tool call.
 *
 * @example
 * ```ts
 * import { ReActAgent, tool, type PendingDecision } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const sendMail = tool({ name: 'send_mail', execute: () => 'sent' });
 * const model = new ScriptedModel([{ toolCalls: [{ name: 'send_mail', input: {} }] }, 'The mail is sent.']);
 * const permissionPolicy = { decide: () => ({ behavior: 'ask' as const }) };
 * const agent = new ReActAgent({ name: 'Friday', model, tools: [sendMail], permissionPolicy, console: false });
 * await agent.call('Write to Bob.');
 * const decisions = agent.pendingCalls.map(({ id }): PendingDecision => ({ id, verdict: 'allow' }));
 * console.log((await agent.call(undefined, { decisions })).text); // The mail is sent.
 * ```
 */
export type PendingDecision =
  | {
      readonly id: string;
      readonly verdict: 'allow';
      /** Arguments that replace the arguments of the model. */
      readonly input?: JsonObject | undefined;
      /** `run`: allows this tool, from this source, until the reply ends. @default 'once' */
      readonly scope?: 'once' | 'run' | undefined;
      /** `none`: lifts all limits of this one tool call, also the tool's own sandbox. The result says so. @default limits stay */
      readonly confinement?: 'none' | undefined;
    }
  /** Refuses permission, or declines to answer a question. */
  | { readonly id: string; readonly verdict: 'deny'; readonly reason?: string | undefined }
  /** Answers a question. Missing fields of a form get their defaults. A question with a `url` needs no `answer`. */
  | { readonly id: string; readonly verdict: 'answer'; readonly answer?: UserAnswer | undefined }
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

/** True if saved or foreign data is a pending tool call. */
export function isPendingCall(value: unknown): value is JsonObject & PendingCall {
  if (!isJsonObject(value)) return false;
  const { id, agentPath, kind, call, source = '', reason = '' } = value;
  const { suggestions = [], isAskedEachTime = false } = value;
  const isNamed = [id, source, reason].every((one) => typeof one === 'string') && id !== '';
  const isPlaced = Array.isArray(agentPath) && agentPath.every((name) => typeof name === 'string');
  const isQuestion = kind === 'question' && isUserQuestion(value['question']);
  const isKnown = kind === 'approval' || kind === 'external' || isQuestion;
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
