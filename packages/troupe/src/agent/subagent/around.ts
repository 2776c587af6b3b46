import { createAsyncScope } from '#platform';
import { currentTurn } from '../turn.ts';
import type { PermissionBundle } from './permission-bundle.ts';
import type { SubAgent } from './sub-agent.ts';

const working = createAsyncScope<SubAgent>();

/** What the innermost sub-agent may do in whose task the code here runs, whoever called whom in between. */
export function permissionsAround(): PermissionBundle | undefined {
  return working.getStore()?.permissions;
}

/** The sub-agent that runs the code here itself, with no other agent in between. */
export function subAgentHere(): SubAgent | undefined {
  const agent = working.getStore();
  return currentTurn()?.agentId === agent?.id ? agent : undefined;
}

/** Runs the task of a sub-agent so that whatever is delegated in it is found to be. */
export function runDelegated<T>(agent: SubAgent, body: () => T): T {
  return working.run(agent, body);
}
