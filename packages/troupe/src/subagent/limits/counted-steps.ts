import type { TurnControl } from '../../agent/turn/turn-control.ts';
import type { StepKind, StepRunner } from '../../event/step.ts';
import type { Budget } from './budget.ts';
import { permissionsAround, runStepInDelegation } from './delegation-scope.ts';

/** Steps without cost. They run even when a limit is reached, so that histories stay valid. */
const UNLIMITED_KINDS: readonly StepKind[] = ['write', 'id', 'knowledge'];

export interface CountedStepsOptions {
  readonly budget: Budget;
  /** The agent call of the host, whose run the steps belong to; undefined in the background. */
  readonly host: TurnControl | undefined;
  /** The agent call that takes the steps. */
  readonly caller: () => TurnControl | undefined;
}

/** Runs the steps of a sub-agent, and of agents that it calls, within its budget. */
export function countedSteps({ budget, host, caller }: CountedStepsOptions): StepRunner {
  return async (step, body) => {
    const isModelCall = step.kind === 'model';
    budget.countUsageOf(caller());
    if (!UNLIMITED_KINDS.includes(step.kind)) budget.beginStep(isModelCall, host === undefined);
    const run = () => runStepInDelegation(isModelCall, body);
    return host === undefined ? run() : host.steps.relay(step, run); // the host's step runner sees these steps too
  };
}

/** The step runner for agents that a sub-agent calls in the background; undefined outside of a sub-agent's task. */
export function stepsInBackground(): StepRunner | undefined {
  const { budget } = permissionsAround() ?? {};
  return budget && countedSteps({ budget, host: undefined, caller: () => undefined });
}
