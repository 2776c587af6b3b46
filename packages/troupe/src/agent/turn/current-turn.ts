import { currentScope, runInScope } from './run-scope.ts';
import { TurnControl } from './turn-control.ts';
import type { Turn } from './turn.ts';

/** The turn of the agent call around the calling code. */
export function currentTurn(): Turn | undefined {
  return currentControl()?.turn;
}

/** The control of the agent call around the calling code. */
export function currentControl(): TurnControl | undefined {
  const { control } = currentScope();
  return control instanceof TurnControl ? control : undefined;
}

/** The id of the tool call around the calling code, also when hooks or middleware changed the block. */
export function currentToolCallId(): string | undefined {
  return currentScope().toolCall?.id;
}

/** Runs a tool call so that nested agent calls know the tool call id. */
export function runInToolCall<T>(id: string, body: () => T): T {
  return runInScope({ toolCall: { id, madeBy: currentScope().control } }, body);
}

/** The innermost call of one agent around the calling code, over or not. */
export function currentControlOf(agentId: string): TurnControl | undefined {
  let control = currentControl();
  while (control !== undefined && control.agentId !== agentId) control = control.parent;
  return control;
}

/** Whether the calling code is part of an unfinished call of the agent, and so can't wait for its end. */
export function isInsideCallOf(agentId: string): boolean {
  let control = currentControl();
  while (control !== undefined && control.agentId !== agentId)
    control = control.outlivesParent ? undefined : control.parent;
  return control?.state.isOver === false;
}
