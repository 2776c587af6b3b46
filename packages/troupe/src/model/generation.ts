import type { GenerationOptions, ModelCapabilities } from './chat-model-base.ts';

/** The options of a call over those of the model. What the call leaves undefined is as the model was set up. */
export function mergeGeneration(
  own: GenerationOptions | undefined,
  ofCall: GenerationOptions | undefined,
): GenerationOptions {
  const said = Object.fromEntries(Object.entries(ofCall ?? {}).filter(([, value]) => value !== undefined));
  return { ...own, ...said, extra: { ...own?.extra, ...ofCall?.extra } };
}

export function isThinking({ reasoningEffort = 'none', thinkingTokens = 0 }: GenerationOptions): boolean {
  return reasoningEffort !== 'none' || thinkingTokens !== 0;
}

/** Whether a model can be made to call a tool, with these options. */
export function canForceTools({ forcedTools }: ModelCapabilities, generation: GenerationOptions): boolean {
  return forcedTools === 'always' || (forcedTools === 'without_thinking' && !isThinking(generation));
}
