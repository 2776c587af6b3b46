import { messageOf, TroupeError } from '../errors.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { isJsonObject, parseJson, readJson, type JsonValue } from '../util/json.ts';
import { changedMarks, checkMarkChange, isWanted, markList } from './marks.ts';
import {
  MemoryBase,
  summaryMsg,
  type AddOptions,
  type MarkChange,
  type MemoryFilter,
} from './memory-base.ts';
import { textKey } from './text-key.ts';

/** Whose conversation it is. Other pairs never see its messages. */
export interface ConversationId {
  /** @default 'default' */
  readonly userId?: string | undefined;
  readonly sessionId: string;
}

/** Where a conversation stands: whoever knows it can tell what has come since, and whether anything else has changed. */
export interface ConversationVersion {
  /** Another one when the conversation was made anew; empty if there is none. */
  readonly birth: string;
  /** Goes up when messages are deleted, or get other marks. */
  readonly epoch: number;
  /** The number that the next message gets. They go up by one, and none is used again. */
  readonly next: number;
}

export interface NewRow {
  /** The key of the message's id. */
  readonly id: string;
  readonly marks: string;
  readonly msg: string;
}

export interface StoredRow {
  readonly seq: number;
  readonly marks: string;
  /** Null if whoever asks has it. */
  readonly msg: string | null;
}

export interface ConversationReading {
  readonly version: ConversationVersion;
  /** As JSON. */
  readonly summary: string;
  /** In order: those since the known version, or all there are if anything else has changed. */
  readonly rows: readonly StoredRow[];
  readonly isWhole: boolean;
}

/** How a store keeps one conversation. Each method happens as a whole or not at all, whoever else is at work. */
export interface ConversationStore {
  read(known: ConversationVersion): Promise<ConversationReading>;
  /** Adds those whose id is not there yet. Tells where the conversation stood before, and which of the rows they are. */
  append(rows: readonly NewRow[]): Promise<{ before: ConversationVersion; added: readonly number[] }>;
  /** Tells where the conversation stood before, and the numbers of those that were there. */
  deleteIds(ids: readonly string[]): Promise<{ before: ConversationVersion; deleted: readonly number[] }>;
  /** Deletes and marks messages, unless the birth or the epoch is another by now. Tells whether it did. */
  change(known: ConversationVersion, change: RowChange): Promise<boolean>;
  /** Ends the conversation. */
  clear(): Promise<void>;
  /** @param summary as JSON */
  setSummary(summary: string): Promise<void>;
  close(): Promise<void>;
}

export interface RowChange {
  /** The number and the key of the id of each. */
  readonly deleted: readonly { readonly seq: number; readonly id: string }[];
  /** The numbers of messages by the marks that they get. */
  readonly marked: ReadonlyMap<string, readonly number[]>;
}

interface Entry {
  readonly msg: Msg;
  readonly marks: readonly string[];
}

export const NO_CONVERSATION: ConversationVersion = Object.freeze({ birth: '', epoch: 0, next: 0 });

/** A stored message that is none. */
export class CorruptMemoryError extends TroupeError {
  override readonly name = 'CorruptMemoryError';

  constructor(
    readonly sessionId: string,
    /** Its number in the conversation. */
    readonly row: number,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(
      'memory_corrupt',
      `Row ${row} of the memory of session '${sessionId.slice(0, 64)}' can't be read: ${problem}. Repair that row, delete the message by its id, or clear the memory.`,
      options,
    );
  }
}

/**
 * A memory whose messages live in a store, which other memories and other processes may use too.
 *
 * What was read is kept, and stays the same object for as long as the message is there. Each look asks the store
 * for what has come since; everything is read again only if somebody else has deleted or marked messages, and then
 * without the messages that are known. Calls happen one after another, in the order in which they were made.
 *
 * The state names the conversation and holds none of it: the messages are saved already. A state of
 * another conversation is refused, so that no state leads to the messages of somebody else.
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
    await this.#inTurn(async () => {
      const marksText = JSON.stringify(marks);
      const rows = await Promise.all(
        list.map(async (msg) => ({ id: await textKey(msg.id), marks: marksText, msg: JSON.stringify(msg) })),
      );
      const { before, added } = await this.#store.append(rows);
      if (before.next === 0) this.#entries = new Map();
      else if (!this.#isKnown(before) || before.next !== this.#version.next) return; // it is read with the others
      let { next } = before;
      for (const i of added) this.#entries.set(next++, { msg: list[i] as Msg, marks });
      this.#version = { ...before, next };
    });
  }

  override async delete(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    return this.#inTurn(async () => {
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
    return this.#inTurn(async () => {
      await this.#sync();
      return this.#entries.size;
    });
  }

  override async clear(): Promise<void> {
    await this.#inTurn(() => this.#store.clear());
  }

  override async getMemory(filter: MemoryFilter = {}): Promise<readonly Msg[]> {
    return this.#inTurn(async () => {
      await this.#sync();
      const isSummaryWanted = filter.prependSummary ?? true;
      const msgs = isSummaryWanted && this.#summary !== undefined ? [this.#summary] : [];
      for (const { msg, marks } of this.#entries.values()) if (isWanted(marks, filter)) msgs.push(msg);
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
    return this.#inTurn(async () => {
      await this.#sync();
      return this.#summary?.text ?? '';
    });
  }

  override async updateCompressedSummary(text: string): Promise<void> {
    if (typeof text !== 'string') throw new TroupeError('invalid_input', 'A summary must be a text.');
    await this.#inTurn(() => this.#store.setSummary(JSON.stringify(text)));
  }

  /** Ends the connection that the memory has made itself, when all that was begun is done. */
  async close(): Promise<void> {
    await this.#last;
    await this.#store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** For the state. */
  protected get conversation(): ConversationId {
    return { userId: this.userId, sessionId: this.sessionId };
  }

  protected set conversation(_same: ConversationId) {
    // It was checked to be the same.
  }

  /** Runs work when all that came before it is done. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Brings what is known up to date. */
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

  /** Deletes or marks messages, as they are by the time when it happens. Resolves to how many. */
  #change(fateOf: (entry: Entry) => 'deleted' | readonly string[] | undefined): Promise<number> {
    return this.#inTurn(async () => {
      for (;;) {
        await this.#sync();
        const deleted: { seq: number; id: string }[] = [];
        const marked = new Map<string, number[]>();
        const changed = new Map<number, Entry>();
        for (const [seq, entry] of this.#entries) {
          const fate = fateOf(entry);
          if (fate === 'deleted') deleted.push({ seq, id: await textKey(entry.msg.id) });
          else if (fate !== undefined) {
            const text = JSON.stringify(fate);
            const others = marked.get(text);
            if (others === undefined) marked.set(text, [seq]);
            else others.push(seq);
            changed.set(seq, { msg: entry.msg, marks: fate });
          }
        }
        const count = deleted.length + changed.size;
        if (count === 0) return 0;
        if (!(await this.#store.change(this.#version, { deleted, marked }))) continue; // somebody else was faster
        this.#forget(deleted.map(({ seq }) => seq));
        for (const [seq, entry] of changed) this.#entries.set(seq, entry);
        return count;
      }
    });
  }

  /** Whether nothing but new messages can have come since. */
  #isKnown({ birth, epoch }: ConversationVersion): boolean {
    return birth === this.#version.birth && epoch === this.#version.epoch;
  }

  /** Takes over what was just done in the store. */
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
    throw new TypeError('it is that of another conversation. Make the memory with the ids of this one.');
  }
}

function checkId(name: string, id: string): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new TroupeError('invalid_config', `${name} must be a text that is not empty.`);
}
