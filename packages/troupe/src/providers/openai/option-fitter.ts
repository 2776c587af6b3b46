import { getLogger } from '../../config/run-config.ts';
import type { GenerationOptions } from '../../model/chat-model-base.ts';
import { EFFORTS, type Effort, type ModelRule } from './model-rules.ts';

type OptionName = keyof GenerationOptions;

/**
 * Adapts generation options to a model: leaves out options that the model would reject, and replaces an
 * unknown effort by the nearest known effort. Each change is logged once.
 */
export class OptionFitter {
  readonly #modelName: string;
  readonly #rule: ModelRule;
  readonly #logged = new Set<string>();

  constructor(modelName: string, rule: ModelRule) {
    this.#modelName = modelName;
    this.#rule = rule;
  }

  /** @param hasTools whether tools are sent along */
  fit(asked: GenerationOptions, hasTools: boolean): GenerationOptions {
    const reasoningEffort = this.#effort(asked.reasoningEffort, hasTools);
    const { sampling, penalties, stop, parallelCalls, chatTools, seed = true } = this.#rule;
    const isThinkingOff = reasoningEffort === 'none' || (hasTools && chatTools !== undefined);
    const isSampled = sampling === 'always' || (sampling === 'without_thinking' && isThinkingOff);
    const leftOut: OptionName[] = [];
    if (!isSampled) leftOut.push('temperature', 'topP');
    if (!penalties) leftOut.push('presencePenalty', 'frequencyPenalty');
    if (!stop) leftOut.push('stop');
    if (!parallelCalls) leftOut.push('parallelToolCalls');
    if (!seed) leftOut.push('seed');
    for (const name of leftOut)
      if (asked[name] !== undefined) this.#logOnce(`does not accept ${name}, so it is omitted`);
    return { ...asked, ...Object.fromEntries(leftOut.map((name) => [name, undefined])), reasoningEffort };
  }

  #effort(asked: Effort | undefined, hasTools: boolean): Effort | undefined {
    const { efforts, chatTools } = this.#rule;
    if (hasTools && chatTools !== undefined) {
      const wanted = chatTools === 'effort_none' ? 'none' : undefined;
      if (asked !== 'none' && (asked !== undefined || wanted !== undefined)) {
        this.#logOnce(
          'accepts tools in Chat Completions only without thinking. Use OpenAIResponsesModel for both',
        );
      }
      return wanted;
    }
    if (asked === undefined || efforts.includes(asked)) return asked;
    const nearest = nearestEffort(asked, efforts);
    this.#logOnce(
      nearest === undefined
        ? 'does not accept reasoningEffort, so it is omitted'
        : `does not accept the effort '${asked}', so '${nearest}' is sent`,
    );
    return nearest;
  }

  #logOnce(change: string): void {
    if (this.#logged.has(change)) return;
    this.#logged.add(change);
    getLogger().log('warn', `${this.#modelName} ${change}.`);
  }
}

/** Picks the nearest effort; of two equally near, the higher. */
function nearestEffort(asked: Effort, efforts: readonly Effort[]): Effort | undefined {
  const distance = (effort: Effort): number => Math.abs(EFFORTS.indexOf(effort) - EFFORTS.indexOf(asked));
  let nearest = efforts[0];
  for (const effort of efforts) {
    if (nearest === undefined || distance(effort) <= distance(nearest)) nearest = effort;
  }
  return nearest;
}
