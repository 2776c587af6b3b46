import type { Logger } from '../config/logger.ts';
import { messageOf, TroupeError } from '../errors.ts';
import { DeadlineError } from '../util/async/deadline.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import type { JsonObject } from '../util/json.ts';
import { LimitReached } from './limits/limit-reached.ts';
import { redactedLine } from '../util/redaction/redacted-text.ts';

/** Why a delegation failed; `error` in the metadata of the result. */
export type SubAgentErrorCode =
  | 'timeout'
  | 'max_iters'
  | 'invalid_input'
  | 'invalid_reply'
  | 'exception'
  | 'unavailable'
  | 'limit';

/** Thrown when a sub-agent can't be made, or its health check fails. `cause` has the original error. */
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
  /** Text for the model, appended to the name of the sub-agent. */
  readonly cause: string;
}

/** Error inside of a delegation with a ready failure code and text. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(readonly failure: SubAgentFailure) {
    super(failure.cause);
  }
}

/** Failure code and text for any error of a delegation, without a stack. */
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

/** Metadata in every result of a sub-agent. */
export type AboutTask = JsonObject & { readonly subagent: string; readonly supervisor: string };

/** Metadata that is known before a task begins. */
export function aboutTask(subagent: string, supervisor: string, tags: readonly string[] = []): AboutTask {
  return { subagent, supervisor, ...(tags.length > 0 && { tags }) };
}

/** Turns a failure into a tool response: text for the model, code in the metadata, a warning in the log. */
export function failedResponse(
  { code, cause }: SubAgentFailure,
  about: AboutTask,
  logger: Logger,
): ToolResponse {
  const { subagent, supervisor } = about;
  const text = redactedLine(cause);
  logger.log('warn', `The sub-agent ${subagent} of ${supervisor} ${text}`);
  return new ToolResponse(`[subagent_${code}] ${subagent} ${text}`, {
    status: 'unavailable',
    metadata: { ...about, unavailable: true, error: code },
  });
}
