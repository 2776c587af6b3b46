import type { TextBlock } from '../../../message/blocks.ts';
import type { Citation } from '../../../message/citation.ts';
import type { ModelDelta } from '../../../message/model-delta.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import { isJsonObject, type JsonObject } from '../../../util/json.ts';

/** A text block of the wire: its length, and its citations as they came. */
interface Piece {
  length: number;
  readonly citations: JsonObject[];
}

/**
 * Joins text blocks in a row, which Claude begins anew for each cited part of a sentence. They form one text, with a
 * citation for each range. The lengths of the blocks and their citations are kept, to send the same blocks back.
 */
export class CitedText {
  #pieces: Piece[] = [];
  #start = 0;

  /** Begins the next text block of the wire. */
  begin(): void {
    this.#start += this.#pieces.at(-1)?.length ?? 0;
    this.#pieces.push({ length: 0, citations: [] });
  }

  add(text: string): void {
    const piece = this.#pieces.at(-1);
    if (piece !== undefined) piece.length += text.length;
  }

  cite(citation: JsonObject): void {
    this.#pieces.at(-1)?.citations.push(citation);
  }

  /** Ends the text block of the wire: its citations count from now on. */
  *endBlock(): Generator<ModelDelta, void, void> {
    const piece = this.#pieces.at(-1);
    if (piece !== undefined) yield* this.#told(piece.length, piece.citations);
  }

  /** Adds a citation that comes behind the end of its text block. */
  *citeLate(citation: JsonObject): Generator<ModelDelta, void, void> {
    this.cite(citation);
    yield* this.#told(this.#pieces.at(-1)?.length ?? 0, [citation]);
  }

  *#told(length: number, citations: readonly JsonObject[]): Generator<ModelDelta, void, void> {
    if (length === 0 || citations.length === 0) return;
    const range = { start: this.#start, end: this.#start + length };
    yield { type: 'citations', citations: citations.map((one) => ({ ...range, ...toCitation(one) })) };
  }

  /** Ends the text, before a block of another type. */
  *end(): Generator<ModelDelta, void, void> {
    const texts = this.#pieces
      .filter(({ length }) => length > 0)
      .map(({ length, citations }) => ({ length, ...(citations.length > 0 && { citations }) }));
    this.#pieces = [];
    this.#start = 0;
    if (texts.some(({ citations }) => citations !== undefined))
      yield { type: 'text', text: '', providerMeta: { anthropic: { texts } } };
  }
}

/** The text blocks from which a cited text was made; undefined if the text is another one by now. */
export function wireTexts({ text, providerMeta }: TextBlock): readonly JsonObject[] | undefined {
  const pieces = objectsOf(objectOf(providerMeta?.['anthropic'])['texts']);
  const blocks: { text: string; citations: readonly JsonObject[] }[] = [];
  let end = 0;
  for (const piece of pieces) {
    const start = end;
    end += numberOf(piece['length']) ?? NaN;
    const part = text.slice(start, end);
    const citations = objectsOf(piece['citations']).filter(isSource);
    const before = blocks.at(-1);
    // Claude writes texts of white space alone, but refuses such texts in a request.
    if (!/\S/.test(part) && before !== undefined) before.text += part;
    else blocks.push({ text: part, citations });
  }
  const isWhole = end === text.length && blocks.every((block) => /\S/.test(block.text));
  if (!isWhole || blocks.length === 0) return undefined;
  return blocks.map(({ text, citations }) => ({
    type: 'text',
    text,
    ...(citations.length > 0 && { citations }),
  }));
}

/** Whether a citation is one that Claude makes. A saved state may hold anything. */
function isSource({ type }: JsonObject): boolean {
  return /^[a-z_]+_location$/.test(stringOf(type));
}

function toCitation(raw: JsonObject): Citation {
  const url = stringOf(raw['url']) || webAddress(raw['source']);
  const title = stringOf(raw['title']) || stringOf(raw['document_title']);
  const quote = stringOf(raw['cited_text']);
  const document = numberOf(raw['document_index']);
  const fileId = stringOf(raw['file_id']);
  const [first, behind] = [numberOf(raw['start_page_number']), numberOf(raw['end_page_number'])];
  return {
    ...(url !== '' && { url }),
    ...(title !== '' && { title }),
    ...(quote !== '' && { quote }),
    ...(document !== undefined && { document }),
    ...(fileId !== '' && { fileId }),
    ...(first !== undefined && { pages: [first, Math.max(first, (behind ?? first + 1) - 1)] as const }),
  };
}

/** Source of a search result of the program's own, if it is an address. */
function webAddress(source: unknown): string {
  const text = isJsonObject(source) ? '' : stringOf(source);
  return /^https?:/i.test(text) ? text : '';
}
