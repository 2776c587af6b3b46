import { exitProgram, onInterruptKey } from '#platform';
import type { AgentBase } from '../agent/agent-base.ts';
import { UserAgent } from './user-agent.ts';

export interface InterruptOnCtrlCOptions {
  /** Called for Ctrl-C while no agent is running. @default ends the program with exit code 130 */
  readonly exit?: () => void;
}

/** Exit code of a program ended by Ctrl-C. */
const INTERRUPT_EXIT_CODE = 130;

/**
 * Makes Ctrl-C interrupt the running agents, and end the program only when none is running. A `UserAgent` waiting for input does not
 * count as running: Ctrl-C at its empty prompt ends the program, and with half a line typed clears the line. The returned function stops listening.
 *
 * @param agents returns the agents to interrupt; called for every Ctrl-C
 *
 * @example
 * ```ts
 * import { interruptOnCtrlC, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel() });
 * const stopListening = interruptOnCtrlC(() => [agent]);
 * await agent.call('Hello!'); // the first Ctrl-C interrupts the agent
 * stopListening();
 * ```
 */
export function interruptOnCtrlC(
  agents: () => Iterable<AgentBase>,
  options: InterruptOnCtrlCOptions = {},
): () => void {
  const exit = options.exit ?? (() => exitProgram(INTERRUPT_EXIT_CODE));
  return onInterruptKey(() => {
    const working = [...agents()].filter(isWorking);
    for (const agent of working) void agent.interrupt();
    if (working.length === 0) exit();
  });
}

function isWorking(agent: AgentBase): boolean {
  return agent.isRunning && !(agent instanceof UserAgent && agent.isWaitingForInput);
}
