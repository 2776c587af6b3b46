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

/** One message on its way to all observers. */
export interface Broadcast {
  /** Resolves when all observers have taken in the message, have failed, have left, or took too long. */
  readonly done: Promise<void>;
  /** Observers that are still waited for. */
  readonly waitedFor: ReadonlySet<Observer>;
  /** Removes the time limit, where nobody waits any longer: no timer stays behind. */
  readonly dropLimit: () => void;
}

/**
 * The observers of one agent, grouped by hub. Each gets a message once, even when it shares several hubs with the agent, and none
 * can fail or block the agent. Nobody waits for an observer that has left all hubs.
 */
export class Subscribers {
  readonly #hubs = new Map<string, readonly Observer[]>();
  readonly #names = new Map<string, string>();
  readonly #deliveries = new Set<Delivery>();

  /** Ids of the hubs. */
  get hubs(): readonly string[] {
    return [...this.#hubs.keys()];
  }

  /** Name of a hub, for people. @default its id */
  nameOf(hub: string): string {
    return this.#names.get(hub) ?? hub;
  }

  get isEmpty(): boolean {
    return this.#hubs.size === 0;
  }

  reset(hub: string, observers: readonly Observer[], name = hub): void {
    this.#hubs.set(hub, observers);
    this.#names.set(hub, name);
    this.#stopWaitingForAbsent();
  }

  remove(hub: string): boolean {
    const wasThere = this.#hubs.delete(hub);
    this.#names.delete(hub);
    this.#stopWaitingForAbsent();
    return wasThere;
  }

  /**
   * Passes a message to all observers at the same time, and reports failures and timeouts.
   * @param limitMs maximum time that the broadcast waits for the slowest observer
   */
  broadcast(msg: Msg, report: (observer: Observer, error: unknown) => void, limitMs: number): Broadcast {
    const heard = withoutThinking(msg);
    const waitedFor = new Set(heard === undefined ? [] : this.#observers);
    const limit = new AbortController();
    const tell = async (observer: Observer, heard: Msg): Promise<void> => {
      try {
        await this.#deliver(observer, heard, limitMs, limit.signal);
      } catch (error) {
        report(observer, error);
      } finally {
        waitedFor.delete(observer);
      }
    };
    const told = heard === undefined ? [] : Array.from(waitedFor, (observer) => tell(observer, heard));
    return { done: Promise.all(told).then(() => {}), waitedFor, dropLimit: () => limit.abort() };
  }

  get #observers(): ReadonlySet<Observer> {
    return new Set([...this.#hubs.values()].flat());
  }

  async #deliver(observer: Observer, msg: Msg, limitMs: number, noLimit: AbortSignal): Promise<void> {
    const wait = Promise.withResolvers<void>();
    const delivery = { observer, stopWaiting: wait.resolve };
    const stopTimer = startTimer(limitMs, () => wait.reject(new DeadlineError(limitMs)));
    const unlink = whenAborted(noLimit, stopTimer);
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
