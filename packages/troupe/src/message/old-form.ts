import { isJsonObject, type JsonObject } from '../util/json.ts';
import { END_REASONS } from './end-reason.ts';
import { isPendingCall } from './pending-call.ts';

/**
 * Reads a message saved by version 0.1: `_end_reason` and `_pending` of the metadata become the fields `endReason` and `pending`, and
 * the mark `_is_raw` of a structured answer is removed. Other keys of the metadata stay. A message with `endReason` is returned unchanged.
 */
export function fromOldForm(fields: JsonObject): JsonObject {
  const { metadata, endReason: known } = fields;
  if (known !== undefined || !isJsonObject(metadata)) return fields;
  const { _end_reason: said, ...others } = metadata;
  const endReason = END_REASONS.find((reason) => reason === said);
  if (endReason === undefined) return fields;
  const { _pending: pending, ...withoutPending } = others;
  if (endReason === 'tool_suspended' && Array.isArray(pending) && pending.every(isPendingCall))
    return { ...fields, metadata: withoutPending, endReason, pending };
  const { _is_raw: isRaw, ...withoutMark } = others;
  const isMarked = endReason === 'structured' && isRaw === true;
  return { ...fields, metadata: isMarked ? withoutMark : others, endReason };
}
