import { messageOf, TroupeError } from '../errors.ts';
import type { EventError } from './agent-event.ts';

/** Message and code of an error, for an event. */
export function toEventError(error: unknown): EventError {
  return { message: messageOf(error), ...(TroupeError.isInstance(error) && { code: error.code }) };
}
