import type { BlockChange } from '../message/block-change.ts';
import type { ContentBlock } from '../message/blocks.ts';
import { DraftSnapshot, type MsgDraft } from '../message/msg-draft.ts';
import type { Msg } from '../message/msg.ts';

/** Number of complete messages whose ids are kept, so that printing one again shows nothing. */
const MAX_REMEMBERED = 64;

/** Shown part of a block. */
interface Shown {
  readonly type: ContentBlock['type'];
  length: number;
  hasEnded: boolean;
}

/** A message in print. */
interface OpenMsg {
  readonly shown: Shown[];
  draft: MsgDraft | undefined;
  /** Number of shown changes of the draft. */
  position: number;
}

/**
 * Computes the changes between two prints of a growing message. Snapshots of a draft carry their changes, so the cost does not
 * depend on the length of the message; other messages are compared by length.
 */
export class PrintLog {
  readonly #open = new Map<string, OpenMsg>();
  /** Ids of the latest complete messages since the log was closed. */
  readonly #complete = new Set<string>();

  /** Changes since the message was last printed. The last print ends all blocks. */
  changes(msg: Msg, last: boolean): readonly BlockChange[] {
    if (this.#complete.has(msg.id)) return [];
    let open = this.#open.get(msg.id);
    if (open === undefined) {
      open = { shown: [], draft: undefined, position: 0 };
      this.#open.set(msg.id, open);
    }
    const changes = changesOfDraft(open, msg) ?? changesByLength(open, msg, last);
    if (!last) return changes;
    this.#open.delete(msg.id);
    this.#complete.add(msg.id);
    if (this.#complete.size > MAX_REMEMBERED) this.#forgetOldest();
    return [...changes, ...endings(open, msg.id)];
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

function changesByLength(open: OpenMsg, msg: Msg, last: boolean): readonly BlockChange[] {
  const changes: BlockChange[] = [];
  const blocks = msg.getContentBlocks();
  blocks.forEach((block, index) => {
    const at = { msgId: msg.id, index };
    let shown = open.shown[index];
    if (shown?.type !== block.type) {
      const call = block.type === 'tool_use' ? { toolCallId: block.id, name: block.name } : {};
      changes.push({ type: 'block_start', ...at, blockType: block.type, ...call });
      open.shown[index] = shown = { type: block.type, length: 0, hasEnded: false };
    }
    if (shown.hasEnded) return;
    const isComplete = last || index < blocks.length - 1;
    if (block.type === 'text' || block.type === 'thinking') {
      const text = block.type === 'text' ? block.text : block.thinking;
      if (text.length > shown.length) {
        const delta = text.slice(shown.length);
        changes.push(
          block.type === 'text'
            ? { type: 'text_delta', ...at, text: delta }
            : { type: 'thinking_delta', ...at, thinking: delta },
        );
        shown.length = text.length;
      }
      if (isComplete) changes.push({ type: 'block_end', ...at, ...(block.providerMeta && { block }) });
      shown.hasEnded = isComplete;
    } else if (last) {
      changes.push({ type: 'block_end', ...at, block });
      shown.hasEnded = true;
    }
  });
  return changes;
}

function endings(open: OpenMsg, msgId: string): BlockChange[] {
  return open.shown.flatMap((shown, index) =>
    shown.hasEnded ? [] : [{ type: 'block_end', msgId, index } as const],
  );
}
