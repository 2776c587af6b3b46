import { TroupeError } from '../../errors.ts';
import type { FormatterBase } from '../../formatter/formatter-base.ts';
import type { MediaLoader } from '../../formatter/media-loader.ts';
import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import type { Pricing } from '../../message/usage.ts';
import { monotonic } from '../../util/clock.ts';
import { platformFetch, type Fetch } from '../../util/net/http.ts';
import type { JsonObject } from '../../util/json.ts';
import {
  ChatModelBase,
  PLAIN_CAPABILITIES,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../chat-model-base.ts';
import { addCost } from '../add-cost.ts';
import { DeltaStream } from '../delta-stream.ts';
import { mergeGeneration } from '../generation.ts';
import { withOrigin } from '../model-error.ts';
import { PromptMaker } from '../prompt-maker.ts';
import { checkToolChoice } from '../tool-choice.ts';
import { checkDeadlines, DEFAULT_DEADLINES, type Deadlines } from './deadlines.ts';
import { TextAnswerFraming } from './answer-framing.ts';
import { HttpAnswer, type WireCall, type WireDecoder } from './http-answer.ts';
import { secretsInQuery } from './headers.ts';
import { settleHttp, type HttpCallOptions, type HttpSettings } from './http-call-options.ts';

export type { WireCall, WireDecoder } from './http-answer.ts';

export interface HttpModelOptions extends HttpCallOptions {
  /** Model name of the provider. */
  readonly modelName: string;
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
  /** Settings of this HTTP request. They replace the options of the model. */
  readonly settings: HttpSettings;
}

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
  protected abstract toCall(
    prompt: Prompt,
    request: WireRequest,
    signal: AbortSignal,
  ): WireCall | Promise<WireCall>;

  /** @param toError makes the error for an event that reports a failure */
  protected abstract newDecoder(request: WireRequest, toError: (data: JsonObject) => Error): WireDecoder;

  /** Tells whether the provider downloads a medium by URL itself. */
  protected takesUrl(_block: MediaBlock): boolean {
    return false;
  }

  /** Tells whether the provider takes back a call of its own tools, its result, or citations, as they are. */
  protected takesBack(_block: ContentBlock): boolean {
    return false;
  }

  /** Format of the event stream. */
  protected get framing(): 'sse' | 'lines' {
    return 'sse';
  }

  override stream(
    request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return new DeltaStream((stopped) => this.#answer(request, stopped), signal);
  }

  /** The deltas of the answer, in a batch for each read from the network. */
  async *#answer(
    request: ModelRequest,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ModelDelta[], void, void> {
    checkToolChoice(request);
    const startedAt = monotonic();
    const generation = mergeGeneration(this.generation, request.generation);
    const prompt = await this.#prompts.make({ ...request, generation }, signal);
    const { pricing, fetch = platformFetch, deadlines = DEFAULT_DEADLINES } = this.#options;
    const origin = { vendor: this.vendorName, model: this.modelName, host: this.host };
    try {
      const settings = await settleHttp(this.#options, request.http, signal);
      const wireRequest = { ...request, generation, settings };
      const call = await this.toCall(prompt, wireRequest, signal);
      const answer = new HttpAnswer({
        call,
        origin: { ...origin, host: new URL(call.url).host },
        secrets: [...secretsIn(settings), ...(call.secrets ?? []), ...secretsInQuery(call.url)],
        framing: call.newFraming?.() ?? new TextAnswerFraming(this.framing),
        newDecoder: (toError) => this.newDecoder(wireRequest, toError),
        complete: (delta) => addCost(delta, startedAt, pricing),
      });
      answer.open({ fetch, deadlines }, signal);
      try {
        for (let batch = await answer.next(); batch !== undefined; batch = await answer.next()) yield batch;
      } finally {
        answer.close();
      }
    } catch (error) {
      throw withOrigin(error, origin);
    }
  }
}

/** The key, and what else may be a secret in headers, such as a gateway's key. */
function secretsIn({ apiKey, headers }: HttpSettings): readonly string[] {
  const words = Object.values(headers).flatMap((value) => value.split(/\s+/));
  return [...(apiKey === undefined ? [] : [apiKey]), ...words.filter((word) => word.length >= 8)];
}
