import type { MediaBlock, Prompt } from '../../formatter/prompt.ts';
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
import { isFetched } from './gemini-to-wire.ts';
import { GeminiWriter } from './gemini-writer.ts';

export interface GeminiChatModelOptions extends HttpModelOptions {
  /** With or without `models/` before it. */
  readonly modelName: string;
  /** @default GEMINI_API_KEY, else GOOGLE_API_KEY */
  readonly apiKey?: string | undefined;
}

/**
 * A model behind Google's Gemini API. A call that the model failed to write, and a prompt that was
 * blocked, are errors; an answer that was blocked on its way ends with 'content_filter'.
 */
export class GeminiChatModel extends HttpChatModel {
  readonly #endpoint: GeminiEndpoint;
  readonly #writer: GeminiWriter;

  constructor(options: GeminiChatModelOptions) {
    super(GEMINI, options, { vision: true, audio: true, video: true, files: true, structured: 'native' });
    this.#endpoint = geminiEndpoint(options);
    this.#writer = new GeminiWriter(this.#endpoint.dialect);
  }

  protected override get secrets(): readonly string[] {
    return this.#endpoint.secrets;
  }

  protected override takesUrl(block: MediaBlock): boolean {
    return isFetched(block);
  }

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    const { structured, generation } = request;
    const schema = structured && this.#writer.schema(structured.schema, "the answer's schema");
    const { tools: googleTools } = generation.extra ?? {};
    const texts = this.#writer.texts(
      prompt,
      geminiTools(request),
      Array.isArray(googleTools) ? (googleTools as readonly JsonValue[]) : [],
    );
    return {
      url: `${this.#endpoint.url('streamGenerateContent')}?alt=sse`,
      headers: this.#endpoint.headers,
      body: jsonBody(toGeminiOptions(request, this.#endpoint.dialect, schema), texts),
    };
  }

  protected override newDecoder(): WireDecoder {
    return new GeminiDecoder();
  }
}
