import type { GenerationOptions, ModelCapabilities } from './chat-model-base.ts';

/**
 * Merges the options of a model call over the options of the model. Undefined options keep the model's value.
 */
export function mergeGeneration(
  own: GenerationOptions | undefined,
  ofCall: GenerationOptions | undefined,
): GenerationOptions {
  const defined = Object.fromEntries(Object.entries(ofCall ?? {}).filter(([, value]) => value !== undefined));
  return { ...own, ...defined, extra: { ...own?.extra, ...ofCall?.extra } };
}

export function isThinking({ reasoningEffort = 'none', thinkingTokens = 0 }: GenerationOptions): boolean {
  return reasoningEffort !== 'none' || thinkingTokens !== 0;
}

/** Tells whether a model supports forced tool calls with these options. */
export function canForceTools({ forcedTools }: ModelCapabilities, generation: GenerationOptions): boolean {
  return forcedTools === 'always' || (forcedTools === 'without_thinking' && !isThinking(generation));
}
