import { messageOf, TroupeError } from '../errors.ts';
import type { EventError } from './agent-event.ts';

/** Message and code of an error, for an event. */
export function toEventError(error: unknown): EventError {
  const message = messageOf(error);
  if (!TroupeError.isInstance(error)) return { message };
  const { code } = error;
  const isOfModel = code === 'model_failed' && 'kind' in error && typeof error.kind === 'string';
  return { message, code, ...(isOfModel && { kind: String(error.kind) }) };
}
