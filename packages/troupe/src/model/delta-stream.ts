import { notifyOnReturn, stoppable } from '../util/async/stoppable.ts';
import type { ModelDelta } from '../message/model-delta.ts';

type Deltas = AsyncGenerator<ModelDelta, void, void>;
type DeltaBatches = AsyncGenerator<readonly ModelDelta[], void, void>;

/**
 * Deltas of a model that come in batches: all deltas of one network read together. A reader takes them one by one, as from any stream, or
 * in batches by `deltaBatches`, which costs one promise for each read in place of several for each delta. Stops like `stoppable`.
 */
export class DeltaStream implements Deltas {
  readonly batches: DeltaBatches;
  readonly #deltas: Deltas;

  constructor(open: (signal: AbortSignal) => DeltaBatches, caller: AbortSignal | undefined) {
    const batches = stoppable(open, caller);
    this.batches = batches;
    this.#deltas = notifyOnReturn(single(batches, caller), () => void batches.return());
  }

  next(): Promise<IteratorResult<ModelDelta, void>> {
    return this.#deltas.next();
  }

  return(): Promise<IteratorResult<ModelDelta, void>> {
    return this.#deltas.return();
  }

  throw(error: unknown): Promise<IteratorResult<ModelDelta, void>> {
    return this.#deltas.throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

/** Deltas in the batches in which they come; one by one where the model does not say. */
export function deltaBatches(deltas: AsyncIterable<ModelDelta>): AsyncIterable<readonly ModelDelta[]> {
  return deltas instanceof DeltaStream ? deltas.batches : alone(deltas);
}

async function* single(batches: DeltaBatches, signal: AbortSignal | undefined): Deltas {
  for await (const batch of batches) {
    for (const delta of batch) {
      signal?.throwIfAborted();
      yield delta;
    }
  }
}

/** Passes `return` on at once, also while the next delta is awaited. */
function alone(deltas: AsyncIterable<ModelDelta>): AsyncIterable<readonly ModelDelta[]> {
  return {
    [Symbol.asyncIterator]() {
      const items = deltas[Symbol.asyncIterator]();
      return {
        next: () =>
          items.next().then((item) => (item.done === true ? item : { done: false, value: [item.value] })),
        return: async () => {
          await items.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
