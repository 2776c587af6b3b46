import { addUsage, type Usage } from '../../message/usage.ts';
import { newId } from '../../util/ids.ts';
import type { Unit } from '../units.ts';
import type { CompressionStrategy, SummaryAnswer } from './auto-context-event.ts';
import type { AutoContextPrompts } from './auto-context-options.ts';
import { reloadsIn } from './context-reload.ts';
import type { ContextView } from './context-view.ts';
import type { CompressionAttempt, SummaryForm } from './compression-attempt.ts';
import { headOf, offloadTag, shortened, slotsOf, summaryStub, type Slot } from './stubs.ts';
import {
  charsIn,
  PLAN_NOTE,
  promptFor,
  sizeRequirement,
  transcriptOf,
  withoutPlanTools,
  type SummaryRequest,
} from './summarizer.ts';
import type { Entry, StubKind } from './working-memory.ts';

const TOOL_SEQUENCES = 'tool_invocation_compress';
const LARGE = 'current_round_large_message_summary';
const CURRENT = 'current_round_message_compress';
const MAX_SEQUENCES = 5;

interface SummaryPlan {
  readonly strategy: CompressionStrategy;
  /** @default the strategy */
  readonly form?: SummaryForm;
  readonly prompt: keyof AutoContextPrompts;
  readonly kind: StubKind;
  /** Units that the summary replaces. */
  readonly units: readonly Unit[];
  /** Entry that stays but is part of the text to summarize. */
  readonly request?: Entry | undefined;
  /** First line of the replacement. */
  readonly heading?: string;
  /** Requested length of the summary, as share of the original. */
  readonly ratio?: number;
}

/**
 * Summarizes long sequences of tool calls of previous rounds, except among the newest `lastKeep` messages.
 */
export async function compressToolSequences(
  attempt: CompressionAttempt,
  lastKeep = attempt.limits.lastKeep,
): Promise<void> {
  const { minConsecutiveToolMessages, minCompressionTokenThreshold } = attempt.limits;
  const view = attempt.view();
  const end = Math.min(view.latestAnswer, view.entries.length - lastKeep);
  const sequences = toolSequences(view, end).filter(
    (units) =>
      view.msgsOf(units).length > minConsecutiveToolMessages &&
      view.tokensOf(units) >= minCompressionTokenThreshold,
  );
  for (const units of sequences.slice(0, MAX_SEQUENCES)) {
    if (attempt.hasFailed(TOOL_SEQUENCES) || !attempt.hasTooMuch) return;
    await summarizeUnits(attempt, view, {
      strategy: TOOL_SEQUENCES,
      prompt: 'previousRoundToolCompress',
      kind: 'tools',
      units,
    });
  }
}

/** Sequences of adjacent exchanges before an index. */
function toolSequences(view: ContextView, end: number): Unit[][] {
  const sequences: Unit[][] = [];
  let sequence: Unit[] | undefined;
  for (const unit of view.units) {
    if (unit.end > end) break;
    if (unit.kind !== 'exchange' || view.isFixed(unit)) sequence = undefined;
    else if (sequence === undefined) sequences.push((sequence = [unit]));
    else sequence.push(unit);
  }
  return sequences;
}

/**
 * Summarizes the work on the current request. Below the token limit only if it is at least half of all
 * messages.
 */
export async function compressCurrentRound(attempt: CompressionAttempt): Promise<void> {
  const view = attempt.view();
  const units = unitsToSummarize(view, attempt);
  const isMuch = view.msgsOf(units).length * 2 >= view.entries.length;
  if (!isWorthIt(units) || (!attempt.hasTooManyTokens && !isMuch)) return;
  await summarizeUnits(attempt, view, {
    strategy: CURRENT,
    prompt: 'currentRoundCompress',
    kind: 'current',
    units,
    ratio: attempt.limits.currentRoundCompressionRatio,
  });
}

/** Leaves unread results out if possible: without them the model repeats the same tool calls. */
function unitsToSummarize(view: ContextView, attempt: CompressionAttempt): readonly Unit[] {
  const all = view.currentWork;
  const others = all.filter((unit) => unit !== view.unread);
  if (view.unread === undefined || isWorthIt(others) || attempt.canKeepUnread) return others;
  const isReloaded = reloadsIn(view.entriesOf(view.unread), (uuid) => attempt.isOffloaded(uuid)).size > 0;
  return isReloaded ? others : all;
}

/** False for a single plain message, which may be a summary itself. */
function isWorthIt(units: readonly Unit[]): boolean {
  return units.some(({ kind }) => kind === 'exchange') || units.length > 1;
}

/** Replaces units by one summary, written in the agent's name. Plan tool calls are removed but not shown to the summarizing model. */
export async function summarizeUnits(
  attempt: CompressionAttempt,
  view: ContextView,
  plan: SummaryPlan,
): Promise<void> {
  const { strategy, form, kind, units, heading, ratio } = plan;
  const removed = view.msgsOf(units);
  const source = withoutPlanTools(plan.request === undefined ? removed : [plan.request.msg, ...removed]);
  const maxChars = charsIn(removed);
  const request: SummaryRequest = {
    prompt: promptFor(plan.prompt, attempt.options.customPrompt),
    text: transcriptOf(source, attempt.maxTranscriptChars, attempt.audience),
    requirement: ratio === undefined ? undefined : sizeRequirement(maxChars, ratio),
    isTranscript: true,
    maxChars,
  };
  const answer = source.length === 0 ? undefined : await attempt.ask(strategy, removed.length, request, form);
  if (source.length > 0 && answer === undefined) return;
  const uuid = newId();
  const text = [heading, answer?.text ?? PLAN_NOTE].filter((line) => line !== undefined).join('\n');
  const { agentName } = attempt.audience;
  const msg = summaryStub(text, uuid, agentName, kind === 'current', answer?.usage);
  const proposal = { removed, msg, kind, uuid, offloaded: removed, ...(answer && { answer }) };
  await attempt.replaceBySummary(strategy, proposal, form);
}

/**
 * Summarizes large messages of the current round one by one, newest first; unread results last, and only if
 * they don't fit. Reduces tokens, not the number of messages.
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

/** Summarizes large texts of a message by a model. Inputs are cut instead. Reloaded results stay. */
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
  let answer: SummaryAnswer | undefined;
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

function joined(a: SummaryAnswer, b: SummaryAnswer): SummaryAnswer {
  const usage: Usage | undefined = addUsage(a.usage, b.usage);
  return { text: b.text, durationMs: a.durationMs + b.durationMs, ...(usage && { usage }) };
}
