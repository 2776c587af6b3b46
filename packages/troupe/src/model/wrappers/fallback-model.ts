import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import type { AnsweredBy } from '../../message/answered-by.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { whenAborted } from '../../util/abort.ts';
import { oneLine } from '../../util/text.ts';
import {
  ChatModelBase,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../chat-model-base.ts';
import { ModelError, type ModelErrorKind } from '../model-error.ts';
import { isThinking } from '../generation.ts';
import { stoppable } from '../../util/async/stoppable.ts';
import type { RelayOptions } from './wrapper-model.ts';

/** Failed model and the model used next. */
export interface Fallback {
  readonly from: ChatModelBase;
  readonly to: ChatModelBase;
  readonly error: unknown;
}

export interface FallbackOptions {
  /**
   * Tells whether the next model is used after the failure of the model at `index` (from 0).
   * @default true for every ModelError except `bad_request` and `content_filter`, which another model can't
   * solve
   */
  readonly shouldFallBack?: ((error: unknown, index: number) => boolean) | undefined;
  /** Called before the next model is used. */
  readonly onFallback?: ((fallback: Fallback) => void) | undefined;
}

/** Errors caused by the request itself, or by a content filter that no other model should bypass. */
const FINAL: readonly ModelErrorKind[] = ['bad_request', 'content_filter'];

/** From weakest to strongest. */
const FORCING = ['never', 'without_thinking', 'always'] as const;

/**
 * Uses the next model when a model fails. Has the name, vendor and options of the first model, and only the
 * capabilities common to all.
 *
 * The answer of another model than the first says which one gave it (`answeredBy`). Every model gets its own signal, which follows the caller's; an abort by the caller ends everything. If
 * deltas were already passed on, a `reset` voids them and keeps their usage. An error without fallback is
 * thrown unchanged. When all models fail, throws a ModelError with the `kind` of the last error, retryable if
 * any error is, and an AggregateError of all errors as its cause.
 *
 * @example
 * ```ts
 * import { FallbackModel, Msg } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const model = new FallbackModel([new ScriptedModel(['Hello!'], 'big'), new ScriptedModel([], 'small')]);
 * console.log((await model.call({ messages: [Msg.user('Hi.')] })).text); // Hello!
 * ```
 */
export class FallbackModel extends ChatModelBase {
  static override readonly className: string = 'FallbackModel';
  static override readonly isTraced: boolean = false;

  override readonly capabilities: ModelCapabilities;
  override readonly generation: GenerationOptions;
  override readonly vendorName: string | undefined;
  override readonly host: string | undefined;
  readonly models: readonly ChatModelBase[];
  readonly #shouldFallBack: (error: unknown, index: number) => boolean;
  readonly #onFallback: ((fallback: Fallback) => void) | undefined;

  constructor(models: readonly ChatModelBase[], options: FallbackOptions = {}) {
    const [first] = models;
    if (first === undefined) throw new TroupeError('invalid_config', 'A FallbackModel needs a model.');
    super(first.modelName);
    this.models = Object.freeze([...models]);
    this.capabilities = models.map(effectiveCapabilities).reduce(commonCapabilities);
    this.generation = first.generation;
    this.vendorName = first.vendorName;
    this.host = first.host;
    this.#shouldFallBack = options.shouldFallBack ?? isWorthFallback;
    this.#onFallback = options.onFallback;
  }

  override stream(
    request: ModelRequest,
    options: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable((signal) => this.#answer(request, { ...options, signal }), options.signal);
  }

  async *#answer(request: ModelRequest, options: RelayOptions): AsyncGenerator<ModelDelta, void, void> {
    const { signal } = options;
    const errors: unknown[] = [];
    for (const [index, model] of this.models.entries()) {
      const attempt = new AbortController();
      whenAborted(signal, (reason) => attempt.abort(reason));
      let hasPassed = false;
      let failure: unknown;
      try {
        for await (const delta of model.stream(this.#for(model, request), {
          ...options,
          signal: attempt.signal,
        })) {
          if (!hasPassed && index > 0) yield { type: 'answered_by', ...answeredBy(model) };
          hasPassed = true;
          yield delta;
        }
        return;
      } catch (error) {
        failure = error;
      }
      signal.throwIfAborted();
      attempt.abort(failure); // stops leftovers of the failed model
      errors.push(failure);
      const next = this.models[index + 1];
      if (next === undefined) throw this.#allFailed(errors);
      if (!this.#shouldFallBack(failure, index)) throw failure;
      const reason = this.#report({ from: model, to: next, error: failure });
      if (hasPassed) yield { type: 'reset', reason };
    }
  }

  /**
   * Request for one of the models. The settings of HTTP are meant for the first model: a model of another host
   * gets neither its key nor its address.
   */
  #for(model: ChatModelBase, request: ModelRequest): ModelRequest {
    const isFirst = model === this.models[0] || (model.host !== undefined && model.host === this.host);
    if (isFirst || request.http === undefined) return request;
    return { ...request, http: { stream: request.http.stream } };
  }

  /** Reports a fallback. Returns its description in one line. */
  #report(fallback: Fallback): string {
    const { from, to, error } = fallback;
    const line = oneLine(`${from.modelName} failed (${kindOf(error)}); ${to.modelName} is used instead.`);
    getLogger().log('warn', line);
    this.#onFallback?.(fallback);
    return line;
  }

  /**
   * Error when no model is left: a summary of all errors, or the last error if there was only one model or it
   * is not a ModelError.
   */
  #allFailed(errors: readonly unknown[]): unknown {
    const last = errors.at(-1);
    if (errors.length === 1 || !ModelError.isInstance(last)) return last;
    const who = this.models.map((model, i) => `${nameOf(model)} (${kindOf(errors[i])})`).join(', ');
    const retryable = errors
      .filter((error) => ModelError.isInstance(error))
      .filter((error) => error.isRetryable);
    const advised = retryable.filter(({ vendor, models }) => vendor !== undefined || models !== undefined);
    const attempts = advised.map((error) => error.attempts).filter((count) => count !== undefined);
    return new ModelError(`All ${errors.length} models failed: ${oneLine(who)}.`, {
      kind: last.kind,
      status: last.status,
      isRetryable: retryable.length > 0,
      retryAfterMs: shortestDelay(retryable),
      models: advised.length > 0 ? errors.length : undefined,
      attempts: attempts.length > 0 && attempts.length === advised.length ? Math.max(...attempts) : undefined,
      cause: new AggregateError(errors, 'The errors of all models'),
    });
  }
}

function isWorthFallback(error: unknown): boolean {
  return ModelError.isInstance(error) && !FINAL.includes(error.kind);
}

/** Shortest delay of the errors; undefined if any error has none. */
function shortestDelay(errors: readonly ModelError[]): number | undefined {
  const delays = errors.map((error) => error.retryAfterMs).filter((delay) => delay !== undefined);
  return delays.length > 0 && delays.length === errors.length ? Math.min(...delays) : undefined;
}

function answeredBy({ modelName: model, vendorName: vendor, host }: ChatModelBase): AnsweredBy {
  return { model, ...(vendor !== undefined && { vendor }), ...(host !== undefined && { host }) };
}

function nameOf({ modelName, host }: ChatModelBase): string {
  return host === undefined ? modelName : `${modelName} at ${host}`;
}

function kindOf(error: unknown): string {
  return ModelError.isInstance(error) ? error.kind : 'error';
}

/** Capabilities with the configured options: thinking can disable forced tool calls. */
function effectiveCapabilities({ capabilities, generation }: ChatModelBase): ModelCapabilities {
  const isDisabled = capabilities.forcedTools === 'without_thinking' && isThinking(generation);
  return isDisabled ? { ...capabilities, forcedTools: 'never' } : capabilities;
}

function commonCapabilities(a: ModelCapabilities, b: ModelCapabilities): ModelCapabilities {
  return Object.freeze({
    vision: a.vision && b.vision,
    audio: a.audio && b.audio,
    video: a.video && b.video,
    files: a.files && b.files,
    tools: a.tools && b.tools,
    forcedTools: FORCING.find((power) => power === a.forcedTools || power === b.forcedTools) ?? 'never',
    structured: a.structured === 'native' ? b.structured : 'none',
  });
}
