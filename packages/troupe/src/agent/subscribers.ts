import type { Msg } from '../message/msg.ts';
import { whenAborted } from '../util/abort.ts';
import { DeadlineError } from '../util/async/deadline.ts';
import { startTimer } from '../util/clock.ts';

/** Delivery of a message to one observer. */
interface Delivery {
  readonly observer: Observer;
  /** Ends the wait for the observer. */
  readonly stopWaiting: () => void;
}

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
 * can fail or block the agent. Nobody waits for an observer that has left all hubs.
 */
export class Subscribers {
  readonly #hubs = new Map<string, readonly Observer[]>();
  readonly #deliveries = new Set<Delivery>();

  /** Ids of the hubs. */
  get hubs(): readonly string[] {
    return [...this.#hubs.keys()];
  }

  get isEmpty(): boolean {
    return this.#hubs.size === 0;
  }

  reset(hub: string, observers: readonly Observer[]): void {
    this.#hubs.set(hub, observers);
    this.#stopWaitingForAbsent();
  }

  remove(hub: string): boolean {
    const wasThere = this.#hubs.delete(hub);
    this.#stopWaitingForAbsent();
    return wasThere;
  }

  /**
   * Passes a message to all observers at the same time, waits until they have taken it in, and reports failures and timeouts.
   */
  async broadcast(
    msg: Msg,
    report: (observer: Observer, error: unknown) => void,
    options: BroadcastOptions,
  ): Promise<void> {
    const observers = this.#observers;
    const heard = withoutThinking(msg);
    if (observers.size === 0 || heard === undefined) return;
    const told = [...observers].map((observer) =>
      this.#deliver(observer, heard, options).catch((error: unknown) => report(observer, error)),
    );
    await Promise.all(told);
  }

  get #observers(): ReadonlySet<Observer> {
    return new Set([...this.#hubs.values()].flat());
  }

  async #deliver(observer: Observer, msg: Msg, { signal, limitMs }: BroadcastOptions): Promise<void> {
    const wait = Promise.withResolvers<void>();
    const delivery = { observer, stopWaiting: wait.resolve };
    const stopTimer = startTimer(limitMs, () => wait.reject(new DeadlineError(limitMs)));
    const unlink = whenAborted(signal, () => wait.resolve());
    this.#deliveries.add(delivery);
    try {
      await Promise.race([observer.observe([msg]), wait.promise]);
    } finally {
      stopTimer();
      unlink();
      this.#deliveries.delete(delivery);
    }
  }

  #stopWaitingForAbsent(): void {
    if (this.#deliveries.size === 0) return;
    const present = this.#observers;
    for (const { observer, stopWaiting } of this.#deliveries) if (!present.has(observer)) stopWaiting();
  }
}

/** The message without its thinking; undefined if nothing else is in it. */
function withoutThinking(msg: Msg): Msg | undefined {
  if (typeof msg.content === 'string' || !msg.hasContentBlocks('thinking')) return msg;
  const content = msg.content.filter((block) => block.type !== 'thinking');
  return content.length === 0 ? undefined : msg.with({ content });
}
