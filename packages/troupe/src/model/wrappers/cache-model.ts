import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import { abortable } from '../../util/abort.ts';
import { copyJson, type JsonValue } from '../../util/json.ts';
import { canonicalRequest, withSortedKeys } from './canonical-request.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import { FallbackModel } from './fallback-model.ts';
import { MemoryCacheStore } from './memory-cache-store.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

/** Where answers are kept. Deltas are plain JSON. */
export interface CacheStore {
  get(
    key: string,
  ): readonly ModelDelta[] | undefined | null | Promise<readonly ModelDelta[] | undefined | null>;
  set(key: string, answer: readonly ModelDelta[]): void | Promise<void>;
}

export interface CacheOptions {
  /** @default a MemoryCacheStore of 1 000 answers */
  readonly store?: CacheStore | undefined;
  /** Requests with the same key have the same answer. @default a hash of what the answer depends on */
  readonly key?: ((request: ModelRequest) => string | Promise<string>) | undefined;
}

/**
 * Answers that are as the model wanted them. Others, such as one that was cut off, may be better next time.
 */
const COMPLETE: readonly FinishReason[] = ['stop', 'tool_calls'];
const NO_COST: ModelDelta = Object.freeze({
  type: 'usage',
  usage: Object.freeze({ inputTokens: 0, outputTokens: 0 }),
});

/**
 * Gives the same answer to the same request, delta by delta, without asking again. An answer from the cache
 * says that it took no tokens, because it took none.
 *
 * Only an answer that was read to its end and that is complete is kept, as it was when it came: whoever
 * changes the deltas that they got changes nothing here. A store that fails is as good as an empty one: the
 * call goes on, and a warning is logged.
 */
export class CacheModel extends WrapperModel {
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

    let answer = new Answer();
    for await (const delta of this.model.stream(request, options)) {
      if (delta.type === 'reset') answer = new Answer();
      else answer.add(delta);
      yield delta;
    }
    if (key === undefined || !answer.isComplete) return;
    await this.#attempt('write', signal, () => this.#store.set(key, answer.toDeltas()));
  }

  /** What the cache says; undefined if it fails. Rejects only when the signal is aborted. */
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

/** An answer on its way: a copy of it, as whoever reads it may change what they get. */
class Answer {
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

  /** @throws TypeError if one of them could not be copied. */
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

/** What a model's answers depend on, besides the request. */
function identityOf(model: ChatModelBase): JsonValue {
  const className = model.constructor.name;
  if (model instanceof WrapperModel) return [className, identityOf(model.model)];
  if (model instanceof FallbackModel) return [className, ...model.models.map(identityOf)];
  const { modelName, vendorName = null, generation } = model;
  return [className, modelName, vendorName, withSortedKeys(copyJson(generation, 'generation'))];
}

/** Formatters make different prompts of the same messages. */
function formatterName({ formatter }: ModelRequest): string | null {
  return formatter === undefined ? null : formatter.constructor.name;
}

/** A key that is short, and tells nothing of the prompt to whoever runs the store. */
async function hash(value: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(value)));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
