import type { Usage } from '../message/usage.ts';

/** Tokens of a response, with those of sound and of text apart, because their prices differ. */
export interface RealtimeUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens?: number | undefined;
  readonly inputAudioTokens?: number | undefined;
  readonly inputTextTokens?: number | undefined;
  readonly inputImageTokens?: number | undefined;
  readonly outputAudioTokens?: number | undefined;
  readonly outputTextTokens?: number | undefined;
}

/** Prices per million tokens. */
export interface RealtimePricing {
  readonly textInput: number;
  readonly textOutput: number;
  readonly audioInput: number;
  readonly audioOutput: number;
  /** @default as `textInput` */
  readonly imageInput?: number | undefined;
  /** @default as `textInput` */
  readonly cachedInput?: number | undefined;
}

/** The usage of a message, with its cost if there are prices. Tokens of no known kind count as text. */
export function toMsgUsage(usage: RealtimeUsage, pricing?: RealtimePricing): Usage {
  const { inputTokens, outputTokens, cachedTokens } = usage;
  const cached = cachedTokens === undefined ? {} : { cachedTokens };
  const plain = { inputTokens, outputTokens, ...cached };
  return pricing === undefined ? plain : { ...plain, cost: costOf(usage, pricing) };
}

function costOf(usage: RealtimeUsage, pricing: RealtimePricing): number {
  const { inputTokens, outputTokens, cachedTokens = 0 } = usage;
  const { inputAudioTokens = 0, inputImageTokens = 0, outputAudioTokens = 0 } = usage;
  const { textInput, textOutput, audioInput, audioOutput } = pricing;
  const { imageInput = textInput, cachedInput = textInput } = pricing;
  // Vendors do not always say of which kind the cached tokens are: text first, then sound, then images.
  const text = Math.max(0, inputTokens - inputAudioTokens - inputImageTokens);
  const cachedText = Math.min(cachedTokens, text);
  const cachedAudio = Math.min(cachedTokens - cachedText, inputAudioTokens);
  const cachedImage = Math.min(cachedTokens - cachedText - cachedAudio, inputImageTokens);
  const sum =
    (text - cachedText) * textInput +
    (inputAudioTokens - cachedAudio) * audioInput +
    (inputImageTokens - cachedImage) * imageInput +
    cachedTokens * cachedInput +
    Math.max(0, outputTokens - outputAudioTokens) * textOutput +
    outputAudioTokens * audioOutput;
  return sum / 1_000_000;
}
