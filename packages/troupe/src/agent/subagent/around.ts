import { createAsyncScope } from '#platform';
import type { PermissionBundle } from './permission-bundle.ts';

const delegations = createAsyncScope<PermissionBundle>();

/** What the innermost sub-agent may do in whose task the code here runs, whoever called whom in between. */
export function permissionsAround(): PermissionBundle | undefined {
  return delegations.getStore();
}

/** Runs the task of a sub-agent so that whatever is delegated in it is found to be. */
export function runDelegated<T>(permissions: PermissionBundle, body: () => T): T {
  return delegations.run(permissions, body);
}
