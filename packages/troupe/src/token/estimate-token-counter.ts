import { ChatTokenCounter } from './chat-token-counter.ts';
import { estimateText } from './estimate-text.ts';
import type { ImageSize } from './image-size.ts';
import { weightsFor, type TokenWeights } from './token-weights.ts';
import type { CountText } from './tool-tokens.ts';

export interface EstimateOptions {
  /** Counts thinking in the history; set false for models that get none back. @default true */
  readonly thinking?: boolean;
}

/** Limits of the tokens of an image, which providers scale. */
const IMAGE = { least: 85, most: 1600, unknown: 1000 };
const PIXELS_PER_TOKEN = 750;

/**
 * Estimates tokens for any model without a vocabulary, within 10 % for most texts. The model name selects the
 * tokenizer family.
 */
export class EstimateTokenCounter extends ChatTokenCounter {
  static override readonly componentName: string = 'estimateTokenCounter';

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

  /** Estimated tokens of a text. */
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
