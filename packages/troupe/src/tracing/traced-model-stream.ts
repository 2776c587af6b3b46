import type { ModelDelta } from '../message/model-delta.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import type { ModelCallOptions, ModelRequest } from '../model/model-request.ts';
import { elapsedSince, monotonic } from '../util/clock.ts';
import { isTracing, startSpan, type SafeSpan } from './instrumentation.ts';
import type { SpanOutcome, TracedOperation } from './traced-operation.ts';
import { tracedItems, type ItemWatcher } from './traced-items.ts';

/** A chat model, as far as its span needs one. */
type StreamingModel = Extract<TracedOperation, { readonly type: 'model' }>['model'] & {
  stream(request: ModelRequest, options?: ModelCallOptions): AsyncIterable<ModelDelta>;
};

type ModelClass = abstract new (...args: never[]) => StreamingModel;

const prototypes = new WeakMap<ModelClass, object>();

/**
 * Makes every stream of a model a span, without code in the model's class: one prototype, shared by all
 * instances of a class, stands between the instance and its class. `super.stream()` starts above this
 * prototype, so that a stream of a subclass is one span.
 */
export function installTracedStream(model: StreamingModel, cls: ModelClass): void {
  let prototype = prototypes.get(cls);
  if (prototype === undefined) {
    prototype = tracedPrototype(cls.prototype);
    prototypes.set(cls, prototype);
  }
  Object.setPrototypeOf(model, prototype);
}

function tracedPrototype(own: StreamingModel): object {
  function stream(
    this: StreamingModel,
    request: ModelRequest,
    options?: ModelCallOptions,
  ): AsyncIterable<ModelDelta> {
    const deltas = own.stream.call(this, request, options);
    if (!isTracing()) return deltas;
    return tracedItems(deltas, () => {
      const span = startSpan(() => ({ type: 'model', model: this, request }));
      return span && { span, watcher: new DeltaWatcher(span, request), signal: options?.signal };
    });
  }
  return Object.create(own, { stream: { value: stream, writable: true, configurable: true } }) as object;
}

/** Collects what the deltas of one stream tell about the model call. */
class DeltaWatcher implements ItemWatcher<ModelDelta> {
  readonly #startedAt = monotonic();
  readonly #draft: MsgDraft | undefined;
  #firstDeltaMs: number | undefined;
  #known: Pick<SpanOutcome, 'usage' | 'finishReason' | 'responseId'> = {};

  constructor({ capturesContent }: SafeSpan, { agentName = 'assistant' }: ModelRequest) {
    if (capturesContent) this.#draft = new MsgDraft(agentName);
  }

  take(delta: ModelDelta): void {
    this.#firstDeltaMs ??= elapsedSince(this.#startedAt);
    this.#draft?.add(delta);
    if (delta.type === 'usage') this.#known = { ...this.#known, usage: delta.usage };
    else if (delta.type === 'finish') this.#known = { ...this.#known, finishReason: delta.reason };
    else if (delta.type === 'response_id') this.#known = { ...this.#known, responseId: delta.id };
  }

  outcome(ending: SpanOutcome): SpanOutcome {
    const answer = this.#known.finishReason === undefined ? this.#draft?.cutShort() : this.#draft?.finish(); // the reader may have left
    return { ...ending, ...this.#known, firstDeltaMs: this.#firstDeltaMs, answer };
  }
}
