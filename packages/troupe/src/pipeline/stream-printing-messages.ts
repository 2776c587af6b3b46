import type { AgentBase } from '../agent/agent-base.ts';
import type { PrintedMsg } from '../agent/printer.ts';
import { InterruptedError } from '../errors.ts';
import { abortable } from '../util/abort.ts';
import { BoundedQueue } from '../util/async/bounded-queue.ts';
import { notifyOnReturn } from '../util/async/notify-on-return.ts';
import { stopAgents } from './stop-agents.ts';

export interface StreamPrintingOptions {
  /** How many printed messages may wait to be read before the agents wait. @default 100 */
  readonly capacity?: number;
}

type Task<T> = (signal: AbortSignal) => Promise<T>;

/**
 * What agents print while a task runs, in order; returns the task's result. If the task fails, its error is
 * thrown after what was printed before. Nothing happens before the first message is asked for.
 *
 * A consumer that leaves interrupts the agents and aborts the task's signal. Whatever happens, each
 * agent gets the message queue back that it had before.
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
  result.catch(() => {}); // thrown below, once the messages before it are read
  try {
    yield* printed;
    return await abortable(result, left);
  } finally {
    if (isRunning) await stopAgents({ done: result, agents, controller }, left.reason as InterruptedError);
    restoreQueues();
  }
}

async function run<T>(task: Task<T>, signal: AbortSignal): Promise<T> {
  return task(signal);
}

/** Lets agents print to a queue; the returned function gives them back the queues that they had. */
function redirectPrinting(agents: readonly AgentBase[], queue: BoundedQueue<PrintedMsg>): () => void {
  const earlier = new Map(agents.map((agent) => [agent, agent.msgQueue]));
  for (const agent of earlier.keys()) agent.setMsgQueueEnabled(true, queue);
  return () => {
    for (const [agent, before] of earlier) {
      if (agent.msgQueue !== queue) continue; // somebody has set another one meanwhile
      const isInUse = before !== undefined && !before.isClosed;
      agent.setMsgQueueEnabled(isInUse, before);
    }
  };
}
