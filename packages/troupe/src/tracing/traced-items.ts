import { whenAborted } from '../util/abort.ts';
import { outcomeOfError, reportTracer, type SafeSpan } from './instrumentation.ts';
import type { SpanOutcome } from './traced-operation.ts';

/** Sees the items of a stream. */
export interface ItemWatcher<T> {
  take(item: T): void;
  /** Adds what the items told to the outcome of the stream. */
  outcome(ending: SpanOutcome): SpanOutcome;
}

/** The span of a stream, begun with its first read. */
export interface StreamSpan<T> {
  readonly span: SafeSpan;
  readonly watcher: ItemWatcher<T>;
  /** Ends the span when aborted, even if the stream goes on. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The same stream as a span that begins with the first read and ends with the stream: when it is used up, fails, is aborted, or the
 * reader leaves. The source runs inside of the span, its reader does not.
 */
export function tracedItems<T>(
  source: AsyncIterable<T>,
  begin: () => StreamSpan<T> | undefined,
): AsyncGenerator<T, void, void> {
  return new TracedItems(source, begin);
}

class TracedItems<T> implements AsyncGenerator<T, void, void> {
  readonly #begin: () => StreamSpan<T> | undefined;
  readonly #source: AsyncIterable<T>;
  #items: AsyncIterator<T> | undefined;
  #traced: StreamSpan<T> | undefined;
  #unlink: () => void = () => {};

  constructor(source: AsyncIterable<T>, begin: () => StreamSpan<T> | undefined) {
    this.#source = source;
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, void>> {
    const items = (this.#items ??= this.#open());
    const traced = this.#traced;
    if (traced === undefined) return toResult(await items.next());
    try {
      const result = toResult(await traced.span.run(() => items.next()));
      if (result.done) this.#end({ status: 'ok' });
      else this.#take(result.value);
      return result;
    } catch (error) {
      this.#end(outcomeOfError(error, traced.signal));
      throw error;
    }
  }

  /** Leaving a stream is no failure of the span. */
  async return(): Promise<IteratorResult<T, void>> {
    this.#end({ status: 'ok' });
    this.#items ??= this.#source[Symbol.asyncIterator]();
    await this.#items.return?.();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<IteratorResult<T, void>> {
    this.#end(outcomeOfError(error));
    const items = (this.#items ??= this.#source[Symbol.asyncIterator]());
    if (items.throw === undefined) throw error;
    return toResult(await items.throw(error));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #open(): AsyncIterator<T> {
    try {
      this.#traced = this.#begin();
    } catch (error) {
      reportTracer(error);
    }
    const signal = this.#traced?.signal;
    this.#unlink = whenAborted(signal, (reason) => this.#end(outcomeOfError(reason, signal)));
    return this.#source[Symbol.asyncIterator]();
  }

  #take(item: T): void {
    try {
      this.#traced?.watcher.take(item);
    } catch (error) {
      reportTracer(error);
    }
  }

  #end(ending: SpanOutcome): void {
    this.#unlink();
    if (this.#traced === undefined) return;
    const { span, watcher } = this.#traced;
    let outcome = ending;
    try {
      outcome = watcher.outcome(ending);
    } catch (error) {
      reportTracer(error);
    }
    span.end(outcome);
  }
}

/** The return value of a stream is dropped: nobody reads it. */
function toResult<T>(result: IteratorResult<T, unknown>): IteratorResult<T, void> {
  return result.done ? { done: true, value: undefined } : result;
}
