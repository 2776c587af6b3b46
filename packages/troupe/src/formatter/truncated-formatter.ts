import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import type { TokenCounterBase } from '../token/token-counter-base.ts';
import { FormatterBase, type FormatContext } from './formatter-base.ts';
import type { Prompt } from './prompt.ts';

export interface TruncatedFormatterOptions {
  /** Makes the prompt of what is kept. */
  readonly formatter: FormatterBase;
  readonly tokenCounter: TokenCounterBase;
  /** What a prompt may have, tools and instructions included. Leave room for the answer. */
  readonly maxTokens: number;
  /** What is left of a prompt that is cut. @default three quarters of `maxTokens` */
  readonly keepTokens?: number;
  /** Told of every new cut. */
  readonly onTruncate?: (truncation: Truncation) => void;
}

export interface Truncation {
  readonly dropped: readonly Msg[];
  readonly kept: readonly Msg[];
  /** What the prompt has now. */
  readonly tokens: number;
}

/** Messages that stay or go together: from `start` to the next unit, instructions in between left out. */
interface Unit {
  readonly start: number;
  tokens: number;
}

/**
 * Drops the oldest messages of a prompt that is too long. All instructions stay, and the
 * newest turn: the last message of a user with all that follows. A call and
 * its results stay or go together. What must stay is sent even if it is too long.
 *
 * A prompt that is cut differently each time would never be found in a provider's
 * cache. So more is cut than needed, down to `keepTokens`, and what grows behind the
 * cut is cut there again for as long as it fits.
 */
export class TruncatedFormatter extends FormatterBase {
  readonly #formatter: FormatterBase;
  readonly #counter: TokenCounterBase;
  readonly #maxTokens: number;
  readonly #keepTokens: number;
  readonly #onTruncate: TruncatedFormatterOptions['onTruncate'];
  /** The first messages behind the cuts so far. */
  readonly #cuts = new WeakSet<Msg>();
  #hasWarned = false;

  /** @throws TroupeError if the limits make no sense. */
  constructor({ formatter, tokenCounter, maxTokens, keepTokens, onTruncate }: TruncatedFormatterOptions) {
    super();
    if (!(maxTokens > 0)) throw new TroupeError('invalid_config', 'maxTokens must be more than 0.');
    if (keepTokens !== undefined && !(keepTokens > 0 && keepTokens <= maxTokens)) {
      throw new TroupeError('invalid_config', 'keepTokens must be more than 0, and at most maxTokens.');
    }
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

  /** Where the messages begin that stay, and what the prompt has with them. */
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
    const problem = `it has about ${tokens} tokens, more than the ${this.#maxTokens} that are allowed, but nothing more can be left out`;
    if (!this.#hasWarned) getLogger().log('warn', `A prompt is too long: ${problem}.`);
    this.#hasWarned = true;
    return { ...prompt, repairs: [...prompt.repairs, problem] };
  }
}

function isInstruction(msg: Msg): boolean {
  return msg.role === 'system' && !msg.hasContentBlocks('tool_result');
}

/** A message with results belongs to the unit of its calls, with all that came in between; the rest stands alone. */
function toUnits(msgs: readonly Msg[], each: readonly number[]): Unit[] {
  const units: Unit[] = [];
  const unitOfCall = new Map<string, number>();
  for (const [i, msg] of msgs.entries()) {
    if (isInstruction(msg)) continue;
    let place = units.length;
    for (const { id } of msg.getContentBlocks('tool_result')) {
      // Without a call that waits for it, a result goes with what is before it.
      place = Math.min(place, unitOfCall.get(id) ?? place, units.length - 1);
      unitOfCall.delete(id);
    }
    units.push({ start: i, tokens: each[i] ?? 0 });
    joinFrom(units, place);
    for (const { id } of msg.getContentBlocks('tool_use')) unitOfCall.set(id, units.length - 1);
  }
  return units;
}

/** The last message of a user and all that follows, as one unit; without a user, the last unit is the newest turn. */
function withNewestTurn(units: Unit[], msgs: readonly Msg[]): Unit[] {
  const asked = msgs.findLastIndex((msg) => msg.role === 'user' && !msg.hasContentBlocks('tool_result'));
  const newest = units.findLastIndex(({ start }) => start <= asked);
  joinFrom(units, newest);
  return units;
}

/** Makes one unit of those from a place on, if there is one. */
function joinFrom(units: Unit[], place: number): void {
  const first = units[place];
  if (first === undefined) return;
  for (const { tokens } of units.splice(place + 1)) first.tokens += tokens;
}
