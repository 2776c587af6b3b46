import type { ModelDelta } from '../../message/model-delta.ts';
import type { JsonObject } from '../../util/json.ts';
import type { Redactor } from './redactor.ts';
import type { TimedDelta } from './tape.ts';

/** Property with the text of each delta type. */
const PIECES = { text: 'text', thinking: 'thinking', tool_input: 'json' } as const;

type TextDelta = Extract<ModelDelta, { type: 'text' | 'thinking' }>;
type InputDelta = Extract<ModelDelta, { type: 'tool_input' }>;

/** Positions of the deltas that form one text. */
type Positions = number[];

/**
 * Converts deltas to JSON without secrets. A secret can be split over deltas, so the deltas of one text are
 * searched together; a text with a secret ends up in its first delta.
 */
export function redactDeltas(
  deltas: readonly TimedDelta[],
  redactor: Redactor,
): (readonly [number, JsonObject])[] {
  const pieces = new Map<number, string>();
  for (const positions of new Texts(deltas).all) {
    const texts = positions.map((position) => pieceOf(deltas[position]?.[1]));
    const whole = texts.join('');
    const safe = redactor.text(whole);
    for (const [i, position] of positions.entries()) {
      pieces.set(position, safe === whole ? (texts[i] ?? '') : i === 0 ? safe : '');
    }
  }
  return deltas.flatMap(([ms, delta], position) => {
    const piece = pieces.get(position);
    const json = delta as JsonObject & ModelDelta;
    if (piece === undefined) return [[ms, redactor.object(json)] as const];
    // Text moved to the first delta.
    if (piece === '' && pieceOf(delta) !== '' && !('providerMeta' in delta)) return [];
    const field = PIECES[delta.type as keyof typeof PIECES];
    const { type, [field]: _piece, ...others } = json;
    return [[ms, { type, ...redactor.object(others), [field]: piece }] as const];
  });
}

function pieceOf(delta: ModelDelta | undefined): string {
  if (delta?.type === 'text') return delta.text;
  if (delta?.type === 'thinking') return delta.thinking;
  return delta?.type === 'tool_input' ? delta.json : '';
}

/** Groups deltas into texts like `MsgDraft`: a text continues until another block starts. */
class Texts {
  readonly all: Positions[] = [];
  #text: { readonly type: TextDelta['type']; readonly positions: Positions; isSealed: boolean } | undefined;
  readonly #calls = new Set<number>();
  readonly #inputs = new Map<number, Positions>();

  constructor(deltas: readonly TimedDelta[]) {
    for (const [position, [, delta]] of deltas.entries()) this.#add(delta, position);
  }

  #add(delta: ModelDelta, position: number): void {
    switch (delta.type) {
      case 'text':
      case 'thinking':
        return this.#addText(delta, position);
      case 'tool_input':
        return this.#addInput(delta, position);
      case 'tool_use_start':
        if (this.#calls.has(delta.index)) return; // repeated start
        this.#calls.add(delta.index);
        this.#inputs.delete(delta.index);
        this.#text = undefined;
        return;
      case 'tool_use_end':
        this.#calls.delete(delta.index);
        this.#inputs.delete(delta.index);
        return;
      case 'audio':
        if (delta.index === undefined) this.#text = undefined;
        return;
      case 'block':
      case 'partial_image':
        this.#text = undefined;
        return;
      case 'reset':
        this.#text = undefined;
        this.#calls.clear();
        this.#inputs.clear();
        return;
      case 'usage':
      case 'finish':
      case 'response_id':
      case 'answered_by':
      case 'citations':
      case 'provider_meta':
        return;
    }
  }

  #addText(delta: TextDelta, position: number): void {
    const isEmpty = pieceOf(delta) === '';
    if (isEmpty && delta.providerMeta === undefined) return;
    let text = this.#text;
    if (text?.type !== delta.type || (text.isSealed && !isEmpty)) {
      text = this.#text = { type: delta.type, positions: this.#newText(), isSealed: false };
    }
    text.positions.push(position);
    text.isSealed ||= delta.providerMeta !== undefined;
  }

  #addInput({ index }: InputDelta, position: number): void {
    let positions = this.#inputs.get(index);
    if (positions === undefined) this.#inputs.set(index, (positions = this.#newText()));
    positions.push(position);
  }

  #newText(): Positions {
    const positions: Positions = [];
    this.all.push(positions);
    return positions;
  }
}
