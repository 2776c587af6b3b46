import type { AgentBase } from '../agent/agent-base.ts';
import { getLogger } from '../config/run-config.ts';
import type { InterruptedError } from '../errors.ts';
import { withGrace } from '../util/async/grace.ts';

/** Maximum interrupts of an agent: during its reply, during `handleInterrupt`, and one in reserve. */
const ROUNDS_PER_AGENT = 3;

/** Running work that calls agents. */
export interface AgentWork {
  readonly done: Promise<unknown>;
  readonly agents: readonly AgentBase[];
  /** Aborts the signal of the work. */
  readonly controller: AbortController;
}

/**
 * Stops work: interrupts running agents, which then repair their memory, and aborts the signal. If the work
 * ignores the signal and calls another agent, that agent is interrupted too. Resolves when the work has ended
 * and the agents are idle, or after a grace period if the work does not stop; then the work is abandoned.
 */
export async function stopAllAgents(
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
  getLogger().log('warn', `${reason.message} It did not stop in time, and was abandoned.`);
}

async function settlesSoon(work: Promise<unknown>, aborted: AbortSignal): Promise<boolean> {
  let isAbandoned = false;
  const abandon = (): void => void (isAbandoned = true);
  await withGrace(work, aborted, abandon).catch(() => {});
  return !isAbandoned;
}
