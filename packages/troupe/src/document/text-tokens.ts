const CJK = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]/g;

/** Estimate of the tokens of a text, in time proportional to its length: 4 characters each, 1 for a Chinese one. */
export function estimateTextTokens(text: string): number {
  const wide = text.match(CJK)?.length ?? 0;
  return Math.ceil((text.length - wide) / 4) + wide;
}
