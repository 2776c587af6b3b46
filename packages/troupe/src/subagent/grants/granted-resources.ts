import { getLogger } from '../../config/run-config.ts';
import type { JsonValue } from '../../util/json.ts';
import { currentControl } from '../../agent/current-turn.ts';
import { permissionsAround } from '../limits/delegation-scope.ts';
import { forbiddenNames } from './forbidden-tools.ts';
import { Budget } from '../limits/budget.ts';
import { MAX_RECENT_EVENTS, type ContextBundle } from './delegation-context.ts';
import type { PermissionBundle, SharedResources } from './permission-bundle.ts';
import { safetyFlags, stricter, type SafetyLimits } from '../limits/safety-limits.ts';
import type { SubAgentHost } from '../sub-agent-host.ts';
import { policyOf, type SubAgentResourceName } from './sub-agent-resources.ts';
import type { CheckedSpec } from '../sub-agent-spec.ts';
import type { Tracer } from '../../tracing/tracer.ts';

/** A host, one kind of sub-agent, and the resources and limits that the host grants. */
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
): PermissionBundle {
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

/** Collects the host's context for a task. */
export async function contextOf(
  { memory }: SubAgentHost,
  { longTermMemory, filesystem, safetyLimits }: PermissionBundle,
): Promise<ContextBundle> {
  const conversation = (await memory?.getMemory()) ?? [];
  return {
    conversation,
    recentToolResults: conversation
      .filter((msg) => msg.hasContentBlocks('tool_result'))
      .slice(-MAX_RECENT_EVENTS),
    longTermRefs: longTermMemory ? [{ provider: longTermMemory.constructor.name, available: true }] : [],
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
  const { longTermMemory, permissionPolicy } = host;
  const sources: readonly SharedResources[] = [
    host.permissions ?? shared,
    { longTermMemory, permissionPolicy },
  ];
  return sources.map((source) => source[name]).find((value) => value !== undefined);
}
