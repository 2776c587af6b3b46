import { createAsyncScope } from '#platform';
import type { Turn } from '../../agent/turn.ts';
import type { StepKind, StepRunner } from '../../event/step.ts';
import { permissionsAround } from './around.ts';
import type { Budget } from './budget.ts';

/** Steps that cost nothing. They run even when a limit is reached, so that histories stay whole. */
const UNLIMITED_KINDS: readonly StepKind[] = ['write', 'id', 'knowledge'];

const modelSteps = createAsyncScope<boolean>();

/** Whether the code here is a model call that was counted already. */
export function isInModelStep(): boolean {
  return modelSteps.getStore() === true;
}

export interface CountedStepsOptions {
  readonly budget: Budget;
  /** In whose run they are steps, too; undefined in the background. */
  readonly host: Turn | undefined;
  /** The call that makes them. */
  readonly turn: () => Turn | undefined;
}

/** Runs the steps of a sub-agent, and of agents that it calls, as far as its budget goes. */
export function countedSteps({ budget, host, turn }: CountedStepsOptions): StepRunner {
  return async (step, body) => {
    const isModelCall = step.kind === 'model';
    budget.countUsageOf(turn());
    if (!UNLIMITED_KINDS.includes(step.kind)) budget.beginStep(isModelCall, host === undefined);
    const run = () => modelSteps.run(isModelCall, body);
    return host === undefined ? run() : host.relayStep(step, run); // whoever runs the host's steps runs these too
  };
}

/** How an agent that a sub-agent has called in the background runs its steps; undefined if there is no sub-agent around. */
export function stepsInBackground(): StepRunner | undefined {
  const { budget } = permissionsAround() ?? {};
  return budget && countedSteps({ budget, host: undefined, turn: () => undefined });
}
