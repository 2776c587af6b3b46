import { DeadlineError, withDeadline } from '../../util/async/deadline.ts';
import type { SubAgent } from '../sub-agent.ts';
import type { Budget } from './budget.ts';
import { LimitReached } from './limit-reached.ts';

/**
 * Runs work with the time limit of the task and the remaining time of its budget.
 * @throws DeadlineError, LimitReached
 */
export async function withTimeLimits<T>(
  budget: Budget,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { remainingMs } = budget;
  try {
    return await withDeadline({ timeoutMs: Math.min(timeoutMs, remainingMs), signal }, work);
  } catch (error) {
    if (error instanceof DeadlineError && remainingMs < timeoutMs) throw new LimitReached('time');
    throw error;
  }
}

/** Time limits of tasks that a program gives to a sub-agent without a tool. */
const taskTimeouts = new WeakMap<SubAgent, number>();

/** Sets the default time limit for each task of a sub-agent. */
export function setTaskTimeout(agent: SubAgent, timeoutMs: number): void {
  taskTimeouts.set(agent, timeoutMs);
}

/** Default time limit for each task of a sub-agent. */
export function taskTimeoutOf(agent: SubAgent): number {
  return taskTimeouts.get(agent) ?? Infinity;
}
