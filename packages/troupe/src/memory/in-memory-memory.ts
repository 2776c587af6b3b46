import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import type { StateConverter } from '../state/state-module.ts';
import { isJsonObject, type JsonValue } from '../util/json.ts';
import { changedMarks, checkMarkChange, passesFilter, markList } from './marks.ts';
import {
  MemoryBase,
  summaryMsg,
  type AddOptions,
  type MarkChange,
  type MemoryFilter,
} from './memory-base.ts';

/** Message with its marks. Immutable: new marks make a new entry. */
interface Entry {
  readonly msg: Msg;
  readonly marks: readonly string[];
}

/**
 * Memory in the process, lost at its end unless the state is saved.
 *
 * @example
 * ```ts
 * import { InMemoryMemory, Msg } from 'troupe';
 *
 * const memory = new InMemoryMemory();
 * await memory.add([Msg.user('Hello!'), Msg.assistant('Good morning.')], { marks: 'greeting' });
 * const msgs = await memory.getMemory({ mark: 'greeting' });
 * console.log(msgs.map((msg) => msg.text));
 * ```
 */
export class InMemoryMemory extends MemoryBase {
  static override readonly componentName: string = 'inMemoryMemory';

  /** Entries by message id, in order of arrival. */
  #entries = new Map<string, Entry>();
  #summary: Msg | undefined;

  constructor() {
    super();
    this.registerStateList('content', CONTENT_STATE);
    this.registerState('compressedSummary');
  }

  override async add(msgs: MsgInput, options: AddOptions = {}): Promise<void> {
    const marks = markList(options.marks);
    for (const msg of Msg.list(msgs)) {
      const known = this.#entries.get(msg.id);
      if (known === undefined) this.#entries.set(msg.id, { msg, marks });
      else if (known.msg !== msg && known.msg.text !== msg.text) warnOfUsedId(msg.id);
    }
  }

  override async delete(ids: readonly string[]): Promise<number> {
    return ids.filter((id) => this.#entries.delete(id)).length;
  }

  override async deleteByMark(marks: string | readonly string[]): Promise<number> {
    const wanted = markList(marks);
    const found = this.content.filter((entry) => wanted.some((mark) => entry.marks.includes(mark)));
    return this.delete(found.map(({ msg }) => msg.id));
  }

  override async size(): Promise<number> {
    return this.#entries.size;
  }

  override async clear(): Promise<void> {
    this.#entries = new Map();
    this.#summary = undefined;
  }

  override async getMemory(filter: MemoryFilter = {}): Promise<readonly Msg[]> {
    const isSummaryWanted = filter.prependSummary ?? true;
    const msgs = isSummaryWanted && this.#summary !== undefined ? [this.#summary] : [];
    for (const { msg, marks } of this.#entries.values()) if (passesFilter(marks, filter)) msgs.push(msg);
    return msgs;
  }

  override async updateMessagesMark(change: MarkChange): Promise<number> {
    checkMarkChange(change);
    let changed = 0;
    for (const id of change.msgIds ?? [...this.#entries.keys()]) {
      const entry = this.#entries.get(id);
      const marks = entry && changedMarks(entry.marks, change);
      if (entry === undefined || marks === undefined) continue;
      this.#entries.set(id, { msg: entry.msg, marks });
      changed++;
    }
    return changed;
  }

  override async getCompressedSummary(): Promise<string> {
    return this.compressedSummary;
  }

  override async updateCompressedSummary(text: string): Promise<void> {
    this.compressedSummary = text;
  }

  /** State property. */
  protected get content(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  protected set content(entries: readonly Entry[]) {
    this.#entries = new Map(entries.map((entry) => [entry.msg.id, entry]));
  }

  protected get compressedSummary(): string {
    return this.#summary?.text ?? '';
  }

  protected set compressedSummary(text: string) {
    if (typeof text !== 'string') throw new TroupeError('invalid_input', 'A summary must be a text.');
    this.#summary = text === '' ? undefined : summaryMsg(text);
  }
}

/** A message without marks is saved as the bare message, like before marks existed. */
function entryToJson({ msg, marks }: Entry): JsonValue {
  return marks.length === 0 ? msg.toJSON() : [msg.toJSON(), marks];
}

function entryFromJson(json: JsonValue): Entry {
  if (isJsonObject(json)) return { msg: Msg.from(json), marks: [] };
  const [msg, marks] = Array.isArray(json) ? (json as readonly JsonValue[]) : [];
  return { msg: Msg.from(msg), marks: markList(marks as readonly string[]) };
}

const CONTENT_STATE: StateConverter<Entry> = { toJson: entryToJson, fromJson: entryFromJson };

function warnOfUsedId(id: string): void {
  const message = `A message with the id '${id}' is in memory already, with another text: the new one is ignored. Give each message an id of its own.`;
  getLogger().log('warn', message);
}
