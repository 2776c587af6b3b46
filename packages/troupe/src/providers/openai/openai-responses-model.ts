import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import {
  HttpChatModel,
  type WireCall,
  type WireDecoder,
  type WireRequest,
} from '../../model/http/http-chat-model.ts';
import { jsonBody, ToolTexts, WireTexts } from '../../model/http/wire-texts.ts';
import { endpointOf, vendorOf, type Endpoint, type OpenAIEndpointOptions } from './endpoint.ts';
import { ResponsesDecoder } from './responses-from-wire.ts';
import {
  toInputItems,
  toResponsesOptions,
  toResponsesTool,
  type ResponsesSettings,
} from './responses-to-wire.ts';
import { CHAT_VENDORS, type ChatVendor } from './vendors.ts';

export interface OpenAIResponsesModelOptions extends OpenAIEndpointOptions {
  /** Whether the model thinks. @default by its name */
  readonly isReasoning?: boolean | undefined;
  /** Asks for a summary of the thinking. OpenAI gives it to verified organisations only. @default none */
  readonly reasoningSummary?: ResponsesSettings['reasoningSummary'];
  /** Whether OpenAI keeps the answer. We never rely on that: the whole history is sent. @default false */
  readonly store?: boolean | undefined;
}

const REASONS = /^(o\d|gpt-oss|codex|gpt-(?:[5-9]|\d\d))(?!.*chat)/;

/**
 * A model behind OpenAI's Responses API. What the model thought goes back to it,
 * encrypted, so that it can go on from there after a tool was called.
 */
export class OpenAIResponsesModel extends HttpChatModel {
  readonly #endpoint: Endpoint;
  readonly #settings: ResponsesSettings;
  readonly #input = new WireTexts(toInputItems);
  readonly #tools = new ToolTexts(toResponsesTool);

  constructor(options: OpenAIResponsesModelOptions) {
    const vendor: ChatVendor = CHAT_VENDORS[vendorOf(options)];
    super(vendor.title, options, { vision: true, files: true, structured: 'native' });
    this.#endpoint = endpointOf(options, vendor, '/responses');
    this.#settings = {
      isReasoning: options.isReasoning ?? REASONS.test(options.modelName),
      reasoningSummary: options.reasoningSummary,
      store: options.store ?? false,
    };
  }

  protected override get secrets(): readonly string[] {
    return this.#endpoint.secrets;
  }

  protected override takesUrl(_block: MediaBlock): boolean {
    return true;
  }

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    const { tools = [] } = request;
    const texts = {
      input: this.#input.array(prompt.items),
      ...(tools.length > 0 && { tools: this.#tools.array(tools) }),
    };
    const body = jsonBody({ model: this.modelName, ...toResponsesOptions(request, this.#settings) }, texts);
    return { url: this.#endpoint.url, headers: this.#endpoint.headers, body };
  }

  protected override newDecoder(): WireDecoder {
    return new ResponsesDecoder((data) => this.failure(data));
  }
}
