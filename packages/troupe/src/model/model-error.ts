import { TroupeError } from '../errors.ts';
import { cutText } from '../util/text.ts';

/** Kind of failure, the same for all providers. */
export type ModelErrorKind =
  | 'auth'
  | 'rate_limit'
  | 'overloaded'
  | 'context_overflow'
  | 'content_filter'
  | 'bad_request'
  | 'network'
  | 'timeout'
  | 'malformed';

/** Name of the deadline that passed. */
export type DeadlineName = 'connect' | 'first_byte' | 'idle' | 'total';

/** Source of an answer or of a failure. */
export interface ModelOrigin {
  /** Name of the provider, such as 'OpenAI'. */
  readonly vendor?: string | undefined;
  /** Name of the model. */
  readonly model?: string | undefined;
  /** Host of the server, with its port. */
  readonly host?: string | undefined;
}

export interface ModelErrorDetails extends ErrorOptions, ModelOrigin {
  readonly kind: ModelErrorKind;
  /** HTTP status. */
  readonly status?: number | undefined;
  /** Error code of the provider, such as `rate_limit_exceeded`. */
  readonly providerCode?: string | undefined;
  /** Delay requested by the provider. */
  readonly retryAfterMs?: number | undefined;
  readonly isRetryable?: boolean | undefined;
  readonly deadline?: DeadlineName | undefined;
  /** Request id of the provider, for its support. */
  readonly requestId?: string | undefined;
  /** Response body; at most 1 kB is kept. */
  readonly body?: string | undefined;
  /** Number of attempts that a RetryModel made. */
  readonly attempts?: number | undefined;
  /** Number of models that a FallbackModel tried. */
  readonly models?: number | undefined;
  /** Advice, as a sentence at the end of the message. @default by `kind`, if `vendor` is given */
  readonly check?: string | undefined;
}

const RETRYABLE: readonly ModelErrorKind[] = ['rate_limit', 'overloaded', 'network', 'timeout'];
const MAX_BODY = 1024;

const CHECKS: Readonly<Partial<Record<ModelErrorKind, string>>> = {
  auth: 'Check the key and what it may be used for.',
  context_overflow: 'Shorten the history, or use a model with a larger context.',
  content_filter: 'Change the request.',
  network: 'Check the network and the baseUrl.',
};

/**
 * Failed model call. `kind` is the same for all providers. Contains no key, header or prompt. `body` holds
 * the provider's response, cut to 1 kB and not enumerable, so that logs and JSON leave it out.
 *
 * With `vendor`, the message ends with what to check and with the next step that was not taken yet: wrap the
 * model in a RetryModel, in a FallbackModel, or wait.
 *
 * @example
 * ```ts
 * import { ModelError, ReActAgent } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const model = new ScriptedModel([{ error: new ModelError('The key is wrong.', { kind: 'auth' }) }]);
 * const agent = new ReActAgent({ name: 'Friday', model, console: false });
 * try {
 *   await agent.call('Hello');
 * } catch (error) {
 *   if (!(error instanceof ModelError)) throw error;
 *   console.log(error.kind, error.isRetryable); // auth false
 * }
 * ```
 */
export class ModelError extends TroupeError {
  override readonly name: string = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly isRetryable: boolean;
  declare readonly vendor?: string;
  declare readonly model?: string;
  declare readonly host?: string;
  declare readonly status?: number;
  declare readonly providerCode?: string;
  declare readonly retryAfterMs?: number;
  declare readonly deadline?: DeadlineName;
  declare readonly requestId?: string;
  declare readonly attempts?: number;
  declare readonly models?: number;
  declare readonly body?: string;
  /** The message without advice. */
  declare readonly problem?: string;
  /** Advice of the message for this very error. */
  declare readonly check?: string;

  constructor(problem: string, details: ModelErrorDetails) {
    const { kind, cause, body, check, isRetryable = RETRYABLE.includes(kind), ...others } = details;
    const advice = adviceFor({ ...details, isRetryable });
    super('model_failed', [problem, ...advice].join(' '), cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.isRetryable = isRetryable;
    for (const [key, value] of Object.entries(others))
      if (value !== undefined) Object.assign(this, { [key]: value });
    const hidden = { problem, check, body: body === undefined ? undefined : cutText(body, MAX_BODY) };
    for (const [key, value] of Object.entries(hidden))
      if (value !== undefined) Object.defineProperty(this, key, { value, enumerable: false });
  }

  static override isInstance(value: unknown): value is ModelError {
    return TroupeError.isInstance(value) && 'kind' in value && 'isRetryable' in value;
  }
}

/** Sentences at the end of a message: what to check, and the next step. */
function adviceFor(details: ModelErrorDetails): readonly string[] {
  const { kind, vendor, attempts, models, isRetryable } = details;
  const isAdvised = vendor !== undefined || attempts !== undefined || models !== undefined;
  const check = details.check ?? (vendor === undefined ? '' : (CHECKS[kind] ?? ''));
  const next = isAdvised && isRetryable ? nextStep(attempts, models) : '';
  return [check, next].filter((sentence) => sentence !== '');
}

function nextStep(attempts: number | undefined, models: number | undefined): string {
  if (models === undefined) {
    const fallback = 'a FallbackModel with another model.';
    return attempts === undefined
      ? `Wrap the model in a RetryModel, or in ${fallback}`
      : `Wrap the model in ${fallback}`;
  }
  return attempts === undefined ? 'Wrap each model in a RetryModel.' : 'Try again later.';
}

/** Changes of a copied error. */
export interface ModelErrorChanges extends Partial<ModelErrorDetails> {
  /** The message without advice. */
  readonly problem?: string;
}

/** Copies an error with some details changed. The advice of the message fits the new details. */
export function changeModelError(error: ModelError, changes: ModelErrorChanges): ModelError {
  const { problem = problemOf(error), ...details } = changes;
  return new ModelError(problem, {
    kind: error.kind,
    isRetryable: error.isRetryable,
    vendor: error.vendor,
    model: error.model,
    host: error.host,
    status: error.status,
    providerCode: error.providerCode,
    retryAfterMs: error.retryAfterMs,
    deadline: error.deadline,
    requestId: error.requestId,
    attempts: error.attempts,
    models: error.models,
    body: error.body,
    check: error.check,
    cause: error.cause,
    ...details,
  });
}

/** The message of an error without advice. Errors of another copy of the package may have none apart. */
export function problemOf({ problem, message }: ModelError): string {
  return problem ?? message;
}

/** Source of a failure as text: `OpenAI (gpt-5 at api.openai.com)`. */
export function nameOrigin({ vendor, model, host }: ModelOrigin): string {
  const which = [model, host === undefined ? undefined : `at ${host}`].filter((part) => part !== undefined);
  return which.length === 0 ? (vendor ?? 'The model') : `${vendor ?? 'The model'} (${which.join(' ')})`;
}

/** Adds its origin to a ModelError without one. Returns other errors unchanged. */
export function withOrigin(error: unknown, origin: ModelOrigin): unknown {
  if (!ModelError.isInstance(error) || error.vendor !== undefined) return error;
  const problem = `${nameOrigin(origin)}: ${problemOf(error)}`;
  return changeModelError(error, { ...origin, problem });
}
