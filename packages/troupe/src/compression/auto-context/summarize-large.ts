import { addUsage, type Usage } from '../../message/usage.ts';
import { newId } from '../../util/ids.ts';
import { reloadsIn } from './context-reload.ts';
import { promptFor } from './prompts.ts';
import type { Room } from './room.ts';
import { headOf, offloadTag, shortened, slotsOf, type Slot } from './stubs.ts';
import type { Answer } from './summarizer.ts';
import type { Entry } from './working-memory.ts';

const MEANS = 'current_round_large_message_summary';

/**
 * Shortens large messages of the current round, one by one, from the newest to the oldest; results that the model has not
 * read come last, and only if they have to. It makes messages smaller, not fewer.
 */
export async function summarizeLarge(room: Room): Promise<void> {
  if (!room.hasTooManyTokens) return;
  const view = room.view();
  const read = view.currentWork.filter((unit) => unit !== view.unread);
  const unread = view.currentWork.filter((unit) => unit === view.unread);
  for (const unit of [...read.toReversed(), ...unread]) {
    if (unit === view.unread && !room.hasTooManyTokens) return;
    const entries = view.entriesOf(unit);
    const reloads = reloadsIn(entries, (uuid) => room.isOffloaded(uuid));
    for (const entry of entries.toReversed()) {
      if (room.hasFailed(MEANS)) return;
      if (entry.stub === undefined) await summarizeMsg(room, entry, reloads);
    }
  }
}

/** A model shortens the texts. Arguments are cut instead: a summary of them would be none. What was just reloaded stays. */
async function summarizeMsg(room: Room, { msg }: Entry, reloads: ReadonlyMap<string, string>): Promise<void> {
  const blocks = msg.getContentBlocks();
  const isReloaded = ({ at }: Slot): boolean => {
    const block = blocks[at];
    return block?.type === 'tool_result' && reloads.has(block.id);
  };
  const large = slotsOf(msg).filter(
    (slot) => slot.text.length > room.limits.largePayloadThreshold && !isReloaded(slot),
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
    const part = await room.ask(MEANS, 1, {
      prompt: promptFor('currentRoundLargeMessage', room.options.customPrompt),
      text: headOf(slot.text, room.maxTranscriptChars),
    });
    if (part === undefined) return;
    texts.set(slot, `${part.text}\n${offloadTag(uuid)}`);
    answer = answer === undefined ? part : joined(answer, part);
  }
  const inputPreview = room.limits.offloadSinglePreview;
  const usage = answer?.usage;
  const short = shortened(msg, { uuid, texts, inputPreview, keepMedia: true, usage });
  await room.replaceBySummary(MEANS, {
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
