/**
 * The part of node-llama-cpp that our code uses, without the native part: a token is a character, the weights are a script.
 * It fails where the real one breaks: two computations on one sequence, or any after it was freed.
 */
import type {
  ChatTurn,
  ChatWrapper,
  GenerateOptions,
  Llama,
  LlamaChat,
  LlamaContext,
  LlamaLibrary,
  LlamaSequence,
  LlamaWeights,
  Token,
} from '../../src/providers/llama-cpp/llama-library.ts';

export interface FakeAnswer {
  readonly thought?: string;
  /** Each is one token. */
  readonly pieces: readonly string[];
  /** Holds the answer up before its last piece. */
  readonly gate?: Promise<void>;
  /** Waits at this place until the abort. */
  readonly stalls?: boolean;
  readonly error?: Error;
}

export interface FakeOptions {
  readonly contextSize?: number;
  /** Whether the template supports thinking. */
  readonly thinks?: boolean;
  readonly failing?: 'getLlama' | 'loadModel' | 'createContext' | 'createGrammar' | 'template';
}

/** A request to the engine as it came. */
export interface FakeCall {
  readonly prompt: string;
  readonly sequence: number;
  readonly history: readonly ChatTurn[];
  readonly options: GenerateOptions;
}

export class FakeLlama {
  readonly calls: FakeCall[] = [];
  /** The options of what was made, in order. */
  readonly made: unknown[] = [];
  /** Numbers of tokens that were computed at a time. */
  readonly batches: number[] = [];
  running = 0;
  mostRunning = 0;
  isFreed = false;
  readonly #nextAnswer: () => string | FakeAnswer | undefined;
  readonly #options: FakeOptions;

  /** @param answers one after the other; or one for every call */
  constructor(answers: readonly (string | FakeAnswer)[] | string | FakeAnswer, options: FakeOptions = {}) {
    const list = Array.isArray(answers) ? answers.values() : undefined;
    this.#nextAnswer = () => (list === undefined ? (answers as string | FakeAnswer) : list.next().value);
    this.#options = options;
  }

  /** To be given to a model in the place of the package. */
  readonly load = async (): Promise<LlamaLibrary> => {
    const newTemplate = (given: object | 'auto'): ChatWrapper => {
      this.#made('LlamaChat', { chatWrapper: given === 'auto' ? 'auto' : 'given' });
      return given === 'auto' ? this.#template() : (given as ChatWrapper);
    };
    const generate = this.#generate.bind(this);
    return {
      getLlama: async (options) => {
        this.#made('getLlama', options);
        return this.#llama();
      },
      LlamaChat: class implements LlamaChat {
        readonly chatWrapper: ChatWrapper;
        readonly sequence: FakeSequence;

        constructor(options: { contextSequence: LlamaSequence; chatWrapper: object | 'auto' }) {
          this.sequence = options.contextSequence as FakeSequence;
          this.chatWrapper = newTemplate(options.chatWrapper);
        }

        generateResponse(history: readonly ChatTurn[], options: GenerateOptions): Promise<FakeEnd> {
          return generate(this.sequence, history, options);
        }
      },
    };
  };

  #made(what: FakeOptions['failing'] | 'LlamaChat', options: object): void {
    this.made.push({ [String(what)]: options });
    if (this.#options.failing === what) throw new Error(`${what} failed`);
  }

  #llama(): Llama {
    return {
      loadModel: async (options): Promise<LlamaWeights> => {
        this.#made('loadModel', options);
        return {
          tokenizer: 'tokenizer',
          createContext: async (options): Promise<LlamaContext> => {
            this.#made('createContext', options);
            let sequences = 0;
            return {
              contextSize: this.#options.contextSize ?? 10_000,
              getSequence: () => new FakeSequence(this, sequences++),
            };
          },
        };
      },
      createGrammar: async (options) => {
        this.#made('createGrammar', {});
        return options;
      },
      dispose: async () => {
        if (this.running > 0) throw new Error('freed while it was in use');
        this.isFreed = true;
      },
    };
  }

  #template(): ChatWrapper {
    const { thinks = false, failing } = this.#options;
    return {
      settings: thinks ? { segments: { thought: {} } } : {},
      generateContextState({ chatHistory }) {
        if (failing === 'template') throw new Error('the template failed');
        return {
          contextText: {
            tokenize(tokenizer) {
              if (tokenizer !== 'tokenizer') throw new Error('the wrong tokenizer');
              return tokensOf(render(chatHistory));
            },
          },
        };
      },
    };
  }

  async #generate(
    sequence: FakeSequence,
    history: readonly ChatTurn[],
    options: GenerateOptions,
  ): Promise<FakeEnd> {
    const next = this.#nextAnswer();
    if (next === undefined) throw new Error('the script is used up');
    const answer: FakeAnswer = typeof next === 'string' ? { pieces: Array.from(next) } : next;
    const prompt = render(history);
    this.calls.push({ prompt, sequence: sequence.id, history, options });
    await sequence.adaptStateToTokens(tokensOf(prompt).slice(0, -1));
    await sequence.compute(tokensOf(prompt).slice(sequence.nextTokenIndex), false);
    const { signal, maxTokens, onResponseChunk } = options;
    if (answer.thought !== undefined) {
      for (const text of ['', answer.thought, '']) onResponseChunk({ type: 'segment', text });
    }
    for (const [i, text] of answer.pieces.entries()) {
      if (i === answer.pieces.length - 1) await (answer.stalls ? aborted(signal) : answer.gate);
      await sequence.compute(tokensOf(text.slice(0, 1)), true);
      if (signal.aborted) throw signal.reason;
      onResponseChunk({ text });
      if (i + 1 === maxTokens) return { metadata: { stopReason: 'maxTokens' } };
    }
    if (answer.error !== undefined) throw answer.error;
    onResponseChunk({ text: '' });
    return { metadata: { stopReason: 'eogToken' } };
  }
}

type FakeEnd = Awaited<ReturnType<LlamaChat['generateResponse']>>;

class FakeSequence implements LlamaSequence {
  readonly #fake: FakeLlama;
  readonly #state: Token[] = [];
  readonly tokenMeter = { usedOutputTokens: 0 };
  #isBusy = false;

  constructor(
    fake: FakeLlama,
    readonly id: number,
  ) {
    this.#fake = fake;
  }

  get nextTokenIndex(): number {
    return this.#state.length;
  }

  compareContextTokens(tokens: readonly Token[]) {
    const different = tokens.findIndex((token, i) => token !== this.#state[i]);
    return { firstDifferentIndex: different === -1 ? tokens.length : different };
  }

  async adaptStateToTokens(tokens: readonly Token[]): Promise<void> {
    await undefined;
    this.#state.length = Math.min(this.#state.length, this.compareContextTokens(tokens).firstDifferentIndex);
  }

  async evaluateWithoutGeneratingNewTokens(tokens: readonly Token[]): Promise<void> {
    this.#fake.batches.push(tokens.length);
    await this.compute(tokens, false);
  }

  async compute(tokens: readonly Token[], isOutput: boolean): Promise<void> {
    if (this.#fake.isFreed) throw new Error('used after it was freed');
    if (this.#isBusy) throw new Error('two computations on one sequence');
    this.#isBusy = true;
    this.#fake.mostRunning = Math.max(this.#fake.mostRunning, ++this.#fake.running);
    await undefined;
    await undefined;
    this.#isBusy = false;
    this.#fake.running--;
    this.#state.push(...tokens);
    if (isOutput) this.tokenMeter.usedOutputTokens += tokens.length;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function render(history: readonly ChatTurn[]): string {
  return history
    .map((turn, i) => {
      if (turn.type !== 'model') return `<${turn.type}>${turn.text}`;
      const response = turn.response
        .map((part) => (typeof part === 'string' ? part : `(${part.text})`))
        .join('');
      return `<model>${response}${i < history.length - 1 ? '</model>' : ''}`;
    })
    .join('\n');
}

function tokensOf(text: string): Token[] {
  return [...text].map((char) => char.codePointAt(0) ?? 0);
}
