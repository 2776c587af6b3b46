import { reloadsIn } from './context-reload.ts';
import type { ContextView } from './context-view.ts';
import type { Room } from './room.ts';
import { summarizeUnits } from './summarize-units.ts';
import type { Unit } from './units.ts';

const MEANS = 'current_round_message_compress';

/** Sums up the work on the current request. Without need, it leaves alone what is little beside all the rest. */
export async function compressCurrentRound(room: Room): Promise<void> {
  const view = room.view();
  const units = unitsToSumUp(view, room);
  const isMuch = view.msgsOf(units).length * 2 >= view.entries.length;
  if (!room.hasTooManyTokens && !isMuch) return;
  if (isWorthIt(units)) {
    await summarizeUnits(room, view, {
      means: MEANS,
      prompt: 'currentRoundCompress',
      kind: 'current',
      units,
    });
  }
}

/** A model that does not get to read results makes the same calls again: those are summed up only when there is no other way. */
function unitsToSumUp(view: ContextView, room: Room): readonly Unit[] {
  const all = view.currentWork;
  const others = all.filter((unit) => unit !== view.unread);
  if (view.unread === undefined || isWorthIt(others) || !room.hasTooManyTokens) return others;
  const isReloaded = reloadsIn(view.entriesOf(view.unread), (uuid) => room.isOffloaded(uuid)).size > 0;
  return isReloaded ? others : all;
}

/** A lone message is left to others, above all if it is such a summary. */
function isWorthIt(units: readonly Unit[]): boolean {
  return units.some(({ kind }) => kind === 'exchange') || units.length > 1;
}
