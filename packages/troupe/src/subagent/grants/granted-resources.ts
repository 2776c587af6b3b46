import { getLogger } from '../../config/run-config.ts';
import type { JsonValue } from '../../util/json.ts';
import { currentControl } from '../../agent/turn/current-turn.ts';
import { permissionsAround } from '../limits/delegation-scope.ts';
import { forbiddenNames } from './forbidden-tools.ts';
import { Budget } from '../limits/budget.ts';
import { LimitReached } from '../limits/limit-reached.ts';
import { longTermRefs } from './long-term-refs.ts';
import type { ContextBundle } from './delegation-context.ts';
import { MAX_RECENT_EVENTS } from './recent-events.ts';
import type { PermissionBundle, SharedResources, SubAgentPermissions } from './permission-bundle.ts';
import { copyLimits, safetyFlags, stricter, type SafetyLimits } from '../limits/safety-limits.ts';
import type { SubAgentHost } from '../sub-agent-host.ts';
import { policyOf, type SubAgentResourceName } from './sub-agent-resources.ts';
import type { CheckedSpec } from '../sub-agent-spec.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import type { Tracer } from '../../tracing/tracer.ts';

/** A host, one kind of sub-agent, and the resources and limits that the host grants. Folder `subagent/grants`: start here. */
export interface ResourceGrant {
  readonly host: SubAgentHost;
  /** Resources granted in addition to the host's own. */
  readonly shared: SharedResources;
  readonly spec: CheckedSpec;
  readonly limits: SafetyLimits;
}

const DEFAULT_LIMITS: SafetyLimits = { maxDepth: 1 };

/** Limits for everything that the host delegates, including the limits of an enclosing sub-agent's task. */
export function hostLimits({ host, limits }: ResourceGrant): SafetyLimits {
  const own = host.permissions === undefined ? { ...DEFAULT_LIMITS, ...limits } : limits;
  const outer = permissionsAround() ?? host.permissions;
  return outer === undefined ? own : stricter(outer.safetyLimits, own);
}

export function tracerOf(grant: ResourceGrant): Tracer | undefined {
  return granted('tracer', grant);
}

/** Whether the spec turns spans off for everything that the sub-agent does. */
export function isTracingOff({ spec }: ResourceGrant): boolean {
  return policyOf('tracer', spec.resources) === 'off';
}

/**
 * Resources of a sub-agent for one task, by the policies of `SUBAGENT_RESOURCES`, never more than the host
 * has.
 * @param saved amounts spent so far, when a suspended task resumes
 * @param until aborted when the task is over; files, sessions and budget are unusable afterwards, even if
 * code of the sub-agent still runs
 */
export function permissionsFor(
  grant: ResourceGrant,
  saved?: JsonValue,
  until?: AbortSignal,
): SubAgentPermissions {
  const { host, spec, limits } = grant;
  const { name, safetyLimits, fileGrants = [] } = spec;
  const outer = host.permissions;
  const home = `${outer?.home ?? '/workspace'}/subagents/${name}`;
  const of = hostLimits(grant);
  const { maxDepth = Infinity } = safetyLimits;
  const around = (permissionsAround() ?? outer)?.budget;
  const budget = outer === undefined ? Budget.ofHost(of, currentControl(), around) : (around ?? outer.budget);
  return Object.freeze({
    logger: getLogger(),
    tracer: granted('tracer', grant),
    filesystem: granted('filesystem', grant)?.narrow([`${home}/`, ...fileGrants], until),
    session: granted('session', grant)?.scoped(outer === undefined ? `sub@${name}@` : `${name}@`, until),
    longTermMemory: granted('longTermMemory', grant),
    knowledge: granted('knowledge', grant),
    permissionPolicy: granted('permissionPolicy', grant),
    safetyLimits: Object.freeze({
      ...stricter(stricter(of, safetyLimits), { forbiddenTools: forbiddenNames(host.toolkit, of) }),
      maxDepth: Math.min(maxDepth, (of.maxDepth ?? Infinity) - 1),
    }),
    supervisorName: host.name,
    home,
    budget: budget.inner(outer === undefined ? safetyLimits : stricter(safetyLimits, limits), saved, until),
  });
}

/**
 * Permissions of a sub-agent that a program makes by itself, without a tool. Permissions that were made for this
 * very sub-agent stay as they are; those of another sub-agent make that one the host.
 * @throws TroupeError if a limit is wrong; LimitReached if no level of sub-agents is left.
 */
export function permissionsFrom(
  bundle: PermissionBundle | SubAgentPermissions,
  spec: CheckedSpec,
  hostToolkit: Toolkit,
): SubAgentPermissions {
  const outer = isComplete(bundle) ? bundle : undefined;
  if (outer?.home.endsWith(`/subagents/${spec.name}`)) return outer;
  const name =
    outer === undefined ? bundle.supervisorName : outer.home.slice(outer.home.lastIndexOf('/') + 1);
  const limits = copyLimits(bundle.safetyLimits);
  const grant = { host: { name, toolkit: hostToolkit, permissions: outer }, shared: bundle, spec, limits };
  assertLevelLeft(grant);
  return Object.freeze({ ...permissionsFor(grant), ...(bundle.logger && { logger: bundle.logger }) });
}

/** @throws LimitReached if the host may have no sub-agents. */
export function assertLevelLeft(grant: ResourceGrant): void {
  const { maxDepth = 0 } = hostLimits(grant);
  if (maxDepth < 1) throw new LimitReached('levels of sub-agents');
}

/** Only `permissionsFor` can make a budget. */
function isComplete(bundle: PermissionBundle | SubAgentPermissions): bundle is SubAgentPermissions {
  return 'budget' in bundle && bundle.budget instanceof Budget;
}

/** Collects the host's context for a task. */
export async function contextOf(
  { id, memory }: SubAgentHost,
  permissions: SubAgentPermissions,
): Promise<ContextBundle> {
  const conversation = (await memory?.getMemory()) ?? [];
  const control = currentControl();
  const running =
    id !== undefined && control?.place.agentId === id ? control.reply.scope?.unstoredResultMsgs : undefined;
  const results = [...conversation.filter((msg) => msg.hasContentBlocks('tool_result')), ...(running ?? [])];
  return {
    ...ownContext(permissions),
    conversation,
    recentToolResults: results.slice(-MAX_RECENT_EVENTS),
  };
}

/** Context of a task without a host: the sub-agent's own resources and limits. */
export function ownContext({
  longTermMemory,
  knowledge,
  filesystem,
  safetyLimits,
}: SubAgentPermissions): ContextBundle {
  return {
    conversation: [],
    recentToolResults: [],
    longTermRefs: longTermRefs(longTermMemory, knowledge),
    workspace: filesystem,
    safetyFlags: safetyFlags(safetyLimits),
  };
}

type GrantedName = SubAgentResourceName & keyof SharedResources;

function granted<Name extends GrantedName>(
  name: Name,
  { host, shared, spec }: ResourceGrant,
): SharedResources[Name] {
  if (policyOf(name, spec.resources) !== 'inherited') return undefined;
  const { longTermMemory, permissionPolicy, knowledge = [] } = host;
  const sources: readonly SharedResources[] = [
    host.permissions ?? shared,
    { longTermMemory, permissionPolicy, ...(knowledge.length > 0 && { knowledge }) },
  ];
  return sources.map((source) => source[name]).find((value) => value !== undefined);
}
