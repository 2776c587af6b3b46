import { exitProgram, onInterruptKey } from '#platform';
import type { AgentBase } from '../agent/agent-base.ts';
import { UserAgent } from './user-agent.ts';

export interface InterruptOnCtrlCOptions {
  /** What Ctrl-C does when no agent is at work. @default ends the program with exit code 130 */
  readonly leave?: () => void;
}

/** The exit code of a program that was ended by Ctrl-C. */
const INTERRUPTED = 130;

/**
 * Has Ctrl-C interrupt the agents that are at work, and leave the program only when none is. A user
 * who is being asked is not at work: Ctrl-C at the prompt leaves. The returned function ends this.
 * @param agents looked up anew for every Ctrl-C
 */
export function interruptOnCtrlC(
  agents: () => Iterable<AgentBase>,
  options: InterruptOnCtrlCOptions = {},
): () => void {
  const leave = options.leave ?? (() => exitProgram(INTERRUPTED));
  return onInterruptKey(() => {
    const working = [...agents()].filter(isWorking);
    for (const agent of working) void agent.interrupt();
    if (working.length === 0) leave();
  });
}

function isWorking(agent: AgentBase): boolean {
  return agent.isRunning && !(agent instanceof UserAgent && agent.isWaitingForInput);
}
