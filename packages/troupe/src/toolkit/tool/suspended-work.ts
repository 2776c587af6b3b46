import type { JsonValue } from '../../util/json.ts';

/** Work that goes on in this process for suspended tool calls, by the unguessable ids in the states of their suspensions. */
const works = new Map<string, () => void>();

/** Keeps work, such as an open request, until it is taken, or until an agent that has the id in its state closes the tool call. */
export function keepSuspendedWork(id: string, cancel: () => void): void {
  works.set(id, cancel);
}

/** Forgets work whose tool call is resumed or over. */
export function forgetSuspendedWork(id: string): void {
  works.delete(id);
}

/** Cancels the work of all suspended tool calls in a state, also of agents in agents. */
export function cancelSuspendedWork(state: JsonValue): void {
  if (works.size === 0) return;
  const text = JSON.stringify(state);
  for (const [id, cancel] of works) if (works.has(id) && text.includes(id)) cancel();
}
