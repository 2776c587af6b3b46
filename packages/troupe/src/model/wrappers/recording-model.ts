import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { abortable } from '../../util/abort.ts';
import { now } from '../../util/clock.ts';
import { canonicalRequest } from './canonical-request.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import { ModelError } from '../model-error.ts';
import { redactDeltas } from './redact-deltas.ts';
import { Redactor, type RedactOptions } from './redactor.ts';
import { tapeHeader, type TapedError, type TimedDelta } from './tape.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

export interface RecordingOptions extends RedactOptions {
  /** Gets the lines of the tape, each with its line feed, one after the other. */
  readonly write: (line: string) => void | Promise<void>;
}

/** A call that is going on. */
interface Take {
  readonly request: ModelRequest;
  readonly startedAt: number;
  readonly deltas: TimedDelta[];
}

/** How a call came to its end. */
type End = { readonly by: 'itself' | 'caller' } | { readonly by: 'error'; readonly error: unknown };

/**
 * Writes a tape of every request and its answer, for a `ReplayModel`. The answer is passed on as it is.
 *
 * A call is written when it is over, also if it failed or was stopped. Secrets are taken out of everything
 * that is written. A tape that can't be written never fails a call: a warning is logged.
 */
export class RecordingModel extends WrapperModel {
  readonly #write: (line: string) => void | Promise<void>;
  readonly #redactor: Redactor;
  #hasHeader = false;
  #written: Promise<void> = Promise.resolve();

  constructor(model: ChatModelBase, { write, ...options }: RecordingOptions) {
    super(model);
    this.#write = write;
    this.#redactor = new Redactor(options);
  }

  /** Waits until the calls so far are on the tape, also those that were stopped. */
  flush(): Promise<void> {
    return this.#written;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    const { signal } = options;
    // The caller's list of messages may grow before the answer is there.
    const take: Take = {
      request: { ...request, messages: [...request.messages] },
      startedAt: now(),
      deltas: [],
    };
    let end: End = { by: 'caller' };
    try {
      for await (const delta of this.model.stream(request, options)) {
        take.deltas.push([now() - take.startedAt, delta]);
        yield delta;
      }
      end = { by: 'itself' };
    } catch (error) {
      if (!signal.aborted) end = { by: 'error', error };
      throw error;
    } finally {
      const written = this.#record(take, end);
      if (!signal.aborted) await abortable(written, signal).catch(() => {});
    }
  }

  /** Writes a call behind those before it. Never rejects. */
  #record({ request, startedAt, deltas }: Take, end: End): Promise<void> {
    const ms = now() - startedAt;
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
        getLogger().log('warn', `A call of ${this.modelName} is not on the tape: ${messageOf(error)}`);
      });
    return this.#written;
  }

  #header(): string {
    const { modelName, capabilities } = this.model;
    return tapeHeader({ modelName: this.#redactor.text(modelName), capabilities });
  }

  #taped(error: unknown): TapedError {
    const message = this.#redactor.text(messageOf(error));
    if (!ModelError.isInstance(error)) return { message };
    const { kind, status, providerCode, retryAfterMs, isRetryable } = error;
    return {
      message,
      kind,
      isRetryable,
      ...(status !== undefined && { status }),
      ...(providerCode !== undefined && { providerCode: this.#redactor.text(providerCode) }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  }
}
