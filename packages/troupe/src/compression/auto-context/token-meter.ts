import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { Msg } from '../../message/msg.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import type { TokenCounterBase } from '../../token/token-counter-base.ts';
import { withDeadline } from '../../toolkit/deadline.ts';
import { AutoContextTokenCounter } from './auto-context-token-counter.ts';

const ESTIMATE = new AutoContextTokenCounter();

/** Counts tokens, come what may: a counter that fails or hangs, perhaps since it asks a server, is done without. */
export class TokenMeter {
  readonly #counter: TokenCounterBase;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;

  constructor(counter: TokenCounterBase = ESTIMATE, timeoutMs: number, signal: AbortSignal) {
    this.#counter = counter;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
  }

  countEach(msgs: readonly Msg[]): Promise<readonly number[]> {
    return this.#counted((counter, signal) => counter.countEach(msgs, { signal }));
  }

  count(msgs: readonly Msg[], tools: readonly ToolSchema[]): Promise<number> {
    return this.#counted((counter, signal) => counter.count(msgs, tools, { signal }));
  }

  async #counted<T>(count: (counter: TokenCounterBase, signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#counter === ESTIMATE) return count(ESTIMATE, this.#signal);
    try {
      return await withDeadline({ timeoutMs: this.#timeoutMs, signal: this.#signal }, (signal) =>
        count(this.#counter, signal),
      );
    } catch (error) {
      this.#signal.throwIfAborted();
      getLogger().log('warn', `Tokens are estimated, since the counter failed: ${messageOf(error)}`);
      return count(ESTIMATE, this.#signal);
    }
  }
}
