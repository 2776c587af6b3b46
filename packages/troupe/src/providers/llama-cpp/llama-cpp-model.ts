import { basename } from 'node:path';

import { TroupeError } from '../../errors.ts';
import type { FormatterBase } from '../../formatter/formatter-base.ts';
import type { PromptItem } from '../../formatter/prompt.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import {
  ChatModelBase,
  PLAIN_CAPABILITIES,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../../model/chat-model-base.ts';
import { mergeGeneration } from '../../model/generation.ts';
import { PromptMaker } from '../../model/prompt-maker.ts';
import { ModelError, withOrigin } from '../../model/model-error.ts';
import { stoppable } from '../../util/async/stoppable.ts';
import { checkToolChoice } from '../../model/tool-choice.ts';
import { abortable, whenAborted } from '../../util/abort.ts';
import { monotonic } from '../../util/clock.ts';
import { planAnswer, type AnswerPlan } from './answer-plan.ts';
import { EnvelopeReader, TextReader, type AnswerReader } from './answer-reader.ts';
import { toChatHistory } from './chat-history.ts';
import { LlamaEngine, type EnginePiece, type EngineRequest } from './llama-engine.ts';
import { importLlamaLibrary, type GpuChoice } from './llama-library.ts';

export interface LlamaCppModelOptions {
  /** The weights: any GGUF file of a chat model. */
  readonly modelPath: string;
  /** Maximum tokens of a prompt with its answer. @default 4096, or less if the model supports less */
  readonly contextSize?: number | undefined;
  /** Maximum model calls at the same time; others wait. Each needs memory for its context. @default 1 */
  readonly parallelCalls?: number | undefined;
  /** @default as many as node-llama-cpp thinks good */
  readonly threads?: number | undefined;
  /** @default false: the CPU */
  readonly gpu?: GpuChoice | undefined;
  /** A chat wrapper of node-llama-cpp. @default the one that fits the template in the file */
  readonly chatWrapper?: object | undefined;
  readonly generation?: GenerationOptions | undefined;
  /** @default a ChatFormatter */
  readonly formatter?: FormatterBase | undefined;
  /** Loads node-llama-cpp, e.g. from another folder. @default import('node-llama-cpp') */
  readonly library?: (() => Promise<unknown>) | undefined;
}

const DEFAULT_CONTEXT = 4096;

/**
 * Model that runs in this process, by llama.cpp. First file to read in this folder: answer-plan.ts chooses
 * the grammar, llama-engine.ts computes the answer, answer-reader.ts reads it.
 *
 * The weights are loaded once, by the first model call or by `load`, and shared by all model calls; `dispose`
 * frees the weights. A grammar enforces valid tool calls and structured output, however small the model is.
 * Under a grammar the model does not think. Folder `providers/llama-cpp`: start here.
 */
export class LlamaCppModel extends ChatModelBase {
  static override readonly className: string = 'LlamaCppModel';

  override readonly capabilities: ModelCapabilities = Object.freeze({
    ...PLAIN_CAPABILITIES,
    structured: 'native',
  });
  override readonly vendorName = 'llama.cpp';
  readonly #options: LlamaCppModelOptions;
  override readonly generation: GenerationOptions;
  readonly #prompts: PromptMaker;
  readonly #closing = new AbortController();
  #engine: Promise<LlamaEngine> | undefined;
  #disposal: Promise<void> | undefined;

  constructor(options: LlamaCppModelOptions) {
    const { modelPath } = options;
    if (typeof modelPath !== 'string' || modelPath === '') {
      throw new TroupeError('invalid_config', 'A LlamaCppModel needs a modelPath: the path of a GGUF file.');
    }
    for (const key of ['contextSize', 'parallelCalls', 'threads'] as const) {
      const value = options[key];
      if (value === undefined || (Number.isInteger(value) && value > 0)) continue;
      throw new TroupeError('invalid_config', `${key} must be a whole number of 1 or more.`);
    }
    super(basename(modelPath, '.gguf'));
    this.#options = options;
    this.generation = Object.freeze({ ...options.generation });
    const { modelName, capabilities } = this;
    this.#prompts = new PromptMaker({ modelName, capabilities, formatter: options.formatter });
  }

  /** Loads the weights, unless loaded already. */
  async load(): Promise<void> {
    await this.#load();
  }

  override stream(
    request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta, void, void> {
    return stoppable((stop) => this.#answer(request, stop), signal);
  }

  /** Stops all calls, frees the weights, and takes no more calls. */
  dispose(): Promise<void> {
    this.#disposal ??= this.#close();
    return this.#disposal;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async *#answer(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, void> {
    checkToolChoice(request);
    const startedAt = monotonic();
    const call = new AbortController();
    const stop = (reason: unknown): void => call.abort(reason);
    const unlinks = [whenAborted(signal, stop), whenAborted(this.#closing.signal, stop)];
    try {
      const generation = mergeGeneration(this.generation, request.generation);
      const plan = planAnswer(request, generation);
      const { items } = await this.#prompts.make(request, call.signal);
      const engine = await abortable(this.#load(), call.signal);
      const pieces = engine.answer(engineRequest(items, plan, generation), call.signal);
      yield* deltasOf(pieces, plan, startedAt);
    } catch (error) {
      throw withOrigin(error, { vendor: this.vendorName, model: this.modelName });
    } finally {
      for (const unlink of unlinks) unlink();
    }
  }

  #load(): Promise<LlamaEngine> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason);
    const { contextSize, parallelCalls = 1, gpu = false, chatWrapper = 'auto', library } = this.#options;
    this.#engine ??= LlamaEngine.load({
      ...this.#options,
      contextSize: contextSize ?? { max: DEFAULT_CONTEXT },
      parallelCalls,
      gpu,
      chatWrapper,
      library: library ?? importLlamaLibrary,
    }).catch((error: unknown) => {
      this.#engine = undefined; // a later call may find the file
      throw error;
    });
    return this.#engine;
  }

  async #close(): Promise<void> {
    const problem = `${this.modelName} was disposed of and takes no more calls. Create a new model.`;
    this.#closing.abort(new ModelError(problem, { kind: 'bad_request' }));
    const engine = await this.#engine?.catch(() => undefined);
    await engine?.dispose();
  }
}

function engineRequest(
  items: readonly PromptItem[],
  plan: AnswerPlan,
  generation: GenerationOptions,
): EngineRequest {
  const { grammar } = plan;
  const { maxTokens = Infinity, temperature, topP, topK, seed, stop, extra } = generation;
  const { presencePenalty, frequencyPenalty, thinkingTokens, reasoningEffort } = generation;
  const hasPenalty = presencePenalty !== undefined || frequencyPenalty !== undefined;
  return {
    history: toChatHistory(items, plan),
    grammar,
    mayThink: grammar === undefined && thinkingTokens !== 0 && reasoningEffort !== 'none',
    maxTokens,
    sampling: {
      temperature,
      topP,
      topK,
      seed,
      ...(hasPenalty && { repeatPenalty: { presencePenalty, frequencyPenalty } }),
      // Inside JSON a stop text does not end the answer, and a penalty would change copied text.
      ...(grammar === undefined ? { customStopTriggers: stop } : !hasPenalty && { repeatPenalty: false }),
      ...(thinkingTokens !== undefined && { budgets: { thoughtTokens: thinkingTokens } }),
      ...extra,
    },
  };
}

async function* deltasOf(
  pieces: AsyncIterable<EnginePiece>,
  plan: AnswerPlan,
  startedAt: number,
): AsyncGenerator<ModelDelta, void, void> {
  const reader = plan.isEnveloped ? new EnvelopeReader(plan.isStructured) : new TextReader();
  for await (const piece of pieces) {
    if (piece.type === 'end') {
      const { inputTokens, outputTokens, cachedTokens } = piece;
      const seconds = (monotonic() - startedAt) / 1000;
      yield { type: 'usage', usage: { inputTokens, outputTokens, cachedTokens, seconds } };
      yield { type: 'finish', reason: finishReason(reader, plan, piece.isCutOff) };
    } else if (piece.type === 'thought') yield { type: 'thinking', thinking: piece.text };
    else yield* reader.read(piece.text);
  }
}

function finishReason(reader: AnswerReader, plan: AnswerPlan, isCutOff: boolean): FinishReason {
  if (reader.isOver) return reader.hasCall ? 'tool_calls' : 'stop';
  if (isCutOff) return 'length';
  if (!plan.isEnveloped) return 'stop';
  throw new ModelError('The model stopped in the middle of its answer.', { kind: 'malformed' });
}
