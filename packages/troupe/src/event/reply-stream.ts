import type { Msg } from '../message/msg.ts';
import { BoundedQueue } from '../util/async/bounded-queue.ts';
import { notifyOnReturn } from '../util/async/notify-on-return.ts';
import type { AgentEvent, Emit } from './agent-event.ts';

/** The consumer of a run's events, as the run sees it. */
export interface RunListener {
  readonly emit: Emit;
  /** Lets the rest of the events through without waiting, because the run is being stopped. */
  readonly release: () => void;
  /** Aborted when the consumer has left. */
  readonly left: AbortSignal;
  /** Whether events of agents called inside this run belong to the stream. */
  readonly nested: boolean;
}

export interface StreamOptions {
  /** How many events may wait to be read before the agent waits. @default 64 */
  readonly capacity?: number;
  /** Whether to show what agents called inside this run do. @default false */
  readonly nested?: boolean;
}

/**
 * The events of one run, pulled by one consumer.
 *
 * The run waits while `capacity` events are unread, so a slow consumer slows the
 * agent down instead of filling memory. A consumer that leaves interrupts the
 * run, and leaves only once the agent has put its memory in order.
 */
export function replyStream<Answer extends Msg>(
  run: (listener: RunListener) => Promise<Answer>,
  { capacity = 64, nested = false }: StreamOptions = {},
): AsyncGenerator<AgentEvent, Answer, void> {
  const unread = new BoundedQueue<AgentEvent>(capacity);
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
    reply.catch(() => {}); // thrown below, once the events before it are read

    try {
      yield* unread;
      return await reply;
    } finally {
      leave();
      await reply.catch(() => {});
    }
  }

  return notifyOnReturn(events(), leave);
}
