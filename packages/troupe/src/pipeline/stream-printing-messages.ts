import type { AgentBase } from '../agent/agent-base.ts';
import type { PrintedMsg } from '../agent/printing/printer.ts';
import { InterruptedError } from '../errors.ts';
import { abortable } from '../util/abort.ts';
import { BoundedQueue } from '../util/async/bounded-queue.ts';
import { notifyOnReturn } from '../util/async/stoppable.ts';
import { stopAllAgents } from './stop-all-agents.ts';

export interface StreamPrintingOptions {
  /** Maximum unread messages before the agents wait. @default 100 */
  readonly capacity?: number;
}

type Task<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Streams the printed messages of agents while a task runs, in order, and returns the task's result. If the
 * task fails, its error is thrown after the messages printed before. The task starts with the first read.
 *
 * Leaving the stream interrupts the agents and aborts the task's signal. In every case each agent gets its
 * previous message queue back.
 */
export function streamPrintingMessages<T>(
  agents: readonly AgentBase[],
  task: Task<T>,
  { capacity = 100 }: StreamPrintingOptions = {},
): AsyncGenerator<PrintedMsg, T, void> {
  const printed = new BoundedQueue<PrintedMsg>(capacity);
  const consumer = new AbortController();
  return notifyOnReturn(readWhile(task, agents, printed, consumer.signal), () => {
    consumer.abort(new InterruptedError('The task', 'consumer'));
    printed.close();
  });
}

async function* readWhile<T>(
  task: Task<T>,
  agents: readonly AgentBase[],
  printed: BoundedQueue<PrintedMsg>,
  left: AbortSignal,
): AsyncGenerator<PrintedMsg, T, void> {
  const controller = new AbortController();
  const restoreQueues = redirectPrinting(agents, printed);
  let isRunning = true;
  const result = run(task, controller.signal).finally(() => {
    isRunning = false;
    printed.close();
  });
  result.catch(() => {}); // thrown below, after the earlier messages are read
  try {
    yield* printed;
    return await abortable(result, left);
  } finally {
    if (isRunning) await stopAllAgents({ done: result, agents, controller }, left.reason as InterruptedError);
    restoreQueues();
  }
}

async function run<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
  return task(signal);
}

/** Redirects printing of agents to a queue. The returned function restores the previous queues. */
function redirectPrinting(agents: readonly AgentBase[], queue: BoundedQueue<PrintedMsg>): () => void {
  const earlier = new Map(agents.map((agent) => [agent, agent.msgQueue]));
  for (const agent of earlier.keys()) agent.setMsgQueueEnabled(true, queue);
  return () => {
    for (const [agent, before] of earlier) {
      if (agent.msgQueue !== queue) continue; // replaced by another queue meanwhile
      const isInUse = before !== undefined && !before.isClosed;
      agent.setMsgQueueEnabled(isInUse, before);
    }
  };
}
