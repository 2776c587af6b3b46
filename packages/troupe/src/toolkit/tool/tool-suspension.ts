import { TroupeError } from '../../errors.ts';
import type { ToolUseBlock } from '../../message/blocks.ts';
import type { PendingCall, PendingDecision } from '../../message/pending-call.ts';
import { toUserQuestion, type UserQuestion } from '../../message/user-question.ts';
import { copyJson, type JsonValue } from '../../util/json.ts';
import { toJsonSchema, type AnySchema } from '../../util/schema.ts';

/** Why a tool call has no result yet. JSON. */
export type Suspension = {
  /** Source of a tool that comes from elsewhere. */
  readonly source?: string;
} & (
  | (Omit<PendingCall, 'id' | 'agentPath' | 'kind' | 'question'> & {
      readonly kind: 'approval' | 'external';
    })
  | (AskedQuestion & { readonly kind: 'question'; readonly call: ToolUseBlock })
  /** The tool is an agent, or runs agents, with pending tool calls. */
  | ({ readonly kind: 'nested' } & ToolSuspensionOptions)
);

/** A question of a tool. JSON. */
export interface AskedQuestion {
  readonly question: UserQuestion;
  /** State of a tool that runs again with the answer. Without it, the answer is the tool result. */
  readonly state?: JsonValue;
  /** Maximum questions in one reply. @default no limit */
  readonly maxQuestions?: number;
}

/** A question to a person; the schema may be one of any Standard Schema library. */
export type ToolQuestion = Omit<UserQuestion, 'schema'> & { readonly schema?: AnySchema | undefined };

export interface ToolQuestionOptions {
  /**
   * State, as JSON, of a tool that needs the answer itself: it runs again and finds the decision in `resume`.
   * @default the answer is the tool result
   */
  readonly state?: JsonValue | undefined;
  /** Maximum questions in one reply; a further question is an error that the model reads. @default no limit */
  readonly maxQuestions?: number | undefined;
}

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

/** A suspension of a tool that runs again after decisions, as an agent keeps it. */
export interface NestedSuspension extends ToolSuspensionOptions {
  /** Source of a tool that comes from elsewhere. */
  readonly source?: string;
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
    readonly asked?: AskedQuestion,
  ) {
    super('tool_suspended', reason ?? 'The tool call waits for its result from outside.');
  }

  /**
   * Asks a person a question: the tool call is pending until it is answered.
   * @throws TypeError if the question is not valid
   *
   * @example
   * ```ts
   * import { tool, ToolSuspension } from 'troupe';
   *
   * const paint = tool({
   *   name: 'paint',
   *   execute(_, { resume }) {
   *     const [decision] = resume?.decisions ?? [];
   *     if (decision?.verdict === 'answer') return `Painted it ${String(decision.answer)}.`;
   *     if (decision !== undefined) return 'Painted nothing.';
   *     throw ToolSuspension.ask({ message: 'Which colour?', choices: ['red', 'blue'] }, { state: null });
   *   },
   * });
   * console.log(paint.name);
   * ```
   */
  static ask({ schema, ...question }: ToolQuestion, options: ToolQuestionOptions = {}): ToolSuspension {
    const { state, maxQuestions } = options;
    return new ToolSuspension('The tool call waits for an answer.', undefined, {
      question: toUserQuestion({ ...question, ...(schema && { schema: toJsonSchema(schema) }) }),
      ...(state !== undefined && { state: copyJson(state, 'the state of a tool that asks') }),
      ...(maxQuestions !== undefined && { maxQuestions }),
    });
  }

  static override isInstance(value: unknown): value is ToolSuspension {
    return TroupeError.isInstance(value) && value.code === 'tool_suspended';
  }
}
