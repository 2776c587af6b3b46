import { newId } from '../../util/ids.ts';
import { hasCalls } from './context-view.ts';
import { reloadsIn } from './context-reload.ts';
import type { Draft, Room } from './room.ts';
import { offloadTag, previewOf, shortened, slotsOf, type Slot } from './stubs.ts';
import type { Entry } from './working-memory.ts';

const GUARDED = 'large_message_offload_with_protection';
const RELOADED = 'What was reloaded here was read, and is moved out again.';

/** Leaves only the beginning of large messages of rounds that are over, except among the newest messages. */
export async function offloadLargeGuarded(room: Room): Promise<void> {
  const { entries, latestAnswer } = room.view();
  const end = entries.length - room.limits.lastKeep;
  await offloadLarge(room, GUARDED, latestAnswer < 0 ? end : Math.min(latestAnswer, end));
}

/** The same, also among the newest messages. */
export async function offloadLargeAnywhere(room: Room): Promise<void> {
  await offloadLarge(room, 'large_message_offload', room.view().latestAnswer);
}

async function offloadLarge(
  room: Room,
  means: typeof GUARDED | 'large_message_offload',
  end: number,
): Promise<void> {
  const view = room.view();
  const free = view.units.filter((unit) => unit.end <= end && view.isFree(unit));
  const drafts = free
    .flatMap((unit) => view.entriesOf(unit))
    .flatMap((entry) => previewDraft(entry, room))
    .toReversed();
  await room.replace(means, drafts);
}

function previewDraft({ msg, stub }: Entry, { limits }: Room): Draft[] {
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
export async function offloadReloaded(room: Room): Promise<void> {
  const view = room.view();
  const drafts: Draft[] = [];
  for (const unit of view.units) {
    if (unit.kind !== 'exchange' || unit === view.unread || view.isFixed(unit)) continue;
    const entries = view.entriesOf(unit);
    const reloads = reloadsIn(entries, (uuid) => room.isOffloaded(uuid));
    if (reloads.size === 0) continue;
    drafts.push(...entries.flatMap((entry) => reloadedDraft(entry, reloads)));
  }
  await room.replace(GUARDED, drafts);
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
