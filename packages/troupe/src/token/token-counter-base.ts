import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { StateModule } from '../state/state-module.ts';

export interface CountOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Base class of token counters. Counting has no side effects and never downloads: an image URL has a fixed
 * price. Counters that learn keep their data in the state. Folder `token`: start here.
 */
export abstract class TokenCounterBase extends StateModule {
  readonly #counts = new WeakMap<Msg, number>();

  /** Tokens of a whole prompt. Without messages: the rest, such as the tools. */
  abstract count(
    messages: readonly Msg[],
    tools?: readonly ToolSchema[],
    options?: CountOptions,
  ): Promise<number>;

  /** Tokens added by each message, cached because messages never change. */
  async countEach(messages: readonly Msg[], options: CountOptions = {}): Promise<readonly number[]> {
    const counts: number[] = [];
    for (const msg of messages) {
      let count = this.#counts.get(msg);
      if (count === undefined) {
        options.signal?.throwIfAborted();
        count = await this.countOne(msg, options);
        this.#counts.set(msg, count);
      }
      counts.push(count);
    }
    return counts;
  }

  /** Called by a formatter that sends only some of the messages; used by counters that learn. */
  noteSent(_messages: readonly Msg[], _sent: readonly Msg[]): void {}

  /** Tokens added by one message. */
  protected countOne(msg: Msg, options: CountOptions): Promise<number> {
    return this.count([msg], undefined, options);
  }
}
