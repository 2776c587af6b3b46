import { TroupeError } from '../../errors.ts';
import type { FormatterBase } from '../../formatter/formatter-base.ts';
import type { MediaLoader } from '../../formatter/media-loader.ts';
import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import type { Pricing } from '../../message/usage.ts';
import { now } from '../../util/clock.ts';
import { platformFetch, type Fetch } from '../../util/net/http.ts';
import { stoppable } from '../../util/async/stoppable.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import {
  ChatModelBase,
  PLAIN_CAPABILITIES,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../chat-model-base.ts';
import { addCost } from '../add-cost.ts';
import { mergeGeneration } from '../generation.ts';
import { PromptMaker } from '../prompt-maker.ts';
import { checkToolChoice } from '../tool-choice.ts';
import { checkDeadlines, type Deadlines } from './deadlines.ts';
import { LineFraming, SseFraming, TooLongError, type WireEvent } from './framing.ts';
import { responseError, lostConnection, malformedResponse, withoutSecrets } from './http-error.ts';
import { readResponse } from './read-response.ts';

export interface HttpModelOptions {
  /** The vendor's name of the model. */
  readonly modelName: string;
  /** @default the vendor's environment variable */
  readonly apiKey?: string | undefined;
  /** Where requests go. @default the vendor's address */
  readonly baseUrl?: string | undefined;
  /** Sent with every request, besides those that the provider needs. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sends the requests. @default the one of the platform */
  readonly fetch?: Fetch | undefined;
  /** How long each part of an answer may take. */
  readonly deadlines?: Deadlines | undefined;
  /** Temperature, thinking and so on, unless a request says otherwise. */
  readonly generation?: GenerationOptions | undefined;
  /** @default a ChatFormatter */
  readonly formatter?: FormatterBase | undefined;
  /** Where it differs from what is known about the model. */
  readonly capabilities?: Partial<ModelCapabilities> | undefined;
  /** What tokens cost, for the `cost` of the usage. @default it is not counted */
  readonly pricing?: Pricing | undefined;
  /** Loads media that the provider does not fetch by itself. @default one that neither downloads nor reads files */
  readonly media?: MediaLoader | undefined;
  /** Is told what had to be repaired in a history before it could be sent. @default a warning in the log */
  readonly onRepair?: ((repairs: readonly string[]) => void) | undefined;
}

/** A request as the provider's own code sees it: the model's own options are filled in. */
export interface WireRequest extends ModelRequest {
  readonly generation: GenerationOptions;
}

export interface WireCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Turns the events of one answer into deltas. */
export interface WireDecoder {
  /** @throws ModelError when the event says that something went wrong. */
  read(data: JsonObject, event: string | undefined): Iterable<ModelDelta>;
  /** What is left to say when all events were read. Called only if `isComplete`. */
  end(): Iterable<ModelDelta>;
  /** Whether the provider has said that the answer is finished. */
  readonly isComplete: boolean;
  /** Whether nothing more can come, so that nobody has to wait for the server to close the connection. */
  readonly isOver?: boolean;
}

/** What a provider sends behind its last event. */
const DONE = '[DONE]';
const MAX_SAMPLE = 1024;

/**
 * A model behind an HTTP API that streams. The provider's part is to write the
 * request (`toCall`) and to read the events (`newDecoder`); both are free of side
 * effects. Everything else is done here: the prompt, deadlines, errors, usage.
 */
export abstract class HttpChatModel extends ChatModelBase {
  override readonly capabilities: ModelCapabilities;
  override readonly generation: GenerationOptions;
  readonly #options: HttpModelOptions;
  readonly #prompts: PromptMaker;

  /** @param known what the provider's code knows about the model */
  constructor(
    /** Who is asked, as it is called in errors. */
    override readonly vendorName: string,
    options: HttpModelOptions,
    known: Partial<ModelCapabilities> = {},
  ) {
    super(options.modelName);
    if (typeof options.modelName !== 'string' || options.modelName === '') {
      throw new TroupeError('invalid_config', `A model of ${vendorName} needs a modelName.`);
    }
    this.#options = options;
    checkDeadlines(options.deadlines);
    this.generation = Object.freeze({ ...options.generation });
    this.capabilities = Object.freeze({ ...PLAIN_CAPABILITIES, ...known, ...options.capabilities });
    const { modelName, formatter, media, onRepair } = options;
    this.#prompts = new PromptMaker({
      modelName,
      capabilities: this.capabilities,
      formatter,
      media,
      takesUrl: (block) => this.takesUrl(block),
      onRepair,
    });
  }

  /** The request on the wire. */
  protected abstract toCall(prompt: Prompt, request: WireRequest): WireCall;

  protected abstract newDecoder(request: WireRequest): WireDecoder;

  /** Whether the provider fetches a medium from its address by itself. */
  protected takesUrl(_block: MediaBlock): boolean {
    return false;
  }

  /** The key, and what was given in headers: a gateway's key, perhaps. */
  get #allSecrets(): readonly string[] {
    const given = Object.values(this.#options.headers ?? {}).flatMap((value) => value.split(/\s+/));
    return [...this.secrets, ...given.filter((word) => word.length >= 8)];
  }

  /** How events are told apart. */
  protected get framing(): 'sse' | 'lines' {
    return 'sse';
  }

  /** What must not appear in an error. */
  protected get secrets(): readonly string[] {
    return this.#options.apiKey === undefined ? [] : [this.#options.apiKey];
  }

  override stream(
    request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable((stopped) => this.#answer(request, stopped), signal);
  }

  async *#answer(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, void> {
    checkToolChoice(request);
    const startedAt = now();
    const wireRequest = { ...request, generation: mergeGeneration(this.generation, request.generation) };
    const prompt = await this.#prompts.make(wireRequest, signal);
    const decoder = this.newDecoder(wireRequest);
    for await (const events of this.#events(this.toCall(prompt, wireRequest), decoder, signal)) {
      for (const event of events) {
        signal.throwIfAborted();
        const data = this.#dataOf(event, decoder);
        if (data === undefined) continue;
        for (const delta of decoder.read(data, event.event))
          yield addCost(delta, startedAt, this.#options.pricing);
      }
    }
    for (const delta of decoder.end()) {
      signal.throwIfAborted();
      yield addCost(delta, startedAt, this.#options.pricing);
    }
  }

  /** The events of an answer in the groups in which they come. @throws ModelError if it never came to its end. */
  async *#events(
    call: WireCall,
    decoder: WireDecoder,
    signal: AbortSignal,
  ): AsyncGenerator<readonly AnswerEvent[], void, void> {
    const framing = this.framing === 'sse' ? new SseFraming() : new LineFraming();
    const { fetch = platformFetch, deadlines = {} } = this.#options;
    const { vendorName: vendor } = this;
    const secrets = this.#allSecrets;
    let isDone = false;
    let hasEvents = false;
    let sample = '';
    const isOver = (): boolean => isDone || decoder.isOver === true;
    const isComplete = (): boolean => decoder.isComplete;
    const answer = { ...call, vendor, fetch, deadlines, secrets, isOver, isComplete };
    for await (const text of readResponse(answer, signal)) {
      if (!hasEvents && sample.length < MAX_SAMPLE) sample += text.slice(0, 16 * MAX_SAMPLE);
      const events = this.#framed(() => framing.feed(text));
      const end = events.findIndex((event) => event.data === DONE);
      isDone = end !== -1;
      hasEvents ||= events.length > 0;
      yield isDone ? events.slice(0, end) : events;
    }
    if (!isOver()) yield framing.end().map((event) => ({ ...event, mayBeCutOff: true }));
    if (decoder.isComplete) return;
    if (!hasEvents) this.#complainAbout(withoutSecrets(sample, secrets));
    throw lostConnection({ vendor, secrets }, true);
  }

  #framed(feed: () => readonly WireEvent[]): readonly WireEvent[] {
    try {
      return feed();
    } catch (error) {
      throw error instanceof TooLongError ? malformedResponse(this.vendorName, error.message) : error;
    }
  }

  /** What an event holds. @throws ModelError if that is an error, or no JSON. */
  #dataOf({ data: text, mayBeCutOff }: AnswerEvent, decoder: WireDecoder): JsonObject | undefined {
    if (text === '') return undefined;
    const data = readJson(text);
    if (!isJsonObject(data)) {
      if (mayBeCutOff) return undefined;
      const sample = withoutSecrets(text, this.#allSecrets).slice(0, MAX_SAMPLE);
      throw malformedResponse(this.vendorName, 'an event that is not JSON', sample);
    }
    const { error, object } = data;
    if ((error === undefined || error === null) && object !== 'error') return data;
    if (decoder.isComplete) return undefined; // what goes wrong after a complete answer does not matter
    throw this.failure(data);
  }

  /** The error that an event of the stream tells. */
  protected failure(data: JsonObject): Error {
    const body = withoutSecrets(JSON.stringify(data), this.#allSecrets).slice(0, 16 * MAX_SAMPLE);
    return responseError({ vendor: this.vendorName, body });
  }

  /** An answer without any event: an error after all, or something else. */
  #complainAbout(text: string): void {
    const parsed = readJson(text);
    const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed; // Google sends lists
    if (isJsonObject(first) && first['error'] !== undefined) throw this.failure(first);
    if (/\S/.test(text)) throw malformedResponse(this.vendorName, 'it holds no event', text);
  }
}

interface AnswerEvent extends WireEvent {
  /** Whether the answer ended in the middle of it, perhaps. */
  readonly mayBeCutOff?: boolean;
}
