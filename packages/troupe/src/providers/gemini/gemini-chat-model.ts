import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import {
  HttpChatModel,
  type HttpModelOptions,
  type WireCall,
  type WireDecoder,
  type WireRequest,
} from '../../model/http/http-chat-model.ts';
import type { ModelHosting } from '../../model/http/model-hosting.ts';
import { jsonBody } from '../../model/http/wire-texts.ts';
import type { JsonValue } from '../../util/json.ts';
import { GEMINI, GeminiEndpoint } from './gemini-endpoint.ts';
import { GeminiDecoder } from './gemini-from-wire.ts';
import { geminiTools, toGeminiOptions } from './gemini-options.ts';
import { isFetched, isTakenByGemini } from './gemini-to-wire.ts';
import { GeminiWriter } from './gemini-writer.ts';
import type { GoogleTool } from './google-tools.ts';

export interface GeminiChatModelOptions extends HttpModelOptions {
  /** Model name, with or without the prefix `models/`. */
  readonly modelName: string;
  /** @default GEMINI_API_KEY, else GOOGLE_API_KEY */
  readonly apiKey?: HttpModelOptions['apiKey'];
  /** Platform that hosts the model: `vertex(…)` of `troupe/vertex`. @default Google's Gemini API */
  readonly hosting?: ModelHosting | undefined;
  /** Tools that Google runs itself, made by `googleTools`. */
  readonly providerTools?: readonly GoogleTool[] | undefined;
}

/**
 * Chat model over Google's Gemini API. A failed tool call and a blocked prompt are errors; an answer blocked
 * on its way ends with 'content_filter'. First file to read in this folder: `toCall` builds the request
 * (gemini-writer.ts), `newDecoder` reads the answer (gemini-from-wire.ts). Folder `providers/gemini`: start here.
 */
export class GeminiChatModel extends HttpChatModel {
  static override readonly className: string = 'GeminiChatModel';

  override readonly host: string;
  readonly #endpoint: GeminiEndpoint;
  readonly #writer: GeminiWriter;
  readonly #providerTools: readonly GoogleTool[];
  readonly #hosting: ModelHosting | undefined;

  constructor(options: GeminiChatModelOptions) {
    super(options.hosting?.title ?? GEMINI, options, {
      vision: true,
      audio: true,
      video: true,
      files: true,
      structured: 'native',
    });
    this.#endpoint = new GeminiEndpoint(options);
    this.#hosting = options.hosting;
    this.#providerTools = options.providerTools ?? [];
    this.host = this.#endpoint.host;
    this.#writer = new GeminiWriter(this.#endpoint.dialect);
  }

  protected override takesUrl(block: MediaBlock): boolean {
    return isFetched(block);
  }

  protected override takesBack(block: ContentBlock): boolean {
    return isTakenByGemini(block);
  }

  protected override toCall(
    prompt: Prompt,
    request: WireRequest,
    signal: AbortSignal,
  ): WireCall | Promise<WireCall> {
    const { structured, generation } = request;
    const schema = structured && this.#writer.schema(structured.schema, "the answer's schema");
    const { tools: given } = generation.extra ?? {};
    const own = this.#providerTools.map(({ tool }) => tool);
    const googleTools = [...own, ...(Array.isArray(given) ? (given as readonly JsonValue[]) : [])];
    const texts = this.#writer.texts(prompt, geminiTools(request), googleTools);
    const hosting = this.#hosting;
    const options = toGeminiOptions(request, this.#endpoint.dialect, schema, own.length > 0);
    const body = jsonBody(hosting === undefined ? options : { ...options, serviceTier: undefined }, texts);
    const { settings } = request;
    if (hosting !== undefined) return this.#endpoint.hostedCall(hosting, request, body, signal);
    return this.#guarded(
      settings.isStreamed
        ? this.#endpoint.call('streamGenerateContent', settings, body, { alt: 'sse' })
        : this.#endpoint.call('generateContent', settings, body),
    );
  }

  /** A request whose errors show no header of an MCP server. */
  #guarded(call: WireCall): WireCall {
    return {
      ...call,
      secrets: [...(call.secrets ?? []), ...this.#providerTools.flatMap(({ secrets = [] }) => secrets)],
    };
  }

  protected override newDecoder(): WireDecoder {
    return new GeminiDecoder();
  }
}
