import type { Msg } from '../message/msg.ts';
import { whenAborted } from '../util/abort.ts';
import { DeadlineError } from '../util/async/deadline.ts';
import { startTimer } from '../util/clock.ts';

/** Receives the answers of an agent. */
export interface Observer {
  readonly name: string;
  observe(msgs: readonly Msg[]): Promise<void>;
}

interface BroadcastOptions {
  /** Ends the wait for slow observers. */
  readonly signal?: AbortSignal;
  /** Maximum time that the broadcast waits for the slowest observer. */
  readonly limitMs: number;
}

/**
 * The observers of one agent, grouped by hub. Each gets a message once, even when it shares several hubs with the agent, and none
 * can fail or block the agent.
 */
export class Subscribers {
  readonly #hubs = new Map<string, readonly Observer[]>();

  get isEmpty(): boolean {
    return this.#hubs.size === 0;
  }

  reset(hub: string, observers: readonly Observer[]): void {
    this.#hubs.set(hub, observers);
  }

  remove(hub: string): boolean {
    return this.#hubs.delete(hub);
  }

  /**
   * Passes a message to all observers at the same time, waits until they have taken it in, and reports failures and timeouts.
   */
  async broadcast(
    msg: Msg,
    report: (observer: Observer, error: unknown) => void,
    options: BroadcastOptions,
  ): Promise<void> {
    const observers = new Set([...this.#hubs.values()].flat());
    const heard = withoutThinking(msg);
    if (observers.size === 0 || heard === undefined) return;
    const told = [...observers].map((observer) =>
      deliver(observer, heard, options).catch((error: unknown) => report(observer, error)),
    );
    await Promise.all(told);
  }
}

async function deliver(observer: Observer, msg: Msg, { signal, limitMs }: BroadcastOptions): Promise<void> {
  let finish: (() => void)[] = [];
  const waitIsOver = new Promise<void>((resolve, reject) => {
    const tooLong = (): void => reject(new DeadlineError(limitMs));
    finish = [startTimer(limitMs, tooLong), whenAborted(signal, () => resolve())];
  });
  try {
    await Promise.race([observer.observe([msg]), waitIsOver]);
  } finally {
    for (const end of finish) end();
  }
}

/** The message without its thinking; undefined if nothing else is in it. */
function withoutThinking(msg: Msg): Msg | undefined {
  if (typeof msg.content === 'string' || !msg.hasContentBlocks('thinking')) return msg;
  const content = msg.content.filter((block) => block.type !== 'thinking');
  return content.length === 0 ? undefined : msg.with({ content });
}
