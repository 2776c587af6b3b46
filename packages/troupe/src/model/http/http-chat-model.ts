import { TroupeError } from '../../errors.ts';
import type { FormatterBase } from '../../formatter/formatter-base.ts';
import type { MediaLoader } from '../../formatter/media-loader.ts';
import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import type { Pricing } from '../../message/usage.ts';
import { monotonic } from '../../util/clock.ts';
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
import { withOrigin, type ModelOrigin } from '../model-error.ts';
import { PromptMaker } from '../prompt-maker.ts';
import { checkToolChoice } from '../tool-choice.ts';
import { checkDeadlines, type Deadlines } from './deadlines.ts';
import { LineFraming, SseFraming, TooLongError, type WireEvent } from '../../util/net/framing.ts';
import {
  foreignResponse,
  lostConnection,
  malformedResponse,
  responseError,
  withoutSecrets,
} from './http-error.ts';
import { secretsInQuery } from './headers.ts';
import { readResponse } from './read-response.ts';

export interface HttpModelOptions {
  /** Model name of the provider. */
  readonly modelName: string;
  /** @default the provider's environment variable */
  readonly apiKey?: string | undefined;
  /** Base URL of requests. @default the provider's URL */
  readonly baseUrl?: string | undefined;
  /** Additional headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Function that sends requests. @default the platform's fetch */
  readonly fetch?: Fetch | undefined;
  /** Time limits for each part of a response. */
  readonly deadlines?: Deadlines | undefined;
  /** Default generation options, overridden by those of a request. */
  readonly generation?: GenerationOptions | undefined;
  /** @default a ChatFormatter */
  readonly formatter?: FormatterBase | undefined;
  /** Overrides for the known capabilities of the model. */
  readonly capabilities?: Partial<ModelCapabilities> | undefined;
  /** Token prices for `cost` in the usage. @default none, and cost is not calculated */
  readonly pricing?: Pricing | undefined;
  /**
   * Loads media that the provider does not download itself.
   * @default a loader that neither downloads nor reads files
   */
  readonly media?: MediaLoader | undefined;
  /** Receives the repairs made to a history before sending. @default a warning in the log */
  readonly onRepair?: ((repairs: readonly string[]) => void) | undefined;
}

/** Request for the provider's code, with the model's own options filled in. */
export interface WireRequest extends ModelRequest {
  readonly generation: GenerationOptions;
}

export interface WireCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Converts the events of one response to deltas. */
export interface WireDecoder {
  /** @throws ModelError for an event that reports a failure */
  read(data: JsonObject, event: string | undefined): Iterable<ModelDelta>;
  /** Remaining deltas after all events. Called only if `isComplete`. */
  end(): Iterable<ModelDelta>;
  /** True once the provider has reported the end of the answer. */
  readonly isComplete: boolean;
  /**
   * True once no more events can follow, so that the connection can be closed without waiting for the server.
   */
  readonly isOver?: boolean;
}

/** Data of the event that some providers send last. */
const DONE = '[DONE]';
const MAX_SAMPLE = 1024;

/**
 * Base class of models behind a streaming HTTP API. A provider implements `toCall` (writes the request) and
 * `newDecoder` (reads the events), both without side effects. This class adds prompts, deadlines, errors and
 * usage. Folder `model/http`: start here.
 */
export abstract class HttpChatModel extends ChatModelBase {
  override readonly capabilities: ModelCapabilities;
  override readonly generation: GenerationOptions;
  readonly #options: HttpModelOptions;
  readonly #prompts: PromptMaker;

  /** @param known capabilities of the model known to the provider's code */
  constructor(
    /** Name of the provider in errors. */
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
      takesBack: (block) => this.takesBack(block),
      onRepair,
    });
  }

  /** Converts a prompt to the provider's HTTP request. */
  protected abstract toCall(prompt: Prompt, request: WireRequest): WireCall;

  protected abstract newDecoder(request: WireRequest): WireDecoder;

  /** Tells whether the provider downloads a medium by URL itself. */
  protected takesUrl(_block: MediaBlock): boolean {
    return false;
  }

  /** Tells whether the provider takes back a call of its own tools, its result, or citations, as they are. */
  protected takesBack(_block: ContentBlock): boolean {
    return false;
  }

  get #origin(): ModelOrigin {
    return { vendor: this.vendorName, model: this.modelName, host: this.host };
  }

  /** The key, and secrets in the given headers and the query of the base URL, such as a gateway's key. */
  get #allSecrets(): readonly string[] {
    const { headers = {}, baseUrl = '' } = this.#options;
    const given = Object.values(headers).flatMap((value) => value.split(/\s+/));
    return [...this.secrets, ...given.filter((word) => word.length >= 8), ...secretsInQuery(baseUrl)];
  }

  /** Format of the event stream. */
  protected get framing(): 'sse' | 'lines' {
    return 'sse';
  }

  /** Secrets to remove from errors. */
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
    const startedAt = monotonic();
    const wireRequest = { ...request, generation: mergeGeneration(this.generation, request.generation) };
    const prompt = await this.#prompts.make(wireRequest, signal);
    const { pricing } = this.#options;
    try {
      const decoder = this.newDecoder(wireRequest);
      for await (const events of this.#events(this.toCall(prompt, wireRequest), decoder, signal)) {
        for (const event of events) {
          signal.throwIfAborted();
          const data = this.#dataOf(event, decoder);
          if (data === undefined) continue;
          for (const delta of decoder.read(data, event.event)) yield addCost(delta, startedAt, pricing);
        }
      }
      for (const delta of decoder.end()) {
        signal.throwIfAborted();
        yield addCost(delta, startedAt, pricing);
      }
    } catch (error) {
      throw withOrigin(error, this.#origin);
    }
  }

  /**
   * Events of a response, in groups as they arrive.
   * @throws ModelError if the response ends early
   */
  async *#events(
    call: WireCall,
    decoder: WireDecoder,
    signal: AbortSignal,
  ): AsyncGenerator<readonly AnswerEvent[], void, void> {
    const framing = this.framing === 'sse' ? new SseFraming() : new LineFraming();
    const { fetch = platformFetch, deadlines = {} } = this.#options;
    const origin = { ...this.#origin, host: new URL(call.url).host };
    const secrets = this.#allSecrets;
    let isDone = false;
    let hasEvents = false;
    let sample = '';
    const isOver = (): boolean => isDone || decoder.isOver === true;
    const isComplete = (): boolean => decoder.isComplete;
    const answer = { ...call, origin, fetch, deadlines, secrets, isOver, isComplete };
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
    if (!hasEvents) this.#rejectBody(withoutSecrets(sample, secrets));
    throw lostConnection({ origin, secrets }, true);
  }

  #framed(feed: () => readonly WireEvent[]): readonly WireEvent[] {
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
  #dataOf({ data: text, mayBeCutOff }: AnswerEvent, decoder: WireDecoder): JsonObject | undefined {
    if (text === '') return undefined;
    const data = readJson(text);
    if (!isJsonObject(data)) {
      if (mayBeCutOff) return undefined;
      const sample = withoutSecrets(text, this.#allSecrets).slice(0, MAX_SAMPLE);
      throw malformedResponse(this.#origin, 'an event that is not JSON', sample);
    }
    const { error, object } = data;
    if ((error === undefined || error === null) && object !== 'error') return data;
    if (decoder.isComplete) return undefined; // errors after a complete answer don't matter
    throw this.failure(data);
  }

  /** Error for an event that reports a failure. */
  protected failure(data: JsonObject): Error {
    const body = withoutSecrets(JSON.stringify(data), this.#allSecrets).slice(0, 16 * MAX_SAMPLE);
    return responseError({ origin: this.#origin, body });
  }

  /** Throws for a response without events: a JSON error, or other text. */
  #rejectBody(text: string): void {
    const parsed = readJson(text);
    const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed; // Google sends lists
    if (isJsonObject(first) && first['error'] !== undefined) throw this.failure(first);
    if (/\S/.test(text)) throw foreignResponse(this.#origin, 'it holds no event', text);
  }
}

interface AnswerEvent extends WireEvent {
  /** True for a last event that may be truncated. */
  readonly mayBeCutOff?: boolean;
}
