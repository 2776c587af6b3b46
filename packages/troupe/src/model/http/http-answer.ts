import type { ModelDelta } from '../../message/model-delta.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { TooLongError } from '../../util/net/framing.ts';
import type { ModelOrigin } from '../model-error.ts';
import type { AnswerEvent, AnswerFraming } from './answer-framing.ts';
import {
  foreignResponse,
  lostConnection,
  malformedResponse,
  responseError,
  withoutSecrets,
} from './http-error.ts';
import { ResponseReader, type HttpCall } from './read-response.ts';
import { RepeatedEvent, type PlainPiece } from './repeated-event.ts';

export interface WireCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Text, or bytes for what JSON cannot hold. */
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Secrets to remove from errors, besides those in the settings. */
  readonly secrets?: readonly string[] | undefined;
  /** Splits the answer into events. @default by the format of the model's event stream */
  readonly newFraming?: (() => AnswerFraming) | undefined;
}

/** Converts the events of one response to deltas. */
export interface WireDecoder {
  /** @throws ModelError for an event that reports a failure */
  read(data: JsonObject, event: string | undefined): Iterable<ModelDelta>;
  /** The last event, if it was a plain piece. @default all events are parsed */
  readonly plainPiece?: PlainPiece | undefined;
  /** Reads an answer that came whole, as plain JSON. @default as one event */
  readWhole?(answer: JsonObject): Iterable<ModelDelta>;
  /** Called when the provider's last event was read, or an answer that came whole. */
  markEnd?(): void;
  /** Remaining deltas after all events. Called only if `isComplete`. */
  end(): Iterable<ModelDelta>;
  /** True once the provider has reported the end of the answer. */
  readonly isComplete: boolean;
  /**
   * True once no more events can follow, so that the connection can be closed without waiting for the server.
   */
  readonly isOver?: boolean;
}

export interface HttpAnswerOptions {
  readonly call: WireCall;
  readonly origin: ModelOrigin;
  /** Secrets to remove from errors. */
  readonly secrets: readonly string[];
  readonly framing: AnswerFraming;
  readonly newDecoder: (toError: (data: JsonObject) => Error) => WireDecoder;
  /** Adds to a delta what the provider does not tell, such as the cost. */
  readonly complete: (delta: ModelDelta) => ModelDelta;
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
  readonly #complete: HttpAnswerOptions['complete'];
  readonly #repeated = new RepeatedEvent();
  #signal: AbortSignal | undefined;
  #reader: ResponseReader | undefined;
  /** Whether the response was read to its end. */
  #isRead = false;
  /** Whether all deltas were given. */
  #hasEnded = false;
  /** A failure to throw after the deltas before it. */
  #failed: { readonly error: unknown } | undefined;
  #isDone = false;
  #hasEvents = false;
  /** Start of a response without events so far, for errors. */
  #firstPieces: readonly Uint8Array[] = [];
  #firstBytes = 0;

  constructor({ call, origin, secrets, framing, newDecoder, complete }: HttpAnswerOptions) {
    this.#complete = complete;
    this.#call = call;
    this.#origin = origin;
    this.#secrets = secrets;
    this.#framing = framing;
    this.#decoder = newDecoder((data) => this.#failure(data));
  }

  /** Sends the request. The deltas are read by `next`. */
  open({ fetch, deadlines }: Pick<HttpCall, 'fetch' | 'deadlines'>, signal: AbortSignal): void {
    const decoder = this.#decoder;
    const isOver = (): boolean => this.#isDone || decoder.isOver === true;
    const isComplete = (): boolean => decoder.isComplete;
    const context = { origin: this.#origin, secrets: this.#secrets };
    this.#signal = signal;
    this.#reader = new ResponseReader(
      { ...this.#call, ...context, fetch, deadlines, isOver, isComplete },
      signal,
    );
  }

  /** The deltas of the next network read; undefined at the end. @throws ModelError if the answer reports a failure or ends early */
  async next(): Promise<readonly ModelDelta[] | undefined> {
    for (;;) {
      const failure = this.#failed;
      this.#failed = undefined;
      if (failure !== undefined) throw failure.error;
      const batch = this.#isRead ? this.#takeRest() : this.#take(await this.#reader?.next());
      if (batch === undefined || batch.length > 0) return batch;
    }
  }

  /** Closes the connection, unless it is free for others. */
  close(): void {
    this.#reader?.close();
  }

  /** @param bytes of one network read; undefined at the end of the response */
  #take(bytes: Uint8Array | undefined): readonly ModelDelta[] {
    if (bytes === undefined) {
      this.#isRead = true;
      if (this.#isDone || this.#decoder.isOver === true) return [];
      return this.#inOneBatch((batch) => this.#readAll(this.#framing.end(), batch));
    }
    if (!this.#hasEvents && this.#firstBytes < MAX_SAMPLE) {
      this.#firstPieces = [...this.#firstPieces, bytes.subarray(0, MAX_ERROR)];
      this.#firstBytes += bytes.length;
    }
    const feed = (): readonly AnswerEvent[] => this.#framing.feed(bytes);
    return this.#inOneBatch((batch) => this.#readAll(this.#framed(feed), batch));
  }

  /** Takes the last deltas of the decoder, once all events are read; undefined if taken already. */
  #takeRest(): readonly ModelDelta[] | undefined {
    if (this.#hasEnded) return undefined;
    this.#hasEnded = true;
    if (!this.#decoder.isComplete) throw this.#incomplete();
    this.#signal?.throwIfAborted();
    return this.#inOneBatch((batch) => this.#add(this.#decoder.end(), batch));
  }

  /** A batch. If filling it fails, the deltas before the failure come first. */
  #inOneBatch(fill: (batch: ModelDelta[]) => void): readonly ModelDelta[] {
    const batch: ModelDelta[] = [];
    try {
      fill(batch);
    } catch (error) {
      this.#failed = { error };
    }
    return batch;
  }

  #readAll(events: readonly AnswerEvent[], batch: ModelDelta[]): void {
    if (!this.#hasEvents && events.some(({ whole }) => whole === undefined)) {
      this.#hasEvents = true;
      this.#firstPieces = [];
    }
    for (const event of events) {
      if (this.#isDone || this.#decoder.isOver === true) return; // whatever follows counts no more
      const repeated = this.#repeated.read(event);
      if (repeated === undefined) this.#read(event, batch);
      else batch.push(repeated);
    }
  }

  #read(event: AnswerEvent, batch: ModelDelta[]): void {
    const decoder = this.#decoder;
    if (event.data === DONE) {
      this.#isDone = true;
      return decoder.markEnd?.();
    }
    const { length } = batch;
    if (event.whole !== undefined) {
      const data = this.#checked(event.whole);
      if (data !== undefined) this.#add(decoder.readWhole?.(data) ?? decoder.read(data, undefined), batch);
      return decoder.markEnd?.();
    }
    const data = this.#dataOf(event);
    if (data === undefined) return;
    this.#add(decoder.read(data, event.event), batch);
    this.#repeated.learn(event, batch.length === length + 1 ? decoder.plainPiece : undefined);
  }

  #add(deltas: Iterable<ModelDelta>, batch: ModelDelta[]): void {
    for (const delta of deltas) batch.push(this.#complete(delta));
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
    if ((data['error'] ?? undefined) === undefined && data['object'] !== 'error') return data;
    const { error: _, ...rest } = data;
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
    const decoder = new TextDecoder();
    const sample = this.#firstPieces.map((piece) => decoder.decode(piece, { stream: true })).join('');
    const text = withoutSecrets(sample, this.#secrets);
    const isForeign = !this.#hasEvents && /\S/.test(text);
    return isForeign
      ? foreignResponse(this.#origin, 'it holds no event', text)
      : lostConnection({ origin: this.#origin, secrets: this.#secrets }, true);
  }
}
