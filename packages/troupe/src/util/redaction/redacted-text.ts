import { messageOf } from '../../errors.ts';
import { redactKeys } from './key-patterns.ts';
import { cutText, oneLine } from '../text.ts';

const MAX_TOLD = 10_000;

/** What went wrong, as models, logs and traces may see it: one line, not too long, without what looks like a key. */
export function redactedLine(problem: string): string {
  return oneLine(redactKeys(cutText(problem, MAX_TOLD)));
}

/** The message of what was thrown, in the same way. */
export function redactedMessage(error: unknown): string {
  return redactedLine(messageOf(error));
}
