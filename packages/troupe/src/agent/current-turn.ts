import { currentScope, runInScope } from './run-scope.ts';
import { TurnControl } from './turn-control.ts';
import type { Turn } from './turn.ts';

/** The turn of the agent call that the calling code runs in. */
export function currentTurn(): Turn | undefined {
  return currentControl()?.turn;
}

/** The control of the agent call that the calling code runs in. */
export function currentControl(): TurnControl | undefined {
  const { control } = currentScope();
  return control instanceof TurnControl ? control : undefined;
}

/** The id of the tool call that the calling code runs in, whatever hooks and middleware have made of the block. */
export function currentToolCallId(): string | undefined {
  return currentScope().toolCall?.id;
}

/** Runs a tool call so that agents called in it know its id. */
export function runInToolCall<T>(id: string, body: () => T): T {
  return runInScope({ toolCall: { id, madeBy: currentScope().control } }, body);
}

/** The innermost call of one agent that the calling code runs in; it may be over. */
export function currentControlOf(agentId: string): TurnControl | undefined {
  let control = currentControl();
  while (control !== undefined && control.agentId !== agentId) control = control.parent;
  return control;
}

/** Whether the calling code is part of a call of that agent, which therefore can't wait for its own end. */
export function isInsideCallOf(agentId: string): boolean {
  let control = currentControl();
  while (control !== undefined && control.agentId !== agentId)
    control = control.outlivesParent ? undefined : control.parent;
  return control?.isOver === false;
}
