import { messageOf, TroupeError } from '../errors.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { isJsonObject, parseJson, readJson, type JsonValue } from '../util/json.ts';
import { changedMarks, checkMarkChange, passesFilter, markList } from './marks.ts';
import {
  MemoryBase,
  summaryMsg,
  type AddOptions,
  type MarkChange,
  type MemoryFilter,
} from './memory-base.ts';
import { textKey } from './text-key.ts';

/** Key of a conversation. Conversations with another key never share messages. */
export interface ConversationId {
  /** @default 'default' */
  readonly userId?: string | undefined;
  readonly sessionId: string;
}

/** Version of a conversation, for reading only the changes since. */
export interface ConversationVersion {
  /** Changes when the conversation is created again; empty if it does not exist. */
  readonly birth: string;
  /** Increases when messages are deleted or marks change. */
  readonly epoch: number;
  /** Number of the next message. Increases by one; numbers are never reused. */
  readonly next: number;
}

export interface NewRow {
  /** Key of the message id. */
  readonly id: string;
  readonly marks: string;
  readonly msg: string;
}

export interface StoredRow {
  readonly seq: number;
  readonly marks: string;
  /** Null if the reader already has the message. */
  readonly msg: string | null;
}

export interface ConversationReading {
  readonly version: ConversationVersion;
  /** Summary as JSON text. */
  readonly summary: string;
  /** New rows since the known version in order, or all rows after any other change. */
  readonly rows: readonly StoredRow[];
  readonly isWhole: boolean;
}

/** Storage of one conversation. Each method is atomic, also with concurrent users. */
export interface ConversationStore {
  read(known: ConversationVersion): Promise<ConversationReading>;
  /** Adds rows with new ids. Returns the version before, and the indexes of the added rows. */
  append(rows: readonly NewRow[]): Promise<{ before: ConversationVersion; added: readonly number[] }>;
  /** Returns the version before, and the numbers of the deleted messages. */
  deleteIds(ids: readonly string[]): Promise<{ before: ConversationVersion; deleted: readonly number[] }>;
  /**
   * Deletes and marks messages, unless birth or epoch have changed meanwhile. Returns whether the change was
   * made.
   */
  change(known: ConversationVersion, change: RowChange): Promise<boolean>;
  /** Deletes the conversation. */
  clear(): Promise<void>;
  /** @param summary JSON text */
  setSummary(summary: string): Promise<void>;
  close(): Promise<void>;
}

export interface RowChange {
  /** Number and id key of each deleted message. */
  readonly deleted: readonly { readonly seq: number; readonly id: string }[];
  /** Message numbers by their new marks. */
  readonly marked: ReadonlyMap<string, readonly number[]>;
}

interface Entry {
  readonly msg: Msg;
  readonly marks: readonly string[];
}

export const NO_CONVERSATION: ConversationVersion = Object.freeze({ birth: '', epoch: 0, next: 0 });

/** Unreadable row of a stored memory. */
export class CorruptMemoryError extends TroupeError {
  override readonly name = 'CorruptMemoryError';

  constructor(
    readonly sessionId: string,
    /** Number of the message in the conversation. */
    readonly row: number,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(
      'memory_corrupt',
      `Row ${row} of the memory of session '${sessionId.slice(0, 64)}' can't be read: ${problem}. Repair the row, delete the message by its id, or clear the memory.`,
      options,
    );
  }
}

/**
 * Base class of memories with messages in a store that other memories and processes may share.
 *
 * Messages are cached and stay the same objects. Each read fetches only new rows; after deletions or mark
 * changes by others, all rows are read again without the known messages. Method calls run one after another,
 * in order.
 *
 * The state contains only the conversation's key, because the messages are already saved. The state of
 * another conversation is refused, so that no state gives access to other messages.
 */
export abstract class StoredMemory extends MemoryBase {
  readonly userId: string;
  readonly sessionId: string;
  readonly #store: ConversationStore;
  #version = NO_CONVERSATION;
  #entries = new Map<number, Entry>();
  #summary: Msg | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ userId = 'default', sessionId }: ConversationId, store: ConversationStore) {
    super();
    this.userId = checkId('userId', userId);
    this.sessionId = checkId('sessionId', sessionId);
    this.#store = store;
    this.registerState<ConversationId>('conversation', {
      toJson: ({ userId = 'default', sessionId }) => ({ userId, sessionId }),
      fromJson: (json) => this.#checkConversation(json),
    });
  }

  override async add(msgs: MsgInput, options: AddOptions = {}): Promise<void> {
    const marks = markList(options.marks);
    const list = Msg.list(msgs);
    if (list.length === 0) return;
    await this.#enqueue(async () => {
      const marksText = JSON.stringify(marks);
      const rows = await Promise.all(
        list.map(async (msg) => ({ id: await textKey(msg.id), marks: marksText, msg: JSON.stringify(msg) })),
      );
      const { before, added } = await this.#store.append(rows);
      if (before.next === 0) this.#entries = new Map();
      // Read with the next sync.
      else if (!this.#isKnown(before) || before.next !== this.#version.next) return;
      let { next } = before;
      for (const i of added) this.#entries.set(next++, { msg: list[i] as Msg, marks });
      this.#version = { ...before, next };
    });
  }

  override async delete(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    return this.#enqueue(async () => {
      const { before, deleted } = await this.#store.deleteIds(await Promise.all(ids.map(textKey)));
      if (deleted.length > 0 && this.#isKnown(before)) this.#forget(deleted);
      return deleted.length;
    });
  }

  override async deleteByMark(marks: string | readonly string[]): Promise<number> {
    const wanted = markList(marks);
    return this.#change((entry) =>
      wanted.some((mark) => entry.marks.includes(mark)) ? 'deleted' : undefined,
    );
  }

  override async size(): Promise<number> {
    return this.#enqueue(async () => {
      await this.#sync();
      return this.#entries.size;
    });
  }

  override async clear(): Promise<void> {
    await this.#enqueue(() => this.#store.clear());
  }

  override async getMemory(filter: MemoryFilter = {}): Promise<readonly Msg[]> {
    return this.#enqueue(async () => {
      await this.#sync();
      const isSummaryWanted = filter.prependSummary ?? true;
      const msgs = isSummaryWanted && this.#summary !== undefined ? [this.#summary] : [];
      for (const { msg, marks } of this.#entries.values()) if (passesFilter(marks, filter)) msgs.push(msg);
      return msgs;
    });
  }

  override async updateMessagesMark(change: MarkChange): Promise<number> {
    checkMarkChange(change);
    const ids = change.msgIds && new Set(change.msgIds);
    return this.#change(({ msg, marks }) => {
      return ids === undefined || ids.has(msg.id) ? changedMarks(marks, change) : undefined;
    });
  }

  override async getCompressedSummary(): Promise<string> {
    return this.#enqueue(async () => {
      await this.#sync();
      return this.#summary?.text ?? '';
    });
  }

  override async updateCompressedSummary(text: string): Promise<void> {
    if (typeof text !== 'string') throw new TroupeError('invalid_input', 'A summary must be a text.');
    await this.#enqueue(() => this.#store.setSummary(JSON.stringify(text)));
  }

  /** Waits for pending work, then closes the connection if this memory opened it. */
  async close(): Promise<void> {
    await this.#last;
    await this.#store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** State property. */
  protected get conversation(): ConversationId {
    return { userId: this.userId, sessionId: this.sessionId };
  }

  protected set conversation(_same: ConversationId) {
    // Already checked to be equal.
  }

  /** Runs work after all earlier work. */
  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Reads changes from the store. */
  async #sync(): Promise<void> {
    const { version, summary, rows, isWhole } = await this.#store.read(this.#version);
    const known = version.birth === this.#version.birth ? this.#entries : new Map<number, Entry>();
    const read = rows.map((row): [number, Entry] => [row.seq, this.#toEntry(row, known.get(row.seq))]);
    const text = this.#toSummary(summary);
    if (isWhole) this.#entries = new Map(read);
    else for (const [seq, entry] of read) this.#entries.set(seq, entry);
    if (text !== (this.#summary?.text ?? '')) this.#summary = text === '' ? undefined : summaryMsg(text);
    this.#version = version;
  }

  /** Deletes or marks messages, based on their latest version. Resolves to the number of changed messages. */
  #change(changeOf: (entry: Entry) => 'deleted' | readonly string[] | undefined): Promise<number> {
    return this.#enqueue(async () => {
      for (;;) {
        await this.#sync();
        const deleted: { seq: number; id: string }[] = [];
        const marked = new Map<string, number[]>();
        const changed = new Map<number, Entry>();
        for (const [seq, entry] of this.#entries) {
          const change = changeOf(entry);
          if (change === 'deleted') deleted.push({ seq, id: await textKey(entry.msg.id) });
          else if (change !== undefined) {
            const text = JSON.stringify(change);
            const others = marked.get(text);
            if (others === undefined) marked.set(text, [seq]);
            else others.push(seq);
            changed.set(seq, { msg: entry.msg, marks: change });
          }
        }
        const count = deleted.length + changed.size;
        if (count === 0) return 0;
        // Changed by another user meanwhile.
        if (!(await this.#store.change(this.#version, { deleted, marked }))) continue;
        this.#forget(deleted.map(({ seq }) => seq));
        for (const [seq, entry] of changed) this.#entries.set(seq, entry);
        return count;
      }
    });
  }

  /** Tells whether only new messages were added since the known version. */
  #isKnown({ birth, epoch }: ConversationVersion): boolean {
    return birth === this.#version.birth && epoch === this.#version.epoch;
  }

  /** Applies a deletion that was just made in the store. */
  #forget(deleted: readonly number[]): void {
    for (const seq of deleted) this.#entries.delete(seq);
    this.#version = { ...this.#version, epoch: this.#version.epoch + 1 };
  }

  #toEntry({ seq, marks, msg }: StoredRow, known: Entry | undefined): Entry {
    try {
      const text = parseJson(marks, 'its list of marks') as readonly string[];
      if (known === undefined && msg === null) throw new TypeError('the message is missing');
      return { msg: known?.msg ?? Msg.from(parseJson(msg ?? '', 'the message')), marks: markList(text) };
    } catch (cause) {
      throw new CorruptMemoryError(this.sessionId, seq, messageOf(cause), { cause });
    }
  }

  #toSummary(json: string): string {
    const text = readJson(json);
    if (typeof text === 'string') return text;
    const problem = `The summary in the memory of session '${this.sessionId.slice(0, 64)}' can't be read. Set another one.`;
    throw new TroupeError('memory_corrupt', problem);
  }

  #checkConversation(json: JsonValue): ConversationId {
    const { userId, sessionId } = isJsonObject(json) ? json : {};
    if (userId === this.userId && sessionId === this.sessionId) return this.conversation;
    throw new TypeError(
      'it belongs to another conversation. Create the memory with the ids of the saved conversation.',
    );
  }
}

function checkId(name: string, id: string): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new TroupeError('invalid_config', `${name} must be a non-empty text.`);
}
