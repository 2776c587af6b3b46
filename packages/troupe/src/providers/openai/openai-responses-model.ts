import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import {
  HttpChatModel,
  type WireCall,
  type WireDecoder,
  type WireRequest,
} from '../../model/http/http-chat-model.ts';
import { jsonBody, ToolTexts, WireTexts } from '../../model/http/wire-texts.ts';
import type { JsonObject } from '../../util/json.ts';
import { chatDialectOf } from './dialect.ts';
import { Endpoint, vendorOf, type OpenAIEndpointOptions } from './endpoint.ts';
import type { ModelRule } from './model-rules.ts';
import { OptionFitter } from './option-fitter.ts';
import { ResponsesDecoder } from './responses-from-wire.ts';
import {
  metaKeyOf,
  toInputItems,
  toResponsesOptions,
  toResponsesTool,
  type ResponsesSettings,
} from './responses-to-wire.ts';

export interface OpenAIResponsesModelOptions extends OpenAIEndpointOptions {
  /** Whether the model thinks. @default by its name */
  readonly isReasoning?: boolean | undefined;
  /** Requests a summary of the thinking, available to verified organisations only. @default none */
  readonly reasoningSummary?: ResponsesSettings['reasoningSummary'];
  /**
   * Whether OpenAI stores the answer. Troupe always sends the whole history and never relies on stored
   * answers. @default false
   */
  readonly store?: boolean | undefined;
}

/** Adapts a rule to the Responses API, which accepts some options that Chat Completions rejects. */
function inResponses({ chatTools: _, ...rule }: ModelRule): ModelRule {
  return { ...rule, penalties: false, stop: false, parallelCalls: true };
}

/**
 * Chat model over OpenAI's Responses API. Encrypted thinking is sent back, so that the model continues its
 * thinking after a tool call.
 */
export class OpenAIResponsesModel extends HttpChatModel {
  override readonly host: string;
  readonly #endpoint: Endpoint;
  readonly #settings: ResponsesSettings;
  readonly #options: OptionFitter;
  readonly #metaKey: string;
  readonly #fetchesMedia: boolean;
  readonly #input: WireTexts;
  readonly #tools = new ToolTexts(toResponsesTool);

  constructor(options: OpenAIResponsesModelOptions) {
    const { name, vendor, rule } = chatDialectOf(vendorOf(options), options.modelName);
    super(vendor.title, options, { vision: true, files: true, structured: 'native' });
    this.#endpoint = new Endpoint(options, vendor, '/responses');
    this.host = this.#endpoint.host;
    const isReasoning = options.isReasoning ?? rule.isReasoning;
    this.#settings = {
      isReasoning,
      reasoningSummary: options.reasoningSummary,
      store: options.store ?? false,
      vendor,
    };
    this.#options = new OptionFitter(options.modelName, inResponses(rule));
    const metaKey = metaKeyOf(name);
    this.#metaKey = metaKey;
    this.#fetchesMedia = vendor.fetches.length > 0;
    const { store } = this.#settings;
    const rules = { metaKey, store, takesReasoning: isReasoning !== false };
    this.#input = new WireTexts((item) => toInputItems(item, rules));
  }

  protected override takesUrl(_block: MediaBlock): boolean {
    return this.#fetchesMedia;
  }

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    const { tools = [] } = request;
    const texts = {
      input: this.#input.array(prompt.items),
      ...(tools.length > 0 && { tools: this.#tools.array(tools) }),
    };
    const generation = this.#options.fit(request.generation, tools.length > 0);
    const options = toResponsesOptions({ ...request, generation }, this.#settings);
    const body = jsonBody({ model: this.modelName, ...options }, texts);
    return this.#endpoint.call(request.settings, body);
  }

  protected override newDecoder(_request: WireRequest, toError: (data: JsonObject) => Error): WireDecoder {
    return new ResponsesDecoder(this.#metaKey, toError, this.#settings.store);
  }
}
