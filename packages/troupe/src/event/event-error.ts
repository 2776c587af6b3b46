import { messageOf, TroupeError } from '../errors.ts';
import type { EventError } from './agent-event.ts';

/** An error as an event shows it. */
export function toEventError(error: unknown): EventError {
  return { message: messageOf(error), ...(TroupeError.isInstance(error) && { code: error.code }) };
}
