import type { JsonObject } from '../../util/json.ts';
import type { Piece } from './block-meta.ts';
import { stringOf } from '../../model/http/wire-values.ts';
import { metadataIn } from './part-values.ts';

interface OpenPiece {
  readonly id: string;
  start: number;
  end: number;
  metadata: JsonObject | undefined;
}

/** Stands between two parts of thinking, which are paragraphs. Two parts of text may be in the same sentence. */
const GAP = '\n\n';

/**
 * Text or thinking that becomes one block, though it may come in several parts. They are told apart by their ids.
 * The metadata of a part may come at its start, on its way or at its end; the last one stands.
 */
export class TextRun {
  readonly type: 'text' | 'thinking';
  readonly #pieces: OpenPiece[] = [];
  #length = 0;

  constructor(type: 'text' | 'thinking') {
    this.type = type;
  }

  /** Takes a stream part. Returns the text that it adds to the block. */
  add(part: JsonObject): string {
    const text = stringOf(part['delta']);
    const metadata = metadataIn(part);
    const piece = this.#pieceFor(stringOf(part['id']), text);
    piece.metadata = metadata ?? piece.metadata;
    return text === '' ? '' : this.#write(piece, text);
  }

  /** The pieces, if they are worth to be kept. Thinking always is, so that it is known who thought it. */
  get pieces(): readonly Piece[] | undefined {
    const kept = this.#pieces.filter((piece) => piece.end > piece.start || piece.metadata !== undefined);
    const isWorthIt =
      this.type === 'thinking'
        ? kept.length > 0
        : this.#length > 0 && kept.some((piece) => piece.metadata !== undefined);
    return isWorthIt
      ? kept.map(({ start, end, metadata }) => ({ start, end, ...(metadata && { metadata }) }))
      : undefined;
  }

  /** The piece that a part goes on with. Metadata may still come for an earlier one. */
  #pieceFor(id: string, text: string): OpenPiece {
    const known = text === '' ? this.#pieces.findLast((piece) => piece.id === id) : this.#pieces.at(-1);
    if (known?.id === id) return known;
    const piece: OpenPiece = { id, start: this.#length, end: this.#length, metadata: undefined };
    this.#pieces.push(piece);
    return piece;
  }

  /** Adds to the last piece. */
  #write(piece: OpenPiece, text: string): string {
    const isNew = piece.start === piece.end;
    const gap = isNew && this.#length > 0 && this.type === 'thinking' ? GAP : '';
    if (isNew) piece.start = this.#length + gap.length;
    this.#length += gap.length + text.length;
    piece.end = this.#length;
    return gap + text;
  }
}
