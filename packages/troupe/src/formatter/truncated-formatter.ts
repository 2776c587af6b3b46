import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import type { TokenCounterBase } from '../token/token-counter-base.ts';
import { FormatterBase, type FormatContext } from './formatter-base.ts';
import type { Prompt } from './prompt.ts';

export interface TruncatedFormatterOptions {
  /** Formats the kept messages. */
  readonly formatter: FormatterBase;
  readonly tokenCounter: TokenCounterBase;
  /** Maximum tokens of a prompt, including tools and instructions. Leave space for the answer. */
  readonly maxTokens: number;
  /** Tokens kept when a prompt is cut. @default three quarters of `maxTokens` */
  readonly keepTokens?: number;
  /** Called for every new cut. */
  readonly onTruncate?: (truncation: Truncation) => void;
}

export interface Truncation {
  readonly dropped: readonly Msg[];
  readonly kept: readonly Msg[];
  /** Tokens of the prompt after the cut. */
  readonly tokens: number;
}

/** Messages kept or dropped together: from `start` to the next unit, without instructions. */
interface Unit {
  readonly start: number;
  tokens: number;
}

/**
 * Drops the oldest messages of a prompt that is too long. Keeps all instructions and the newest turn: the
 * last message of a user and everything after it. A tool call and its results stay together. Content that
 * must stay is sent even if it is too long.
 *
 * Cuts more than necessary, down to `keepTokens`, and reuses the same cut while the prompt fits, so that the
 * provider's cache stays valid.
 */
export class TruncatedFormatter extends FormatterBase {
  static override readonly className: string = 'TruncatedFormatter';

  override readonly untruncated: FormatterBase;
  readonly #formatter: FormatterBase;
  readonly #counter: TokenCounterBase;
  readonly #maxTokens: number;
  readonly #keepTokens: number;
  readonly #onTruncate: TruncatedFormatterOptions['onTruncate'];
  /** First messages after earlier cuts. */
  readonly #cuts = new WeakSet<Msg>();
  #hasWarned = false;

  /** @throws TroupeError for invalid limits */
  constructor({ formatter, tokenCounter, maxTokens, keepTokens, onTruncate }: TruncatedFormatterOptions) {
    super();
    if (!(maxTokens > 0)) throw new TroupeError('invalid_config', 'maxTokens must be more than 0.');
    if (keepTokens !== undefined && !(keepTokens > 0 && keepTokens <= maxTokens)) {
      throw new TroupeError('invalid_config', 'keepTokens must be more than 0, and at most maxTokens.');
    }
    this.untruncated = formatter.untruncated ?? formatter;
    this.#formatter = formatter;
    this.#counter = tokenCounter;
    this.#maxTokens = maxTokens;
    this.#keepTokens = keepTokens ?? maxTokens * 0.75;
    this.#onTruncate = onTruncate;
  }

  override async format(msgs: readonly Msg[], context: FormatContext = {}): Promise<Prompt> {
    const { tools, signal } = context;
    const each = await this.#counter.countEach(msgs, { signal });
    const besides = await this.#counter.count([], tools, { signal });
    const total = each.reduce((sum, tokens) => sum + tokens, besides);
    if (total <= this.#maxTokens) return this.#formatter.format(msgs, context);

    const { start, tokens } = this.#cut(msgs, each, total);
    const dropped = msgs.filter((msg, i) => i < start && !isInstruction(msg));
    const kept = dropped.length === 0 ? msgs : msgs.filter((msg, i) => i >= start || isInstruction(msg));
    if (kept !== msgs) this.#note(msgs, { dropped, kept, tokens }, msgs[start]);
    const prompt = await this.#formatter.format(kept, context);
    return tokens <= this.#maxTokens ? prompt : this.#tooLong(prompt, tokens);
  }

  /** Start of the kept messages, and the tokens of the prompt with them. */
  #cut(msgs: readonly Msg[], each: readonly number[], total: number): { start: number; tokens: number } {
    const units = withNewestTurn(toUnits(msgs, each), msgs);
    let tokens = units.reduce((rest, unit) => rest - unit.tokens, total);
    let cut = { start: 0, tokens: total };
    for (const unit of units.toReversed()) {
      tokens += unit.tokens;
      const { start } = unit;
      if (unit === units.at(-1) || tokens <= this.#keepTokens) {
        cut = { start, tokens };
      } else if (tokens > this.#maxTokens) {
        break;
      } else if (this.#isCutAt(msgs[start])) {
        return { start, tokens };
      }
    }
    return cut;
  }

  #isCutAt(msg: Msg | undefined): boolean {
    return msg !== undefined && this.#cuts.has(msg);
  }

  #note(msgs: readonly Msg[], truncation: Truncation, first: Msg | undefined): void {
    this.#counter.noteSent(msgs, truncation.kept);
    if (first === undefined || this.#cuts.has(first)) return;
    this.#cuts.add(first);
    this.#onTruncate?.(truncation);
  }

  #tooLong(prompt: Prompt, tokens: number): Prompt {
    const problem = `it has about ${tokens} tokens, more than the limit of ${this.#maxTokens}, and nothing more can be left out`;
    if (!this.#hasWarned) getLogger().log('warn', `A prompt is too long: ${problem}.`);
    this.#hasWarned = true;
    return { ...prompt, repairs: [...prompt.repairs, problem] };
  }
}

function isInstruction(msg: Msg): boolean {
  return msg.role === 'system' && !msg.hasContentBlocks('tool_result');
}

/**
 * Groups messages: results belong to the unit of their tool calls, with everything between; other messages
 * are units of their own.
 */
function toUnits(msgs: readonly Msg[], each: readonly number[]): Unit[] {
  const units: Unit[] = [];
  const unitOfCall = new Map<string, number>();
  for (const [i, msg] of msgs.entries()) {
    if (isInstruction(msg)) continue;
    let index = units.length;
    for (const { id } of msg.getContentBlocks('tool_result')) {
      // A result without an open tool call joins the previous unit.
      index = Math.min(index, unitOfCall.get(id) ?? index, units.length - 1);
      unitOfCall.delete(id);
    }
    units.push({ start: i, tokens: each[i] ?? 0 });
    joinFrom(units, index);
    for (const { id } of msg.getContentBlocks('tool_use')) unitOfCall.set(id, units.length - 1);
  }
  return units;
}

/**
 * Joins the last message of a user and everything after it; without a user message, the last unit is the
 * newest turn.
 */
function withNewestTurn(units: Unit[], msgs: readonly Msg[]): Unit[] {
  const asked = msgs.findLastIndex((msg) => msg.role === 'user' && !msg.hasContentBlocks('tool_result'));
  const newest = units.findLastIndex(({ start }) => start <= asked);
  joinFrom(units, newest);
  return units;
}

/** Joins all units from an index on. */
function joinFrom(units: Unit[], index: number): void {
  const first = units[index];
  if (first === undefined) return;
  for (const { tokens } of units.splice(index + 1)) first.tokens += tokens;
}
