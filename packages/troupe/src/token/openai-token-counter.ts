import { TroupeError } from '../errors.ts';
import { ChatTokenCounter } from './chat-token-counter.ts';
import type { ImageSize } from './image-size.ts';
import { openAIImageTokens, type ImageDetail } from './openai-image-tokens.ts';
import type { CountText } from './tool-tokens.ts';

export interface OpenAITokenCounterOptions {
  /** Detail level of images. @default 'high' */
  readonly imageDetail?: ImageDetail;
}

/** Unbroken sequence of letters, spaces or marks. Tokenizers need quadratic time for it. */
const SEQUENCE = /[\p{L}\p{M}]+|\s+|[^\s\p{L}\p{M}\p{N}]+/gu;
/**
 * Maximum length of a sequence before it is split, which may add a token per split. No real word is longer.
 */
const MAX_SEQUENCE = 256;

/** Text of users that looks like a special token counts as plain text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

/**
 * Counts text exactly like OpenAI's models, and message overhead, tools and images by OpenAI's rules. Needs
 * the package `gpt-tokenizer`, loaded on first use.
 */
export class OpenAITokenCounter extends ChatTokenCounter {
  static override readonly componentName: string = 'openAITokenCounter';

  protected override readonly perTool: number;
  protected override readonly countsThinking = false;
  readonly #imageDetail: ImageDetail;
  readonly #name: string;
  readonly #isOld: boolean;
  #countText: CountText | undefined;

  constructor(
    readonly modelName: string,
    { imageDetail = 'high' }: OpenAITokenCounterOptions = {},
  ) {
    super();
    // Without a gateway's prefix; the base model of a fine-tuned one.
    this.#name = modelName.replace(/^.*\//, '').replace(/^ft:/, '');
    this.#isOld = /^gpt-(?:35|3\.5|4(?![o.\d]))/.test(this.#name);
    this.#imageDetail = imageDetail;
    this.perTool = this.#isOld ? 10 : 7;
  }

  protected override async textCounter(): Promise<CountText> {
    return (this.#countText ??= countInPieces(await loadEncoding(this.#isOld)));
  }

  protected override imageTokens(size: ImageSize | undefined): number {
    return openAIImageTokens(this.#name, size, this.#imageDetail);
  }
}

async function loadEncoding(isOld: boolean): Promise<CountText> {
  try {
    // esbuild accepts a package that is not installed only if the import itself is awaited in `try`.
    const { countTokens } = isOld
      ? await import('gpt-tokenizer/encoding/cl100k_base')
      : await import('gpt-tokenizer/encoding/o200k_base');
    return (text) => countTokens(text, AS_TEXT);
  } catch (cause) {
    throw new TroupeError(
      'invalid_config',
      'OpenAITokenCounter needs the package gpt-tokenizer: npm install gpt-tokenizer. Without it, use EstimateTokenCounter.',
      { cause },
    );
  }
}

function countInPieces(ofText: CountText): CountText {
  return (text) => {
    if (text.length <= MAX_SEQUENCE) return ofText(text);
    let tokens = 0;
    let start = 0;
    for (const { 0: sequence, index } of text.matchAll(SEQUENCE)) {
      if (sequence.length <= MAX_SEQUENCE) continue;
      tokens += ofText(text.slice(start, index));
      start = index + sequence.length;
      for (let at = index; at < start; at += MAX_SEQUENCE)
        tokens += ofText(text.slice(at, Math.min(start, at + MAX_SEQUENCE)));
    }
    return tokens + ofText(text.slice(start));
  };
}
