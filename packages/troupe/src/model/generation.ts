import type { GenerationOptions } from './chat-model-base.ts';

/** The options of a call over those of the model. What the call leaves undefined is as the model was set up. */
export function mergeGeneration(
  own: GenerationOptions | undefined,
  ofCall: GenerationOptions | undefined,
): GenerationOptions {
  const said = Object.fromEntries(Object.entries(ofCall ?? {}).filter(([, value]) => value !== undefined));
  return { ...own, ...said, extra: { ...own?.extra, ...ofCall?.extra } };
}
