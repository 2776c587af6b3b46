import type { ThinkingBlock } from '../../../message/blocks.ts';
import { objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import type { JsonObject, JsonValue } from '../../../util/json.ts';

/** Field of the wire for a record, its key in the metadata, and the fields whose texts come in pieces. */
const RECORDS = [
  { field: 'reasoning_details', key: 'reasoningDetails', texts: ['text', 'summary'], isSame: isSameDetail },
  { field: 'thinking_blocks', key: 'thinkingBlocks', texts: ['thinking'], isSame: isSameBlock },
] as const;

/** Key in the metadata for parts of the content with signed thinking. */
const PARTS_KEY = 'reasoningParts';

/**
 * Collects the records of thinking that must go back unchanged: the `reasoning_details` of OpenRouter and MiniMax, the
 * `thinking_blocks` of LiteLLM and the reasoning parts of Databricks, which have the signatures of Claude.
 */
export class ThinkingRecord {
  readonly #lists: JsonObject[][] = RECORDS.map(() => []);
  /** Texts and signatures of parts of the content. */
  readonly #parts: { text: string; signature: string }[] = [];

  get isEmpty(): boolean {
    return this.#parts.length === 0 && this.#lists.every((list) => list.length === 0);
  }

  /** Adds the records of a delta, and gives the text of thinking in them. */
  read(delta: JsonObject): string {
    let said = '';
    if (typeof delta['content'] !== 'string') this.#readParts(delta['content']);
    for (const [i, { field, texts, isSame }] of RECORDS.entries()) {
      const list = this.#lists[i] ?? [];
      let text = '';
      for (const piece of objectsOf(delta[field])) {
        text += textIn(piece, list.at(-1));
        add(list, piece, texts, isSame);
      }
      said ||= text;
    }
    return said;
  }

  /** The records so far, as metadata. The next thinking has records of its own. */
  take(): JsonObject {
    const kept = RECORDS.map(
      ({ key }, i) => [key, (this.#lists[i] ?? []).splice(0).filter(isUseful)] as const,
    );
    const parts = this.#parts.splice(0).filter(({ signature }) => signature !== '');
    const lists = [...kept, [PARTS_KEY, parts] as const];
    return Object.fromEntries(lists.filter(([, list]) => list.length > 0));
  }

  /** Reads parts of the content, of which the last one of some thinking has its signature. */
  #readParts(content: JsonValue | undefined): void {
    for (const { type, summary } of objectsOf(content)) {
      if (type !== 'reasoning') continue;
      for (const piece of objectsOf(summary)) {
        let last = this.#parts.at(-1);
        if (last === undefined || last.signature !== '')
          this.#parts.push((last = { text: '', signature: '' }));
        last.text += stringOf(piece['text']);
        last.signature = stringOf(piece['signature']);
      }
    }
  }
}

/** The records of thinking, in the fields of a message; `parts` are for its content. */
export function recordsOf(
  blocks: readonly ThinkingBlock[],
  vendorName: string,
): { readonly [field in (typeof RECORDS)[number]['field'] | 'parts']?: readonly JsonObject[] } {
  const lists = RECORDS.map(({ field, key }) => {
    const list = blocks.flatMap(({ providerMeta }) => objectsOf(objectOf(providerMeta?.[vendorName])[key]));
    return [field, list] as const;
  });
  const parts = blocks.flatMap(({ providerMeta }) =>
    objectsOf(objectOf(providerMeta?.[vendorName])[PARTS_KEY]).map(({ text, signature }) => ({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: text ?? '', signature: signature ?? '' }],
    })),
  );
  if (parts.length > 0) return { parts };
  return Object.fromEntries(lists.filter(([, list]) => list.length > 0));
}

function add(
  list: JsonObject[],
  piece: JsonObject,
  texts: readonly string[],
  isSame: (a: JsonObject, b: JsonObject) => boolean,
): void {
  const last = list.at(-1);
  if (last === undefined || !isSame(last, piece)) {
    list.push(piece);
    return;
  }
  const joined: Record<string, JsonValue> = { ...last };
  for (const [key, value] of Object.entries(piece)) if (value !== null) joined[key] = value;
  for (const key of texts) {
    const whole = isRepeated(piece, last) ? stringOf(piece[key]) : stringOf(last[key]) + stringOf(piece[key]);
    if (whole !== '') joined[key] = whole;
  }
  list[list.length - 1] = joined;
}

/** Text of thinking that came only as a record. */
function textIn(piece: JsonObject, last: JsonObject | undefined): string {
  if (piece['type'] === 'reasoning.text') return stringOf(piece['text']);
  if (piece['type'] !== 'thinking' || (last !== undefined && isRepeated(piece, last))) return '';
  return stringOf(piece['thinking']);
}

/** Whether a signed piece repeats the whole thinking so far, as some proxies do. */
function isRepeated(piece: JsonObject, last: JsonObject): boolean {
  const before = stringOf(last['thinking']);
  return stringOf(piece['signature']) !== '' && before !== '' && stringOf(piece['thinking']) === before;
}

function isSameDetail(a: JsonObject, b: JsonObject): boolean {
  if (a['type'] !== b['type'] || a['index'] !== b['index']) return false;
  const hasOtherId = stringOf(a['id']) !== '' && stringOf(b['id']) !== '' && a['id'] !== b['id'];
  return a['type'] !== 'reasoning.encrypted' && !hasOtherId; // encrypted reasoning comes whole
}

/** Whether Claude takes a record back: its thinking without a signature it does not. */
function isUseful({ type, signature }: JsonObject): boolean {
  return type !== 'thinking' || stringOf(signature) !== '';
}

/** A signature ends a block. */
function isSameBlock(a: JsonObject, b: JsonObject): boolean {
  return a['type'] === 'thinking' && b['type'] === 'thinking' && stringOf(a['signature']) === '';
}
