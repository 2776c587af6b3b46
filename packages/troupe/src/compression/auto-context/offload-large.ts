import { newId } from '../../util/ids.ts';
import { hasCalls } from './context-view.ts';
import { reloadsIn } from './context-reload.ts';
import type { Draft, CompressionAttempt } from './compression-attempt.ts';
import { offloadTag, previewOf, shortened, slotsOf, type Slot } from './stubs.ts';
import type { Entry } from './working-memory.ts';

const GUARDED = 'large_message_offload_with_protection';
const RELOADED = 'What was reloaded here was read, and is moved out again.';

/** Leaves only the beginning of large messages of rounds that are over, except among the newest messages. */
export async function offloadLargeGuarded(attempt: CompressionAttempt): Promise<void> {
  const { entries, latestAnswer } = attempt.view();
  const end = entries.length - attempt.limits.lastKeep;
  await offloadLarge(attempt, GUARDED, latestAnswer < 0 ? end : Math.min(latestAnswer, end));
}

/** The same, also among the newest messages. */
export async function offloadLargeAnywhere(attempt: CompressionAttempt): Promise<void> {
  await offloadLarge(attempt, 'large_message_offload', attempt.view().latestAnswer);
}

async function offloadLarge(
  attempt: CompressionAttempt,
  means: typeof GUARDED | 'large_message_offload',
  end: number,
): Promise<void> {
  const view = attempt.view();
  const free = view.units.filter((unit) => unit.end <= end && view.isFree(unit));
  const drafts = free
    .flatMap((unit) => view.entriesOf(unit))
    .flatMap((entry) => previewDraft(entry, attempt))
    .toReversed();
  await attempt.replace(means, drafts);
}

function previewDraft({ msg, stub }: Entry, { limits }: CompressionAttempt): Draft[] {
  if (stub !== undefined || hasCalls(msg)) return [];
  const large = slotsOf(msg).filter(({ text }) => text.length > limits.largePayloadThreshold);
  if (large.length === 0) return [];
  const uuid = newId();
  const preview = limits.offloadSinglePreview;
  const texts = new Map(large.map((slot) => [slot, previewOf(slot.text, preview, uuid)]));
  const short = shortened(msg, { uuid, texts, inputPreview: preview, media: 'all' });
  return [{ removed: [msg], msg: short, kind: 'preview', uuid, offloaded: [msg] }];
}

/** Takes out again what was reloaded, once the model has gone on after it. That is kept already, so nothing is kept twice. */
export async function offloadReloaded(attempt: CompressionAttempt): Promise<void> {
  const view = attempt.view();
  const drafts: Draft[] = [];
  for (const unit of view.units) {
    if (unit.kind !== 'exchange' || unit === view.unread || view.isFixed(unit)) continue;
    const entries = view.entriesOf(unit);
    const reloads = reloadsIn(entries, (uuid) => attempt.isOffloaded(uuid));
    if (reloads.size === 0) continue;
    drafts.push(...entries.flatMap((entry) => reloadedDraft(entry, reloads)));
  }
  await attempt.replace(GUARDED, drafts);
}

function reloadedDraft({ msg, stub }: Entry, reloads: ReadonlyMap<string, string>): Draft[] {
  if (stub !== undefined) return [];
  const blocks = msg.getContentBlocks();
  const texts = new Map<Slot, string>();
  let kept: string | undefined;
  for (const slot of slotsOf(msg)) {
    const block = blocks[slot.at];
    const uuid = block?.type === 'tool_result' ? reloads.get(block.id) : undefined;
    if (uuid === undefined) continue;
    texts.set(slot, `${RELOADED}\n${offloadTag(uuid)}`);
    kept ??= uuid;
  }
  if (kept === undefined) return [];
  const short = shortened(msg, { uuid: kept, texts, inputPreview: 0, media: 'beside' });
  return [{ removed: [msg], msg: short, kind: 'preview', uuid: kept, offloaded: undefined }];
}
