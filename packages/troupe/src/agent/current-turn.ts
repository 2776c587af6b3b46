import { createAsyncScope } from '#platform';
import type { Turn } from './turn.ts';

const turns = createAsyncScope<Turn>();
const calls = createAsyncScope<string>();

/** The turn that the code here runs in, if any. */
export function currentTurn(): Turn | undefined {
  return turns.getStore();
}

/** Runs code so that `currentTurn()` finds this turn, through all awaits. */
export function runInTurn<T>(turn: Turn, body: () => T): T {
  return turns.run(turn, body);
}

/** The id of the tool call that the code here runs in, whatever hooks and middleware have made of it. */
export function currentCallId(): string | undefined {
  return calls.getStore();
}

/** Runs a tool call so that agents which are called in it know it. */
export function runInCall<T>(callId: string, body: () => T): T {
  return calls.run(callId, body);
}

/** The turn of one agent that the code here runs in, if any; it may be over. */
export function currentTurnOf(agentId: string): Turn | undefined {
  let turn = currentTurn();
  while (turn !== undefined && turn.agentId !== agentId) turn = turn.parent;
  return turn;
}

/** Whether the code here is part of a call of that agent, which therefore can't wait for its own end. */
export function isInsideCallOf(agentId: string): boolean {
  let turn = currentTurn();
  while (turn !== undefined && turn.agentId !== agentId) turn = turn.outlivesParent ? undefined : turn.parent;
  return turn?.isOver === false;
}
