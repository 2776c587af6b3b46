import { ChatTokenCounter } from './chat-token-counter.ts';
import { estimateText } from './estimate-text.ts';
import type { ImageSize } from './image-size.ts';
import { weightsFor, type TokenWeights } from './token-weights.ts';
import type { CountText } from './tool-tokens.ts';

export interface EstimateOptions {
  /** Whether thinking in the history counts: not if the model gets none of it back. @default true */
  readonly thinking?: boolean;
}

/** An image is cut or scaled so that it costs no less and no more. */
const IMAGE = { least: 85, most: 1600, unknown: 1000 };
const PIXELS_PER_TOKEN = 750;

/**
 * Estimates the tokens, for any model, with no vocabulary to load: for most texts within
 * 10 %. The model's name tells which family's tokenizer is estimated.
 */
export class EstimateTokenCounter extends ChatTokenCounter {
  protected override readonly perTool = 7;
  protected override readonly countsThinking: boolean;
  readonly #weights: TokenWeights;

  constructor(
    readonly modelName = '',
    { thinking = true }: EstimateOptions = {},
  ) {
    super();
    this.#weights = weightsFor(modelName);
    this.countsThinking = thinking;
  }

  /** About how many tokens a text has. */
  countText(text: string): number {
    return estimateText(text, this.#weights);
  }

  protected override textCounter(): CountText {
    return (text) => this.countText(text);
  }

  protected override imageTokens(size: ImageSize | undefined): number {
    if (size === undefined) return IMAGE.unknown;
    const tokens = Math.ceil((size.width * size.height) / PIXELS_PER_TOKEN);
    return Math.min(IMAGE.most, Math.max(IMAGE.least, tokens));
  }
}
