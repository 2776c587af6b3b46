import type { ModelDelta } from '../../message/model-delta.ts';
import type { JsonObject } from '../../util/json.ts';
import type { Redactor } from './redactor.ts';
import type { TimedDelta } from './tape.ts';

/** Where deltas of a type carry pieces of a longer text. */
const PIECES = { text: 'text', thinking: 'thinking', tool_input: 'json' } as const;

type TextDelta = Extract<ModelDelta, { type: 'text' | 'thinking' }>;
type InputDelta = Extract<ModelDelta, { type: 'tool_input' }>;

/** Places of deltas whose pieces make one text. */
type Run = number[];

/**
 * The deltas as JSON without secrets. A secret may come in pieces, so pieces are read as the one text that
 * they are; where a secret is found, that text is left in one piece.
 */
export function redactDeltas(
  deltas: readonly TimedDelta[],
  redactor: Redactor,
): (readonly [number, JsonObject])[] {
  const pieces = new Map<number, string>();
  for (const run of new Texts(deltas).runs) {
    const texts = run.map((place) => pieceOf(deltas[place]?.[1]));
    const whole = texts.join('');
    const safe = redactor.text(whole);
    for (const [i, place] of run.entries()) {
      pieces.set(place, safe === whole ? (texts[i] ?? '') : i === 0 ? safe : '');
    }
  }
  return deltas.flatMap(([ms, delta], place) => {
    const piece = pieces.get(place);
    const json = delta as JsonObject & ModelDelta;
    if (piece === undefined) return [[ms, redactor.object(json)] as const];
    if (piece === '' && pieceOf(delta) !== '' && !('providerMeta' in delta)) return []; // went into the first
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

/** The texts of an answer, told apart as `MsgDraft` does it: a text goes on until another block begins. */
class Texts {
  readonly runs: Run[] = [];
  #text: { readonly type: TextDelta['type']; readonly run: Run; isSealed: boolean } | undefined;
  readonly #calls = new Set<number>();
  readonly #inputs = new Map<number, Run>();

  constructor(deltas: readonly TimedDelta[]) {
    for (const [place, [, delta]] of deltas.entries()) this.#add(delta, place);
  }

  #add(delta: ModelDelta, place: number): void {
    switch (delta.type) {
      case 'text':
      case 'thinking':
        return this.#addText(delta, place);
      case 'tool_input':
        return this.#addInput(delta, place);
      case 'tool_use_start':
        if (this.#calls.has(delta.index)) return; // said twice
        this.#calls.add(delta.index);
        this.#inputs.delete(delta.index);
        this.#text = undefined;
        return;
      case 'tool_use_end':
        this.#calls.delete(delta.index);
        this.#inputs.delete(delta.index);
        return;
      case 'audio':
      case 'block':
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
        return;
    }
  }

  #addText(delta: TextDelta, place: number): void {
    const isEmpty = pieceOf(delta) === '';
    if (isEmpty && delta.providerMeta === undefined) return;
    let text = this.#text;
    if (text?.type !== delta.type || (text.isSealed && !isEmpty)) {
      text = this.#text = { type: delta.type, run: this.#newRun(), isSealed: false };
    }
    text.run.push(place);
    text.isSealed ||= delta.providerMeta !== undefined;
  }

  #addInput({ index }: InputDelta, place: number): void {
    let run = this.#inputs.get(index);
    if (run === undefined) this.#inputs.set(index, (run = this.#newRun()));
    run.push(place);
  }

  #newRun(): Run {
    const run: Run = [];
    this.runs.push(run);
    return run;
  }
}
