import type { Msg } from '../../message/msg.ts';
import { newId } from '../../util/ids.ts';
import type { Unit } from '../units.ts';
import { LAST_RESORT, type AutoContextStrategy } from './auto-context-event.ts';
import { reloadsIn } from './context-reload.ts';
import type { ContextView } from './context-view.ts';
import { offloadLargeAnywhere, offloadLargeOld, offloadReloaded } from './offload-large.ts';
import type { ProposedChange, CompressionAttempt } from './compression-attempt.ts';
import { previewOf, shortened, slotsOf, summaryStub, type Slot } from './stubs.ts';
import { compressCurrentRound, compressToolSequences, summarizeLarge } from './summaries.ts';
import { summarizeHistory, summarizeRounds } from './previous-rounds.ts';
import type { Entry } from './working-memory.ts';

interface Pass {
  readonly strategy: AutoContextStrategy;
  readonly run: (attempt: CompressionAttempt) => Promise<void>;
  /**
   * Runs only for too many tokens, not for too many messages: shrinks messages or touches the newest ones.
   */
  readonly isForTokensOnly?: boolean;
  readonly needsModel?: boolean;
}

/**
 * Ordered from the smallest to the largest loss of information. Some strategies run twice with wider scope.
 */
const PASSES: readonly Pass[] = [
  { strategy: 'large_message_offload_with_protection', run: offloadReloaded, isForTokensOnly: true },
  {
    strategy: 'tool_invocation_compress',
    run: (attempt) => compressToolSequences(attempt),
    needsModel: true,
  },
  { strategy: 'large_message_offload_with_protection', run: offloadLargeOld, isForTokensOnly: true },
  { strategy: 'large_message_offload', run: offloadLargeAnywhere, isForTokensOnly: true },
  {
    strategy: 'previous_round_conversation_summary',
    run: (attempt) => summarizeRounds(attempt),
    needsModel: true,
  },
  {
    strategy: 'previous_round_conversation_summary',
    run: (attempt) => summarizeHistory(attempt),
    needsModel: true,
  },
  {
    strategy: 'current_round_large_message_summary',
    run: summarizeLarge,
    isForTokensOnly: true,
    needsModel: true,
  },
  { strategy: 'current_round_message_compress', run: compressCurrentRound, needsModel: true },
  {
    strategy: 'tool_invocation_compress',
    run: (attempt) => compressToolSequences(attempt, 0),
    isForTokensOnly: true,
    needsModel: true,
  },
  {
    strategy: 'previous_round_conversation_summary',
    run: (attempt) => summarizeRounds(attempt, true),
    isForTokensOnly: true,
    needsModel: true,
  },
  {
    strategy: 'previous_round_conversation_summary',
    run: (attempt) => summarizeHistory(attempt, true),
    isForTokensOnly: true,
    needsModel: true,
  },
];

/** Approximate tokens of the note that replaces removed messages. */
const NOTE_TOKENS = 100;
const MAX_TOOL_NAMES = 8;

/**
 * Runs the strategies in order, repeatedly, until the prompt is within its limits or nothing changes; then
 * the last resort. Skips model calls if the fixed tokens alone exceed the limit.
 */
export async function runStrategies(attempt: CompressionAttempt): Promise<void> {
  let changes: number;
  do {
    changes = attempt.changes;
    for (const { strategy, run, isForTokensOnly = false, needsModel = false } of PASSES) {
      await attempt.countNew();
      if (!attempt.hasTooMuch) return;
      if (attempt.options.strategies?.[strategy] === false || attempt.hasFailed(strategy)) continue;
      if (isForTokensOnly && !attempt.hasTooManyTokens) continue;
      if (needsModel && attempt.hasTooManyTokens && !attempt.promptLimits().isPossible) continue;
      await run(attempt);
    }
  } while (attempt.changes > changes);
  await lastResort(attempt);
}

/**
 * Compresses without a model: removes the oldest units first and unread tool results last, after an attempt
 * to shorten them. The newest request and pinned, protected and pending units stay.
 */
async function lastResort(attempt: CompressionAttempt): Promise<void> {
  const isOld = (view: ContextView, unit: Unit): boolean => !view.isFixed(unit) && unit !== view.unread;
  const mustCutUnread = (): boolean => attempt.tokens >= attempt.promptLimits().limitForUnread;
  const attempts: readonly (readonly [isNeeded: () => boolean, run: () => Promise<void>])[] = [
    [() => true, () => drop(attempt, (view, unit) => isOld(view, unit) && !isNote(view, unit))],
    [() => true, () => drop(attempt, isOld)],
    [
      () => !attempt.promptLimits().isPossible,
      () => drop(attempt, (view, unit) => view.isPossibleRequest(unit)),
    ],
    [mustCutUnread, () => cutUnread(attempt, attempt.limits.offloadSinglePreview)],
    [mustCutUnread, () => cutUnread(attempt, 0)],
    [
      () => mustCutUnread() && attempt.promptLimits().fixed < attempt.promptLimits().limitForUnread,
      () => drop(attempt, (view, unit) => !view.isFixed(unit)),
    ],
    [() => true, () => drop(attempt, (view, unit) => view.isPossibleRequest(unit))],
  ];
  for (const [isNeeded, run] of attempts) if (attempt.hasTooManyTokens && isNeeded()) await run();
  if (!attempt.hasTooManyTokens) return;
  const problem =
    'The newest request and the pinned, protected and pending messages exceed the token limit. ' +
    'Raise maxToken, or pin fewer messages.';
  await attempt.fail(LAST_RESORT, 0, problem);
}

/** Replaces the oldest matching units by one note. */
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
  const msg = summaryStub(noteOn(removed), uuid, attempt.audience.agentName);
  await attempt.replace(LAST_RESORT, [{ removed, msg, kind: 'dropped', uuid, offloaded: removed }]);
}

/** Shortens all texts of the unread exchange. Existing offloads are reused. */
async function cutUnread(attempt: CompressionAttempt, preview: number): Promise<void> {
  const view = attempt.view();
  if (view.unread === undefined || view.isFixed(view.unread)) return;
  const entries = view.entriesOf(view.unread);
  const reloads = reloadsIn(entries, (uuid) => attempt.isOffloaded(uuid));
  await attempt.replace(
    LAST_RESORT,
    entries.map((entry) => cutChange(entry, reloads, preview)),
  );
}

function cutChange(
  { msg, stub }: Entry,
  reloads: ReadonlyMap<string, string>,
  preview: number,
): ProposedChange {
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
