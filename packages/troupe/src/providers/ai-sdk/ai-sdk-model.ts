import { TroupeError } from '../../errors.ts';
import type { MediaBlock } from '../../formatter/prompt.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { settleHttp } from '../../model/http/http-call-options.ts';
import { addCost } from '../../model/add-cost.ts';
import { mergeGeneration } from '../../model/generation.ts';
import { PromptMaker } from '../../model/prompt-maker.ts';
import {
  ChatModelBase,
  PLAIN_CAPABILITIES,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../../model/chat-model-base.ts';
import type { HttpModelOptions } from '../../model/http/http-chat-model.ts';
import { stoppable } from '../../util/async/stoppable.ts';
import { checkToolChoice } from '../../model/tool-choice.ts';
import { monotonic } from '../../util/clock.ts';
import { describe, isJsonObject, type JsonObject } from '../../util/json.ts';
import { SPEC_VERSIONS, type AiSdkLanguageModel, type SupportedUrls } from './language-model.ts';
import { PartDecoder } from './part-decoder.ts';
import { isTakenByAiSdk, type AiSdkProviderTool, type PromptTarget } from './provider-tools.ts';
import { readParts } from './read-parts.ts';
import { isResponsesApi, mediaTypeOf, mergedExtra, PromptWriter, toCallOptions } from './to-call.ts';

/**
 * Options of `AiSdkModel`. `generation.extra` holds options by provider, such as `{ openai: { store: false }
 * }`: the AI SDK's `providerOptions`.
 */
export interface AiSdkModelOptions extends Omit<
  HttpModelOptions,
  'modelName' | 'apiKey' | 'baseUrl' | 'query' | 'fetch'
> {
  /** Tools run by the provider, such as `openai.tools.webSearch()`. */
  readonly providerTools?: readonly AiSdkProviderTool[] | undefined;
}

/**
 * Capabilities of known providers, by the beginning of the provider name. Other providers are assumed to
 * accept images.
 */
const KNOWN_CAPABILITIES: Readonly<Record<string, Partial<ModelCapabilities>>> = {
  openai: { files: true, structured: 'native' },
  azure: { files: true, structured: 'native' },
  anthropic: { files: true, forcedTools: 'without_thinking' },
  google: { audio: true, video: true, files: true, structured: 'native' },
};

/**
 * By default OpenAI's Responses API stores an answer and is later sent references to its parts. But the
 * history is kept here, and an answer that was interrupted is stored nowhere: it gets the parts themselves.
 */
const STORES_NOTHING: JsonObject = { openai: { store: false } };

/**
 * Any language model of the AI SDK (specification v2, v3 or v4). First file to read in this folder:
 * to-call.ts writes the request, part-decoder.ts reads the answer.
 *
 * Provider metadata of thinking, text and tool calls (signatures, ids) is kept in the message and sent back
 * to the same provider only. Calls and results of tools that the provider runs itself are blocks that say so, and sources are
 * citations. A question of the provider for approval is a tool call of the tool `mcp_approval`.
 * Folder `providers/ai-sdk`: start here.
 */
export class AiSdkModel extends ChatModelBase {
  static override readonly className: string = 'AiSdkModel';

  override readonly capabilities: ModelCapabilities;
  override readonly generation: GenerationOptions;
  override readonly vendorName: string;
  readonly #model: AiSdkLanguageModel;
  readonly #options: AiSdkModelOptions;
  readonly #target: PromptTarget;
  readonly #writer: PromptWriter;
  readonly #prompts: PromptMaker;
  #supportedUrls: SupportedUrls = {};

  /** @throws TroupeError if `languageModel` can't be wrapped. */
  constructor(languageModel: AiSdkLanguageModel, options: AiSdkModelOptions = {}) {
    checkModel(languageModel);
    super(languageModel.modelId);
    const { provider, specificationVersion: version } = languageModel;
    this.vendorName = provider;
    this.#model = languageModel;
    this.#options = options;
    const isStored = isResponsesApi(provider) && storesAnswers(options.generation?.extra);
    this.#target = { provider, version, isStored };
    this.#writer = new PromptWriter(this.#target);
    const known = KNOWN_CAPABILITIES[/^[a-z]*/.exec(provider)?.[0] ?? ''];
    this.capabilities = Object.freeze({
      ...PLAIN_CAPABILITIES,
      vision: true,
      ...known,
      ...options.capabilities,
    });
    this.generation = Object.freeze({ ...options.generation });
    const { formatter, media, onRepair } = options;
    this.#prompts = new PromptMaker({
      modelName: this.modelName,
      capabilities: this.capabilities,
      formatter,
      media,
      takesUrl: (block) => isSupported(block, this.#supportedUrls),
      takesBack: (block) => isTakenByAiSdk(block, this.#target),
      onRepair,
    });
  }

  override stream(
    request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable((stop) => this.#answer(request, stop), signal);
  }

  async *#answer(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, void> {
    checkToolChoice(request);
    const startedAt = monotonic();
    const { deadlines = {}, pricing } = this.#options;
    const { headers: ofCall, stream } = request.http ?? {};
    const own = { headers: this.#options.headers, stream: this.#options.stream };
    const { headers, isStreamed } = await settleHttp(own, { headers: ofCall, stream }, signal);
    this.#supportedUrls = (await Promise.resolve(this.#model.supportedUrls).catch(() => undefined)) ?? {};
    const prompt = await this.#prompts.make(request, signal);
    const options = {
      ...toCallOptions(
        { ...request, generation: this.#generation(request) },
        this.#target,
        this.#options.providerTools,
      ),
      prompt: this.#writer.messages(prompt.items),
      ...(Object.keys(headers).length > 0 && { headers }),
    };
    const { provider, version } = this.#target;
    const decoder = new PartDecoder(provider, version, { vendor: provider, model: this.modelName });
    const isOver = (): boolean => decoder.isComplete;
    const call = { model: this.#model, options, deadlines, isStreamed, isOver };
    for await (const part of readParts(call, signal)) {
      for (const delta of decoder.read(part)) yield addCost(delta, startedAt, pricing);
    }
    for (const delta of decoder.end()) yield addCost(delta, startedAt, pricing);
  }

  #generation(request: ModelRequest): GenerationOptions {
    const own = this.generation;
    const defaults = isResponsesApi(this.#target.provider) ? STORES_NOTHING : undefined;
    const extra = mergedExtra(mergedExtra(defaults, own.extra), request.generation?.extra);
    const { extra: _, ...generation } = mergeGeneration(own, request.generation);
    return { ...generation, ...(extra && { extra }) };
  }
}

function storesAnswers(extra: JsonObject | undefined): boolean {
  const openai = extra?.['openai'];
  return isJsonObject(openai) && openai['store'] === true;
}

function checkModel(model: unknown): asserts model is AiSdkLanguageModel {
  if (typeof model !== 'object' || model === null || !('specificationVersion' in model)) {
    throw invalid(
      `AiSdkModel needs a language model of the AI SDK, such as openai('gpt-5'), not ${describe(model)}.`,
    );
  }
  const { specificationVersion: version } = model;
  if (SPEC_VERSIONS.some((known) => known === version)) return;
  throw invalid(
    `AiSdkModel knows the versions ${SPEC_VERSIONS.join(', ')} of language models, not ${String(version)}.`,
  );
}

function invalid(message: string): TroupeError {
  return new TroupeError('invalid_config', message);
}

/** Whether a provider downloads a medium from its URL itself. */
function isSupported(block: MediaBlock, urls: SupportedUrls): boolean {
  const { source } = block;
  if (source.type !== 'url') return false;
  const mediaType = mediaTypeOf(block).toLowerCase();
  const { href } = new URL(source.url);
  return Object.entries(urls).some(
    ([pattern, addresses]) =>
      matches(mediaType, pattern.toLowerCase()) &&
      addresses.some((address) => new RegExp(address).test(href)),
  );
}

function matches(mediaType: string, pattern: string): boolean {
  if (pattern === '*' || pattern === '*/*') return true;
  return pattern.endsWith('/*') ? mediaType.startsWith(pattern.slice(0, -1)) : mediaType === pattern;
}
