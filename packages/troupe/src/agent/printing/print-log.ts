import { callOf, type BlockChange } from '../../message/block-change.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import { DraftSnapshot, type MsgDraft } from '../../message/msg-draft.ts';
import type { Msg } from '../../message/msg.ts';

/** Number of complete messages whose ids are kept, so that printing one again shows nothing. */
const MAX_REMEMBERED = 64;

/** Shown part of a block. */
interface Shown {
  readonly type: ContentBlock['type'];
  length: number;
  /** Shown text, for messages that are compared. */
  text?: string;
  hasEnded: boolean;
}

/** A message in print. */
interface OpenMsg {
  readonly shown: Shown[];
  draft: MsgDraft | undefined;
  /** Number of shown changes of the draft. */
  position: number;
  /** Whether a print was not a snapshot of the draft, e.g. by a hook: all later prints are compared then. */
  isCompared: boolean;
}

const CHANGED = 'The text was changed.';

/**
 * Computes the changes between two prints of a growing message. Snapshots of a draft carry their changes, so the cost does not
 * depend on the length of the message. Other messages are compared; one whose shown text has changed starts again by `msg_reset`.
 */
export class PrintLog {
  readonly #open = new Map<string, OpenMsg>();
  /** Ids of the latest complete messages since the log was closed. */
  readonly #complete = new Set<string>();

  /** Changes since the message was last printed. The last print ends all blocks. */
  changes(msg: Msg, last: boolean): readonly BlockChange[] {
    if (this.#complete.has(msg.id)) return [];
    const open = this.#openMsg(msg.id);
    const changes = changesOfDraft(open, msg) ?? comparedChanges(open, msg, last);
    if (!last) return changes;
    this.#open.delete(msg.id);
    this.#complete.add(msg.id);
    if (this.#complete.size > MAX_REMEMBERED) this.#forgetOldest();
    return [...changes, ...endings(open, msg.id)];
  }

  /** Changes since the draft was last printed, without a snapshot of it. */
  draftChanges(draft: MsgDraft): readonly BlockChange[] {
    if (this.#complete.has(draft.id)) return [];
    const open = this.#openMsg(draft.id);
    const changes = open.isCompared ? undefined : draft.takeChanges(open.position);
    if (changes === undefined) return comparedChanges(open, draft.snapshot(), false);
    open.draft = draft;
    open.position += changes.length;
    for (const change of changes) note(open.shown, change);
    return changes;
  }

  #openMsg(id: string): OpenMsg {
    let open = this.#open.get(id);
    if (open === undefined) {
      open = { shown: [], draft: undefined, position: 0, isCompared: false };
      this.#open.set(id, open);
    }
    return open;
  }

  /** Whether some of the message was printed, and it is not complete. */
  isOpen({ id }: Msg): boolean {
    return this.#open.has(id);
  }

  #forgetOldest(): void {
    for (const id of this.#complete) return void this.#complete.delete(id);
  }

  /** Ends all incomplete messages. Afterwards every message counts as new. */
  close(): readonly BlockChange[] {
    const changes = [...this.#open].flatMap(([msgId, open]) => endings(open, msgId));
    this.#open.clear();
    this.#complete.clear();
    return changes;
  }
}

function changesOfDraft(open: OpenMsg, msg: Msg): readonly BlockChange[] | undefined {
  if (open.isCompared) return undefined;
  if (msg instanceof DraftSnapshot) open.draft = msg.draft;
  else if (open.draft === undefined || open.draft.final !== msg) return undefined;
  const changes = open.draft.changesUpTo(msg, open.position);
  if (changes === undefined) return undefined;
  open.position += changes.length;
  for (const change of changes) note(open.shown, change);
  return changes;
}

function note(shown: Shown[], change: BlockChange): void {
  if (change.type === 'msg_reset') {
    shown.length = 0;
    return;
  }
  if (change.type === 'block_start') {
    shown[change.index] = { type: change.blockType, length: 0, hasEnded: false };
    return;
  }
  const block = shown[change.index];
  if (block === undefined) return;
  if (change.type === 'block_end') block.hasEnded = true;
  else if (change.type === 'text_delta') block.length += change.text.length;
  else if (change.type === 'thinking_delta') block.length += change.thinking.length;
}

function comparedChanges(open: OpenMsg, msg: Msg, last: boolean): readonly BlockChange[] {
  const changes: BlockChange[] = [];
  const blocks = msg.getContentBlocks();
  if (!open.isCompared) recordShownTexts(open);
  if (open.shown.some(({ text }, index) => text && !textOf(blocks[index]).startsWith(text))) {
    changes.push({ type: 'msg_reset', msgId: msg.id, reason: CHANGED });
    open.shown.length = 0;
  }
  blocks.forEach((block, index) => {
    const at = { msgId: msg.id, index };
    let shown = open.shown[index];
    if (shown?.type !== block.type) {
      changes.push({ type: 'block_start', ...at, blockType: block.type, ...callOf(block) });
      open.shown[index] = shown = { type: block.type, length: 0, hasEnded: false };
    }
    if (shown.hasEnded) return;
    const isComplete = last || index < blocks.length - 1;
    if (block.type === 'text' || block.type === 'thinking') {
      const text = textOf(block);
      if (text.length > shown.length) {
        const delta = text.slice(shown.length);
        changes.push(
          block.type === 'text'
            ? { type: 'text_delta', ...at, text: delta }
            : { type: 'thinking_delta', ...at, thinking: delta },
        );
        shown.length = text.length;
        shown.text = text;
      }
      const hasMore = block.providerMeta ?? (block.type === 'text' && block.citations);
      if (isComplete) changes.push({ type: 'block_end', ...at, ...(hasMore && { block }) });
      shown.hasEnded = isComplete;
    } else if (last) {
      changes.push({ type: 'block_end', ...at, block });
      shown.hasEnded = true;
    }
  });
  return changes;
}

/** Records the texts that the draft has shown, before its prints are compared. */
function recordShownTexts(open: OpenMsg): void {
  const blocks = open.draft?.snapshot().getContentBlocks() ?? [];
  for (const [index, shown] of open.shown.entries())
    shown.text = textOf(blocks[index]).slice(0, shown.length);
  open.isCompared = true;
}

function textOf(block: ContentBlock | undefined): string {
  if (block?.type === 'text') return block.text;
  return block?.type === 'thinking' ? block.thinking : '';
}

function endings(open: OpenMsg, msgId: string): BlockChange[] {
  return open.shown.flatMap((shown, index) =>
    shown.hasEnded ? [] : [{ type: 'block_end', msgId, index } as const],
  );
}
