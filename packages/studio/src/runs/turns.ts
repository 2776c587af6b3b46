import type { RunEntry, TurnInfo } from '../protocol.ts';
import { firstLine, textOf } from './live-run.ts';

/** Abilities of the turns of a run, by agent call. */
export type TurnAbilities = ReadonlyMap<string, Pick<TurnInfo, 'canBranch' | 'canReplay'>>;

type OpenTurn = { -readonly [key in keyof TurnInfo]: TurnInfo[key] } & { tools: Record<string, number> };

/** The agent calls of outermost agents in a run, in order. */
export function turnsOf(entries: readonly RunEntry[], abilities: TurnAbilities): TurnInfo[] {
  const turns: OpenTurn[] = [];
  const byCall = new Map<string, OpenTurn>();
  for (const entry of entries) {
    if (entry.kind === 'input' && entry.agentPath.length === 1 && !byCall.has(entry.callId)) {
      const { callId, seq, messages: input } = entry;
      const { canBranch = false, canReplay = false } = abilities.get(callId) ?? {};
      const turn: OpenTurn = {
        callId,
        seq,
        input,
        canBranch,
        canReplay,
        tools: Object.create(null) as Record<string, number>,
      };
      turns.push(turn);
      byCall.set(callId, turn);
    }
    if (entry.kind !== 'event') continue;
    const { event, seq } = entry;
    const turn = byCall.get(event.runId);
    if (turn === undefined) continue;
    if (event.type === 'tool_result') turn.tools[event.call.name] = (turn.tools[event.call.name] ?? 0) + 1;
    if (event.type === 'run_end' && event.agentPath.length === 1) {
      turn.endSeq = seq;
      turn.status = event.status;
      if (event.msg !== undefined) turn.answer = firstLine(textOf(event.msg.content));
    }
  }
  return turns;
}
