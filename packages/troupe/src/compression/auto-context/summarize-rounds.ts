import { isAnswer, isFromUser, type ContextView } from './context-view.ts';
import type { Room } from './room.ts';
import { summarizeUnits } from './summarize-units.ts';

const MEANS = 'previous_round_conversation_summary';

/** Puts one summary in the place of all that followed a request, for rounds that are over, from the newest to the oldest. */
export async function summarizeRounds(room: Room): Promise<void> {
  const view = room.view();
  for (const { request, answer } of roundsOf(view).toReversed()) {
    if (room.hasFailed(MEANS)) return;
    const all = view.unitsIn(request, answer + 1);
    const units = all.filter((unit) => unit.start > request && view.isFree(unit));
    if (units.length === 0 || view.tokensOf(all) < room.limits.minCompressionTokenThreshold) continue;
    await summarizeUnits(room, view, {
      means: MEANS,
      prompt: 'previousRoundSummary',
      kind: 'round',
      units,
      request: view.entries[request]?.msg,
    });
  }
}

/** The rounds before the newest answer that have something between request and answer. */
function roundsOf({ entries, latestAnswer }: ContextView): { request: number; answer: number }[] {
  const rounds: { request: number; answer: number }[] = [];
  let request = -1;
  for (const [i, entry] of entries.slice(0, Math.max(0, latestAnswer)).entries()) {
    if (isFromUser(entry.msg)) request = i;
    else if (request >= 0 && isAnswer(entry)) {
      if (i - request > 1) rounds.push({ request, answer: i });
      request = -1;
    }
  }
  return rounds;
}
