import { TroupeError } from '../../errors.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { SseFraming, TooLongError, type WireEvent } from '../../util/net/framing.ts';
import { platformFetch, type Fetch } from '../../util/net/http.ts';
import { withOrigin, type ModelOrigin } from '../model-error.ts';
import { checkDeadlines, type Deadlines } from './deadlines.ts';
import { secretsInQuery } from './headers.ts';
import { settleHttp, type HttpCallOptions, type HttpSettings } from './http-call-options.ts';
import type { WireCall } from './http-chat-model.ts';
import { malformedResponse, responseError } from './http-error.ts';
import { readResponse } from './read-response.ts';

/** Options of models of speech behind an HTTP API, in either direction. */
export interface HttpSoundOptions extends Omit<HttpCallOptions, 'stream'> {
  /** Function that sends requests. @default the platform's fetch */
  readonly fetch?: Fetch | undefined;
  /** Time limits for each part of a response. */
  readonly deadlines?: Deadlines | undefined;
}

/** Reads the bytes of one response. */
export interface ByteDecoder<Item> {
  /** @throws ModelError for an event that reports a failure */
  read(bytes: Uint8Array): Iterable<Item>;
  end(): Iterable<Item>;
}

/** One request to a model of speech. */
export interface SoundRequest<Item> {
  readonly vendorName: string;
  readonly modelName: string;
  readonly options: HttpSoundOptions;
  readonly toCall: (settings: HttpSettings) => WireCall;
  readonly newDecoder: (origin: ModelOrigin) => ByteDecoder<Item>;
}

const NEVER = (): boolean => false;

/** @throws TroupeError if the name or a time limit is invalid */
export function checkSoundModel(vendorName: string, modelName: string, options: HttpSoundOptions): void {
  if (typeof modelName !== 'string' || modelName === '')
    throw new TroupeError('invalid_config', `A speech model of ${vendorName} needs a modelName.`);
  checkDeadlines(options.deadlines);
}

/** Sends the request, and yields what its decoder reads from the response. @throws ModelError, or the signal's reason */
export async function* soundResponse<Item>(
  request: SoundRequest<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item, void, void> {
  const { options, vendorName: vendor, modelName: model } = request;
  const { fetch = platformFetch, deadlines = {} } = options;
  let origin: ModelOrigin = { vendor, model };
  try {
    const call = request.toCall(await settleHttp(options, {}, signal));
    origin = { ...origin, host: new URL(call.url).host };
    const secrets = [...(call.secrets ?? []), ...secretsInQuery(call.url)];
    const decoder = request.newDecoder(origin);
    const sent = { ...call, origin, secrets, fetch, deadlines, isOver: NEVER };
    for await (const bytes of readResponse(sent, signal)) yield* decoder.read(bytes);
    yield* decoder.end();
  } catch (error) {
    throw withOrigin(error, origin);
  }
}

/** Reads a response of server-sent events with JSON, or one JSON object. */
export class JsonByteDecoder<Item> implements ByteDecoder<Item> {
  readonly #origin: ModelOrigin;
  readonly #readEvent: (data: JsonObject) => Iterable<Item>;
  readonly #framing = new SseFraming();
  readonly #decoder = new TextDecoder();
  /** Text of the response, while it may be one JSON object. */
  #whole: string | undefined = '';

  constructor(origin: ModelOrigin, readEvent: (data: JsonObject) => Iterable<Item>) {
    this.#origin = origin;
    this.#readEvent = readEvent;
  }

  *read(bytes: Uint8Array): Iterable<Item> {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#whole !== undefined) {
      this.#whole += text;
      if (/^\s*(\{|$)/.test(this.#whole)) return;
      const start = this.#whole;
      this.#whole = undefined;
      return yield* this.#events(this.#feed(start));
    }
    yield* this.#events(this.#feed(text));
  }

  *end(): Iterable<Item> {
    if (this.#whole === undefined) return yield* this.#events(this.#framing.end());
    yield* this.#event(this.#whole);
  }

  #feed(text: string): readonly WireEvent[] {
    try {
      return this.#framing.feed(text);
    } catch (error) {
      throw error instanceof TooLongError ? malformedResponse(this.#origin, error.message) : error;
    }
  }

  *#events(events: readonly WireEvent[]): Iterable<Item> {
    for (const { data } of events) if (data !== '[DONE]') yield* this.#event(data);
  }

  *#event(text: string): Iterable<Item> {
    const data = readJson(text);
    if (!isJsonObject(data)) throw malformedResponse(this.#origin, 'an event that is not JSON');
    const isError = 'error' in data || (typeof data['code'] === 'string' && data['code'] !== '');
    if (isError) throw responseError({ origin: this.#origin, body: text });
    yield* this.#readEvent(data);
  }
}
