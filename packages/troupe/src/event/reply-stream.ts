import type { Msg } from '../message/msg.ts';
import { BoundedQueue } from '../util/async/bounded-queue.ts';
import { notifyOnReturn } from '../util/async/stoppable.ts';
import { withReadyItems } from '../util/async/ready-items.ts';
import type { AgentEvent, Emit } from './agent-event.ts';

/** Consumer of a run's events, as the run sees the consumer. */
export interface RunListener {
  readonly emit: Emit;
  /** Accepts all further events without waiting, because the run is being stopped. */
  readonly release: () => void;
  /** Aborted when the consumer leaves. */
  readonly left: AbortSignal;
  /** True if the stream includes events of agents called inside this run. */
  readonly nested: boolean;
}

export interface StreamOptions {
  /** Maximum unread events before the agent waits. @default 64 */
  readonly capacity?: number;
  /** Includes events of agents called inside this run. @default false */
  readonly nested?: boolean;
}

/** The events of one run. */
export interface ReplyEvents<Answer> extends AsyncGenerator<AgentEvent, Answer, void> {
  /** The next event, if there is one now. Only while no read waits. */
  readonly takeNow: () => AgentEvent | undefined;
}

/**
 * The events of one run, pulled by one consumer.
 *
 * The run waits while `capacity` events are unread, so a slow consumer slows the
 * agent down instead of filling memory. Leaving the stream interrupts the run and
 * waits until the agent has repaired its memory.
 */
export function replyStream<Answer extends Msg>(
  run: (listener: RunListener) => Promise<Answer>,
  { capacity = 64, nested = false }: StreamOptions = {},
): ReplyEvents<Answer> {
  const unread = new BoundedQueue<AgentEvent>(capacity, Math.floor(capacity / 2));
  const consumer = new AbortController();
  const leave = (): void => {
    consumer.abort();
    unread.close();
  };

  async function* events(): AsyncGenerator<AgentEvent, Answer, void> {
    const reply = run({
      emit: (event) => unread.put(event),
      release: () => unread.liftCapacity(),
      left: consumer.signal,
      nested,
    }).finally(() => unread.close());
    reply.catch(() => {}); // thrown below, after the earlier events are read

    try {
      yield* unread;
      return await reply;
    } finally {
      leave();
      await reply.catch(() => {});
    }
  }

  const takeNow = (): AgentEvent | undefined => (consumer.signal.aborted ? undefined : unread.takeNow());
  return Object.assign(withReadyItems(notifyOnReturn(events(), leave), takeNow), { takeNow });
}
