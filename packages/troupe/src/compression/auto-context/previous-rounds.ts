import type { Unit } from '../units.ts';
import type { ContextView } from './context-view.ts';
import type { CompressionAttempt } from './compression-attempt.ts';
import { summarizeUnits } from './summaries.ts';
import { transcriptOf } from './summarizer.ts';

const STRATEGY = 'previous_round_conversation_summary';
/** Maximum rounds that are summarized one by one before the history is summarized. */
const MAX_ROUNDS = 5;
/** First line of a summary of the history. */
const HEADING = 'Summary of earlier messages:';
/** Requested length of a summary of the history, as share of the original. */
const SUMMARY_SHARE = 0.3;
/** Share of `msgThreshold` that a summary has to replace, if only the number of messages is too high. */
const MIN_SHARE_OF_MSGS = 0.1;

/**
 * Summarizes large previous rounds one by one, except their requests, from the newest to the oldest, until it
 * is enough.
 */
export async function summarizeRounds(attempt: CompressionAttempt, withNewest = false): Promise<void> {
  const view = attempt.view();
  const end = Math.max(0, view.latestAnswer + (withNewest ? 1 : 0));
  let count = 0;
  for (const { request, answer } of roundsOf(view, end).toReversed()) {
    if (attempt.hasFailed('single_rounds') || !attempt.hasTooMuch) return;
    const units = view.unitsIn(request + 1, answer + 1).filter((unit) => view.isFree(unit));
    if (units.length === 0 || view.tokensOf(units) < attempt.limits.minCompressionTokenThreshold) continue;
    if (++count > MAX_ROUNDS) return;
    await summarizeUnits(attempt, view, {
      strategy: STRATEGY,
      form: 'single_rounds',
      prompt: 'previousRoundSummary',
      kind: 'round',
      units,
      request: view.entries[request],
    });
  }
}

/** Rounds before an index with messages between request and answer. */
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

/**
 * Summarizes the oldest rounds together: requests, work, answers, and an earlier summary. A history that is
 * too long for one model call is summarized in parts, oldest first. The newest round stays, unless
 * `withNewest`.
 */
export async function summarizeHistory(attempt: CompressionAttempt, withNewest = false): Promise<void> {
  const form = withNewest ? 'whole_history' : 'history';
  for (let changes = -1; attempt.changes > changes; await attempt.countNew()) {
    changes = attempt.changes;
    if (attempt.hasFailed(form) || !attempt.hasTooMuch) return;
    const view = attempt.view();
    const units = oldestUnits(attempt, view, withNewest);
    if (!isWorthIt(attempt, view, units, withNewest)) return;
    await summarizeUnits(attempt, view, {
      strategy: STRATEGY,
      form,
      prompt: 'historySummary',
      kind: 'round',
      units,
      heading: HEADING,
      ratio: SUMMARY_SHARE,
    });
  }
}

/** Oldest rounds whose summary is enough, as far as they fit into one text to summarize. */
function oldestUnits(attempt: CompressionAttempt, view: ContextView, withNewest: boolean): readonly Unit[] {
  const { audience, maxTranscriptChars } = attempt;
  let { msgs, tokens } = attempt.historyExcess;
  let chars = 0;
  const taken: Unit[] = [];
  for (const round of historyRounds(view, withNewest)) {
    if (msgs < 0 && tokens <= 0) break;
    const removed = view.msgsOf(round);
    const more = transcriptOf(removed, Infinity, audience).length + 1;
    const isFull = chars + more > maxTranscriptChars && chars * 2 > maxTranscriptChars;
    if (isFull && hasNew(view, taken)) break;
    taken.push(...round);
    chars += more;
    msgs -= removed.length;
    tokens -= view.tokensOf(round) * (1 - SUMMARY_SHARE);
  }
  return taken;
}

/** Removable units before the current request, oldest first, in groups that begin with an input. */
function historyRounds(view: ContextView, withNewest: boolean): readonly (readonly Unit[])[] {
  const isInput = ({ start }: Unit): boolean => {
    const entry = view.entries[start];
    return entry !== undefined && view.isRequest(entry);
  };
  const history = view.unitsIn(0, view.historyEnd);
  const newest = withNewest ? history.length : history.findLastIndex(isInput);
  const rounds: Unit[][] = [];
  for (const unit of history.slice(0, Math.max(0, newest))) {
    if (rounds.length === 0 || isInput(unit)) rounds.push([]);
    if (view.isFree(unit) && unit !== view.unread) rounds.at(-1)?.push(unit);
  }
  return rounds;
}

/** True if there is a message that no summary has replaced yet, and enough to gain for a model call. */
function isWorthIt(
  attempt: CompressionAttempt,
  view: ContextView,
  units: readonly Unit[],
  withNewest: boolean,
): boolean {
  if (!hasNew(view, units)) return false;
  const { hasTooManyMsgs, hasTooManyTokens, limits } = attempt;
  const isMany = view.msgsOf(units).length >= Math.max(2, limits.msgThreshold * MIN_SHARE_OF_MSGS);
  const isLarge = withNewest || view.tokensOf(units) >= limits.minCompressionTokenThreshold;
  return (hasTooManyMsgs && isMany) || (hasTooManyTokens && isLarge);
}

function hasNew(view: ContextView, units: readonly Unit[]): boolean {
  return units.some((unit) => view.entriesOf(unit).some(({ stub }) => stub === undefined));
}
