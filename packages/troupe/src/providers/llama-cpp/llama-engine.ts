import { stat } from 'node:fs/promises';

import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { ModelError } from '../../model/model-error.ts';
import { whenAborted } from '../../util/abort.ts';
import { BoundedQueue } from '../../util/async/bounded-queue.ts';
import type {
  ChatTurn,
  GenerateOptions,
  GpuChoice,
  Llama,
  LlamaChat,
  LlamaGrammar,
  LlamaLibrary,
  ResponseChunk,
  ThoughtSegment,
  Token,
} from './llama-library.ts';
import { Pool } from './pool.ts';

export interface EngineOptions {
  readonly library: () => Promise<unknown>;
  readonly modelPath: string;
  readonly contextSize: number | { readonly max: number };
  readonly parallelCalls: number;
  readonly threads?: number | undefined;
  readonly gpu: GpuChoice;
  readonly chatWrapper: object | 'auto';
}

export interface EngineRequest {
  readonly history: readonly ChatTurn[];
  readonly grammar?: string | undefined;
  /** Whether a thinking model may think before the answer. */
  readonly mayThink: boolean;
  readonly maxTokens: number;
  /** Further options of the package's `generateResponse`. */
  readonly sampling: Readonly<Record<string, unknown>>;
}

/** Piece of an answer; the last piece holds the finish reason and the usage. */
export type EnginePiece =
  | { readonly type: 'text' | 'thought'; readonly text: string }
  | ({ readonly type: 'end' } & EngineReport);

export interface EngineReport {
  /** Whether the context was full. */
  readonly isCutOff: boolean;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

/** Number of prompt tokens computed at once. An abort takes effect between two batches. */
const BATCH = 64;
/** Context tokens reserved for additions of the chat template. */
const RESERVE = 16;
const MAX_GRAMMARS = 64;
const NO_THOUGHT: ThoughtSegment = { type: 'segment', segmentType: 'thought', text: '', ended: true };

/**
 * Loaded weights with one chat per parallel model call. A chat keeps its computed state: a prompt goes to the
 * free chat that shares the longest prefix. An abort returns at once; the chat is free again when the engine
 * has finished the current token or prompt batch.
 */
export class LlamaEngine {
  readonly contextSize: number;
  readonly #llama: Llama;
  readonly #tokenizer: unknown;
  readonly #chats: Pool<LlamaChat>;
  readonly #template: LlamaChat['chatWrapper'];
  readonly #grammars = new Map<string, Promise<LlamaGrammar>>();
  readonly #work = new Set<Promise<unknown>>();

  private constructor(
    llama: Llama,
    tokenizer: unknown,
    contextSize: number,
    chats: readonly [LlamaChat, ...LlamaChat[]],
  ) {
    this.contextSize = contextSize;
    this.#llama = llama;
    this.#tokenizer = tokenizer;
    this.#chats = new Pool(chats);
    this.#template = chats[0].chatWrapper;
  }

  /** @throws ModelError if the file is missing or can't be loaded, TroupeError if the package can't. */
  static async load(options: EngineOptions): Promise<LlamaEngine> {
    const { modelPath, contextSize, parallelCalls, threads, gpu } = options;
    const file = await stat(modelPath).catch(() => undefined);
    if (!file?.isFile()) throw badRequest(`There is no model file at ${modelPath}.`);
    const library = asLibrary(await options.library());
    let llama: Llama | undefined;
    try {
      llama = await library.getLlama({
        gpu,
        build: 'never', // no compilation, no download
        skipDownload: true,
        progressLogs: false,
        logger: (level, message) => getLogger().log('warn', `llama.cpp: ${level}: ${message}`),
        ...(threads !== undefined && { maxThreads: threads }),
      });
      const weights = await llama.loadModel({ modelPath });
      const context = await weights.createContext({
        contextSize,
        sequences: parallelCalls,
        ...(threads !== undefined && { threads }),
      });
      const chatWith = (chatWrapper: object | 'auto'): LlamaChat =>
        new library.LlamaChat({ contextSequence: context.getSequence(), chatWrapper });
      const first = chatWith(options.chatWrapper);
      const others = Array.from({ length: parallelCalls - 1 }, () => chatWith(first.chatWrapper));
      return new LlamaEngine(llama, weights.tokenizer, context.contextSize, [first, ...others]);
    } catch (error) {
      await llama?.dispose();
      throw badRequest(`${modelPath} could not be loaded: ${messageOf(error)}`, error);
    }
  }

  /** Streams the pieces of an answer while sampled. @throws ModelError, or the signal's reason. */
  async *answer(request: EngineRequest, signal: AbortSignal): AsyncGenerator<EnginePiece, void, void> {
    const history = this.#withOpenTurn(request);
    const tokens = this.#tokensOf(history);
    const space = this.contextSize - tokens.length - RESERVE;
    if (space < 1) throw tooLong(tokens.length, this.contextSize);
    const grammar = request.grammar === undefined ? undefined : await this.#grammar(request.grammar);
    const chat = await this.#chats.acquire(
      ({ sequence }) => sequence.compareContextTokens(tokens).firstDifferentIndex,
      signal,
    );
    const pieces = new BoundedQueue<ResponseChunk>(this.contextSize); // upper bound of chunks
    const work = this.#generate(chat, history, tokens, {
      ...request.sampling,
      signal,
      maxTokens: Math.min(request.maxTokens, space),
      ...(grammar !== undefined && { grammar }),
      contextShift: {
        strategy: () => {
          throw tooLong(this.contextSize, this.contextSize);
        },
      },
      onResponseChunk: (piece) => void pieces.put(piece),
    }).finally(() => {
      pieces.close();
      this.#chats.release(chat);
      this.#work.delete(work);
    });
    this.#work.add(work);
    work.catch(() => {}); // awaited below, or abandoned
    const unlink = whenAborted(signal, () => pieces.close());
    try {
      for await (const { type, text } of pieces) {
        signal.throwIfAborted();
        if (text !== '') yield { type: type === 'segment' ? 'thought' : 'text', text };
      }
      signal.throwIfAborted();
      yield { type: 'end', ...(await work) };
    } finally {
      unlink();
    }
  }

  /** Frees the weights when no work is left. */
  async dispose(): Promise<void> {
    await Promise.allSettled(this.#work);
    await this.#llama.dispose();
  }

  /** Computes the prompt, and then the answer. */
  async #generate(
    chat: LlamaChat,
    history: readonly ChatTurn[],
    tokens: readonly Token[],
    options: GenerateOptions,
  ): Promise<EngineReport> {
    const { sequence } = chat;
    const { signal } = options;
    try {
      const prompt = tokens.slice(0, -1); // the last token starts the answer
      await sequence.adaptStateToTokens(prompt, false);
      const cachedTokens = sequence.nextTokenIndex;
      for (let at = cachedTokens; at < prompt.length; at += BATCH) {
        signal.throwIfAborted();
        await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(at, at + BATCH));
      }
      signal.throwIfAborted();
      const before = sequence.tokenMeter.usedOutputTokens;
      const { metadata } = await chat.generateResponse(history, options);
      return {
        isCutOff: metadata.stopReason === 'maxTokens',
        inputTokens: tokens.length,
        cachedTokens,
        outputTokens: sequence.tokenMeter.usedOutputTokens - before,
      };
    } catch (error) {
      throw ModelError.isInstance(error) ? error : failed(error);
    }
  }

  /** History with the open turn of the model. */
  #withOpenTurn({ history, mayThink }: EngineRequest): readonly ChatTurn[] {
    const canThink = this.#template.settings.segments?.thought !== undefined;
    return [...history, { type: 'model', response: canThink && !mayThink ? [NO_THOUGHT] : [] }];
  }

  #tokensOf(chatHistory: readonly ChatTurn[]): readonly Token[] {
    try {
      return this.#template.generateContextState({ chatHistory }).contextText.tokenize(this.#tokenizer);
    } catch (error) {
      throw badRequest(
        `The chat template of the model does not accept this history: ${messageOf(error)}`,
        error,
      );
    }
  }

  #grammar(text: string): Promise<LlamaGrammar> {
    let grammar = this.#grammars.get(text);
    if (grammar === undefined) {
      grammar = this.#llama.createGrammar({ grammar: text }).catch((error: unknown) => {
        throw badRequest(`llama.cpp does not accept the grammar of this answer: ${messageOf(error)}`, error);
      });
      if (this.#grammars.size === MAX_GRAMMARS) this.#grammars.clear();
      this.#grammars.set(text, grammar);
    }
    return grammar;
  }
}

function asLibrary(module: unknown): LlamaLibrary {
  const library = module as Partial<LlamaLibrary>;
  if (typeof library?.getLlama === 'function' && typeof library.LlamaChat === 'function') {
    return library as LlamaLibrary;
  }
  throw new TroupeError('invalid_config', 'The option `library` must load the package node-llama-cpp.');
}

function badRequest(problem: string, cause?: unknown): ModelError {
  return new ModelError(problem, { kind: 'bad_request', cause });
}

function failed(cause: unknown): ModelError {
  return new ModelError(`The engine failed: ${messageOf(cause)}`, { kind: 'malformed', cause });
}

function tooLong(tokens: number, contextSize: number): ModelError {
  return new ModelError(
    `The prompt of ${tokens} tokens leaves no space for an answer in a context of ${contextSize}. ` +
      'Shorten it, or give the model a larger contextSize.',
    { kind: 'context_overflow' },
  );
}
