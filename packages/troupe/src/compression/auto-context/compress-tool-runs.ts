import type { ContextView } from './context-view.ts';
import type { Room } from './room.ts';
import { summarizeUnits } from './summarize-units.ts';
import type { Unit } from './units.ts';

const MEANS = 'tool_invocation_compress';
const MAX_RUNS = 5;

/** Sums up long runs of tool calls in rounds that are over, except among the newest messages. */
export async function compressToolRuns(room: Room): Promise<void> {
  const { lastKeep, minConsecutiveToolMessages, minCompressionTokenThreshold } = room.limits;
  const view = room.view();
  const end = Math.min(view.latestAnswer, view.entries.length - lastKeep);
  const runs = toolRuns(view, end).filter(
    (run) =>
      view.msgsOf(run).length > minConsecutiveToolMessages &&
      view.tokensOf(run) >= minCompressionTokenThreshold,
  );
  for (const units of runs.slice(0, MAX_RUNS)) {
    if (room.hasFailed(MEANS)) return;
    await summarizeUnits(room, view, {
      means: MEANS,
      prompt: 'previousRoundToolCompress',
      kind: 'tools',
      units,
    });
  }
}

/** The calls with their results that stand next to each other before a place. */
function toolRuns(view: ContextView, end: number): Unit[][] {
  const runs: Unit[][] = [];
  let run: Unit[] | undefined;
  for (const unit of view.units) {
    if (unit.end > end) break;
    if (unit.kind !== 'exchange' || view.isFixed(unit)) run = undefined;
    else if (run === undefined) runs.push((run = [unit]));
    else run.push(unit);
  }
  return runs;
}
