import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import type { Prompt } from '../../formatter/prompt.ts';
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
import { OllamaDecoder } from './ollama-from-wire.ts';
import { offeredTools, toOllamaMessages, toOllamaOptions, toOllamaTool } from './ollama-to-wire.ts';

export interface OllamaChatModelOptions extends HttpModelOptions {
  /** How long the model stays loaded after an answer. @default '5m' */
  readonly keepAlive?: string | number | undefined;
}

const SEES = /llava|vision|-vl|2\.5vl|gemma3|llama4|minicpm-v|moondream|mistral-small3/;

/**
 * A model that runs in Ollama, by its own API. The server is at the baseUrl, else at
 * OLLAMA_HOST, else at 127.0.0.1:11434. Ollama can't be made to call a tool: a forced choice
 * only limits the tools that are offered.
 */
export class OllamaChatModel extends HttpChatModel {
  readonly #url: string;
  readonly #apiKey: string | undefined;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #keepAlive: string | number | undefined;
  readonly #messages = new WireTexts(toOllamaMessages);
  readonly #tools = new ToolTexts(toOllamaTool);

  constructor(options: OllamaChatModelOptions) {
    super('Ollama', options, {
      vision: SEES.test(options.modelName),
      forcedTools: 'never',
      structured: 'native',
    });
    this.#url = `${baseUrlOf(options.baseUrl ?? readEnv('OLLAMA_HOST') ?? '127.0.0.1:11434')}/api/chat`;
    this.#apiKey = options.apiKey ?? readEnv('OLLAMA_API_KEY');
    this.#keepAlive = options.keepAlive ?? '5m';
    this.#headers = {
      'content-type': 'application/json',
      ...(this.#apiKey !== undefined && { authorization: `Bearer ${this.#apiKey}` }),
      ...options.headers,
    };
  }

  protected override get framing(): 'lines' {
    return 'lines';
  }

  protected override get secrets(): readonly string[] {
    return this.#apiKey === undefined ? [] : [this.#apiKey];
  }

  protected override toCall(prompt: Prompt, request: WireRequest): WireCall {
    if (isForced(request.toolChoice)) {
      getLogger().log('warn', "Ollama can't be made to call a tool: the model decides whether it does.");
    }
    const tools = offeredTools(request);
    const texts = {
      messages: this.#messages.array(prompt.items),
      ...(tools.length > 0 && { tools: this.#tools.array(tools) }),
    };
    const fields = { model: this.modelName, ...toOllamaOptions(request, this.#keepAlive) };
    return { url: this.#url, headers: this.#headers, body: jsonBody(fields, texts) };
  }

  protected override newDecoder(): WireDecoder {
    return new OllamaDecoder();
  }
}

/** The address with a scheme, and one that can be called: servers listen at 0.0.0.0, but nobody lives there. */
function baseUrlOf(host: string): string {
  const url = (/^https?:\/\//.test(host) ? host : `http://${host}`).replace('//0.0.0.0', '//127.0.0.1');
  if (URL.canParse(url)) return url.replace(/\/+$/, '');
  throw new TroupeError('invalid_config', 'The baseUrl of Ollama (or OLLAMA_HOST) is no address.');
}
