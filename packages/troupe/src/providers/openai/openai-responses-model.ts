import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import type { ContentBlock } from '../../message/blocks.ts';
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
import { toolSecrets, functionUseFields, type OpenAITool, type OpenAIToolUse } from './tools/openai-tools.ts';
import { withKnownPrograms } from './tools/program-calls.ts';
import { ResponsesDecoder } from './responses-from-wire.ts';
import {
  isTakenByResponses,
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
  /** Tools of the Responses API besides functions, made by `openaiTools`. */
  readonly providerTools?: readonly OpenAITool[] | undefined;
  /** Uses that the model may make of functions, by their name. */
  readonly toolUse?: Readonly<Record<string, OpenAIToolUse>> | undefined;
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
  static override readonly className: string = 'OpenAIResponsesModel';

  override readonly host: string;
  readonly #endpoint: Endpoint;
  readonly #settings: ResponsesSettings;
  readonly #options: OptionFitter;
  readonly #metaKey: string;
  readonly #vendorKey: string;
  readonly #fetchesMedia: boolean;
  readonly #input: WireTexts;
  readonly #tools: ToolTexts;

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
      providerTools: options.providerTools ?? [],
      vendor,
    };
    this.#options = new OptionFitter(options.modelName, inResponses(rule));
    const metaKey = metaKeyOf(name);
    this.#metaKey = metaKey;
    this.#vendorKey = name;
    this.#fetchesMedia = vendor.fetches.length > 0;
    const { store } = this.#settings;
    const rules = { metaKey, store, takesReasoning: isReasoning !== false };
    this.#input = new WireTexts((item) => toInputItems(item, rules));
    const { toolUse = {} } = options;
    this.#tools = new ToolTexts((tool) => ({
      ...toResponsesTool(tool),
      ...functionUseFields(toolUse[tool.name]),
    }));
  }

  protected override takesUrl(_block: MediaBlock): boolean {
    return this.#fetchesMedia;
  }

  protected override takesBack(block: ContentBlock): boolean {
    return isTakenByResponses(block, this.#metaKey);
  }

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    const { providerTools } = this.#settings;
    const { tools: all = [] } = request;
    const tools = all.filter(({ name }) => !providerTools.some(({ runBy }) => runBy === name));
    const own = providerTools.map(({ tool }) => JSON.stringify(tool));
    const functions = this.#tools.array(tools).slice(1, -1);
    const offered = [...(tools.length > 0 ? [functions] : []), ...own];
    const texts = {
      input: this.#input.array(withKnownPrograms(prompt.items, this.#metaKey)),
      ...(offered.length > 0 && { tools: `[${offered.join(',')}]` }),
    };
    const generation = this.#options.fit(request.generation, tools.length > 0);
    const options = toResponsesOptions({ ...request, tools, generation }, this.#settings);
    const body = jsonBody({ model: this.modelName, ...options }, texts);
    const call = this.#endpoint.call(request.settings, body);
    return { ...call, secrets: [...(call.secrets ?? []), ...toolSecrets(providerTools)] };
  }

  protected override newDecoder(_request: WireRequest, toError: (data: JsonObject) => Error): WireDecoder {
    const { vendor, store, providerTools } = this.#settings;
    return new ResponsesDecoder({
      metaKey: this.#metaKey,
      vendorName: this.#vendorKey,
      toError,
      keepsIds: store,
      isVendors: ({ type, name }) =>
        vendor.runsCustomTools === true &&
        type === 'custom_tool_call' &&
        !providerTools.some(({ runBy }) => runBy === name),
    });
  }
}
