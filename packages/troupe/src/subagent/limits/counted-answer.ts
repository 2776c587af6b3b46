import type { ModelDelta } from '../../message/model-delta.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import type { ModelRequest } from '../../model/chat-model-base.ts';
import { BYTES_PER_TOKEN, estimateTokens, utf8Length } from '../../model/wrappers/estimate-tokens.ts';
import type { LimitReached } from './limit-reached.ts';
import type { RunningTokens } from './running-tokens.ts';

/**
 * Estimates are taken as too high by a third, and inputs by some tokens more: a model call within the limit must
 * not be stopped because of a wrong estimate.
 */
const LEAST_SHARE = 0.75;
const INPUT_TOLERANCE = 256;

/**
 * Counts one answer of a model while it streams: the usage that the model reports, and estimates until then.
 */
export class CountedAnswer {
  readonly #running: RunningTokens;
  readonly #request: ModelRequest;
  #leastInput = 0;
  /** Bytes of text, thinking and tool input. */
  #bytes = 0;
  /** Usage so far, as reported. A new report replaces the one before. */
  #reported: Usage | undefined;
  /** Usage and tokens of attempts that were void. */
  #earlierUsage: Usage | undefined;
  #earlierTokens = 0;
  #isCut = false;
  #isStopped = false;

  constructor(running: RunningTokens, request: ModelRequest) {
    this.#running = running;
    this.#request = request;
  }

  /** Counts the input. Returns the tokens left for the answer. @throws LimitReached if nothing is left */
  begin(): number {
    if (!this.#running.isLimited) return Infinity;
    const estimate = Math.floor(LEAST_SHARE * estimateTokens(this.#request));
    this.#leastInput = Math.max(0, estimate - INPUT_TOLERANCE);
    return this.#running.begin(this.#leastInput);
  }

  /** Counts a delta. @throws LimitReached if the answer passes a limit and is not complete */
  count(delta: ModelDelta): void {
    if (delta.type === 'usage') this.#reported = delta.usage;
    else if (delta.type === 'finish') this.#isCut = delta.reason === 'length';
    else if (delta.type === 'reset') this.#reset();
    else if (this.#running.isLimited) {
      this.#bytes += utf8Length(contentOf(delta));
      if (this.#running.count(this.#tokens) < 0) throw this.stop();
    }
  }

  /** Whether the model cut the answer at its maximum length, and the limit is used up by it, as far as is known. */
  get isCutAtLimit(): boolean {
    return this.#isCut && (this.#reported === undefined || this.#running.count(this.#tokens) <= 0);
  }

  /** Whether a limit stopped the answer. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Marks the answer as stopped. Returns the error to throw. */
  stop(): LimitReached {
    this.#isStopped = true;
    return this.#running.limitReached();
  }

  /** Reported usage. Estimated if the answer was stopped before the model reported anything. */
  get usage(): Usage | undefined {
    const estimated = { inputTokens: this.#input, outputTokens: this.#output };
    return addUsage(
      this.#earlierUsage,
      this.#isStopped ? { ...this.#reported, ...estimated } : this.#reported,
    );
  }

  /** Stops counting. */
  end(): void {
    this.#running.end();
  }

  get #input(): number {
    return Math.max(this.#leastInput, this.#reported?.inputTokens ?? 0);
  }

  get #output(): number {
    const estimate = Math.floor((LEAST_SHARE * this.#bytes) / BYTES_PER_TOKEN);
    return Math.max(estimate, this.#reported?.outputTokens ?? 0);
  }

  get #tokens(): number {
    return this.#earlierTokens + this.#input + this.#output;
  }

  #reset(): void {
    this.#earlierTokens = this.#tokens;
    this.#earlierUsage = addUsage(this.#earlierUsage, this.#reported);
    this.#reported = undefined;
    this.#bytes = 0;
    this.#isCut = false;
  }
}

/** Text of a delta that a model generated. */
function contentOf(delta: ModelDelta): string {
  switch (delta.type) {
    case 'text':
      return delta.text;
    case 'thinking':
      return delta.thinking;
    case 'tool_use_start':
      return delta.name;
    case 'tool_input':
      return delta.json;
    default:
      return '';
  }
}
