import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import { isProviderTool, type ContentBlock } from '../../message/blocks.ts';
import {
  HttpChatModel,
  type WireCall,
  type WireDecoder,
  type WireRequest,
} from '../../model/http/http-chat-model.ts';
import { jsonBody, ToolTexts, WireTexts } from '../../model/http/wire-texts.ts';
import { isThinking } from '../../model/generation.ts';
import { toolsForChoice } from '../../model/tool-choice.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { ChatDecoder } from './chat-from-wire.ts';
import { fieldsOf, type ChatProviderTool } from './tools/chat-provider-tools.ts';
import { isThinkingOff, toChatMessages, toChatOptions, toChatTool } from './chat-to-wire.ts';
import { chatDialectOf, type ChatDialect } from './dialect.ts';
import { Endpoint, vendorOf, type OpenAIEndpointOptions } from './endpoint.ts';
import { OptionFitter } from './option-fitter.ts';
import { inRoleOrder } from './role-order.ts';
import type { ChatVendorName } from './vendors.ts';

export interface OpenAIChatModelOptions extends OpenAIEndpointOptions {
  /** Tools that the vendor runs itself, made by `chatProviderTools`. */
  readonly providerTools?: readonly ChatProviderTool[] | undefined;
}

/**
 * Chat model over OpenAI's Chat Completions API, or over the same API of another vendor. `CHAT_VENDORS` lists
 * the differences. First file to read in this folder: `toCall` builds the request (chat-to-wire.ts),
 * `newDecoder` reads the answer (chat-from-wire.ts). Folder `providers/openai`: start here.
 *
 * @example
 * ```ts no-run
 * import { ReActAgent } from 'troupe';
 * import { OpenAIChatModel } from 'troupe/openai';
 *
 * const model = new OpenAIChatModel({ modelName: 'gpt-5-mini' }); // the key is in OPENAI_API_KEY
 * const agent = new ReActAgent({ name: 'Friday', model });
 * await agent.call('Hello!');
 * ```
 */
export class OpenAIChatModel extends HttpChatModel {
  static override readonly className: string = 'OpenAIChatModel';

  readonly vendor: ChatVendorName;
  readonly #dialect: ChatDialect;
  readonly #providerTools: readonly ChatProviderTool[];
  readonly #options: OptionFitter;
  override readonly host: string;
  readonly #endpoint: Endpoint;
  readonly #messages: WireTexts;
  /** Messages for a model call without thinking, which needs no thinking of earlier tool calls. */
  readonly #unthinkingMessages: WireTexts;
  readonly #tools = new ToolTexts(toChatTool);

  constructor(options: OpenAIChatModelOptions) {
    const dialect = chatDialectOf(vendorOf(options), options.modelName);
    const { vendor } = dialect;
    super(vendor.title, options, {
      vision: vendor.vision.test(options.modelName),
      audio: vendor.audio.test(options.modelName),
      video: vendor.video.test(options.modelName),
      files: vendor.files.test(options.modelName),
      tools: vendor.tools ?? true,
      forcedTools: vendor.forcedTools,
      structured: vendor.structured,
    });
    this.vendor = dialect.name;
    this.#providerTools = options.providerTools ?? [];
    this.#dialect = dialect;
    this.#options = new OptionFitter(options.modelName, dialect.rule);
    this.#endpoint = new Endpoint(options, vendor, '/chat/completions');
    this.host = this.#endpoint.host;
    this.#messages = new WireTexts((item) => toChatMessages(item, dialect));
    const unthinking = { ...dialect, needsThinking: false };
    this.#unthinkingMessages = dialect.needsThinking
      ? new WireTexts((item) => toChatMessages(item, unthinking))
      : this.#messages;
  }

  protected override takesUrl(block: MediaBlock): boolean {
    return this.#dialect.vendor.fetches.includes(block.type);
  }

  /** Calls that the vendor has run are no part of its messages: nothing of them goes back. */
  protected override takesBack(block: ContentBlock): boolean {
    return (
      this.vendor !== 'compatible' && isProviderTool(block) && block.providerMeta?.[this.vendor] !== undefined
    );
  }

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    const tools = this.capabilities.tools ? toolsForChoice(request) : [];
    const messages = isThinkingOff(request.generation) ? this.#unthinkingMessages : this.#messages;
    const own = this.#providerTools.flatMap(({ tool }) => (tool === undefined ? [] : [JSON.stringify(tool)]));
    const functions = tools.length > 0 ? [this.#tools.array(tools).slice(1, -1)] : [];
    const offered = [...functions, ...own];
    const texts = {
      messages: messages.array(inRoleOrder(prompt.items, this.#dialect.vendor)),
      ...(offered.length > 0 && { tools: `[${offered.join(',')}]` }),
    };
    const generation = this.#options.fit(request.generation, tools.length > 0);
    const { thinksInStreamsOnly } = this.#dialect.vendor;
    const isStreamed =
      request.settings.isStreamed || (thinksInStreamsOnly === true && isThinking(generation));
    const settings = { ...request.settings, isStreamed };
    const options = toChatOptions({ ...request, tools, generation, settings }, this.#dialect);
    const asked = fieldsOf(this.#providerTools);
    const body = jsonBody({ model: this.modelName, ...asked, ...options }, texts);
    return this.#endpoint.call(request.settings, body);
  }

  protected override newDecoder(
    { generation, tools = [] }: WireRequest,
    toError: (data: JsonObject) => Error,
  ): WireDecoder {
    const audio = generation.extra?.['audio'];
    const format = isJsonObject(audio) && typeof audio['format'] === 'string' ? audio['format'] : 'wav';
    return new ChatDecoder(this.#dialect, {
      audioType: format === 'pcm16' ? 'audio/pcm' : `audio/${format}`,
      toolNames: tools.map((tool) => tool.name),
      toError,
    });
  }
}
