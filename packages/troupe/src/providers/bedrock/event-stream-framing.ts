import { TextAnswerFraming, type AnswerEvent, type AnswerFraming } from '../../model/http/answer-framing.ts';
import { stringOf } from '../../model/http/wire-values.ts';
import { ModelError } from '../../model/model-error.ts';
import { fromBase64 } from '../../util/base64.ts';
import { isJsonObject, readJson } from '../../util/json.ts';
import { TooLongError } from '../../util/net/framing.ts';
import { crc32 } from './crc32.ts';

/** Lengths of the whole message and of its headers, and their checksum. */
const PRELUDE = 12;
const CHECKSUM = 4;
/** Maximum length of a message. AWS sends at most 16 MB. */
const MAX_MESSAGE = 64 * 1024 * 1024;

/** HTTP status that an exception inside of a stream stands for. */
const STATUS: Readonly<Record<string, number>> = {
  throttlingException: 429,
  validationException: 400,
  accessDeniedException: 403,
  modelTimeoutException: 408,
  modelStreamErrorException: 424,
  internalServerException: 500,
  serviceUnavailableException: 503,
};

/**
 * Reads Amazon's binary event stream (`application/vnd.amazon.eventstream`). Each message has a prelude with
 * its lengths, headers, a payload, and checksums of both. A chunk of Bedrock holds the event of the model's
 * vendor as base64.
 */
export class EventStreamFraming implements AnswerFraming {
  /** Bytes of the unfinished message, joined only when it may be whole. */
  #pieces: Uint8Array[] = [];
  #size = 0;
  /** Bytes that the next step needs: a prelude, or a whole message. */
  #needed = PRELUDE;
  /** For an answer in plain JSON, of a proxy that can't stream. */
  #text: TextAnswerFraming | undefined;

  /** @throws ModelError if a checksum is wrong; TooLongError */
  feed(bytes: Uint8Array): readonly AnswerEvent[] {
    if (this.#text !== undefined) return this.#text.feed(bytes);
    this.#pieces.push(bytes);
    this.#size += bytes.length;
    if (isJson(this.#pieces[0])) return this.#readText();
    if (this.#size < this.#needed) return [];
    const all = joined(this.#pieces, this.#size);
    const events: AnswerEvent[] = [];
    let start = 0;
    for (;;) {
      const rest = all.subarray(start);
      this.#needed = rest.length < PRELUDE ? PRELUDE : lengthOf(rest);
      if (rest.length < this.#needed) break;
      events.push(...toEvent(checked(rest.subarray(0, this.#needed))));
      start += this.#needed;
    }
    this.#pieces = start < all.length ? [all.slice(start)] : [];
    this.#size = all.length - start;
    return events;
  }

  #readText(): readonly AnswerEvent[] {
    this.#text = new TextAnswerFraming('sse');
    return this.#text.feed(joined(this.#pieces, this.#size));
  }

  end(): readonly AnswerEvent[] {
    return this.#text?.end() ?? [];
  }
}

function isJson(bytes: Uint8Array | undefined): boolean {
  return /^[\s{[]/.test(String.fromCharCode(bytes?.[0] ?? 0));
}

/** Length of a message, by its prelude. */
function lengthOf(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  if (view.getUint32(8) !== crc32(bytes.subarray(0, 8))) throw malformed();
  const length = view.getUint32(0);
  if (length > MAX_MESSAGE) throw new TooLongError('an event that is too long');
  if (length < PRELUDE + view.getUint32(4) + CHECKSUM) throw malformed();
  return length;
}

function checked(message: Uint8Array): Uint8Array {
  const end = message.length - CHECKSUM;
  if (viewOf(message).getUint32(end) !== crc32(message.subarray(0, end))) throw malformed();
  return message;
}

function toEvent(message: Uint8Array): readonly AnswerEvent[] {
  const payloadStart = PRELUDE + viewOf(message).getUint32(4);
  const headers = readHeaders(message.subarray(PRELUDE, payloadStart));
  const text = new TextDecoder().decode(message.subarray(payloadStart, -CHECKSUM));
  const kind = headers.get(':message-type');
  if (kind === 'event') {
    const payload = readJson(text);
    const inner = isJsonObject(payload) ? stringOf(payload['bytes']) : '';
    return inner === '' ? [] : [{ data: new TextDecoder().decode(fromBase64(inner)) }];
  }
  const code = headers.get(':exception-type') ?? headers.get(':error-code') ?? 'error';
  const report = readJson(text);
  const said = isJsonObject(report) ? stringOf(report['message']) : (headers.get(':error-message') ?? '');
  const status = STATUS[code] !== undefined && { status_code: STATUS[code] };
  return [{ data: JSON.stringify({ error: { code, message: said, ...status } }) }];
}

/** Lengths of header values by their type; texts and bytes (6 and 7) have their own. */
const VALUE_LENGTHS: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };
const TEXT = 7;

/** Headers that are text. */
function readHeaders(bytes: Uint8Array): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  const view = viewOf(bytes);
  const decoder = new TextDecoder();
  let at = 0;
  try {
    while (at < bytes.length) {
      const nameEnd = at + 1 + view.getUint8(at);
      const name = decoder.decode(bytes.subarray(at + 1, nameEnd));
      const type = view.getUint8(nameEnd);
      const fixed = VALUE_LENGTHS[type];
      const start = nameEnd + (fixed === undefined ? 3 : 1);
      const end = start + (fixed ?? view.getUint16(nameEnd + 1));
      if (type === TEXT) headers.set(name, decoder.decode(bytes.subarray(start, end)));
      at = end;
    }
  } catch (error) {
    if (error instanceof RangeError) throw malformed();
    throw error;
  }
  return headers;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return first;
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function malformed(): ModelError {
  return new ModelError('The event stream is damaged: a checksum or a length is wrong.', {
    kind: 'malformed',
  });
}
