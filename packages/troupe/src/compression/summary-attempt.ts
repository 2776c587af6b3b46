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
import { withDeadline } from '../util/async/deadline.ts';
import { abortable } from '../util/abort.ts';
import { now } from '../util/clock.ts';
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
  readonly maxTries: number;
  readonly compressionPrompt: string;
  readonly model: ChatModelBase | undefined;
  readonly formatter: FormatterBase | undefined;
}

export interface SummaryTask extends CompressionTask {
  /** What the prompt begins with. */
  readonly before: readonly Msg[];
  readonly meter: TokenMeter;
  /** Is used when the counter fails. */
  readonly estimate: TokenCounterBase;
}

/** Messages that are taken out together, in order. */
type MsgUnit = readonly Msg[];

interface OldUnits {
  /** From before the newest turn. */
  readonly past: readonly MsgUnit[];
  /** Those too that the newest turn has left behind. */
  readonly all: readonly MsgUnit[];
}

/** What came of asking for a summary: a text, or why there is none. It is JSON. */
type Answer = {
  readonly text: string;
  readonly durationMs: number;
  readonly usage?: Usage;
  readonly problem?: string;
  /** What is to be summed up is too long for the model. */
  readonly isTooLong?: boolean;
};

/** A prompt that was cut has so much of what it may have, so that it need not be cut again in the next step. */
const LEFT_BY_TRUNCATION = 0.75;
/** What a summary may have besides, such as the names of its fields. */
const EXTRA_CHARS = 1000;
/** How often a model is asked until there is room. */
const MAX_MODEL_CALLS = 8;
const NOTE =
  '(Older messages were left out here because the conversation got too long. No summary tells of them.)';

/** Makes room once. */
export class SummaryAttempt {
  readonly #memory: MemoryBase;
  readonly #form: SummaryFormat;
  readonly #settings: SummarySettings;
  readonly #task: SummaryTask;
  /** What the model sees, without the summary. */
  #shown: readonly Msg[] = [];
  #summary = '';
  /** Of the whole prompt. */
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

  async compress(): Promise<void> {
    const { force } = this.#task;
    this.#shown = await this.#memory.getMemory({ excludeMark: COMPRESSED_MARK, prependSummary: false });
    this.#summary = await this.#memory.getCompressedSummary();
    this.#tokens = await this.#countPrompt();
    if (!force && this.#fits) return;
    let units = await this.#choose();
    let size = units.length;
    for (let calls = 1; units.length > 0 && (force || !this.#fits); calls++) {
      if (calls > MAX_MODEL_CALLS) return this.#truncate(units);
      const msgs = units.slice(0, size).flat();
      const answer = await this.#sumUp(msgs);
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
   * What is taken out: if possible nothing of the newest turn. If the model has refused the prompt, it is all that there is,
   * and fewer units are kept if that is too little.
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
   * The places of what the agent was asked. If nobody says what that is: the first and the last that others have said since the
   * newest answer; and if nothing else can be taken out then, the very last.
   */
  #requests(): readonly (readonly number[])[] {
    const runs = requestGroups(this.#shown, this.#task);
    const [first = [], ...others] = runs;
    const last = others.at(-1) ?? [];
    const isSure = this.#shown.some(({ id }) => this.#task.requestIds.has(id));
    return isSure ? [first] : [[...first, ...last], [...first, ...last].slice(-1)];
  }

  /** What can be taken out, oldest first: all but the newest units, instructions, calls that wait for a result, and these requests. */
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

  /** Has a model sum messages up, together with the summary so far, and tells about it. */
  async #sumUp(msgs: readonly Msg[]): Promise<Answer> {
    const { step, signal } = this.#task;
    await this.#tell('start', 'summary', msgs);
    let answer: Answer;
    try {
      answer = await step('compression', () => this.#ask(msgs));
    } catch (error) {
      signal.throwIfAborted();
      answer = { text: '', durationMs: 0, problem: messageOf(error) };
    }
    await this.#guarded('count the usage', async () => this.#task.addUsage(answer.usage));
    if (
      answer.problem === undefined &&
      (await this.#count([], answer.text)) >= (await this.#count(msgs, this.#summary))
    ) {
      answer = { ...answer, problem: 'The summary is not shorter than what it is about.' };
    }
    if (answer.problem !== undefined) await this.#tell('failed', 'summary', msgs, answer);
    return answer;
  }

  /** Whatever the model does, there is an answer after the timeout; only an abort is thrown. */
  async #ask(msgs: readonly Msg[]): Promise<Answer> {
    const { signal, planHint = '' } = this.#task;
    const { timeoutMs, maxTries, compressionPrompt, formatter, model = this.#task.model } = this.#settings;
    const startedAt = now();
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
        callStructured(bounded, { messages, formatter }, this.#form.schema, {
          signal: stopped,
          maxRetries: maxTries - 1,
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
      durationMs: now() - startedAt,
      ...(usage && { usage }),
      ...(problem !== undefined && { problem }),
      ...(isTooLong && { isTooLong }),
    };
  }

  /** Leaves out the oldest units: so many as are needed, or all if the model has refused the prompt. */
  async #truncate(units: readonly MsgUnit[]): Promise<void> {
    const goal = this.#settings.triggerThreshold * LEFT_BY_TRUNCATION;
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

  /** The summary comes before the marks: whoever finds only that still sees all messages. */
  async #replace(msgs: readonly Msg[], text: string, strategy: string, answer?: Answer): Promise<void> {
    const saved = (await this.#count(msgs, this.#summary)) - (await this.#count([], text));
    await this.#memory.updateCompressedSummary(text);
    this.#hasChanged = true;
    await this.#memory.updateMessagesMark({ newMark: COMPRESSED_MARK, msgIds: msgs.map(({ id }) => id) });
    const next = this.#shown[this.#placeAfter(msgs)];
    const gone = new Set(msgs);
    this.#shown = this.#shown.filter((msg) => !gone.has(msg));
    this.#summary = text;
    await this.#tell('end', strategy, msgs, {
      ...answer,
      tokensAfter: this.#tokens - saved,
      compressedMessageId: summaryMsg(text).id,
      ...(next && { nextMessageId: next.id }),
    });
    this.#tokens -= saved;
  }

  /** The place in what is shown behind the last of these messages. */
  #placeAfter(msgs: readonly Msg[]): number {
    const last = msgs.at(-1);
    return this.#shown.findLastIndex((msg) => msg === last) + 1;
  }

  /** The tokens of messages, and of a summary before them. */
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

  #tell(
    phase: CompressionEvent['phase'],
    strategy: string,
    msgs: readonly Msg[],
    { text: _text, isTooLong: _isTooLong, ...details }: Partial<Answer & CompressionEvent> = {},
  ): Promise<void> {
    const compressedMessageCount = msgs.length;
    const event = {
      type: 'compression',
      phase,
      strategy,
      compressedMessageCount,
      tokensBefore: this.#tokens,
    } as const;
    return this.#guarded('tell about it', async () => this.#task.emit({ ...event, ...details }));
  }

  /** Does something that must not keep a conversation from being compressed. */
  async #guarded(what: string, body: () => Promise<void>): Promise<void> {
    try {
      await abortable(body(), this.#task.signal);
    } catch (error) {
      this.#task.signal.throwIfAborted();
      getLogger().log('warn', `A compression could not ${what}: ${messageOf(error)}`);
    }
  }
}

function isInstruction(msg: Msg): boolean {
  return msg.role === 'system' && !msg.hasContentBlocks('tool_result');
}
