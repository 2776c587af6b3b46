import type { FormatterBase } from '../../formatter/formatter-base.ts';
import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import { sha256 } from '../../util/hash.ts';
import { abortable } from '../../util/abort.ts';
import { copyJson, type JsonValue } from '../../util/json.ts';
import { canonicalRequest, withSortedKeys } from './canonical-request.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import { FallbackModel } from './fallback-model.ts';
import { MemoryCacheStore, type CacheStore } from './memory-cache-store.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

export interface CacheOptions {
  /** @default a MemoryCacheStore with 1 000 entries */
  readonly store?: CacheStore | undefined;
  /** Cache key of a request. @default a hash of everything the response depends on */
  readonly key?: ((request: ModelRequest) => string | Promise<string>) | undefined;
}

/** Finish reasons of complete responses. Others, such as a truncated response, may be better next time. */
const COMPLETE: readonly FinishReason[] = ['stop', 'tool_calls'];
const NO_COST: ModelDelta = Object.freeze({
  type: 'usage',
  usage: Object.freeze({ inputTokens: 0, outputTokens: 0 }),
});

/**
 * Repeats the response to an equal request delta by delta, without a model call. Cached responses report a
 * usage of 0 tokens.
 *
 * Only complete responses that were read to the end are cached, as copies: later changes to the deltas have
 * no effect. A failing store never fails a model call; the failure is logged as a warning.
 */
export class CacheModel extends WrapperModel {
  static override readonly className: string = 'CacheModel';

  readonly #store: CacheStore;
  readonly #key: (request: ModelRequest) => string | Promise<string>;

  constructor(model: ChatModelBase, { store = new MemoryCacheStore(), key }: CacheOptions = {}) {
    super(model);
    this.#store = store;
    this.#key =
      key ?? ((request) => hash([identityOf(model), formatterName(request), canonicalRequest(request)]));
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    const { signal } = options;
    const key = await this.#attempt('make a key', signal, () => this.#key(request));
    const known =
      key === undefined ? undefined : await this.#attempt('read', signal, () => this.#store.get(key));
    if (Array.isArray(known)) return yield* replay(known, signal);

    let answer = new ResponseCopy();
    for await (const delta of this.model.stream(request, options)) {
      if (delta.type === 'reset') answer = new ResponseCopy();
      else answer.add(delta);
      yield delta;
    }
    if (key === undefined || !answer.isComplete) return;
    await this.#attempt('write', signal, () => this.#store.set(key, answer.toDeltas()));
  }

  /** Result of a cache operation; undefined if it fails. Rejects only on abort. */
  async #attempt<T>(what: string, signal: AbortSignal, work: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await abortable((async () => work())(), signal);
    } catch (error) {
      signal.throwIfAborted();
      getLogger().log('warn', `The cache of ${this.modelName} could not ${what}: ${messageOf(error)}`);
      return undefined;
    }
  }
}

/** Copy of a response while it streams. */
class ResponseCopy {
  readonly #deltas: ModelDelta[] = [];
  #problem: string | undefined;
  #finish: FinishReason | undefined;

  add(delta: ModelDelta): void {
    if (delta.type === 'finish') this.#finish = delta.reason;
    try {
      this.#deltas.push(copyJson(delta, 'a delta') as JsonValue & ModelDelta);
    } catch (error) {
      this.#problem ??= messageOf(error);
    }
  }

  get isComplete(): boolean {
    return this.#finish !== undefined && COMPLETE.includes(this.#finish);
  }

  /** @throws TypeError if a delta could not be copied */
  toDeltas(): readonly ModelDelta[] {
    if (this.#problem !== undefined) throw new TypeError(this.#problem);
    return this.#deltas;
  }
}

function* replay(answer: readonly ModelDelta[], signal: AbortSignal): Generator<ModelDelta, void, void> {
  for (const delta of answer) {
    signal.throwIfAborted();
    yield delta.type === 'usage' ? NO_COST : delta;
  }
}

/** Everything besides the request that a response depends on. */
function identityOf(model: ChatModelBase): JsonValue {
  const className = classNameOf(model);
  if (model instanceof WrapperModel) return [className, identityOf(model.model)];
  if (model instanceof FallbackModel) return [className, ...model.models.map(identityOf)];
  const { modelName, vendorName = null, generation } = model;
  return [className, modelName, vendorName, withSortedKeys(copyJson(generation, 'generation'))];
}

/** Different formatters make different prompts from the same messages. */
function formatterName({ formatter }: ModelRequest): string | null {
  return formatter === undefined ? null : classNameOf(formatter);
}

/** The fixed name of a class, so that builds of a program share a store, whatever a minifier calls their classes. */
function classNameOf({ constructor }: ChatModelBase | FormatterBase): string {
  const { className } = constructor as typeof ChatModelBase;
  return Object.hasOwn(constructor, 'className') && className !== undefined ? className : constructor.name;
}

/** Short key that reveals nothing of the prompt to the store. */
function hash(value: unknown): Promise<string> {
  return sha256(JSON.stringify(value));
}
