import type { AgentBase } from '../agent/agent-base.ts';
import { TroupeError } from '../errors.ts';

/** Agents of a pipeline, hub or room. @throws TroupeError unless they are a list of agents */
export function checkAgents(owner: string, agents: readonly AgentBase[]): readonly AgentBase[] {
  if (!Array.isArray(agents))
    throw new TroupeError('invalid_config', `${owner} needs a list of agents, such as [writer, editor].`);
  const wrong = agents.findIndex((agent: AgentBase | undefined) => typeof agent?.call !== 'function');
  if (wrong >= 0)
    throw new TroupeError('invalid_config', `${owner} needs a list of agents: number ${wrong} is none.`);
  return agents;
}
