import { TroupeError } from '../../errors.ts';

/**
 * Parts of the package `node-llama-cpp` in use, declared here so that the package is optional at compile
 * time.
 */
export interface LlamaLibrary {
  getLlama(options: {
    readonly gpu: GpuChoice;
    readonly build: 'never';
    readonly skipDownload: true;
    readonly progressLogs: false;
    readonly logger: (level: string, message: string) => void;
    readonly maxThreads?: number;
  }): Promise<Llama>;
  readonly LlamaChat: new (options: {
    readonly contextSequence: LlamaSequence;
    readonly chatWrapper: object | 'auto';
  }) => LlamaChat;
}

export type GpuChoice = false | 'auto' | 'metal' | 'cuda' | 'vulkan';

export interface Llama {
  loadModel(options: { readonly modelPath: string }): Promise<LlamaWeights>;
  createGrammar(options: { readonly grammar: string }): Promise<LlamaGrammar>;
  /** Frees everything made by this object. */
  dispose(): Promise<void>;
}

export interface LlamaWeights {
  readonly tokenizer: unknown;
  createContext(options: {
    readonly contextSize: number | { readonly max: number };
    readonly sequences: number;
    readonly threads?: number;
  }): Promise<LlamaContext>;
}

export interface LlamaContext {
  /** Token capacity of each sequence. */
  readonly contextSize: number;
  getSequence(): LlamaSequence;
}

/** One text under computation, with its computed state. */
export interface LlamaSequence {
  readonly nextTokenIndex: number;
  readonly tokenMeter: { readonly usedOutputTokens: number };
  compareContextTokens(tokens: readonly Token[]): { readonly firstDifferentIndex: number };
  /** Drops computed state after the common prefix with these tokens. */
  adaptStateToTokens(tokens: readonly Token[], allowShift: boolean): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly Token[]): Promise<void>;
}

export type Token = number;
export type LlamaGrammar = object;

export interface ChatWrapper {
  readonly settings: { readonly segments?: { readonly thought?: unknown } };
  generateContextState(options: { readonly chatHistory: readonly ChatTurn[] }): {
    readonly contextText: { tokenize(tokenizer: unknown): readonly Token[] };
  };
}

export interface LlamaChat {
  readonly chatWrapper: ChatWrapper;
  readonly sequence: LlamaSequence;
  generateResponse(
    history: readonly ChatTurn[],
    options: GenerateOptions,
  ): Promise<{ readonly metadata: { readonly stopReason: string } }>;
}

export interface GenerateOptions {
  readonly [further: string]: unknown;
  readonly signal: AbortSignal;
  readonly maxTokens: number;
  readonly grammar?: LlamaGrammar;
  readonly contextShift: { readonly strategy: () => never };
  readonly onResponseChunk: (chunk: ResponseChunk) => void;
}

/** Piece of an answer; thinking comes as a segment of type `thought`. */
export interface ResponseChunk {
  readonly type?: 'segment' | undefined;
  readonly text: string;
}

export type ChatTurn =
  | { readonly type: 'system'; readonly text: string }
  | { readonly type: 'user'; readonly text: string }
  | { readonly type: 'model'; readonly response: readonly (string | ThoughtSegment)[] };

export interface ThoughtSegment {
  readonly type: 'segment';
  readonly segmentType: 'thought';
  readonly text: string;
  readonly ended: boolean;
}

const PACKAGE = 'node-llama-cpp';

/** Loads the package. @throws TroupeError with install instructions. */
export async function importLlamaLibrary(): Promise<unknown> {
  try {
    // The package holds binaries and can't be bundled. Bundlers leave this import to Node.
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ PACKAGE);
  } catch (error) {
    throw new TroupeError(
      'invalid_config',
      `A local model needs the package ${PACKAGE}, which could not be loaded. Run: npm install ${PACKAGE}`,
      { cause: error },
    );
  }
}
