import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { CompressionEvent } from '../event/agent-event.ts';
import type { FormatterBase } from '../formatter/formatter-base.ts';
import { COMPRESSED_MARK, summaryMsg, type MemoryBase } from '../memory/memory-base.ts';
import { Msg } from '../message/msg.ts';
import { addUsage, type Usage } from '../message/usage.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import { ModelError } from '../model/model-error.ts';
import { callStructured } from '../model/structured/structured-output.ts';
import type { TokenCounterBase } from '../token/token-counter-base.ts';
import { traced } from '../tracing/instrumentation.ts';
import type { SpanOutcome } from '../tracing/traced-operation.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { abortable } from '../util/abort.ts';
import { monotonic } from '../util/clock.ts';
import { copyJson } from '../util/json.ts';
import { BoundedModel } from './bounded-model.ts';
import type { CompressionTask } from './context-compressor.ts';
import { describeMedia, type SummaryFormat } from './summary-format.ts';
import type { TokenMeter } from './token-meter.ts';
import { requestGroups, unitsOf } from './units.ts';

export interface SummarySettings {
  readonly triggerThreshold: number;
  readonly keepRecent: number;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly compressionPrompt: string;
  readonly model: ChatModelBase | undefined;
  readonly formatter: FormatterBase | undefined;
}

export interface SummaryTask extends CompressionTask {
  /** System prompt message, or none. */
  readonly before: readonly Msg[];
  readonly meter: TokenMeter;
  /** Used while the meter's counter fails. */
  readonly estimate: TokenCounterBase;
}

/** Messages that are removed together, in order. */
type MsgUnit = readonly Msg[];

interface OldUnits {
  /** Units before the first request. */
  readonly past: readonly MsgUnit[];
  /** Units before and after the first request. */
  readonly all: readonly MsgUnit[];
}

/** Result of one request for a summary: a text, or the reason why there is none. Must be JSON. */
type SummaryAnswer = {
  readonly text: string;
  readonly durationMs: number;
  readonly usage?: Usage;
  readonly problem?: string;
  /** True if the model refused the messages to summarize as too long. */
  readonly isTooLong?: boolean;
};

/** Share of `triggerThreshold` left after truncation, so that the next model call does not truncate again. */
const TRUNCATION_TARGET = 0.75;
/** Characters added to the length limit of a summary, for field names and punctuation. */
const EXTRA_CHARS = 1000;
/** Maximum model calls per attempt. */
const MAX_MODEL_CALLS = 8;
const NOTE =
  '(Older messages were left out here because the conversation got too long. No summary tells of them.)';

/** One attempt to compress a conversation by summaries, used by `SummaryCompressor`. */
export class SummaryAttempt {
  readonly #memory: MemoryBase;
  readonly #form: SummaryFormat;
  readonly #settings: SummarySettings;
  readonly #task: SummaryTask;
  /** Messages without the mark `compressed`. */
  #shown: readonly Msg[] = [];
  #summary = '';
  /** Tokens of the whole prompt. */
  #tokens = 0;
  #hasChanged = false;

  constructor(memory: MemoryBase, form: SummaryFormat, settings: SummarySettings, task: SummaryTask) {
    this.#memory = memory;
    this.#form = form;
    this.#settings = settings;
    this.#task = task;
  }

  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  async run(): Promise<void> {
    const { force } = this.#task;
    this.#shown = await this.#memory.getMemory({ excludeMark: COMPRESSED_MARK, prependSummary: false });
    this.#summary = await this.#memory.getCompressedSummary();
    this.#tokens = await this.#countPrompt();
    if (!force && this.#fits) return;
    const outcomeOf = (): SpanOutcome => ({ status: 'ok', hasChanged: this.#hasChanged });
    const { signal } = this.#task;
    await traced(
      () => ({ type: 'compression', isForced: force }),
      () => this.#compress(),
      { signal, outcomeOf },
    );
  }

  async #compress(): Promise<void> {
    const { force } = this.#task;
    let units = await this.#choose();
    let size = units.length;
    for (let calls = 1; units.length > 0 && (force || !this.#fits); calls++) {
      if (calls > MAX_MODEL_CALLS) return this.#truncate(units);
      const msgs = units.slice(0, size).flat();
      const answer = await this.#summarize(msgs);
      if (answer.problem === undefined) {
        await this.#replace(msgs, answer.text, 'summary', answer);
        units = units.slice(size);
      } else if (answer.isTooLong && size > 1) size = Math.ceil(size / 2);
      else return this.#truncate(units);
    }
  }

  get #fits(): boolean {
    return this.#tokens <= this.#settings.triggerThreshold;
  }

  /**
   * Selects the units to remove: only units before the requests if their removal is enough. With `force` all
   * removable units, keeping fewer than `keepRecent` if needed.
   */
  async #choose(): Promise<readonly MsgUnit[]> {
    const { force } = this.#task;
    const { triggerThreshold, keepRecent } = this.#settings;
    const least = await this.#count([], NOTE);
    for (const requests of this.#requests()) {
      for (let kept = keepRecent; kept >= (force ? 1 : keepRecent); kept--) {
        const { past, all } = this.#oldUnits(requests, kept);
        const isPastEnough = !force && this.#tokens - (await this.#count(past.flat())) <= triggerThreshold;
        const units = isPastEnough ? past : all;
        if ((await this.#count(units.flat(), this.#summary)) > least && units.length > 0) return units;
      }
    }
    return [];
  }

  /**
   * Indexes of the requests to keep, most preferred first. Without known request ids: the first and last
   * group of inputs; second choice, the very last input only.
   */
  #requests(): readonly (readonly number[])[] {
    const groups = requestGroups(this.#shown, this.#task);
    const [first = [], ...others] = groups;
    const last = others.at(-1) ?? [];
    const isSure = this.#shown.some(({ id }) => this.#task.requestIds.has(id));
    return isSure ? [first] : [[...first, ...last], [...first, ...last].slice(-1)];
  }

  /**
   * Removable units, oldest first: not the newest units, system messages, pending tool calls or `requests`.
   */
  #oldUnits(requests: readonly number[], keepRecent: number): OldUnits {
    const msgs = this.#shown;
    const stays = new Set(requests);
    const [firstRequest = msgs.length] = requests;
    const units = unitsOf(msgs, this.#task);
    const all = units.slice(0, Math.max(0, units.length - keepRecent)).flatMap(({ kind, start, end }) => {
      const unit = msgs.slice(start, end).filter((msg, i) => !stays.has(start + i) && !isInstruction(msg));
      return kind === 'pending' || unit.length === 0 ? [] : [{ unit, isPast: end <= firstRequest }];
    });
    return {
      past: all.filter(({ isPast }) => isPast).map(({ unit }) => unit),
      all: all.map(({ unit }) => unit),
    };
  }

  /**
   * Asks the model for a summary of messages and of the previous summary. Emits `start`, and `failed` on a
   * problem.
   */
  async #summarize(msgs: readonly Msg[]): Promise<SummaryAnswer> {
    const { step, signal } = this.#task;
    await this.#emit('start', 'summary', msgs);
    const { modelName } = this.#settings.model ?? this.#task.model;
    let answer: SummaryAnswer;
    try {
      answer = await step({ kind: 'model', name: 'compression', modelName }, () => this.#ask(msgs));
    } catch (error) {
      signal.throwIfAborted();
      answer = { text: '', durationMs: 0, problem: messageOf(error) };
    }
    await this.#logFailure('add the usage', async () => this.#task.addUsage(answer.usage));
    if (
      answer.problem === undefined &&
      (await this.#count([], answer.text)) >= (await this.#count(msgs, this.#summary))
    ) {
      answer = { ...answer, problem: 'The summary is not shorter than the messages it replaces.' };
    }
    if (answer.problem !== undefined) await this.#emit('failed', 'summary', msgs, answer);
    return answer;
  }

  /** Resolves within the time limit, also if the model fails. Throws only on abort. */
  async #ask(msgs: readonly Msg[]): Promise<SummaryAnswer> {
    const { signal, agentName, planHint = '' } = this.#task;
    const { timeoutMs, maxAttempts, compressionPrompt, model = this.#task.model } = this.#settings;
    const formatter = this.#settings.formatter ?? this.#task.formatter;
    const startedAt = monotonic();
    const prompt = [compressionPrompt, planHint].filter((text) => text !== '').join('\n\n');
    const history = this.#shown.slice(0, this.#placeAfter(msgs));
    const messages = [
      ...this.#task.before,
      ...(this.#summary === '' ? [] : [summaryMsg(this.#summary)]),
      ...history.map((msg) => describeMedia(msg, model.capabilities)),
      Msg.user(prompt),
    ];
    const length = msgs.reduce((sum, msg) => sum + JSON.stringify(msg.content).length, this.#summary.length);
    const bounded = new BoundedModel(model, length + EXTRA_CHARS);
    let usage: Usage | undefined;
    const onAttempt = ({ msg }: { readonly msg: Msg }): void => {
      usage = addUsage(usage, msg.usage);
    };
    let problem: string | undefined;
    let isTooLong = false;
    let text = '';
    try {
      const { value } = await withDeadline({ timeoutMs, signal }, (stopped) =>
        callStructured(bounded, { messages, formatter, agentName }, this.#form.schema, {
          signal: stopped,
          maxRetries: maxAttempts - 1,
          onAttempt,
        }),
      );
      text = this.#form.fill(copyJson(value, 'the summary'));
      if (text === '') problem = 'The summary is empty.';
    } catch (error) {
      signal.throwIfAborted();
      problem = messageOf(error);
      isTooLong = ModelError.isInstance(error) && error.kind === 'context_overflow';
    }
    return {
      text,
      durationMs: monotonic() - startedAt,
      ...(usage && { usage }),
      ...(problem !== undefined && { problem }),
      ...(isTooLong && { isTooLong }),
    };
  }

  /** Removes the oldest units without a summary: as many as needed, or all with `force`. */
  async #truncate(units: readonly MsgUnit[]): Promise<void> {
    const goal = this.#settings.triggerThreshold * TRUNCATION_TARGET;
    const left: Msg[] = [];
    let tokens = this.#tokens;
    for (const unit of units) {
      if (!this.#task.force && tokens <= goal) break;
      left.push(...unit);
      tokens -= await this.#count(unit);
    }
    const text = this.#summary.endsWith(NOTE)
      ? this.#summary
      : [this.#summary, NOTE].filter(Boolean).join('\n\n');
    await this.#replace(left, text, 'truncation');
  }

  /** Stores the summary before the marks, so that a crash in between hides no message. */
  async #replace(
    msgs: readonly Msg[],
    text: string,
    strategy: string,
    answer?: SummaryAnswer,
  ): Promise<void> {
    const saved = (await this.#count(msgs, this.#summary)) - (await this.#count([], text));
    await this.#memory.updateCompressedSummary(text);
    this.#hasChanged = true;
    await this.#memory.updateMessagesMark({ newMark: COMPRESSED_MARK, msgIds: msgs.map(({ id }) => id) });
    const next = this.#shown[this.#placeAfter(msgs)];
    const removed = new Set(msgs);
    this.#shown = this.#shown.filter((msg) => !removed.has(msg));
    this.#summary = text;
    await this.#emit('end', strategy, msgs, {
      ...answer,
      tokensAfter: this.#tokens - saved,
      compressedMessageId: summaryMsg(text).id,
      ...(next && { nextMessageId: next.id }),
    });
    this.#tokens -= saved;
  }

  /** Index after the last of these messages in `#shown`. */
  #placeAfter(msgs: readonly Msg[]): number {
    const last = msgs.at(-1);
    return this.#shown.findLastIndex((msg) => msg === last) + 1;
  }

  /** Tokens of messages with an optional summary before them. */
  async #count(msgs: readonly Msg[], summary = ''): Promise<number> {
    const { meter, estimate, signal } = this.#task;
    const list = summary === '' ? msgs : [summaryMsg(summary), ...msgs];
    return (await meter.countEach(list, estimate, signal)).reduce((sum, tokens) => sum + tokens, 0);
  }

  async #countPrompt(): Promise<number> {
    const { meter, estimate, signal, tools, before, hints } = this.#task;
    const others = await meter.count([], tools, estimate, signal);
    return others + (await this.#count([...before, ...this.#shown, ...hints], this.#summary));
  }

  #emit(
    phase: CompressionEvent['phase'],
    strategy: string,
    msgs: readonly Msg[],
    { text: _text, isTooLong: _isTooLong, ...details }: Partial<SummaryAnswer & CompressionEvent> = {},
  ): Promise<void> {
    const compressedMessageCount = msgs.length;
    const event = {
      type: 'compression',
      phase,
      strategy,
      compressedMessageCount,
      tokensBefore: this.#tokens,
    } as const;
    return this.#logFailure('emit an event', async () => this.#task.emit({ ...event, ...details }));
  }

  /** Runs a callback of the agent. A failure is logged and does not stop the compression. */
  async #logFailure(action: string, body: () => Promise<void>): Promise<void> {
    try {
      await abortable(body(), this.#task.signal);
    } catch (error) {
      this.#task.signal.throwIfAborted();
      getLogger().log('warn', `A compression failed to ${action}: ${messageOf(error)}`);
    }
  }
}

function isInstruction(msg: Msg): boolean {
  return msg.role === 'system' && !msg.hasContentBlocks('tool_result');
}
