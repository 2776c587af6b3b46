import { ControlledTurn } from './controlled-turn.ts';
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
  while (control !== undefined && control.place.agentId !== agentId) control = control.parent;
  return control;
}

/** Whether the calling code is part of an unfinished call of the agent, and so can't wait for its end. */
export function isInsideCallOf(agentId: string): boolean {
  let control = currentControl();
  while (control !== undefined && control.place.agentId !== agentId)
    control = control.place.outlivesOuter ? undefined : control.parent;
  return control?.state.isOver === false;
}

/** Whether one of the tool calls has no result yet, in the agent call around the calling code or in the calls around that. */
export function isUnfinishedAround(toolCallIds: readonly string[]): boolean {
  for (let control = currentControl(); control !== undefined; control = control.parent) {
    const { scope } = control.reply;
    if (toolCallIds.some((id) => scope?.isUnfinished(id))) return true;
  }
  return false;
}

/** The control of a turn. @throws TypeError for any other object */
export function controlOf(turn: Turn): TurnControl {
  const control = ControlledTurn.partsOf(turn);
  if (control instanceof TurnControl) return control;
  throw new TypeError('This is no turn: pass on the turn that reply() got.');
}
