import { createAsyncScope } from '#platform';
import { currentTurn } from '../../agent/current-turn.ts';
import type { PermissionBundle } from '../grants/permission-bundle.ts';
import type { SubAgent } from '../sub-agent.ts';

interface Delegated {
  readonly agent: SubAgent;
  /** As they were when it began. */
  readonly permissions: PermissionBundle;
}

const delegated = createAsyncScope<Delegated>();

/** What the innermost sub-agent may do in whose task the code here runs, whoever called whom in between. */
export function permissionsAround(): PermissionBundle | undefined {
  return delegated.getStore()?.permissions;
}

/** The sub-agent that runs the code here itself, with no other agent in between. */
export function subAgentHere(): SubAgent | undefined {
  const { agent } = delegated.getStore() ?? {};
  return currentTurn()?.agentId === agent?.id ? agent : undefined;
}

/** Runs the task of a sub-agent so that whatever is delegated in it is found to be. */
export function runDelegated<T>(agent: SubAgent, body: () => T): T {
  return delegated.run({ agent, permissions: agent.permissions }, body);
}
