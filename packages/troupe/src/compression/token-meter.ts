import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import type { TokenCounterBase } from '../token/token-counter-base.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { now } from '../util/clock.ts';

/** For how long a counter is done without after it has failed. */
const REST_MS = 5 * 60_000;

/**
 * Counts tokens, come what may. A counter that fails, hangs or gives nonsense, perhaps since it asks a server, is done
 * without for some minutes: the estimate takes its place.
 */
export class TokenMeter {
  readonly #counter: TokenCounterBase | undefined;
  readonly #timeoutMs: number;
  #restsUntil = 0;

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

  /** What a prompt has besides messages that are counted one by one. */
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
    if (counter === undefined || now() < this.#restsUntil) return count(estimate, { signal });
    try {
      const options = { timeoutMs: this.#timeoutMs, signal };
      const counts = await withDeadline(options, (stopped) => count(counter, { signal: stopped }));
      if (counts.every((tokens) => Number.isFinite(tokens) && tokens >= 0)) return counts;
      throw new TypeError('it gave something that is no number');
    } catch (error) {
      signal.throwIfAborted();
      getLogger().log(
        'warn',
        `Tokens are estimated for a while, since the counter failed: ${messageOf(error)}`,
      );
      this.#restsUntil = now() + REST_MS;
      return count(estimate, { signal });
    }
  }
}
