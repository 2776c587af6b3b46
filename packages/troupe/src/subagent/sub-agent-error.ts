import type { Logger } from '../config/logger.ts';
import { messageOf, TroupeError } from '../errors.ts';
import { DeadlineError } from '../util/async/deadline.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import type { JsonObject } from '../util/json.ts';
import { LimitReached } from './limits/budget.ts';
import { redactedLine } from '../util/redaction/redacted-text.ts';

/** Why a delegation came to nothing: in the metadata of its result, as `error`. */
export type SubAgentErrorCode =
  | 'timeout'
  | 'max_iters'
  | 'invalid_input'
  | 'invalid_reply'
  | 'exception'
  | 'unavailable'
  | 'limit';

/** A sub-agent that can't be made, or is not well. The cause is what it threw, if it did. */
export class SubAgentUnavailable extends TroupeError {
  override readonly name = 'SubAgentUnavailable';

  constructor(
    readonly subagent: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super('subagent_unavailable', `The sub-agent '${subagent}' is unavailable: ${problem}`, options);
  }

  static override isInstance(value: unknown): value is SubAgentUnavailable {
    return TroupeError.isInstance(value) && value.code === 'subagent_unavailable';
  }
}

export interface SubAgentFailure {
  readonly code: SubAgentErrorCode;
  /** What a model is told, behind the name of the sub-agent. */
  readonly cause: string;
}

/** Thrown inside of a delegation by whoever knows what is to be told. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(readonly failure: SubAgentFailure) {
    super(failure.cause);
  }
}

/** What was thrown in a delegation, as it is told: without a stack. */
export function failureFrom(error: unknown): SubAgentFailure {
  if (error instanceof Refusal) return error.failure;
  if (error instanceof DeadlineError) {
    return {
      code: 'timeout',
      cause: `gave no answer within ${error.timeoutMs / 1000} s. Try again later, or do without it.`,
    };
  }
  if (error instanceof LimitReached) return { code: 'limit', cause: `was stopped: ${error.message}` };
  const problem = messageOf(error);
  if (SubAgentUnavailable.isInstance(error))
    return { code: 'unavailable', cause: `can't be used now: ${problem}` };
  if (TroupeError.isInstance(error) && error.code === 'invalid_reply')
    return { code: 'invalid_reply', cause: `gave no usable answer: ${problem}` };
  return { code: 'exception', cause: `failed: ${problem}` };
}

/** What every result of a sub-agent tells the program. */
export type AboutTask = JsonObject & { readonly subagent: string; readonly supervisor: string };

/** A failure as a result: the model reads the cause, the program the code, and the log has a warning. */
export function failedResponse(
  { code, cause }: SubAgentFailure,
  about: AboutTask,
  logger: Logger,
): ToolResponse {
  const { subagent, supervisor } = about;
  const told = redactedLine(cause);
  logger.log('warn', `The sub-agent ${subagent} of ${supervisor} ${told}`);
  return new ToolResponse(`[subagent_${code}] ${subagent} ${told}`, {
    status: 'unavailable',
    metadata: { ...about, unavailable: true, error: code },
  });
}
