import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
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

/** A model that failed, and the one that is asked instead. */
export interface Fallback {
  readonly from: ChatModelBase;
  readonly to: ChatModelBase;
  readonly error: unknown;
}

export interface FallbackOptions {
  /**
   * Whether the next model is to be asked after the model number `index` (from 0) has failed.
   * @default for every ModelError but those that another model would not cure: `bad_request` and
   * `content_filter`
   */
  readonly shouldFallBack?: ((error: unknown, index: number) => boolean) | undefined;
  /** Is told before the next model is asked. */
  readonly onFallback?: ((fallback: Fallback) => void) | undefined;
}

/** Errors that are the request's fault, or that no other model should be asked to overlook. */
const FINAL: readonly ModelErrorKind[] = ['bad_request', 'content_filter'];

/** From the weakest to the strongest. */
const FORCING = ['never', 'without_thinking', 'always'] as const;

/**
 * Asks the next model when one fails. Its name, vendor and options are those of the first, and it can do what
 * all of them can.
 *
 * Every model has a signal of its own, which follows the caller's; a caller's abort ends it all. If something
 * was passed on already, a `reset` tells that it is void and keeps what it has cost. An error after which no
 * other model shall be asked is thrown as it is. When all have failed, a ModelError says who failed and why:
 * it has the `kind` of the last error, is retryable if one of them is, and its cause is an AggregateError of
 * all.
 */
export class FallbackModel extends ChatModelBase {
  override readonly capabilities: ModelCapabilities;
  override readonly generation: GenerationOptions;
  override readonly vendorName: string | undefined;
  readonly models: readonly ChatModelBase[];
  readonly #shouldFallBack: (error: unknown, index: number) => boolean;
  readonly #onFallback: ((fallback: Fallback) => void) | undefined;

  constructor(models: readonly ChatModelBase[], options: FallbackOptions = {}) {
    const [first] = models;
    if (first === undefined) throw new TroupeError('invalid_config', 'A FallbackModel needs a model.');
    super(first.modelName);
    this.models = Object.freeze([...models]);
    this.capabilities = models.map(whatItCan).reduce(whatBothCan);
    this.generation = first.generation;
    this.vendorName = first.vendorName;
    this.#shouldFallBack = options.shouldFallBack ?? isCurable;
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
        for await (const delta of model.stream(request, { ...options, signal: attempt.signal })) {
          hasPassed = true;
          yield delta;
        }
        return;
      } catch (error) {
        failure = error;
      }
      signal.throwIfAborted();
      attempt.abort(failure); // for what it may have left behind
      errors.push(failure);
      const next = this.models[index + 1];
      if (next === undefined) throw this.#allFailed(errors);
      if (!this.#shouldFallBack(failure, index)) throw failure;
      const reason = this.#tell({ from: model, to: next, error: failure });
      if (hasPassed) yield { type: 'reset', reason };
    }
  }

  /** Tells that the next model is asked. Returns the same in one line. */
  #tell(fallback: Fallback): string {
    const { from, to, error } = fallback;
    const line = oneLine(`${from.modelName} failed (${kindOf(error)}); ${to.modelName} is asked instead.`);
    getLogger().log('warn', line);
    this.#onFallback?.(fallback);
    return line;
  }

  /**
   * The error for when no model is left to ask: for one model its own, and what is no ModelError stays as it
   * is.
   */
  #allFailed(errors: readonly unknown[]): unknown {
    const last = errors.at(-1);
    if (errors.length === 1 || !ModelError.isInstance(last)) return last;
    const who = this.models.map((model, i) => `${model.modelName} (${kindOf(errors[i])})`).join(', ');
    const retryable = errors
      .filter((error) => ModelError.isInstance(error))
      .filter((error) => error.isRetryable);
    return new ModelError(`All ${errors.length} models failed: ${oneLine(who)}.`, {
      kind: last.kind,
      status: last.status,
      isRetryable: retryable.length > 0,
      retryAfterMs: soonest(retryable),
      cause: new AggregateError(errors, 'The errors of all models'),
    });
  }
}

function isCurable(error: unknown): boolean {
  return ModelError.isInstance(error) && !FINAL.includes(error.kind);
}

/** How long until the first of them may be asked again; undefined if one of them names no time. */
function soonest(errors: readonly ModelError[]): number | undefined {
  const delays = errors.map((error) => error.retryAfterMs).filter((delay) => delay !== undefined);
  return delays.length > 0 && delays.length === errors.length ? Math.min(...delays) : undefined;
}

function kindOf(error: unknown): string {
  return ModelError.isInstance(error) ? error.kind : 'error';
}

/** What a model can do as it was set up: one that thinks may not be one that can be forced. */
function whatItCan({ capabilities, generation }: ChatModelBase): ModelCapabilities {
  const isHeldBack = capabilities.forcedTools === 'without_thinking' && isThinking(generation);
  return isHeldBack ? { ...capabilities, forcedTools: 'never' } : capabilities;
}

function whatBothCan(a: ModelCapabilities, b: ModelCapabilities): ModelCapabilities {
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
