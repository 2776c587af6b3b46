import { messageOf } from '../../errors.ts';
import { redactKeys } from './key-patterns.ts';
import { cutText, oneLine } from '../text.ts';

const MAX_CHARS = 10_000;

/** Problem text for models, logs and traces: one line of limited length with keys redacted. */
export function redactedLine(problem: string): string {
  return oneLine(redactKeys(cutText(problem, MAX_CHARS)));
}

/** Message of a thrown value as `redactedLine`. */
export function redactedMessage(error: unknown): string {
  return redactedLine(messageOf(error));
}
