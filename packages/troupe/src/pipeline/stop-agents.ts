import type { AgentBase } from '../agent/agent-base.ts';
import { getLogger } from '../config/run-config.ts';
import type { InterruptedError } from '../errors.ts';
import { withGrace } from '../util/async/grace.ts';

/** How often an agent may have to be told: in its reply, in its `handleInterrupt`, and once to spare. */
const ROUNDS_PER_AGENT = 3;

/** Work that calls agents. */
export interface AgentWork {
  readonly done: Promise<unknown>;
  readonly agents: readonly AgentBase[];
  /** Aborts the signal that the work was given. */
  readonly controller: AbortController;
}

/**
 * Stops work: interrupts the agents that run, so that they put their memory in order, and aborts its signal.
 * Should it ignore the signal and call another agent, that one is interrupted too. Resolves when the work
 * has ended and the agents are free, or soon after if it can't be stopped: then it is left behind.
 */
export async function stopAgents(
  { done, agents, controller }: AgentWork,
  reason: InterruptedError,
): Promise<void> {
  const rounds = 1 + agents.length * ROUNDS_PER_AGENT;
  for (let round = 0; round < rounds; round++) {
    const running = agents.filter((agent) => agent.isRunning);
    const ends = [done, ...running.map((agent) => agent.interrupt())];
    controller.abort(reason);
    if (await settlesSoon(Promise.allSettled(ends), controller.signal)) return;
    if (running.length === 0) break;
  }
  getLogger().log('warn', `${reason.message} It goes on all the same, and is left behind.`);
}

async function settlesSoon(work: Promise<unknown>, aborted: AbortSignal): Promise<boolean> {
  let isLeftBehind = false;
  const leaveBehind = (): void => void (isLeftBehind = true);
  await withGrace(work, aborted, leaveBehind).catch(() => {});
  return !isLeftBehind;
}
