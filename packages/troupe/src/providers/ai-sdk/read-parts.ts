import { DeadlineWatch, type Deadlines } from '../../model/http/deadlines.ts';
import { abortable, whenAborted } from '../../util/abort.ts';
import { watchConnection } from '#platform';
import { toModelError } from './ai-sdk-error.ts';
import { isJsonObject } from '../../util/json.ts';
import { readerOf, wholeParts } from './whole-parts.ts';
import type { AiSdkCallOptions, AiSdkLanguageModel, AiSdkReader } from './language-model.ts';

export interface PartsCall {
  readonly model: AiSdkLanguageModel;
  readonly options: AiSdkCallOptions;
  readonly deadlines: Deadlines;
  /** Whether the answer is requested as a stream. */
  readonly isStreamed: boolean;
  /** Whether the answer is over, though its stream may not have ended yet. */
  readonly isOver: () => boolean;
}

/**
 * Makes a model call and yields the parts of its stream. In every case the stream is cancelled and the
 * model's signal aborted at the end: on an error, a passed deadline, an abort by the caller, or when the
 * reader stops early. Does not wait for models that ignore their signal.
 * @throws ModelError, or the abort reason of the signal.
 */
export async function* readParts(
  { model, options, deadlines, isStreamed, isOver }: PartsCall,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, void> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const stop = (reason: unknown): void => controller.abort(reason);
  const unlink = whenAborted(signal, stop);
  const origin = { vendor: model.provider, model: model.modelId };
  const watch = new DeadlineWatch(origin, deadlines, stop);
  let hasBegun = false;
  try {
    const opening = watchConnection(
      undefined,
      () => watch.connected(),
      () => open(model, { ...options, abortSignal: controller.signal }, isStreamed),
    );
    whenAborted(controller.signal, () => void opening.then(cancel, () => {}));
    const reader = await abortable(opening, controller.signal);
    watch.connected();
    for (;;) {
      const { done, value } = await abortable(Promise.resolve(reader.read()), controller.signal);
      if (done) return;
      hasBegun = true;
      watch.pause();
      yield value;
      watch.received();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (isOver()) return; // a failure after the end loses nothing
    if (controller.signal.aborted) throw controller.signal.reason;
    throw toModelError(error, origin, hasBegun);
  } finally {
    watch.stop();
    unlink();
    controller.abort(); // closes open connections
  }
}

async function open(
  model: AiSdkLanguageModel,
  options: AiSdkCallOptions,
  isStreamed: boolean,
): Promise<AiSdkReader> {
  if (!isStreamed && model.doGenerate !== undefined) {
    const answer = await model.doGenerate(options);
    return readerOf(isJsonObject(answer) ? wholeParts(answer) : []);
  }
  const { stream } = await model.doStream(options);
  return stream.getReader();
}

/** Cancels the reader and ignores errors of an abandoned stream. */
function cancel(reader: AiSdkReader): void {
  reader.cancel().then(undefined, () => {});
}
