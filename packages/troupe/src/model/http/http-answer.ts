import type { ModelDelta } from '../../message/model-delta.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { TooLongError } from '../../util/net/framing.ts';
import type { ModelOrigin } from '../model-error.ts';
import type { AnswerEvent, AnswerFraming } from './answer-framing.ts';
import type { WireCall, WireDecoder } from './http-chat-model.ts';
import {
  foreignResponse,
  lostConnection,
  malformedResponse,
  responseError,
  withoutSecrets,
} from './http-error.ts';
import { readResponse, type HttpCall } from './read-response.ts';

export interface HttpAnswerOptions {
  readonly call: WireCall;
  readonly origin: ModelOrigin;
  /** Secrets to remove from errors. */
  readonly secrets: readonly string[];
  readonly framing: AnswerFraming;
  readonly newDecoder: (toError: (data: JsonObject) => Error) => WireDecoder;
}

/** Data of the event that some providers send last. */
const DONE = '[DONE]';
const MAX_SAMPLE = 1024;
/** Maximum length of an error that is read whole. */
const MAX_ERROR = 16 * MAX_SAMPLE;

/** The answer to one HTTP request: bytes to events, events to deltas, and the errors of both. */
export class HttpAnswer {
  readonly #call: WireCall;
  readonly #origin: ModelOrigin;
  readonly #secrets: readonly string[];
  readonly #framing: AnswerFraming;
  readonly #decoder: WireDecoder;
  #isDone = false;
  #hasEvents = false;
  /** Start of a response without events so far, for errors. */
  #sample = '';
  readonly #sampleDecoder = new TextDecoder();

  constructor({ call, origin, secrets, framing, newDecoder }: HttpAnswerOptions) {
    this.#call = call;
    this.#origin = origin;
    this.#secrets = secrets;
    this.#framing = framing;
    this.#decoder = newDecoder((data) => this.#failure(data));
  }

  /** @throws ModelError if the answer reports a failure or ends early */
  async *read(
    { fetch, deadlines }: Pick<HttpCall, 'fetch' | 'deadlines'>,
    signal: AbortSignal,
  ): AsyncGenerator<ModelDelta, void, void> {
    const decoder = this.#decoder;
    const isOver = (): boolean => this.#isDone || decoder.isOver === true;
    const isComplete = (): boolean => decoder.isComplete;
    const context = { origin: this.#origin, secrets: this.#secrets };
    const response = readResponse(
      { ...this.#call, ...context, fetch, deadlines, isOver, isComplete },
      signal,
    );
    for await (const bytes of response) {
      if (!this.#hasEvents && this.#sample.length < MAX_SAMPLE)
        this.#sample += this.#sampleDecoder.decode(bytes.subarray(0, MAX_ERROR), { stream: true });
      yield* this.#deltas(
        this.#framed(() => this.#framing.feed(bytes)),
        signal,
      );
    }
    if (!isOver()) yield* this.#deltas(this.#framing.end(), signal);
    if (!decoder.isComplete) throw this.#incomplete();
    for (const delta of decoder.end()) {
      signal.throwIfAborted();
      yield delta;
    }
  }

  *#deltas(events: readonly AnswerEvent[], signal: AbortSignal): Generator<ModelDelta, void, void> {
    const decoder = this.#decoder;
    this.#hasEvents ||= events.some(({ whole }) => whole === undefined);
    for (const event of events) {
      signal.throwIfAborted();
      if (event.data === DONE) {
        this.#isDone = true;
        return decoder.markEnd?.();
      }
      if (event.whole !== undefined) {
        const data = this.#checked(event.whole);
        yield* data === undefined ? [] : (decoder.readWhole?.(data) ?? decoder.read(data, undefined));
        decoder.markEnd?.();
        continue;
      }
      const data = this.#dataOf(event);
      if (data !== undefined) yield* decoder.read(data, event.event);
    }
  }

  #framed(feed: () => readonly AnswerEvent[]): readonly AnswerEvent[] {
    try {
      return feed();
    } catch (error) {
      throw error instanceof TooLongError ? malformedResponse(this.#origin, error.message) : error;
    }
  }

  /**
   * Parsed data of an event.
   * @throws ModelError for error events and invalid JSON
   */
  #dataOf({ data: text, mayBeCutOff, isErrorLine }: AnswerEvent): JsonObject | undefined {
    if (text === '') return undefined;
    const data = readJson(text);
    if (isErrorLine) {
      return this.#checked(
        isJsonObject(data) && 'error' in data ? data : { error: isJsonObject(data) ? data : text },
      );
    }
    if (isJsonObject(data)) return this.#checked(data);
    if (mayBeCutOff) return undefined;
    const sample = withoutSecrets(text, this.#secrets).slice(0, MAX_SAMPLE);
    throw malformedResponse(this.#origin, 'an event that is not JSON', sample);
  }

  /**
   * Data that reports no failure. After a complete answer, errors don't matter, but may come with the usage.
   * @throws ModelError for a failure
   */
  #checked(data: JsonObject): JsonObject | undefined {
    const { error, ...rest } = data;
    if ((error === undefined || error === null) && data['object'] !== 'error') return data;
    if (this.#decoder.isComplete) return rest;
    throw this.#failure(data);
  }

  /** Error for an event that reports a failure. */
  #failure(data: JsonObject): Error {
    const body = withoutSecrets(JSON.stringify(data), this.#secrets).slice(0, MAX_ERROR);
    return responseError({ origin: this.#origin, body });
  }

  /** Error for a response with an early end, or without an answer. */
  #incomplete(): Error {
    const text = withoutSecrets(this.#sample, this.#secrets);
    const isForeign = !this.#hasEvents && /\S/.test(text);
    return isForeign
      ? foreignResponse(this.#origin, 'it holds no event', text)
      : lostConnection({ origin: this.#origin, secrets: this.#secrets }, true);
  }
}
