import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { changedMarks, checkMarkChange, passesFilter, markList } from '../../memory/marks.ts';
import {
  MemoryBase,
  summaryMsg,
  type AddOptions,
  type MarkChange,
  type MemoryFilter,
} from '../../memory/memory-base.ts';
import { Msg, type MsgInput } from '../../message/msg.ts';
import type { Tool } from '../../toolkit/tool/tool.ts';
import { abortable } from '../../util/abort.ts';
import { traced } from '../../tracing/instrumentation.ts';
import type { SpanOutcome } from '../../tracing/traced-operation.ts';
import type { ContextCompressor, CompressionTask } from '../context-compressor.ts';
import { TokenMeter } from '../token-meter.ts';
import { eventFromJson, type AutoContextEvent } from './auto-context-event.ts';
import { limitsOf, type AutoContextLimits, type AutoContextOptions } from './auto-context-options.ts';
import { reloadTool } from './context-reload.ts';
import { runStrategies } from './run-strategies.ts';
import {
  entryFromJson,
  entryToJson,
  lookedUp,
  offloadFromJson,
  offloadToJson,
  OffloadStore,
  type OffloadRecord,
  type SavedEntry,
  type SavedOffload,
} from './offload-store.ts';
import { CompressionAttempt, type Stores } from './compression-attempt.ts';
import { WorkingMemory, type Entry } from './working-memory.ts';

/** Maximum size of a reload, as share of the token limit. */
const RELOAD_SHARE = 1 / 8;
const CHARS_PER_TOKEN = 2.5;
/** Share of new messages required before the next attempt, after an attempt that was not enough. */
const RETRY_SHARE = 1 / 16;

/**
 * Memory that compresses itself, and the entry point of this folder: `compress` runs `runStrategies`
 * (run-strategies.ts) over one `CompressionAttempt`. Four stores: messages that the model sees, original
 * messages, offloaded messages by uuid, and compression events.
 *
 * Offloaded messages can be reloaded byte for byte. A tool call is never separated from its results.
 * Requests of the current agent call, system messages and pinned messages are never changed. Messages before a
 * change stay the same objects. A summary that fails, exceeds the time limit or saves no tokens changes nothing; the last resort
 * needs no model. Folder `compression/auto-context`: start here.
 *
 * @example
 * ```ts
 * import { AutoContextMemory, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const memory = new AutoContextMemory({ maxToken: 32_000 });
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), memory });
 * await agent.call('Hello!');
 * console.log(memory.getCompressionEvents().length);
 * ```
 */
export class AutoContextMemory extends MemoryBase implements ContextCompressor {
  static override readonly componentName: string = 'autoContextMemory';

  readonly contextTools: readonly Tool[];
  /** Empty because the tool's description explains everything; the system prompt stays the same. */
  readonly contextInstruction = '';
  readonly #options: AutoContextOptions;
  readonly #limits: AutoContextLimits;
  #originals = new Map<string, Msg>();
  readonly #stores: Stores;
  #summary: Msg | undefined;
  /** The running attempt. Attempts run one at a time. */
  #busy: Promise<unknown> = Promise.resolve();
  /** Number of original messages required before the message count alone causes another attempt. */
  #retryAtSize = 0;

  /** @throws TroupeError if an option is out of range. */
  constructor(options: AutoContextOptions = {}) {
    super();
    this.#limits = limitsOf(options);
    this.#options = { ...options };
    this.#stores = {
      working: new WorkingMemory(),
      offloads: new OffloadStore(),
      meter: new TokenMeter(options.tokenCounter, this.#limits.timeoutMs),
      events: [],
    };
    const { maxToken, tokenRatio } = this.#limits;
    const maxChars = Math.max(1, Math.floor(maxToken * tokenRatio * RELOAD_SHARE * CHARS_PER_TOKEN));
    this.contextTools = [reloadTool((uuid) => this.reload(uuid), maxChars)];
    // Loaded first: the other lists refer to original messages by id.
    this.registerStateList('originalMemoryStorage', {
      toJson: (msg: Msg) => msg.toJSON(),
      fromJson: (json) => Msg.from(json),
    });
    this.registerStateList<OffloadRecord | SavedOffload>('offloadContext', {
      toJson: (offload) => offloadToJson(offload as OffloadRecord, this.#originals),
      fromJson: offloadFromJson,
    });
    this.registerStateList<Entry | SavedEntry>('workingMemoryStorage', {
      toJson: (entry) => entryToJson(entry as Entry, this.#originals),
      fromJson: entryFromJson,
    });
    this.registerStateList('compressionEvents', {
      toJson: (event: AutoContextEvent) => event,
      fromJson: eventFromJson,
    });
    this.registerState('compressedSummary');
  }

  override async add(msgs: MsgInput, options: AddOptions = {}): Promise<void> {
    const marks = markList(options.marks);
    for (const msg of Msg.list(msgs)) {
      if (this.#stores.working.has(msg.id) || this.#stores.offloads.holds(msg.id)) continue;
      this.#stores.working.add(Object.freeze({ msg, marks }));
      if (!this.#originals.has(msg.id)) this.#originals.set(msg.id, msg);
    }
  }

  /** Removes messages from the prompt. `getOriginalMemoryMsgs` still returns them. */
  override async delete(ids: readonly string[]): Promise<number> {
    const unwanted = new Set(ids);
    return this.#stores.working.delete(({ msg }) => unwanted.has(msg.id));
  }

  override async deleteByMark(marks: string | readonly string[]): Promise<number> {
    const unwanted = markList(marks);
    return this.#stores.working.delete((entry) => unwanted.some((mark) => entry.marks.includes(mark)));
  }

  override async size(): Promise<number> {
    return this.#stores.working.size;
  }

  /** Empties all four stores. */
  override async clear(): Promise<void> {
    this.#stores.working.load([]);
    this.#originals = new Map();
    this.#stores.offloads.load([]);
    this.#stores.events = [];
    this.#summary = undefined;
    this.#retryAtSize = 0;
  }

  override async getMemory(filter: MemoryFilter = {}): Promise<readonly Msg[]> {
    const { prependSummary = true } = filter;
    const msgs = prependSummary && this.#summary !== undefined ? [this.#summary] : [];
    for (const entry of this.#stores.working.entries) {
      if (passesFilter(entry.marks, filter)) msgs.push(entry.msg);
    }
    return msgs;
  }

  override async updateMessagesMark(change: MarkChange): Promise<number> {
    checkMarkChange(change);
    const wanted = change.msgIds && new Set(change.msgIds);
    return this.#stores.working.remark((entry) => {
      const marks = wanted?.has(entry.msg.id) === false ? undefined : changedMarks(entry.marks, change);
      return marks === undefined ? entry : Object.freeze({ ...entry, marks });
    });
  }

  override async getCompressedSummary(): Promise<string> {
    return this.compressedSummary;
  }

  override async updateCompressedSummary(text: string): Promise<void> {
    this.compressedSummary = text;
  }

  /** All messages ever added, unchanged. */
  getOriginalMemoryMsgs(): readonly Msg[] {
    return [...this.#originals.values()];
  }

  /** Requests and answers: all original messages without tool blocks and system messages. */
  getInteractionMsgs(): readonly Msg[] {
    return this.getOriginalMemoryMsgs().filter(
      (msg) => msg.role !== 'system' && !msg.hasContentBlocks(['tool_use', 'tool_result']),
    );
  }

  /** Offloaded messages by uuid. */
  getOffloadContext(): ReadonlyMap<string, readonly Msg[]> {
    return new Map(this.#stores.offloads.items.map(({ uuid, msgs }) => [uuid, msgs]));
  }

  getCompressionEvents(): readonly AutoContextEvent[] {
    return [...this.#stores.events];
  }

  /** Returns the original messages offloaded under a uuid; empty for an unknown uuid. */
  reload(uuid: string): readonly Msg[] {
    return this.#stores.offloads.get(uuid);
  }

  /** Deletes an offload, so that `reload` finds nothing. The messages stay in `getOriginalMemoryMsgs`. */
  clearOffload(uuid: string): void {
    this.#stores.offloads.delete(uuid);
  }

  async compress(task: CompressionTask): Promise<boolean> {
    const before = this.#busy;
    const attempt = abortable(before, task.signal).then(() => this.#compress(task));
    this.#busy = Promise.allSettled([before, attempt]);
    return attempt;
  }

  async #compress(task: CompressionTask): Promise<boolean> {
    const attempt = new CompressionAttempt(this.#stores, this.#limits, this.#options, task, this.#summary);
    try {
      await attempt.measure();
      if (!attempt.hasTooMuch) return false;
      if (!attempt.hasTooManyTokens && this.#originals.size < this.#retryAtSize) return false;
      const outcomeOf = (): SpanOutcome => ({ status: 'ok', hasChanged: attempt.changes > 0 });
      const { signal, force } = task;
      await traced(
        () => ({ type: 'compression', isForced: force }),
        () => runStrategies(attempt),
        { signal, outcomeOf },
      );
      if (attempt.hasTooMuch)
        this.#retryAtSize = this.#originals.size + 1 + Math.floor(this.#stores.working.size * RETRY_SHARE);
    } catch (error) {
      task.signal.throwIfAborted();
      getLogger().log('error', `The conversation was not compressed: ${messageOf(error)}`);
    }
    return attempt.changes > 0;
  }

  /** Saved state; the accessors below are named after the keys of the saved state. */
  protected get originalMemoryStorage(): readonly Msg[] {
    return this.getOriginalMemoryMsgs();
  }

  protected set originalMemoryStorage(msgs: readonly Msg[]) {
    const originals = new Map(msgs.map((msg) => [msg.id, msg]));
    if (originals.size < msgs.length) throw new TypeError('the list has a message twice');
    this.#originals = originals;
  }

  protected get offloadContext(): readonly OffloadRecord[] {
    return this.#stores.offloads.items;
  }

  protected set offloadContext(offloads: readonly SavedOffload[]) {
    this.#stores.offloads.load(
      offloads.map(({ uuid, msgs }) => ({ uuid, msgs: lookedUp(msgs, this.#originals) })),
    );
  }

  protected get workingMemoryStorage(): readonly Entry[] {
    return [...this.#stores.working.entries];
  }

  protected set workingMemoryStorage(saved: readonly SavedEntry[]) {
    const msgs = lookedUp(
      saved.map(({ msg }) => msg),
      this.#originals,
    );
    if (new Set(msgs.map(({ id }) => id)).size < msgs.length)
      throw new TypeError('the list has a message twice');
    this.#stores.working.load(saved.map((entry, i) => Object.freeze({ ...entry, msg: msgs[i] as Msg })));
    this.#retryAtSize = 0;
  }

  protected get compressionEvents(): readonly AutoContextEvent[] {
    return this.getCompressionEvents();
  }

  protected set compressionEvents(events: readonly AutoContextEvent[]) {
    this.#stores.events = [...events];
  }

  protected get compressedSummary(): string {
    return this.#summary?.text ?? '';
  }

  protected set compressedSummary(text: string) {
    if (typeof text !== 'string') throw new TroupeError('invalid_input', 'A summary must be a text.');
    this.#summary = text === '' ? undefined : summaryMsg(text);
  }
}
