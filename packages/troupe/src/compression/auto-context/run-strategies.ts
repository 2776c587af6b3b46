import type { Msg } from '../../message/msg.ts';
import { newId } from '../../util/ids.ts';
import type { Unit } from '../units.ts';
import { LAST_RESORT, type AutoContextStrategy } from './auto-context-event.ts';
import { reloadsIn } from './context-reload.ts';
import type { ContextView } from './context-view.ts';
import { offloadLargeAnywhere, offloadLargeGuarded, offloadReloaded } from './offload-large.ts';
import type { Draft, CompressionAttempt } from './compression-attempt.ts';
import { previewOf, shortened, slotsOf, summaryStub, type Slot } from './stubs.ts';
import { compressCurrentRound, compressToolSequences, summarizeLarge, summarizeRounds } from './summaries.ts';
import type { Entry } from './working-memory.ts';

interface Step {
  readonly means: AutoContextStrategy;
  readonly take: (attempt: CompressionAttempt) => Promise<void>;
  /** It makes messages smaller, but not fewer; or it takes what is better left alone. */
  readonly isForTokensOnly?: boolean;
  readonly needsModel?: boolean;
}

/** From what loses least to what loses most. */
const STEPS: readonly Step[] = [
  { means: 'large_message_offload_with_protection', take: offloadReloaded, isForTokensOnly: true },
  { means: 'tool_invocation_compress', take: (attempt) => compressToolSequences(attempt), needsModel: true },
  { means: 'large_message_offload_with_protection', take: offloadLargeGuarded, isForTokensOnly: true },
  { means: 'large_message_offload', take: offloadLargeAnywhere, isForTokensOnly: true },
  {
    means: 'previous_round_conversation_summary',
    take: (attempt) => summarizeRounds(attempt),
    needsModel: true,
  },
  {
    means: 'current_round_large_message_summary',
    take: summarizeLarge,
    isForTokensOnly: true,
    needsModel: true,
  },
  { means: 'current_round_message_compress', take: compressCurrentRound, needsModel: true },
  {
    means: 'tool_invocation_compress',
    take: (attempt) => compressToolSequences(attempt, 0),
    isForTokensOnly: true,
    needsModel: true,
  },
  {
    means: 'previous_round_conversation_summary',
    take: (attempt) => summarizeRounds(attempt, true),
    isForTokensOnly: true,
    needsModel: true,
  },
];

/** About what the note has that takes the place of what is taken out. */
const NOTE_TOKENS = 100;
const MAX_TOOL_NAMES = 8;

/**
 * Uses one means after the other, and all of them again, until it is enough or nothing changes any more. No model is asked
 * if what must stay is too much already.
 */
export async function runStrategies(attempt: CompressionAttempt): Promise<void> {
  let changes: number;
  do {
    changes = attempt.changes;
    for (const { means, take, isForTokensOnly = false, needsModel = false } of STEPS) {
      await attempt.countNew();
      if (!attempt.hasTooMuch) return;
      if (attempt.options.strategies?.[means] === false || attempt.hasFailed(means)) continue;
      if (isForTokensOnly && !attempt.hasTooManyTokens) continue;
      if (needsModel && attempt.hasTooManyTokens && !attempt.promptLimits().isPossible) continue;
      await take(attempt);
    }
  } while (attempt.changes > changes);
  await lastResort(attempt);
}

/**
 * Makes the conversation small enough without any model: the oldest units go first, the results that the model has yet to
 * read last, and those only after they were cut. The newest request stays, and so does what is pinned, protected or waits for a result.
 */
async function lastResort(attempt: CompressionAttempt): Promise<void> {
  const isOld = (view: ContextView, unit: Unit): boolean => !view.isFixed(unit) && unit !== view.unread;
  const isForUnread = (): boolean => attempt.tokens >= attempt.promptLimits().limitForUnread;
  const steps: readonly (readonly [isNeeded: () => boolean, take: () => Promise<void>])[] = [
    [() => true, () => drop(attempt, (view, unit) => isOld(view, unit) && !isNote(view, unit))],
    [() => true, () => drop(attempt, isOld)],
    [
      () => !attempt.promptLimits().isPossible,
      () => drop(attempt, (view, unit) => view.isPerhapsRequest(unit)),
    ],
    [isForUnread, () => cutUnread(attempt, attempt.limits.offloadSinglePreview)],
    [isForUnread, () => cutUnread(attempt, 0)],
    [
      () => isForUnread() && attempt.promptLimits().stays < attempt.promptLimits().limitForUnread,
      () => drop(attempt, (view, unit) => !view.isFixed(unit)),
    ],
    [() => true, () => drop(attempt, (view, unit) => view.isPerhapsRequest(unit))],
  ];
  for (const [isNeeded, take] of steps) if (attempt.hasTooManyTokens && isNeeded()) await take();
  if (!attempt.hasTooManyTokens) return;
  const problem =
    'The newest request and what is pinned, protected or waits for a result take more room than there is. ' +
    'Raise maxToken, or pin less.';
  await attempt.fail(LAST_RESORT, 0, problem);
}

/** Puts one note in the place of the oldest of these units. */
async function drop(
  attempt: CompressionAttempt,
  isWanted: (view: ContextView, unit: Unit) => boolean,
): Promise<void> {
  const view = attempt.view();
  let excess = attempt.tokens + NOTE_TOKENS - attempt.promptLimits().goal;
  const units: Unit[] = [];
  for (const unit of view.units) {
    if (excess <= 0) break;
    if (!isWanted(view, unit)) continue;
    units.push(unit);
    excess -= view.tokensOf([unit]);
  }
  const removed = view.msgsOf(units);
  if (removed.length === 0) return;
  const uuid = newId();
  const msg = summaryStub(noteOn(removed), uuid);
  await attempt.replace(LAST_RESORT, [{ removed, msg, kind: 'dropped', uuid, offloaded: removed }]);
}

/** Cuts all texts of the calls and results that the model has yet to read. What is kept already is not kept twice. */
async function cutUnread(attempt: CompressionAttempt, preview: number): Promise<void> {
  const view = attempt.view();
  if (view.unread === undefined || view.isFixed(view.unread)) return;
  const entries = view.entriesOf(view.unread);
  const reloads = reloadsIn(entries, (uuid) => attempt.isOffloaded(uuid));
  await attempt.replace(
    LAST_RESORT,
    entries.map((entry) => cutDraft(entry, reloads, preview)),
  );
}

function cutDraft({ msg, stub }: Entry, reloads: ReadonlyMap<string, string>, preview: number): Draft {
  const [first, ...others] = msg.getContentBlocks();
  const isAlone = first?.type === 'tool_result' && others.length === 0;
  const kept = stub?.uuid ?? (isAlone ? reloads.get(first.id) : undefined);
  const uuid = kept ?? newId();
  const texts = new Map<Slot, string>();
  for (const slot of slotsOf(msg)) {
    const text = previewOf(slot.text, preview, uuid);
    if (text.length < slot.text.length) texts.set(slot, text);
  }
  const short = shortened(msg, { uuid, texts, inputPreview: preview, media: 'none' });
  return {
    removed: [msg],
    msg: short,
    kind: 'preview',
    uuid,
    offloaded: kept === undefined ? [msg] : undefined,
  };
}

function isNote(view: ContextView, unit: Unit): boolean {
  return view.entriesOf(unit).every(({ stub }) => stub?.kind === 'dropped');
}

function noteOn(msgs: readonly Msg[]): string {
  const names = new Set(msgs.flatMap((msg) => msg.getContentBlocks('tool_use')).map(({ name }) => name));
  const shown = [...names].slice(0, MAX_TOOL_NAMES).map((name) => name.slice(0, 64));
  const tools =
    shown.length === 0
      ? ''
      : ` Tools that were called: ${shown.join(', ')}${names.size > shown.length ? ', …' : ''}.`;
  return `${msgs.length} earlier messages were moved out here.${tools}`;
}
