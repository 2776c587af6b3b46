import type { AutoContextStrategy } from './auto-context-event.ts';
import { compressCurrentRound } from './compress-current-round.ts';
import { compressToolRuns } from './compress-tool-runs.ts';
import { lastResort } from './last-resort.ts';
import { offloadLargeAnywhere, offloadLargeGuarded, offloadReloaded } from './offload-large.ts';
import type { Room } from './room.ts';
import { summarizeLarge } from './summarize-large.ts';
import { summarizeRounds } from './summarize-rounds.ts';

/** From what loses least to what loses most. */
const STEPS: readonly (readonly [AutoContextStrategy, (room: Room) => Promise<void>])[] = [
  ['large_message_offload_with_protection', offloadReloaded],
  ['tool_invocation_compress', compressToolRuns],
  ['large_message_offload_with_protection', offloadLargeGuarded],
  ['large_message_offload', offloadLargeAnywhere],
  ['previous_round_conversation_summary', summarizeRounds],
  ['current_round_large_message_summary', summarizeLarge],
  ['current_round_message_compress', compressCurrentRound],
];

/** Uses one means after the other, and all of them again, until it is enough or nothing changes any more. */
export async function makeRoom(room: Room): Promise<void> {
  let changes: number;
  do {
    changes = room.changes;
    for (const [means, step] of STEPS) {
      await room.countNew();
      if (!room.hasTooMuch) return;
      if (room.options.strategies?.[means] !== false && !room.hasFailed(means)) await step(room);
    }
  } while (room.changes > changes);
  await lastResort(room);
}
