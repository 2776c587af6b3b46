import type { PlanNotebook } from '../plan/plan-notebook.ts';
import { isInsideCallOf } from '../agent/turn/current-turn.ts';
import type { TurnControl } from '../agent/turn/turn-control.ts';

/** Sends plan changes as events of the agent's latest call. Returns a function that stops this. */
export function watchPlan(
  notebook: PlanNotebook,
  agentId: string,
  latestCall: () => TurnControl | undefined,
): () => void {
  const name = `agent ${agentId}`;
  notebook.registerPlanChangeHook(name, (_, plan) => {
    const told = latestCall()?.emit({ type: 'plan_change', plan: plan?.toJSON() ?? null });
    return isInsideCallOf(agentId) ? told : undefined; // an editor outside of the agent call may be the consumer of the events: waiting would block both
  });
  return () => notebook.removePlanChangeHook(name);
}
