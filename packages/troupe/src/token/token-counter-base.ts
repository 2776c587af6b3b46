import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { StateModule } from '../state/state-module.ts';

export interface CountOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Tells how many tokens a prompt has. Counting changes nothing that it is given, and
 * never fetches what a message refers to: an image that is only an address has a
 * price by rule. A counter that learns keeps what it learned in its state.
 */
export abstract class TokenCounterBase extends StateModule {
  readonly #counts = new WeakMap<Msg, number>();

  /** The tokens of a whole prompt. Without messages: what there is besides them, such as the tools. */
  abstract count(
    messages: readonly Msg[],
    tools?: readonly ToolSchema[],
    options?: CountOptions,
  ): Promise<number>;

  /** What each message adds to a prompt. A message never changes, so it is counted only once. */
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

  /** A formatter tells here that it sends only some of the messages. Of interest to a counter that learns. */
  noteSent(_messages: readonly Msg[], _sent: readonly Msg[]): void {}

  /** What one message adds to a prompt. */
  protected countOne(msg: Msg, options: CountOptions): Promise<number> {
    return this.count([msg], undefined, options);
  }
}
