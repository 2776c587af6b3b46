import type { ToolUseBlock } from '../message/blocks.ts';
import type { Exchange } from '../message/exchange.ts';
import { oneLine } from '../util/text.ts';

/** In so many thoughts in a row may the same call fail before the model is told. */
const PATIENCE = 3;
/** The model is told about no more calls than that at once. */
const MAX_HINTS = 3;

/** Notices when a model makes the same call in thought after thought, though it fails. */
export class FailedCalls {
  readonly #failures = new Map<string, number>();

  /** What to tell the model after these calls. */
  hintsAfter(exchange: Exchange): readonly string[] {
    const calls = new Map(exchange.calls.map((call) => [keyOf(call), call]));
    const hints: string[] = [];
    for (const [key, call] of calls) {
      const failures = exchange.answerTo(call.id)?.status === 'ok' ? 0 : (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      if (failures >= PATIENCE) hints.push(hintFor(call, failures));
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
