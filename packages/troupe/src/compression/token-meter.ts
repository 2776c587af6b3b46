import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import type { TokenCounterBase } from '../token/token-counter-base.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { monotonic } from '../util/clock.ts';

/** Time in milliseconds during which a failed counter is not used. */
const FALLBACK_MS = 5 * 60_000;

/**
 * Counts tokens without failing: if the counter throws, exceeds the time limit or returns an invalid number,
 * an estimate is used for the next five minutes. Rejects only when the signal is aborted.
 */
export class TokenMeter {
  readonly #counter: TokenCounterBase | undefined;
  readonly #timeoutMs: number;
  #fallbackUntil = 0;

  constructor(counter: TokenCounterBase | undefined, timeoutMs: number) {
    this.#counter = counter;
    this.#timeoutMs = timeoutMs;
  }

  countEach(
    msgs: readonly Msg[],
    estimate: TokenCounterBase,
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    return this.#counted(estimate, signal, (counter, options) => counter.countEach(msgs, options));
  }

  /** Tokens of messages and tools as one prompt. */
  async count(
    msgs: readonly Msg[],
    tools: readonly ToolSchema[],
    estimate: TokenCounterBase,
    signal: AbortSignal,
  ): Promise<number> {
    const [tokens = 0] = await this.#counted(estimate, signal, async (counter, options) => [
      await counter.count(msgs, tools, options),
    ]);
    return tokens;
  }

  async #counted(
    estimate: TokenCounterBase,
    signal: AbortSignal,
    count: (counter: TokenCounterBase, options: { signal: AbortSignal }) => Promise<readonly number[]>,
  ): Promise<readonly number[]> {
    const counter = this.#counter;
    if (counter === undefined || monotonic() < this.#fallbackUntil) return count(estimate, { signal });
    try {
      const options = { timeoutMs: this.#timeoutMs, signal };
      const counts = await withDeadline(options, (stopped) => count(counter, { signal: stopped }));
      if (counts.every((tokens) => Number.isFinite(tokens) && tokens >= 0)) return counts;
      throw new TypeError('the counter returned an invalid number');
    } catch (error) {
      signal.throwIfAborted();
      getLogger().log(
        'warn',
        `The token counter failed. Tokens are estimated for the next 5 minutes: ${messageOf(error)}`,
      );
      this.#fallbackUntil = monotonic() + FALLBACK_MS;
      return count(estimate, { signal });
    }
  }
}
