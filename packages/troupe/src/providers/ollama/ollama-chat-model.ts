import { getLogger } from '../../config/run-config.ts';
import type { Prompt } from '../../formatter/prompt.ts';
import { checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import {
  HttpChatModel,
  type HttpModelOptions,
  type WireCall,
  type WireDecoder,
  type WireRequest,
} from '../../model/http/http-chat-model.ts';
import { jsonBody, ToolTexts, WireTexts } from '../../model/http/wire-texts.ts';
import { isForced } from '../../model/tool-choice.ts';
import { readEnv } from '#platform';
import { ollamaAddress } from './ollama-address.ts';
import { OllamaDecoder } from './ollama-from-wire.ts';
import { ollamaTools, toOllamaMessages, toOllamaOptions, toOllamaTool } from './ollama-to-wire.ts';

export interface OllamaChatModelOptions extends HttpModelOptions {
  /** Time the model stays loaded after an answer. @default the server's setting */
  readonly keepAlive?: string | number | undefined;
}

const VENDOR = 'Ollama';
const VISION = /llava|vision|-vl|2\.5vl|gemma3|llama4|minicpm-v|moondream|mistral-small3/;

/**
 * Chat model over Ollama's own API. Server address: `baseUrl`, else OLLAMA_HOST, else 127.0.0.1:11434. Ollama
 * does not support forced tool calls: a forced choice only limits the offered tools. First file to read in
 * this folder: `toCall` builds the request (ollama-to-wire.ts), `newDecoder` reads the answer
 * (ollama-from-wire.ts). Folder `providers/ollama`: start here.
 */
export class OllamaChatModel extends HttpChatModel {
  static override readonly className: string = 'OllamaChatModel';

  override readonly host: string;
  /** Address and key when the model was made. */
  readonly #ownUrl: string;
  readonly #ownKey: string | undefined;
  readonly #keepAlive: string | number | undefined;
  readonly #messages = new WireTexts(toOllamaMessages);
  readonly #tools = new ToolTexts(toOllamaTool);

  constructor(options: OllamaChatModelOptions) {
    super(VENDOR, options, {
      vision: VISION.test(options.modelName),
      forcedTools: 'never',
      structured: 'native',
    });
    const { baseUrl, apiKey } = options;
    this.#ownUrl = ollamaAddress(baseUrl ?? readEnv('OLLAMA_HOST') ?? '');
    this.#ownKey = typeof apiKey === 'string' ? apiKey : readEnv('OLLAMA_API_KEY') || undefined;
    if (this.#ownKey !== undefined) checkKey(VENDOR, this.#ownKey);
    this.host = new URL(this.#ownUrl).host;
    this.#keepAlive = options.keepAlive;
  }

  protected override get framing(): 'lines' {
    return 'lines';
  }

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    if (isForced(request.toolChoice)) {
      getLogger().log('warn', 'Ollama does not support forced tool calls. The model decides.');
    }
    const tools = ollamaTools(request);
    const texts = {
      messages: this.#messages.array(prompt.items),
      ...(tools.length > 0 && { tools: this.#tools.array(tools) }),
    };
    const fields = { model: this.modelName, ...toOllamaOptions(request, this.modelName, this.#keepAlive) };
    const { apiKey: key = this.#ownKey, baseUrl, headers, query } = request.settings;
    const own = key === undefined ? {} : { authorization: `Bearer ${checkKey(VENDOR, key)}` };
    return {
      url: joinUrl(baseUrl === undefined ? this.#ownUrl : ollamaAddress(baseUrl), '/api/chat', query),
      headers: mergeHeaders({ 'content-type': 'application/json', ...own }, headers),
      body: jsonBody(fields, texts),
      secrets: key === undefined ? [] : [key],
    };
  }

  protected override newDecoder(): WireDecoder {
    return new OllamaDecoder();
  }
}
