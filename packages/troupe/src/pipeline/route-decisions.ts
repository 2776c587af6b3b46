import type { AgentBase, CallOptions } from '../agent/agent-base.ts';
import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { refused } from '../approval/refused.ts';

/** Decisions by the index of the agent whose tool calls they are about. */
export type RoutedDecisions = ReadonlyMap<number, readonly PendingDecision[]>;

/**
 * Assigns each decision to the agent whose tool call is pending.
 * @param isWaiting whether the agent at an index may get decisions
 * @throws TroupeError if a decision is about no pending tool call of these agents
 */
export function routeDecisions(
  agents: readonly AgentBase[],
  decisions: readonly PendingDecision[],
  isWaiting: (index: number) => boolean = () => true,
): RoutedDecisions {
  const routed = new Map<number, PendingDecision[]>();
  for (const decision of decisions) {
    const index = agents.findIndex(
      ({ pendingCalls }, i) => isWaiting(i) && pendingCalls.some(({ id }) => id === decision.id),
    );
    if (index < 0) throw refused(decision.id, 'belongs to no agent that the pipeline waits for');
    routed.set(index, [...(routed.get(index) ?? []), decision]);
  }
  return routed;
}

/**
 * Checks that no agent will refuse new input because of pending tool calls.
 * @throws TroupeError before anything has changed
 */
export function assertTakesInput(
  agents: readonly AgentBase[],
  msgs: readonly Msg[],
  onPending: CallOptions['onPending'],
  decided: RoutedDecisions,
): void {
  if (msgs.some((msg) => msg.hasContentBlocks('tool_result'))) return; // results of pending tool calls: each agent judges
  const refusing = agents.filter((agent, i) => !decided.has(i) && agent.refusesInput(onPending));
  if (refusing.length === 0) return;
  const pending = [...new Set(refusing)].map(
    ({ name, pendingCalls }) =>
      `${name}: ${pendingCalls.map(({ id, call }) => `${call.name} (${id})`).join(', ')}`,
  );
  throw new TroupeError(
    'pending_calls',
    `Tool calls are pending (${pending.join('; ')}). Decide about them first, by call(undefined, { decisions }), or pass onPending: 'close'.`,
  );
}
