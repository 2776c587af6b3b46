import { messageOf } from '../../errors.ts';
import { withoutKeys } from './key-patterns.ts';
import { cutText, oneLine } from '../text.ts';

const MAX_TOLD = 10_000;

/** What went wrong, as models, logs and traces may see it: one line, not too long, without what looks like a key. */
export function tellable(problem: string): string {
  return oneLine(withoutKeys(cutText(problem, MAX_TOLD)));
}

/** The message of what was thrown, in the same way. */
export function tellableError(error: unknown): string {
  return tellable(messageOf(error));
}
