import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { messageOf, TroupeError } from '../../errors.ts';
import {
  EmbeddingModelBase,
  textOfInput,
  type EmbeddedBatch,
  type Embedding,
  type EmbeddingInput,
  type EmbeddingModelOptions,
} from '../../embedding/embedding-model-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { parseJson } from '../../util/json.ts';
import { WordPieceTokenizer } from './word-piece-tokenizer.ts';

export interface OnnxEmbeddingOptions extends EmbeddingModelOptions {
  /** Folder with `tokenizer.json` and the model file, as Hugging Face lays them out. */
  readonly folder: string;
  /** Model file below the folder. @default the first of `onnx/model_quantized.onnx`, `onnx/model.onnx`, `model.onnx` */
  readonly modelFile?: string | undefined;
  /** Name in spans and cache keys. @default the folder's name */
  readonly modelName?: string | undefined;
  /** Maximum tokens of an input; the rest is cut off. @default 256 */
  readonly maxTokens?: number | undefined;
  /** Vector of a text: the mean of its token vectors, or the vector of the first token. @default 'mean' */
  readonly pooling?: 'mean' | 'cls' | undefined;
  /** Text before each query or document, for models that were trained with one. @default none */
  readonly prefix?: { readonly query?: string; readonly document?: string } | undefined;
  /** Threads of one run of the model. @default 1 */
  readonly threads?: number | undefined;
}

/** The parts of `onnxruntime-node` in use. */
interface OnnxRuntime {
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => object;
  readonly InferenceSession: {
    create(model: Uint8Array, options: object): Promise<OnnxSession>;
  };
}

interface OnnxSession {
  readonly inputNames: readonly string[];
  run(feeds: Record<string, object>): Promise<Record<string, { data: unknown; dims: readonly number[] }>>;
  release?(): Promise<void>;
}

interface LoadedModel {
  readonly runtime: OnnxRuntime;
  readonly session: OnnxSession;
  readonly tokenizer: WordPieceTokenizer;
}

/** The variant of a model without settings of its own. */
const PLAIN = JSON.stringify(['', 256, 'mean', '', '']);
const MODEL_FILES = ['onnx/model_quantized.onnx', 'onnx/model.onnx', 'model.onnx'];

/**
 * Text embeddings inside this process: a BERT-like model as ONNX file, such as all-MiniLM-L6-v2, with the
 * optional package `onnxruntime-node`. Loaded with the first input; nothing is downloaded.
 */
export class OnnxEmbeddingModel extends EmbeddingModelBase {
  readonly #options: OnnxEmbeddingOptions;
  #loaded: Promise<LoadedModel> | undefined;

  constructor(options: OnnxEmbeddingOptions) {
    const { folder, maxTokens = 256, threads = 1 } = options;
    if (typeof folder !== 'string' || folder === '')
      throw new TroupeError('invalid_config', 'OnnxEmbeddingModel needs the folder of a model.');
    checkNumber('maxTokens', maxTokens, { least: 8, most: 8192, whole: true });
    checkNumber('threads', threads, { least: 1, whole: true });
    const modelName = options.modelName ?? folder.split(/[\\/]/).findLast((part) => part !== '') ?? folder;
    const { modelFile = '', pooling = 'mean', prefix = {} } = options;
    const { query = '', document = '' } = prefix;
    const variant = JSON.stringify([modelFile, maxTokens, pooling, query, document]);
    super(
      { modelName, vendorName: 'onnx', maxBatch: 32, ...(variant !== PLAIN && { variant }) },
      { batchSize: 8, ...options, maxConcurrency: 1 },
    );
    this.#options = options;
  }

  /** Frees the model. A later input loads it again. */
  async [Symbol.asyncDispose](): Promise<void> {
    const loaded = this.#loaded;
    this.#loaded = undefined;
    await (await loaded?.catch(() => undefined))?.session.release?.();
  }

  protected override async embedBatch(
    inputs: readonly EmbeddingInput[],
    { purpose, signal }: { readonly purpose: 'query' | 'document'; readonly signal: AbortSignal | undefined },
  ): Promise<EmbeddedBatch> {
    const { maxTokens = 256, pooling = 'mean', prefix = {} } = this.#options;
    const model = await (this.#loaded ??= this.#load());
    signal?.throwIfAborted();
    const rows = inputs.map((input) =>
      model.tokenizer.encode(`${prefix[purpose] ?? ''}${textOfInput(input)}`, maxTokens),
    );
    const length = Math.max(...rows.map((row) => row.length));
    const output = await run(model, rows, length);
    const width = output.length / (rows.length * length);
    const embeddings = rows.map((row, index) =>
      pooled(output.subarray(index * length * width), pooling === 'cls' ? 1 : row.length, width),
    );
    return { embeddings, inputTokens: rows.reduce((sum, row) => sum + row.length, 0) };
  }

  async #load(): Promise<LoadedModel> {
    const { folder, modelFile, threads = 1 } = this.#options;
    try {
      const runtime = await loadRuntime();
      const tokenizer = new WordPieceTokenizer(
        parseJson(await readFile(join(folder, 'tokenizer.json'), 'utf8')),
      );
      const bytes = await readFirst(folder, modelFile === undefined ? MODEL_FILES : [modelFile]);
      const session = await runtime.InferenceSession.create(bytes, {
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
      });
      return { runtime, session, tokenizer };
    } catch (cause) {
      this.#loaded = undefined;
      if (TroupeError.isInstance(cause)) throw cause;
      const problem = `The embedding model in '${folder}' can't be loaded: ${messageOf(cause)}`;
      throw new TroupeError('invalid_config', problem, { cause });
    }
  }
}

async function readFirst(folder: string, files: readonly string[]): Promise<Uint8Array> {
  for (const file of files) {
    const bytes = await readFile(join(folder, file)).catch(() => undefined);
    if (bytes !== undefined) return bytes;
  }
  throw new TroupeError('invalid_config', `The folder '${folder}' has none of ${files.join(', ')}.`);
}

/** Not a literal in `import`, so that bundlers leave the native package where it is. */
const PACKAGE = 'onnxruntime-node';

async function loadRuntime(): Promise<OnnxRuntime> {
  try {
    const loaded: { default?: OnnxRuntime } & Partial<OnnxRuntime> = await import(
      /* webpackIgnore: true */ /* @vite-ignore */ PACKAGE
    );
    const runtime = loaded.default ?? loaded;
    if (isRuntime(runtime)) return runtime;
    throw new Error('it has no InferenceSession');
  } catch (cause) {
    const advice = 'Install it: npm install onnxruntime-node';
    throw new TroupeError(
      'invalid_config',
      `A local embedding model needs the package 'onnxruntime-node'. ${advice}`,
      { cause },
    );
  }
}

function isRuntime(value: Partial<OnnxRuntime>): value is OnnxRuntime {
  return value.InferenceSession !== undefined && value.Tensor !== undefined;
}

/** Runs the model on token ids, padded to one length. Returns the vectors of all tokens. */
async function run(
  { runtime, session }: LoadedModel,
  rows: readonly (readonly number[])[],
  length: number,
): Promise<Float32Array> {
  const tensor = (valueOf: (row: readonly number[], at: number) => number): object => {
    const data = new BigInt64Array(rows.length * length);
    rows.forEach((row, index) => {
      for (let at = 0; at < length; at++) data[index * length + at] = BigInt(valueOf(row, at));
    });
    return new runtime.Tensor('int64', data, [rows.length, length]);
  };
  const feeds: Record<string, object> = {
    input_ids: tensor((row, at) => row[at] ?? 0),
    attention_mask: tensor((row, at) => (at < row.length ? 1 : 0)),
  };
  if (session.inputNames.includes('token_type_ids')) feeds['token_type_ids'] = tensor(() => 0);
  const outputs = await session.run(feeds);
  const output = outputs['last_hidden_state'] ?? Object.values(outputs)[0];
  if (output?.data instanceof Float32Array && output.dims.length === 3) return output.data;
  throw new TroupeError(
    'invalid_config',
    'The ONNX file is no embedding model: it has no vectors of tokens.',
  );
}

/** Mean of the first `count` rows, of length 1. */
function pooled(rows: Float32Array, count: number, width: number): Embedding {
  const mean = new Float32Array(width);
  for (let at = 0; at < count * width; at++) mean[at % width] = (mean[at % width] ?? 0) + (rows[at] ?? 0);
  const norm = Math.hypot(...mean) || 1;
  return mean.map((value) => value / norm);
}
