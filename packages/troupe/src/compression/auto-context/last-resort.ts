import type { Msg } from '../../message/msg.ts';
import { newId } from '../../util/ids.ts';
import { LAST_RESORT } from './auto-context-event.ts';
import { reloadsIn } from './context-reload.ts';
import type { ContextView } from './context-view.ts';
import type { Draft, Room } from './room.ts';
import { previewOf, shortened, slotsOf, summaryStub, type Slot } from './stubs.ts';
import type { Unit } from './units.ts';
import type { Entry } from './working-memory.ts';

/** More is taken out than has to be, so that the next message does not make it necessary again. */
const SHARE_TO_LEAVE = 0.75;
/** About what the note has that takes the place of what is taken out. */
const NOTE_TOKENS = 100;
const MAX_TOOL_NAMES = 8;

/**
 * Makes the conversation small enough without any model: the oldest units go first, the results that the model has yet to
 * read last, and those only after they were cut. The newest request stays, and so does what is pinned, protected or waits for a result.
 */
export async function lastResort(room: Room): Promise<void> {
  const steps = [
    () => drop(room, (view, unit) => !view.isFixed(unit) && unit !== view.unread && !isNote(view, unit)),
    () => drop(room, (view, unit) => !view.isFixed(unit) && unit !== view.unread),
    () => cutUnread(room, room.limits.offloadSinglePreview),
    () => cutUnread(room, 0),
    () => drop(room, (view, unit) => !view.isFixed(unit)),
    () => drop(room, (view, unit) => !view.isFixed(unit) || view.isRequestOnly(unit)),
  ];
  for (const step of steps) {
    if (!room.hasTooManyTokens) return;
    await step();
  }
  if (!room.hasTooManyTokens) return;
  const problem =
    'The newest request and what is pinned, protected or waits for a result take more room than there is. ' +
    'Raise maxToken, or pin less.';
  await room.fail(LAST_RESORT, 0, problem);
}

/** Puts one note in the place of the oldest of these units. */
async function drop(room: Room, isWanted: (view: ContextView, unit: Unit) => boolean): Promise<void> {
  const view = room.view();
  let excess = room.tokensOnceOffloaded + NOTE_TOKENS - Math.floor(room.maxTokens * SHARE_TO_LEAVE);
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
  await room.replace(LAST_RESORT, [{ removed, msg, kind: 'dropped', uuid, offloaded: removed }]);
}

/** Cuts all texts of the calls and results that the model has yet to read. What is kept already is not kept twice. */
async function cutUnread(room: Room, preview: number): Promise<void> {
  const view = room.view();
  if (view.unread === undefined || view.isFixed(view.unread)) return;
  const entries = view.entriesOf(view.unread);
  const reloads = reloadsIn(entries, (uuid) => room.isOffloaded(uuid));
  await room.replace(
    LAST_RESORT,
    entries.map((entry) => cutDraft(entry, reloads, preview)),
  );
}

function cutDraft({ msg, stub }: Entry, reloads: ReadonlyMap<string, string>, preview: number): Draft {
  const [result, ...others] = msg.getContentBlocks('tool_result');
  const reloaded = result && others.length === 0 ? reloads.get(result.id) : undefined;
  const kept = stub?.uuid ?? reloaded;
  const uuid = kept ?? newId();
  const texts = new Map<Slot, string>();
  for (const slot of slotsOf(msg)) {
    const text = previewOf(slot.text, preview, uuid);
    if (text.length < slot.text.length) texts.set(slot, text);
  }
  const short = shortened(msg, { uuid, texts, inputPreview: preview, keepMedia: false });
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
