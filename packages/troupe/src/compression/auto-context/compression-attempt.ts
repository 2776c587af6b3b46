import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { CompressionEvent } from '../../event/agent-event.ts';
import { Msg } from '../../message/msg.ts';
import { abortable } from '../../util/abort.ts';
import type { CompressionTask } from '../context-compressor.ts';
import type { TokenMeter } from '../token-meter.ts';
import type { Audience } from '../units.ts';
import {
  storedEvent,
  emittedEvent,
  type AutoContextEvent,
  type CompressionStrategy,
  type SummaryAnswer,
} from './auto-context-event.ts';
import type { AutoContextLimits, AutoContextOptions } from './auto-context-options.ts';
import { AutoContextTokenCounter } from './auto-context-token-counter.ts';
import {
  HISTORY_SHARE_LEFT,
  limitAfterRefusal,
  promptLimitsFor,
  tokenLimitOf,
  type PromptLimits,
} from './prompt-limits.ts';
import { ContextView, PINNED_MARK } from './context-view.ts';
import type { OffloadStore } from './offload-store.ts';
import { summarize, type SummaryRequest } from './summarizer.ts';
import type { Entry, StubKind, WorkingMemory } from './working-memory.ts';

/** Stores of an `AutoContextMemory` that an attempt reads and changes. */
export interface Stores {
  readonly working: WorkingMemory;
  readonly offloads: OffloadStore;
  readonly meter: TokenMeter;
  events: AutoContextEvent[];
}

/** A replacement for messages, before its tokens are counted. */
export interface ProposedChange {
  readonly removed: readonly Msg[];
  readonly msg: Msg;
  readonly kind: StubKind;
  readonly uuid: string;
  /** Messages to offload under the uuid; undefined if already offloaded. */
  readonly offloaded: readonly Msg[] | undefined;
  readonly answer?: SummaryAnswer;
}

/**
 * Purpose of a summary: a strategy, or one of three forms of `previous_round_conversation_summary`. A failed
 * form does not prevent the next form, so that a failed summary of one round does not offload the history.
 */
export type SummaryForm = CompressionStrategy | 'single_rounds' | 'history' | 'whole_history';

/** Maximum model calls per attempt. */
const MAX_MODEL_CALLS = 16;
const CHARS_PER_TOKEN = 2;
const ESTIMATE = new AutoContextTokenCounter();
const SAMPLE = Msg.user('x'.repeat(1000), { id: 'sample' });

/**
 * One attempt to compress a conversation: measures the prompt and applies all changes. A change is applied at
 * once together with its offload and its event, and only if it saves tokens.
 */
export class CompressionAttempt {
  readonly limits: AutoContextLimits;
  readonly options: AutoContextOptions;
  readonly #stores: Stores;
  readonly #task: CompressionTask;
  readonly #summary: Msg | undefined;
  readonly #protectedTools: ReadonlySet<string>;
  readonly #failed = new Set<SummaryForm>();
  #view: { readonly view: ContextView; readonly version: number } | undefined;
  #changes = 0;
  #modelCalls = 0;
  /** True after a model exceeded the time limit once. No further model calls follow. */
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

  /** Number of applied changes. */
  get changes(): number {
    return this.#changes;
  }

  /** Tokens of the whole prompt. */
  get tokens(): number {
    return this.#stores.working.tokens + this.#overhead;
  }

  get hasTooManyTokens(): boolean {
    return this.tokens >= this.#limit;
  }

  get hasTooManyMsgs(): boolean {
    return this.#stores.working.size >= this.limits.msgThreshold;
  }

  get hasTooMuch(): boolean {
    return this.hasTooManyTokens || this.hasTooManyMsgs;
  }

  /** Tells which messages are the agent's own, and by which name. */
  get audience(): Audience {
    return this.#task;
  }

  /** Maximum characters of a text to summarize, so that it fits the window of the summarizing model. */
  get maxTranscriptChars(): number {
    return tokenLimitOf(this.limits) * CHARS_PER_TOKEN;
  }

  get signal(): AbortSignal {
    return this.#task.signal;
  }

  /** True if this form of summary has failed in this attempt and is not tried again. */
  hasFailed(form: SummaryForm): boolean {
    return this.#failed.has(form);
  }

  /** Token limits for the current conversation. */
  promptLimits(): PromptLimits {
    return promptLimitsFor(this.#overhead + this.view().fixedTokens, this.#limit, this.limits.maxToken);
  }

  /** Messages and tokens that a summary of the history has to remove; 0 for a limit that is not reached. */
  get historyExcess(): { readonly msgs: number; readonly tokens: number } {
    const { size } = this.#stores.working;
    const msgGoal = Math.floor(this.limits.msgThreshold * HISTORY_SHARE_LEFT);
    return {
      msgs: this.hasTooManyMsgs ? size - msgGoal : 0,
      tokens: this.hasTooManyTokens ? this.tokens - this.promptLimits().historyGoal : 0,
    };
  }

  /** True if unread tool results fit unchanged after removal of everything removable. */
  get canKeepUnread(): boolean {
    const view = this.view();
    const unread = view.unread === undefined ? 0 : view.tokensOf([view.unread]);
    return this.promptLimits().fixed + unread < this.#limit;
  }

  /** Counts the prompt parts outside the conversation, and all new messages. */
  async measure(): Promise<void> {
    const { sysPrompt, tools, hints, force } = this.#task;
    const { working, meter } = this.#stores;
    const others = this.#summary === undefined ? [...hints] : [this.#summary, ...hints];
    if (sysPrompt !== '') others.push(Msg.system(sysPrompt, { id: 'system' }));
    this.#overhead = await meter.count(others, tools, ESTIMATE, this.signal);
    const [sample = 0] = await this.#countEach([SAMPLE]);
    working.calibrate(sample);
    await this.countNew();
    if (force) this.#limit = limitAfterRefusal(this.tokens, this.promptLimits().fixed, this.limits);
  }

  async countNew(): Promise<void> {
    const { working } = this.#stores;
    for (let msgs = working.uncounted; msgs.length > 0; msgs = working.uncounted) {
      working.setCounts(msgs, await this.#countEach(msgs));
    }
  }

  /** The conversation when the attempt began, without messages added later. */
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

  /** True if messages are offloaded under the uuid. */
  isOffloaded(uuid: string): boolean {
    return this.#stores.offloads.get(uuid).length > 0;
  }

  /** Applies the changes that save tokens. Resolves to their number. */
  async replace(strategy: CompressionStrategy, proposals: readonly ProposedChange[]): Promise<number> {
    const counts = await this.#countEach(proposals.map(({ msg }) => msg));
    this.signal.throwIfAborted();
    const { working } = this.#stores;
    const byMsg = new Map(proposals.map((proposal) => [proposal.msg, proposal]));
    const changes = proposals.flatMap(({ removed, msg, uuid, kind }, i) => {
      const tokens = counts[i] ?? 0;
      return tokens < working.tokensOf(removed) ? [{ removed, msg, stub: { uuid, kind }, tokens }] : [];
    });
    const made = working
      .replace(changes, (entry) => !this.#isPinned(entry))
      .map((changed) => ({
        ...changed,
        tokensBefore: changed.tokensBefore + this.#overhead,
        tokensAfter: changed.tokensAfter + this.#overhead,
      }));
    const emitted: CompressionEvent[] = [];
    for (const changed of made) {
      const proposal = byMsg.get(changed.change.msg);
      if (proposal === undefined) continue;
      if (proposal.offloaded !== undefined) this.#stores.offloads.set(proposal.uuid, proposal.offloaded);
      this.#stores.events.push(
        storedEvent(strategy, proposal.answer, changed, working.tokensOf(changed.change.removed)),
      );
      emitted.push(emittedEvent(strategy, proposal.answer, changed));
      this.#changes++;
    }
    for (const event of emitted) await this.#emit(event);
    return made.length;
  }

  /** Asks a model for a summary. Emits `start`, `progress` and `failed`. Undefined on failure. */
  async ask(
    strategy: CompressionStrategy,
    count: number,
    request: SummaryRequest,
    form: SummaryForm = strategy,
  ): Promise<SummaryAnswer | undefined> {
    if (this.#hasHung || this.#modelCalls++ >= MAX_MODEL_CALLS) {
      this.#failed.add(form);
      return undefined;
    }
    const emit = (phase: 'start' | 'progress'): Promise<void> =>
      this.#emit({
        type: 'compression',
        phase,
        strategy,
        compressedMessageCount: count,
        tokensBefore: this.tokens,
      });
    await emit('start');
    const model = this.options.model ?? this.#task.model;
    const answer = await summarize(request, model, this.limits.timeoutMs, this.#task, () => emit('progress'));
    await this.#logFailure('add the usage', async () => this.#task.addUsage(answer.usage));
    if (answer.problem === undefined) return answer;
    this.#hasHung = answer.hasHung === true;
    await this.fail(strategy, count, answer.problem, answer, form);
    return undefined;
  }

  /** Applies a summary. A summary without saved tokens counts as failure of its form. */
  async replaceBySummary(
    strategy: CompressionStrategy,
    proposal: ProposedChange,
    form: SummaryForm = strategy,
  ): Promise<void> {
    if ((await this.replace(strategy, [proposal])) > 0) return;
    await this.fail(
      strategy,
      proposal.removed.length,
      'The summary is not shorter, or the messages have changed meanwhile.',
      proposal.answer,
      form,
    );
  }

  /** Emits `failed` and excludes the form from this attempt. */
  async fail(
    strategy: CompressionStrategy,
    count: number,
    problem: string,
    answer?: SummaryAnswer,
    form: SummaryForm = strategy,
  ): Promise<void> {
    this.#failed.add(form);
    getLogger().log('warn', `The compression strategy ${strategy} failed: ${problem}`);
    await this.#emit({
      type: 'compression',
      phase: 'failed',
      strategy,
      compressedMessageCount: count,
      tokensBefore: this.tokens,
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
    return this.#logFailure('emit an event', async () => this.#task.emit(event));
  }

  /** Runs a callback of the agent. A failure is logged and does not stop the compression. */
  async #logFailure(action: string, body: () => Promise<void>): Promise<void> {
    try {
      await abortable(body(), this.signal);
    } catch (error) {
      this.signal.throwIfAborted();
      getLogger().log('warn', `A compression failed to ${action}: ${messageOf(error)}`);
    }
  }
}
