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
  readonly #told = new Set<string>();

  constructor(modelName: string, rule: ModelRule) {
    this.#modelName = modelName;
    this.#rule = rule;
  }

  /** @param hasTools whether tools are sent along */
  fit(asked: GenerationOptions, hasTools: boolean): GenerationOptions {
    const reasoningEffort = this.#effort(asked.reasoningEffort, hasTools);
    const { sampling, penalties, stop, parallelCalls, chatTools } = this.#rule;
    const isQuiet = reasoningEffort === 'none' || (hasTools && chatTools !== undefined);
    const isSampled = sampling === 'always' || (sampling === 'without_thinking' && isQuiet);
    const leftOut: OptionName[] = [];
    if (!isSampled) leftOut.push('temperature', 'topP');
    if (!penalties) leftOut.push('presencePenalty', 'frequencyPenalty');
    if (!stop) leftOut.push('stop');
    if (!parallelCalls) leftOut.push('parallelToolCalls');
    for (const name of leftOut)
      if (asked[name] !== undefined) this.#tell(`does not take ${name}: it is left out`);
    return { ...asked, ...Object.fromEntries(leftOut.map((name) => [name, undefined])), reasoningEffort };
  }

  #effort(asked: Effort | undefined, hasTools: boolean): Effort | undefined {
    const { efforts, chatTools } = this.#rule;
    if (hasTools && chatTools !== undefined) {
      const wanted = chatTools === 'effort_none' ? 'none' : undefined;
      if (asked !== 'none' && (asked !== undefined || wanted !== undefined)) {
        this.#tell(
          'takes tools in Chat Completions only while it does not think: OpenAIResponsesModel has both',
        );
      }
      return wanted;
    }
    if (asked === undefined || efforts.includes(asked)) return asked;
    const nearest = nearestEffort(asked, efforts);
    this.#tell(
      nearest === undefined
        ? 'does not take reasoningEffort: it is left out'
        : `does not know the effort '${asked}': '${nearest}' is sent`,
    );
    return nearest;
  }

  #tell(change: string): void {
    if (this.#told.has(change)) return;
    this.#told.add(change);
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
