import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { abortable } from '../../util/abort.ts';
import { monotonic } from '../../util/clock.ts';
import { canonicalRequest } from './canonical-request.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import { ModelError, problemOf } from '../model-error.ts';
import { redactDeltas } from './redact-deltas.ts';
import { Redactor, type RedactOptions } from './redactor.ts';
import { tapeHeader, type TapedError, type TimedDelta } from './tape.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

export interface RecordingOptions extends RedactOptions {
  /** Receives the lines of the tape in order, each with its line feed. */
  readonly write: (line: string) => void | Promise<void>;
}

/** Model call in progress. */
interface CallInProgress {
  readonly request: ModelRequest;
  readonly startedAt: number;
  readonly deltas: TimedDelta[];
}

/** Reason for the end of a model call. */
type End = { readonly by: 'itself' | 'caller' } | { readonly by: 'error'; readonly error: unknown };

/**
 * Records every request and its response on a tape for `ReplayModel`. Passes the response on unchanged.
 *
 * A model call is written when it has ended, also after a failure or an abort. Secrets are removed before
 * writing. A failing `write` never fails a model call; the failure is logged as a warning.
 */
export class RecordingModel extends WrapperModel {
  static override readonly className: string = 'RecordingModel';

  readonly #write: (line: string) => void | Promise<void>;
  readonly #redactor: Redactor;
  #hasHeader = false;
  #written: Promise<void> = Promise.resolve();

  constructor(model: ChatModelBase, { write, ...options }: RecordingOptions) {
    super(model);
    this.#write = write;
    this.#redactor = new Redactor(options);
  }

  /** Waits until all model calls so far are written, also aborted ones. */
  flush(): Promise<void> {
    return this.#written;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    const { signal } = options;
    // Copied, because the caller's list of messages may grow before the response arrives.
    const current: CallInProgress = {
      request: { ...request, messages: [...request.messages] },
      startedAt: monotonic(),
      deltas: [],
    };
    let end: End = { by: 'caller' };
    try {
      for await (const delta of this.model.stream(request, options)) {
        current.deltas.push([monotonic() - current.startedAt, delta]);
        yield delta;
      }
      end = { by: 'itself' };
    } catch (error) {
      if (!signal.aborted) end = { by: 'error', error };
      throw error;
    } finally {
      const written = this.#record(current, end);
      if (!signal.aborted) await abortable(written, signal).catch(() => {});
    }
  }

  /** Writes a model call after all earlier ones. Never rejects. */
  #record({ request, startedAt, deltas }: CallInProgress, end: End): Promise<void> {
    const ms = monotonic() - startedAt;
    this.#written = this.#written
      .then(async () => {
        const asked = this.#redactor.object(canonicalRequest(request));
        const answer = redactDeltas(deltas, this.#redactor);
        const call = {
          request: asked,
          deltas: answer,
          ms,
          ...(end.by === 'error' && { error: this.#taped(end.error) }),
          ...(end.by === 'caller' && { aborted: true }),
        };
        if (!this.#hasHeader) await this.#write(this.#header());
        this.#hasHeader = true;
        await this.#write(`${JSON.stringify(call)}\n`);
      })
      .catch((error: unknown) => {
        getLogger().log('warn', `A model call of ${this.modelName} was not recorded: ${messageOf(error)}`);
      });
    return this.#written;
  }

  #header(): string {
    const { modelName, capabilities } = this.model;
    return tapeHeader({ modelName: this.#redactor.text(modelName), capabilities });
  }

  #taped(error: unknown): TapedError {
    if (!ModelError.isInstance(error)) return { message: this.#redactor.text(messageOf(error)) };
    const { kind, status, retryAfterMs, isRetryable, attempts, models } = error;
    const { providerCode, vendor, model, host, check } = error;
    const texts = Object.entries({ providerCode, vendor, model, host, check }).flatMap(([key, text]) =>
      text === undefined ? [] : [[key, this.#redactor.text(text)] as const],
    );
    return {
      message: this.#redactor.text(messageOf(problemOf(error))),
      kind,
      isRetryable,
      ...(status !== undefined && { status }),
      ...Object.fromEntries(texts),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(attempts !== undefined && { attempts }),
      ...(models !== undefined && { models }),
    };
  }
}
