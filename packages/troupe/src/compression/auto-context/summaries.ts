import { addUsage, type Usage } from '../../message/usage.ts';
import { newId } from '../../util/ids.ts';
import type { Unit } from '../units.ts';
import type { CompressionStrategy } from './auto-context-event.ts';
import type { AutoContextPrompts } from './auto-context-options.ts';
import { reloadsIn } from './context-reload.ts';
import type { ContextView } from './context-view.ts';
import type { CompressionAttempt } from './compression-attempt.ts';
import { headOf, offloadTag, shortened, slotsOf, summaryStub, type Slot } from './stubs.ts';
import {
  charsIn,
  PLAN_NOTE,
  promptFor,
  sizeRequirement,
  transcriptOf,
  withoutPlanTools,
  type Answer,
} from './summarizer.ts';
import type { Entry, StubKind } from './working-memory.ts';

const TOOL_RUNS = 'tool_invocation_compress';
const ROUNDS = 'previous_round_conversation_summary';
const LARGE = 'current_round_large_message_summary';
const CURRENT = 'current_round_message_compress';
const MAX_RUNS = 5;

interface SummaryPlan {
  readonly means: CompressionStrategy;
  readonly prompt: keyof AutoContextPrompts;
  readonly kind: StubKind;
  /** What the summary takes the place of. */
  readonly units: readonly Unit[];
  /** What stays, but is told to the model. */
  readonly request?: Entry | undefined;
}

/** Sums up long runs of tool calls in rounds that are over, except among the newest messages. */
export async function compressToolSequences(
  attempt: CompressionAttempt,
  lastKeep = attempt.limits.lastKeep,
): Promise<void> {
  const { minConsecutiveToolMessages, minCompressionTokenThreshold } = attempt.limits;
  const view = attempt.view();
  const end = Math.min(view.latestAnswer, view.entries.length - lastKeep);
  const runs = toolSequences(view, end).filter(
    (run) =>
      view.msgsOf(run).length > minConsecutiveToolMessages &&
      view.tokensOf(run) >= minCompressionTokenThreshold,
  );
  for (const units of runs.slice(0, MAX_RUNS)) {
    if (attempt.hasFailed(TOOL_RUNS) || !attempt.hasTooMuch) return;
    await sumUp(attempt, view, {
      means: TOOL_RUNS,
      prompt: 'previousRoundToolCompress',
      kind: 'tools',
      units,
    });
  }
}

/** The calls with their results that stand next to each other before a place. */
function toolSequences(view: ContextView, end: number): Unit[][] {
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

/** Puts one summary in the place of all that followed a request, for rounds that are over, from the newest to the oldest. */
export async function summarizeRounds(attempt: CompressionAttempt, withNewest = false): Promise<void> {
  const view = attempt.view();
  const end = Math.max(0, view.latestAnswer + (withNewest ? 1 : 0));
  for (const { request, answer } of roundsOf(view, end).toReversed()) {
    if (attempt.hasFailed(ROUNDS) || !attempt.hasTooMuch) return;
    const all = view.unitsIn(request, answer + 1);
    const units = all.filter((unit) => unit.start > request && view.isFree(unit));
    if (units.length === 0 || view.tokensOf(all) < attempt.limits.minCompressionTokenThreshold) continue;
    await sumUp(attempt, view, {
      means: ROUNDS,
      prompt: 'previousRoundSummary',
      kind: 'round',
      units,
      request: view.entries[request],
    });
  }
}

/** The rounds before a place that have something between request and answer. */
function roundsOf(view: ContextView, end: number): { request: number; answer: number }[] {
  const rounds: { request: number; answer: number }[] = [];
  let request = -1;
  for (const [i, entry] of view.entries.slice(0, end).entries()) {
    if (view.isRequest(entry)) request = i;
    else if (request >= 0 && view.isAnswer(entry)) {
      if (i - request > 1) rounds.push({ request, answer: i });
      request = -1;
    }
  }
  return rounds;
}

/** Sums up the work on the current request. Without need, it leaves alone what is little beside all the rest. */
export async function compressCurrentRound(attempt: CompressionAttempt): Promise<void> {
  const view = attempt.view();
  const units = workToSumUp(view, attempt);
  const isMuch = view.msgsOf(units).length * 2 >= view.entries.length;
  if (!isWorthIt(units) || (!attempt.hasTooManyTokens && !isMuch)) return;
  await sumUp(attempt, view, { means: CURRENT, prompt: 'currentRoundCompress', kind: 'current', units });
}

/** A model that does not get to read results makes the same calls again: those are summed up only when there is no other way. */
function workToSumUp(view: ContextView, attempt: CompressionAttempt): readonly Unit[] {
  const all = view.currentWork;
  const others = all.filter((unit) => unit !== view.unread);
  if (view.unread === undefined || isWorthIt(others) || attempt.canKeepUnread) return others;
  const isReloaded = reloadsIn(view.entriesOf(view.unread), (uuid) => attempt.isOffloaded(uuid)).size > 0;
  return isReloaded ? others : all;
}

/** A lone message is left to others, above all if it is such a summary. */
function isWorthIt(units: readonly Unit[]): boolean {
  return units.some(({ kind }) => kind === 'exchange') || units.length > 1;
}

/** Puts one summary in the place of units. Calls that are only about a plan are taken out, but not told to the model. */
async function sumUp(attempt: CompressionAttempt, view: ContextView, plan: SummaryPlan): Promise<void> {
  const { means, kind, units, request } = plan;
  const removed = view.msgsOf(units);
  const told = withoutPlanTools(request === undefined ? removed : [request.msg, ...removed]);
  const isCurrent = kind === 'current';
  const ratio = attempt.limits.currentRoundCompressionRatio;
  const maxChars = charsIn(removed);
  const answer =
    told.length === 0
      ? undefined
      : await attempt.ask(means, removed.length, {
          prompt: promptFor(plan.prompt, attempt.options.customPrompt),
          text: transcriptOf(told, attempt.maxTranscriptChars),
          requirement: isCurrent ? sizeRequirement(maxChars, ratio) : undefined,
          maxChars,
        });
  if (told.length > 0 && answer === undefined) return;
  const uuid = newId();
  const msg = summaryStub(answer?.text ?? PLAN_NOTE, uuid, isCurrent, answer?.usage);
  await attempt.replaceBySummary(means, {
    removed,
    msg,
    kind,
    uuid,
    offloaded: removed,
    ...(answer && { answer }),
  });
}

/**
 * Shortens large messages of the current round, one by one, from the newest to the oldest; results that the model has not
 * read come last, and only if there is no other way. It makes messages smaller, not fewer.
 */
export async function summarizeLarge(attempt: CompressionAttempt): Promise<void> {
  const view = attempt.view();
  const read = view.currentWork.filter((unit) => unit !== view.unread);
  const unread = attempt.canKeepUnread ? [] : view.currentWork.filter((unit) => unit === view.unread);
  for (const unit of [...read.toReversed(), ...unread]) {
    const entries = view.entriesOf(unit);
    const reloads = reloadsIn(entries, (uuid) => attempt.isOffloaded(uuid));
    for (const entry of entries.toReversed()) {
      if (attempt.hasFailed(LARGE) || !attempt.hasTooManyTokens) return;
      if (entry.stub === undefined) await shorten(attempt, entry, reloads);
    }
  }
}

/** A model shortens the texts. Arguments are cut instead: a summary of them would be none. What was just reloaded stays. */
async function shorten(
  attempt: CompressionAttempt,
  { msg }: Entry,
  reloads: ReadonlyMap<string, string>,
): Promise<void> {
  const blocks = msg.getContentBlocks();
  const isReloaded = ({ at }: Slot): boolean => {
    const block = blocks[at];
    return block?.type === 'tool_result' && reloads.has(block.id);
  };
  const large = slotsOf(msg).filter(
    (slot) => slot.text.length > attempt.limits.largePayloadThreshold && !isReloaded(slot),
  );
  if (large.length === 0) return;
  const uuid = newId();
  const texts = new Map<Slot, string>();
  let answer: Answer | undefined;
  for (const slot of large) {
    if (slot.kind === 'input') {
      texts.set(slot, '');
      continue;
    }
    const part = await attempt.ask(LARGE, 1, {
      prompt: promptFor('currentRoundLargeMessage', attempt.options.customPrompt),
      text: headOf(slot.text, attempt.maxTranscriptChars),
      maxChars: slot.text.length,
    });
    if (part === undefined) return;
    texts.set(slot, `${part.text}\n${offloadTag(uuid)}`);
    answer = answer === undefined ? part : joined(answer, part);
  }
  const inputPreview = attempt.limits.offloadSinglePreview;
  const usage = answer?.usage;
  const short = shortened(msg, { uuid, texts, inputPreview, media: 'all', usage });
  await attempt.replaceBySummary(LARGE, {
    removed: [msg],
    msg: short,
    kind: 'message',
    uuid,
    offloaded: [msg],
    ...(answer && { answer }),
  });
}

function joined(a: Answer, b: Answer): Answer {
  const usage: Usage | undefined = addUsage(a.usage, b.usage);
  return { text: b.text, durationMs: a.durationMs + b.durationMs, ...(usage && { usage }) };
}
