import type { Msg } from '../../message/msg.ts';
import { newId } from '../../util/ids.ts';
import type { CompressionMeans } from './auto-context-event.ts';
import type { AutoContextPrompts } from './auto-context-options.ts';
import type { ContextView } from './context-view.ts';
import { PLAN_NOTE, promptFor, sizeRequirement } from './prompts.ts';
import type { Room } from './room.ts';
import { summaryStub } from './stubs.ts';
import { charsIn, transcriptOf, withoutPlanTools } from './transcript.ts';
import type { Unit } from './units.ts';
import type { StubKind } from './working-memory.ts';

export interface SummaryPlan {
  readonly means: CompressionMeans;
  readonly prompt: keyof AutoContextPrompts;
  readonly kind: StubKind;
  /** What the summary takes the place of. */
  readonly units: readonly Unit[];
  /** What stays, but is told to the model and kept with the rest. */
  readonly request?: Msg | undefined;
}

/** Puts one summary in the place of units. Calls that are only about a plan are taken out, but not told to the model. */
export async function summarizeUnits(room: Room, view: ContextView, plan: SummaryPlan): Promise<void> {
  const { means, kind, units, request } = plan;
  const removed = view.msgsOf(units);
  const offloaded = request === undefined ? removed : [request, ...removed];
  const told = withoutPlanTools(offloaded);
  const isCurrent = kind === 'current';
  const ratio = room.limits.currentRoundCompressionRatio;
  const answer =
    told.length === 0
      ? undefined
      : await room.ask(means, removed.length, {
          prompt: promptFor(plan.prompt, room.options.customPrompt),
          text: transcriptOf(told, room.maxTranscriptChars),
          requirement: isCurrent ? sizeRequirement(charsIn(removed), ratio) : undefined,
        });
  if (told.length > 0 && answer === undefined) return;
  const uuid = newId();
  const msg = summaryStub(answer?.text ?? PLAN_NOTE, uuid, isCurrent, answer?.usage);
  await room.replaceBySummary(means, { removed, msg, kind, uuid, offloaded, ...(answer && { answer }) });
}
