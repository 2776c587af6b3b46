import { TroupeError } from '../errors.ts';
import { ChatTokenCounter } from './chat-token-counter.ts';
import type { ImageSize } from './image-size.ts';
import { openAIImageTokens, type ImageDetail } from './openai-image-tokens.ts';
import type { CountText } from './tool-tokens.ts';

export interface OpenAITokenCounterOptions {
  /** How closely the model looks at images. @default 'high' */
  readonly imageDetail?: ImageDetail;
}

/** Letters, spaces or marks in a row. A tokenizer takes such a run as a whole, in time that grows with its square. */
const RUN = /[\p{L}\p{M}]+|\s+|[^\s\p{L}\p{M}\p{N}]+/gu;
/** A longer run is cut, which may cost a token per cut. No word is that long. */
const MAX_RUN = 256;

/** What looks like a special token is text, in what users write. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

/**
 * Counts exactly what OpenAI's models see of text, and by OpenAI's rules what frames, tools and images cost.
 * It needs the package `gpt-tokenizer`, which is loaded on the first count.
 */
export class OpenAITokenCounter extends ChatTokenCounter {
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
    // As it is called without a gateway's prefix, or as the base of a fine-tuned model.
    this.#name = modelName.replace(/^.*\//, '').replace(/^ft:/, '');
    this.#isOld = /^gpt-(?:35|3\.5|4(?![o.\d]))/.test(this.#name);
    this.#imageDetail = imageDetail;
    this.perTool = this.#isOld ? 10 : 7;
  }

  protected override async textCounter(): Promise<CountText> {
    return (this.#countText ??= inRuns(await loadEncoding(this.#isOld)));
  }

  protected override imageTokens(size: ImageSize | undefined): number {
    return openAIImageTokens(this.#name, size, this.#imageDetail);
  }
}

async function loadEncoding(isOld: boolean): Promise<CountText> {
  try {
    const { countTokens } = await (isOld
      ? import('gpt-tokenizer/encoding/cl100k_base')
      : import('gpt-tokenizer/encoding/o200k_base'));
    return (text) => countTokens(text, AS_TEXT);
  } catch (cause) {
    throw new TroupeError(
      'invalid_config',
      'OpenAITokenCounter needs the package gpt-tokenizer: npm install gpt-tokenizer. Without it, use EstimateTokenCounter.',
      { cause },
    );
  }
}

function inRuns(ofText: CountText): CountText {
  return (text) => {
    if (text.length <= MAX_RUN) return ofText(text);
    let tokens = 0;
    let start = 0;
    for (const { 0: run, index } of text.matchAll(RUN)) {
      if (run.length <= MAX_RUN) continue;
      tokens += ofText(text.slice(start, index));
      start = index + run.length;
      for (let at = index; at < start; at += MAX_RUN)
        tokens += ofText(text.slice(at, Math.min(start, at + MAX_RUN)));
    }
    return tokens + ofText(text.slice(start));
  };
}
