import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { CompressionEvent } from '../../event/agent-event.ts';
import { Msg } from '../../message/msg.ts';
import { abortable } from '../../util/abort.ts';
import type { CompressionTask } from '../context-compressor.ts';
import type { TokenMeter } from '../token-meter.ts';
import {
  storedEvent,
  emittedEvent,
  type AutoContextEvent,
  type CompressionStrategy,
} from './auto-context-event.ts';
import type { AutoContextLimits, AutoContextOptions } from './auto-context-options.ts';
import { AutoContextTokenCounter } from './auto-context-token-counter.ts';
import { promptLimitsFor, limitAfterRefusal, tokenLimitOf, type PromptLimits } from './prompt-limits.ts';
import { ContextView, PINNED_MARK } from './context-view.ts';
import type { OffloadStore } from './offload-store.ts';
import { summarize, type Answer, type Question } from './summarizer.ts';
import type { Entry, StubKind, WorkingMemory } from './working-memory.ts';

/** What is looked after, besides all that was ever said. */
export interface Stores {
  readonly working: WorkingMemory;
  readonly offloads: OffloadStore;
  readonly meter: TokenMeter;
  events: AutoContextEvent[];
}

/** A message that could take the place of others. */
export interface Draft {
  readonly removed: readonly Msg[];
  readonly msg: Msg;
  readonly kind: StubKind;
  readonly uuid: string;
  /** What is to be kept under the uuid; undefined if that is there already. */
  readonly offloaded: readonly Msg[] | undefined;
  readonly answer?: Answer;
}

/** A model is asked no more often than this for one prompt; the last resort needs none. */
const MAX_MODEL_CALLS = 16;
const CHARS_PER_TOKEN = 2;
const ESTIMATE = new AutoContextTokenCounter();
const SAMPLE = Msg.user('x'.repeat(1000), { id: 'sample' });

/**
 * One attempt to make a conversation smaller: what is too much, and the only way to change it. A change is made in one
 * go, with its copy of what it removes and its event, or not at all; it is made only if it makes the conversation smaller.
 */
export class CompressionAttempt {
  readonly limits: AutoContextLimits;
  readonly options: AutoContextOptions;
  readonly #stores: Stores;
  readonly #task: CompressionTask;
  readonly #summary: Msg | undefined;
  readonly #protectedTools: ReadonlySet<string>;
  readonly #failed = new Set<CompressionStrategy>();
  #view: { readonly view: ContextView; readonly version: number } | undefined;
  #changes = 0;
  #modelCalls = 0;
  /** No more is asked of a model that has hung once. */
  #hasHung = false;
  #overhead = 0;
  #limit: number;

  constructor(
    stores: Stores,
    limits: AutoContextLimits,
    options: AutoContextOptions,
    task: CompressionTask,
    summary: Msg | undefined,
  ) {
    this.#stores = stores;
    this.limits = limits;
    this.options = options;
    this.#task = task;
    this.#summary = summary;
    this.#protectedTools = new Set(options.protectedTools);
    this.#limit = tokenLimitOf(limits);
  }

  /** How many were made. */
  get changes(): number {
    return this.#changes;
  }

  /** Of the whole prompt. */
  get tokens(): number {
    return this.#stores.working.tokens + this.#overhead;
  }

  get hasTooManyTokens(): boolean {
    return this.tokens >= this.#limit;
  }

  get hasTooMuch(): boolean {
    return this.hasTooManyTokens || this.#stores.working.size >= this.limits.msgThreshold;
  }

  /** How much text a model is given to sum up: it should fit its own window too. */
  get maxTranscriptChars(): number {
    return tokenLimitOf(this.limits) * CHARS_PER_TOKEN;
  }

  get signal(): AbortSignal {
    return this.#task.signal;
  }

  /** Whether something has gone wrong with it, so that it is not tried again. */
  hasFailed(means: CompressionStrategy): boolean {
    return this.#failed.has(means);
  }

  /** What there is room for, as the conversation is now. */
  promptLimits(): PromptLimits {
    return promptLimitsFor(this.#overhead + this.view().fixedTokens, this.#limit, this.limits.maxToken);
  }

  /** Whether results that the model has yet to read can stay as they are, if all has gone that may go. */
  get canKeepUnread(): boolean {
    const view = this.view();
    const unread = view.unread === undefined ? 0 : view.tokensOf([view.unread]);
    return this.promptLimits().stays + unread < this.#limit;
  }

  /** Counts what goes with the conversation, and what is new in it. */
  async measure(): Promise<void> {
    const { sysPrompt, tools, hints, force } = this.#task;
    const { working, meter } = this.#stores;
    const others = this.#summary === undefined ? [...hints] : [this.#summary, ...hints];
    if (sysPrompt !== '') others.push(Msg.system(sysPrompt, { id: 'system' }));
    this.#overhead = await meter.count(others, tools, ESTIMATE, this.signal);
    const [sample = 0] = await this.#countEach([SAMPLE]);
    working.calibrate(sample);
    await this.countNew();
    if (force) this.#limit = limitAfterRefusal(this.tokens, this.promptLimits().stays, this.limits);
  }

  async countNew(): Promise<void> {
    const { working } = this.#stores;
    for (let msgs = working.uncounted; msgs.length > 0; msgs = working.uncounted) {
      working.setCounts(msgs, await this.#countEach(msgs));
    }
  }

  /** The conversation of now. Messages that come later are not in it. */
  view(): ContextView {
    const { working } = this.#stores;
    if (this.#view?.version !== working.version) {
      const view = new ContextView([...working.entries], {
        audience: this.#task,
        isPinned: (entry) => this.#isPinned(entry),
        protectedTools: this.#protectedTools,
        tokensOf: (msgs) => working.tokensOf(msgs),
        maxRequestTokens: tokenLimitOf(this.limits) / 2,
      });
      this.#view = { view, version: working.version };
    }
    return this.#view.view;
  }

  /** Whether something is kept under a uuid. */
  isOffloaded(uuid: string): boolean {
    return this.#stores.offloads.get(uuid).length > 0;
  }

  /** Makes the changes that gain something. Returns how many those were. */
  async replace(means: CompressionStrategy, drafts: readonly Draft[]): Promise<number> {
    const counts = await this.#countEach(drafts.map(({ msg }) => msg));
    this.signal.throwIfAborted();
    const { working } = this.#stores;
    const byMsg = new Map(drafts.map((draft) => [draft.msg, draft]));
    const changes = drafts.flatMap(({ removed, msg, uuid, kind }, i) => {
      const tokens = counts[i] ?? 0;
      return tokens < working.tokensOf(removed) ? [{ removed, msg, stub: { uuid, kind }, tokens }] : [];
    });
    const made = working.replace(changes, (entry) => !this.#isPinned(entry));
    const told: CompressionEvent[] = [];
    for (const changed of made) {
      const draft = byMsg.get(changed.change.msg);
      if (draft === undefined) continue;
      if (draft.offloaded !== undefined) this.#stores.offloads.set(draft.uuid, draft.offloaded);
      this.#stores.events.push(
        storedEvent(means, draft.answer, changed, working.tokensOf(changed.change.removed)),
      );
      told.push(emittedEvent(means, draft.answer, changed));
      this.#changes++;
    }
    for (const event of told) await this.#emit(event);
    return made.length;
  }

  /** Has a model sum up messages, and tells about it. Undefined if it could not. */
  async ask(means: CompressionStrategy, count: number, question: Question): Promise<Answer | undefined> {
    if (this.#hasHung || this.#modelCalls++ >= MAX_MODEL_CALLS) {
      this.#failed.add(means);
      return undefined;
    }
    const tell = (phase: 'start' | 'progress'): Promise<void> =>
      this.#emit({
        type: 'compression',
        phase,
        strategy: means,
        compressedMessageCount: count,
        tokensBefore: this.#stores.working.tokens,
      });
    await tell('start');
    const model = this.options.model ?? this.#task.model;
    const answer = await summarize(question, model, this.limits.timeoutMs, this.#task, () =>
      tell('progress'),
    );
    await this.#guarded('count the usage', async () => this.#task.addUsage(answer.usage));
    if (answer.problem === undefined) return answer;
    this.#hasHung = answer.hasHung === true;
    await this.fail(means, count, answer.problem, answer);
    return undefined;
  }

  /** Makes one change by a summary. One that gains nothing is a failure. */
  async replaceBySummary(means: CompressionStrategy, draft: Draft): Promise<void> {
    if ((await this.replace(means, [draft])) > 0) return;
    await this.fail(
      means,
      draft.removed.length,
      'The summary is not shorter, or what it is about has changed.',
      draft.answer,
    );
  }

  /** Tells that nothing came of it, and sees to it that it isn't tried again. */
  async fail(means: CompressionStrategy, count: number, problem: string, answer?: Answer): Promise<void> {
    this.#failed.add(means);
    getLogger().log('warn', `The conversation was not made smaller by ${means}: ${problem}`);
    await this.#emit({
      type: 'compression',
      phase: 'failed',
      strategy: means,
      compressedMessageCount: count,
      tokensBefore: this.#stores.working.tokens,
      problem,
      ...(answer && { durationMs: answer.durationMs }),
      ...(answer?.usage && { usage: answer.usage }),
    });
  }

  #countEach(msgs: readonly Msg[]): Promise<readonly number[]> {
    return this.#stores.meter.countEach(msgs, ESTIMATE, this.signal);
  }

  #isPinned(entry: Entry): boolean {
    return entry.marks.includes(PINNED_MARK) || this.options.isPinned?.(entry.msg) === true;
  }

  #emit(event: CompressionEvent): Promise<void> {
    return this.#guarded('tell about it', async () => this.#task.emit(event));
  }

  /** What others do is waited for, but can't do any harm. */
  async #guarded(what: string, body: () => Promise<void>): Promise<void> {
    try {
      await abortable(body(), this.signal);
    } catch (error) {
      this.signal.throwIfAborted();
      getLogger().log(
        'warn',
        `A conversation was made smaller, but nobody could ${what}: ${messageOf(error)}`,
      );
    }
  }
}
