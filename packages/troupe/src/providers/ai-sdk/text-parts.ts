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

/**
 * Stands between two parts of thinking, which are paragraphs. Two parts of text may be in the same sentence.
 */
const GAP = '\n\n';

/**
 * Text or thinking of one block, received in one or more parts with separate ids. Metadata of a part may come
 * at its start, in between or at its end; the last counts.
 */
export class TextParts {
  readonly type: 'text' | 'thinking';
  readonly #pieces: OpenPiece[] = [];
  #length = 0;

  constructor(type: 'text' | 'thinking') {
    this.type = type;
  }

  /** Adds a stream part. Returns the text added to the block. */
  add(part: JsonObject): string {
    const text = stringOf(part['delta']);
    const metadata = metadataIn(part);
    const piece = this.#pieceFor(stringOf(part['id']), text);
    piece.metadata = metadata ?? piece.metadata;
    return text === '' ? '' : this.#write(piece, text);
  }

  get hasText(): boolean {
    return this.#length > 0;
  }

  /** Pieces worth keeping. Thinking always keeps its pieces, to record the provider. */
  get pieces(): readonly Piece[] | undefined {
    const kept = this.#pieces.filter((piece) => piece.end > piece.start || piece.metadata !== undefined);
    const isKept =
      this.type === 'thinking'
        ? kept.length > 0
        : this.#length > 0 && kept.some((piece) => piece.metadata !== undefined);
    return isKept
      ? kept.map(({ start, end, metadata }) => ({ start, end, ...(metadata && { metadata }) }))
      : undefined;
  }

  /** Piece that a part continues. Metadata may still come for an earlier piece. */
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
