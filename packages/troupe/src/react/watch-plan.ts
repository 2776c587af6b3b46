import type { PlanNotebook } from '../plan/plan-notebook.ts';
import { isInsideCallOf } from '../agent/current-turn.ts';
import type { Turn } from '../agent/turn.ts';

/** Tells the stream of an agent's latest turn how its plan changes. The returned function ends that. */
export function watchPlan(
  notebook: PlanNotebook,
  agentId: string,
  latestTurn: () => Turn | undefined,
): () => void {
  const name = `agent ${agentId}`;
  notebook.registerPlanChangeHook(name, (_, plan) => {
    const told = latestTurn()?.emit({ type: 'plan_change', plan: plan?.toJSON() ?? null });
    return isInsideCallOf(agentId) ? told : undefined; // who edits from outside may be the one who reads the events
  });
  return () => notebook.removePlanChangeHook(name);
}
