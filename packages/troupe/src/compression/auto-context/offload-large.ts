import { newId } from '../../util/ids.ts';
import { hasCalls } from './context-view.ts';
import { reloadsIn } from './context-reload.ts';
import type { ProposedChange, CompressionAttempt } from './compression-attempt.ts';
import { offloadTag, previewOf, shortened, slotsOf, type Slot } from './stubs.ts';
import type { Entry } from './working-memory.ts';

const PROTECTED = 'large_message_offload_with_protection';
const RELOADED = 'What was reloaded here was read, and is moved out again.';

/**
 * Offloads large messages of previous rounds and leaves a preview, except among the newest `lastKeep`
 * messages.
 */
export async function offloadLargeOld(attempt: CompressionAttempt): Promise<void> {
  const { entries, latestAnswer } = attempt.view();
  const end = entries.length - attempt.limits.lastKeep;
  await offloadLarge(attempt, PROTECTED, latestAnswer < 0 ? end : Math.min(latestAnswer, end));
}

/** Offloads large messages of previous rounds, including the newest messages. */
export async function offloadLargeAnywhere(attempt: CompressionAttempt): Promise<void> {
  await offloadLarge(attempt, 'large_message_offload', attempt.view().latestAnswer);
}

async function offloadLarge(
  attempt: CompressionAttempt,
  strategy: typeof PROTECTED | 'large_message_offload',
  end: number,
): Promise<void> {
  const view = attempt.view();
  const free = view.units.filter((unit) => unit.end <= end && view.isFree(unit));
  const changes = free
    .flatMap((unit) => view.entriesOf(unit))
    .flatMap((entry) => previewChange(entry, attempt))
    .toReversed();
  await attempt.replace(strategy, changes);
}

function previewChange({ msg, stub }: Entry, { limits }: CompressionAttempt): ProposedChange[] {
  if (stub !== undefined || hasCalls(msg)) return [];
  const large = slotsOf(msg).filter(({ text }) => text.length > limits.largePayloadThreshold);
  if (large.length === 0) return [];
  const uuid = newId();
  const preview = limits.offloadSinglePreview;
  const texts = new Map(large.map((slot) => [slot, previewOf(slot.text, preview, uuid)]));
  const short = shortened(msg, { uuid, texts, inputPreview: preview, media: 'all' });
  return [{ removed: [msg], msg: short, kind: 'preview', uuid, offloaded: [msg] }];
}

/** Removes reloaded content again after the model has read it. Existing offloads are reused. */
export async function offloadReloaded(attempt: CompressionAttempt): Promise<void> {
  const view = attempt.view();
  const changes: ProposedChange[] = [];
  for (const unit of view.units) {
    if (unit.kind !== 'exchange' || unit === view.unread || view.isFixed(unit)) continue;
    const entries = view.entriesOf(unit);
    const reloads = reloadsIn(entries, (uuid) => attempt.isOffloaded(uuid));
    if (reloads.size === 0) continue;
    changes.push(...entries.flatMap((entry) => reloadedChange(entry, reloads)));
  }
  await attempt.replace(PROTECTED, changes);
}

function reloadedChange({ msg, stub }: Entry, reloads: ReadonlyMap<string, string>): ProposedChange[] {
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
