import { getLogger } from '../../config/run-config.ts';
import type { JsonValue } from '../../util/json.ts';
import { currentTurn } from '../../agent/current-turn.ts';
import { permissionsAround } from '../limits/around.ts';
import { forbiddenNames } from './forbidden-tools.ts';
import { Budget } from '../limits/budget.ts';
import { MAX_RECENT_EVENTS, type ContextBundle } from './delegation-context.ts';
import type { PermissionBundle, SharedHeap } from './permission-bundle.ts';
import { safetyFlags, stricter, type SafetyLimits } from '../limits/safety-limits.ts';
import type { SubAgentHost } from '../sub-agent-host.ts';
import { policyOf, type SubAgentResourceName } from './sub-agent-resources.ts';
import type { CheckedSpec } from '../sub-agent-spec.ts';
import type { Tracer } from '../../tracing/tracer.ts';

/** Who lends what to which kind of sub-agent. */
export interface Lending {
  readonly host: SubAgentHost;
  /** What is lent besides what the host has itself. */
  readonly heap: SharedHeap;
  readonly spec: CheckedSpec;
  readonly limits: SafetyLimits;
}

const DEFAULT_LIMITS: SafetyLimits = { maxDepth: 1 };

/** What holds for all that the host delegates: also what the sub-agent may do in whose task it does that. */
export function hostLimits({ host, limits }: Lending): SafetyLimits {
  const own = host.permissions === undefined ? { ...DEFAULT_LIMITS, ...limits } : limits;
  const outer = permissionsAround() ?? host.permissions;
  return outer === undefined ? own : stricter(outer.safetyLimits, own);
}

export function tracerOf(lending: Lending): Tracer | undefined {
  return lent('tracer', lending);
}

/**
 * What a sub-agent gets of its host, for one task: what the table of resources says, and never more than the host has.
 * @param saved what was spent, if it goes on with a task
 * @param until aborted when the task is over: then it has no files and no sessions and may do nothing any more, however long it goes on by itself
 */
export function permissionsFor(lending: Lending, saved?: JsonValue, until?: AbortSignal): PermissionBundle {
  const { host, spec, limits } = lending;
  const { name, safetyLimits, fileGrants = [] } = spec;
  const outer = host.permissions;
  const home = `${outer?.home ?? '/workspace'}/subagents/${name}`;
  const of = hostLimits(lending);
  const { maxDepth = Infinity } = safetyLimits;
  const around = (permissionsAround() ?? outer)?.budget;
  const budget = outer === undefined ? Budget.ofHost(of, currentTurn(), around) : (around ?? outer.budget);
  return Object.freeze({
    logger: getLogger(),
    tracer: lent('tracer', lending),
    filesystem: lent('filesystem', lending)?.narrow([`${home}/`, ...fileGrants], until),
    session: lent('session', lending)?.scoped(outer === undefined ? `sub@${name}@` : `${name}@`, until),
    longTermMemory: lent('longTermMemory', lending),
    permissionPolicy: lent('permissionPolicy', lending),
    safetyLimits: Object.freeze({
      ...stricter(stricter(of, safetyLimits), { forbiddenTools: forbiddenNames(host.toolkit, of) }),
      maxDepth: Math.min(maxDepth, (of.maxDepth ?? Infinity) - 1),
    }),
    supervisorName: host.name,
    home,
    budget: budget.inner(outer === undefined ? safetyLimits : stricter(safetyLimits, limits), saved, until),
  });
}

/** What of the host may matter for a task. */
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

type Lendable = SubAgentResourceName & keyof SharedHeap;

function lent<Name extends Lendable>(name: Name, { host, heap, spec }: Lending): SharedHeap[Name] {
  if (policyOf(name, spec.resources) !== 'inherited') return undefined;
  const { longTermMemory, permissionPolicy } = host;
  const sources: readonly SharedHeap[] = [host.permissions ?? heap, { longTermMemory, permissionPolicy }];
  return sources.map((source) => source[name]).find((value) => value !== undefined);
}
