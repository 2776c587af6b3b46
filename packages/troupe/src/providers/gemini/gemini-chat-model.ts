import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import {
  HttpChatModel,
  type HttpModelOptions,
  type WireCall,
  type WireDecoder,
  type WireRequest,
} from '../../model/http/http-chat-model.ts';
import { jsonBody } from '../../model/http/wire-texts.ts';
import type { JsonValue } from '../../util/json.ts';
import { geminiEndpoint, GEMINI, type GeminiEndpoint } from './gemini-endpoint.ts';
import { GeminiDecoder } from './gemini-from-wire.ts';
import { geminiTools, toGeminiOptions } from './gemini-options.ts';
import { isFetched, isTakenByGemini } from './gemini-to-wire.ts';
import { GeminiWriter } from './gemini-writer.ts';
import type { GoogleTool } from './google-tools.ts';

export interface GeminiChatModelOptions extends HttpModelOptions {
  /** Model name, with or without the prefix `models/`. */
  readonly modelName: string;
  /** @default GEMINI_API_KEY, else GOOGLE_API_KEY */
  readonly apiKey?: string | undefined;
  /** Tools that Google runs itself, made by `googleTools`. */
  readonly providerTools?: readonly GoogleTool[] | undefined;
}

/**
 * Chat model over Google's Gemini API. A failed tool call and a blocked prompt are errors; an answer blocked
 * on its way ends with 'content_filter'. First file to read in this folder: `toCall` builds the request
 * (gemini-writer.ts), `newDecoder` reads the answer (gemini-from-wire.ts). Folder `providers/gemini`: start here.
 */
export class GeminiChatModel extends HttpChatModel {
  override readonly host: string;
  readonly #endpoint: GeminiEndpoint;
  readonly #writer: GeminiWriter;
  readonly #providerTools: readonly GoogleTool[];

  constructor(options: GeminiChatModelOptions) {
    super(GEMINI, options, { vision: true, audio: true, video: true, files: true, structured: 'native' });
    this.#endpoint = geminiEndpoint(options);
    this.host = new URL(this.#endpoint.url('')).host;
    this.#providerTools = options.providerTools ?? [];
    this.#writer = new GeminiWriter(this.#endpoint.dialect);
  }

  protected override get secrets(): readonly string[] {
    return [...this.#endpoint.secrets, ...this.#providerTools.flatMap(({ secrets = [] }) => secrets)];
  }

  protected override takesUrl(block: MediaBlock): boolean {
    return isFetched(block);
  }

  protected override takesBack(block: ContentBlock): boolean {
    return isTakenByGemini(block);
  }

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    const { structured, generation } = request;
    const schema = structured && this.#writer.schema(structured.schema, "the answer's schema");
    const { tools: given } = generation.extra ?? {};
    const own = this.#providerTools.map(({ tool }) => tool);
    const googleTools = [...own, ...(Array.isArray(given) ? (given as readonly JsonValue[]) : [])];
    const texts = this.#writer.texts(prompt, geminiTools(request), googleTools);
    return {
      url: this.#endpoint.url('streamGenerateContent', { alt: 'sse' }),
      headers: this.#endpoint.headers,
      body: jsonBody(toGeminiOptions(request, this.#endpoint.dialect, schema, own.length > 0), texts),
    };
  }

  protected override newDecoder(): WireDecoder {
    return new GeminiDecoder();
  }
}
