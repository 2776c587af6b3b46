import { ServiceFailure } from '../service-failure.ts';

/** Id of an entry of a list, such as a session or a message. */
const ID = /^[\x20-\x7e]{1,256}$/;

/** A place in a list, for callers. Holds a time and an id of the caller's own list. */
export function toCursor(time: number, id: string): string {
  return Buffer.from(JSON.stringify([time, id])).toString('base64url');
}

/** @throws ServiceFailure for a cursor that the service did not make */
export function fromCursor(
  cursor: string | undefined,
): { readonly time: number; readonly id: string } | undefined {
  if (cursor === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(value) && Number.isSafeInteger(value[0]) && ID.test(String(value[1])))
      return { time: Number(value[0]), id: String(value[1]) };
  } catch {
    // not JSON
  }
  throw new ServiceFailure('invalid_request', 'The cursor is not one of this service.');
}
