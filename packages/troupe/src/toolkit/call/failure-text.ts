import { describe } from '../../util/json.ts';
import { DeadlineError } from '../../util/async/deadline.ts';
import type { ToolOutput } from '../tool/tool-output.ts';

const MAX_CHARS = 4000;

/** Error output for a thrown value: the message, never the stack. */
export function failureOf(thrown: unknown): ToolOutput {
  let message = 'The tool threw something that can not be read.';
  try {
    if (thrown instanceof DeadlineError) {
      return errorOutput(`TimeoutError: The tool gave no result within ${thrown.timeoutMs / 1000} s.`);
    }
    message = messageIn(thrown) ?? `The tool threw ${describe(thrown)}.`;
  } catch {
    // A getter or a proxy that throws when read.
  }
  const { length } = message;
  // `join` copies the characters: a mere slice would keep all of the message in memory.
  const text =
    length > MAX_CHARS ? [message.slice(0, MAX_CHARS), `… (${length} characters)`].join('') : message;
  return errorOutput(`Error: ${text}`);
}

export function errorOutput(output: string): ToolOutput {
  return { output, status: 'error' };
}

/** Reads the message without `toString`, which may run any code. */
function messageIn(thrown: unknown): string | undefined {
  if (typeof thrown === 'string' && thrown !== '') return thrown;
  if (typeof thrown === 'number') return String(thrown);
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const { message, name } = thrown as { message?: unknown; name?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  return thrown instanceof Error && typeof name === 'string' && name !== '' ? name : undefined;
}
