import type { ToolUseBlock } from '../message/blocks.ts';
import type { Exchange } from '../message/exchange.ts';
import { oneLine } from '../util/text.ts';

/** Consecutive failures of the same tool call before the model gets a hint. */
const FAILURES_BEFORE_HINT = 3;
/** Maximum hints after one exchange. */
const MAX_HINTS = 3;

/** Counts tool calls that fail in consecutive model messages with the same arguments. */
export class RepeatedFailures {
  readonly #failures = new Map<string, number>();

  /** Hints for the next model call, after the tool calls of an exchange. */
  hintsAfter(exchange: Exchange): readonly string[] {
    const calls = new Map(exchange.calls.map((call) => [keyOf(call), call]));
    const hints: string[] = [];
    for (const [key, call] of calls) {
      const failures = exchange.resultOf(call.id)?.status === 'ok' ? 0 : (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      if (failures >= FAILURES_BEFORE_HINT) hints.push(hintFor(call, failures));
    }
    return hints.slice(0, MAX_HINTS);
  }
}

function keyOf({ name, input, rawInput = '' }: ToolUseBlock): string {
  return `${name} ${JSON.stringify(input)} ${rawInput}`;
}

function hintFor({ name }: ToolUseBlock, failures: number): string {
  const short = oneLine(name.slice(0, 64));
  return `You have called ${short} with the same arguments ${failures} times, and it failed each time. Do something else.`;
}
