import type { ModelDelta } from '../../message/model-delta.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { numberOf, objectOf, stringOf } from '../../model/http/wire-values.ts';

/** A call that is being made. */
interface Call {
  readonly index: number;
  /** The number of the chunk that began it. */
  readonly chunk: number;
  /** Whether it has said nothing yet that the call before it did not say: then it may be that one. */
  readonly isEcho: boolean;
  id: string;
  name: string;
  json: string;
  lastPiece: string;
  isStarted: boolean;
}

/**
 * Puts the calls of an answer together from their pieces. Vendors differ in how they
 * tell calls apart: by an index, by an id, by their order, or by the name alone, which
 * itself may come in pieces. So a call is told only once its arguments begin, or
 * something else follows; by then its name is whole.
 */
export class ChatCalls {
  readonly #isTool: (name: string) => boolean;
  readonly #calls: Call[] = [];
  /** The calls by the vendor's number for them. The next call may get the same number. */
  readonly #open = new Map<number, Call>();
  #chunks = 0;

  /** @param toolNames those that the model was given */
  constructor(toolNames: readonly string[]) {
    const names = new Set(toolNames);
    this.#isTool = (name) => names.has(name);
  }

  /** The pieces of one chunk. */
  *read(pieces: readonly JsonObject[]): Generator<ModelDelta, void, void> {
    this.#chunks++;
    for (const [position, piece] of pieces.entries()) {
      yield* this.#read(piece, numberOf(piece['index']) ?? position);
    }
  }

  /** Whether there are calls. */
  get hasCalls(): boolean {
    return this.#calls.some((call) => call.isStarted || isTellable(call));
  }

  /** Tells the calls that have said nothing but their names. */
  *settle(): Generator<ModelDelta, void, void> {
    for (const call of this.#calls) if (!call.isStarted && isTellable(call)) yield* start(call);
  }

  /** All calls are made. */
  *end(): Generator<ModelDelta, void, void> {
    yield* this.settle();
    for (const { index, isStarted } of this.#calls) if (isStarted) yield { type: 'tool_use_end', index };
    this.#calls.length = 0;
    this.#open.clear();
  }

  *#read(piece: JsonObject, number: number): Generator<ModelDelta, void, void> {
    const called = objectOf(piece['function']);
    const id = stringOf(piece['id']);
    const name = stringOf(called['name']);
    const json = toJsonText(called['arguments']);
    let call = this.#open.get(number);
    if (call === undefined || this.#isNext(call, id, name)) {
      if (id === '' && name === '') return; // of a call that nobody began
      call = this.#begin(number, id, name, call);
    } else {
      call.id ||= id;
      if (name !== call.name) call.name += name;
    }
    if (json === '') return;
    call.json += json;
    call.lastPiece = json;
    if (call.isStarted) yield { type: 'tool_input', index: call.index, json };
    else if (call.name !== '') yield* this.#startUpTo(call);
  }

  /** Whether a piece begins a call, though one is open under its number. */
  #isNext(open: Call, id: string, name: string): boolean {
    if (name === '') return false;
    if (id !== '' && open.id !== '') return id !== open.id;
    if (open.name === '') return false;
    if (open.chunk === this.#chunks) return true; // nobody cuts a name within a chunk
    if (name === open.name) return isWhole(open);
    return open.isStarted || (this.#isTool(open.name) && !this.#isTool(open.name + name));
  }

  #begin(number: number, id: string, name: string, before: Call | undefined): Call {
    const isEcho = id === '' && name === before?.name && before.chunk !== this.#chunks;
    const call: Call = {
      index: (this.#calls.at(-1)?.index ?? -1) + 1,
      chunk: this.#chunks,
      isEcho,
      id,
      name,
      json: '',
      lastPiece: '',
      isStarted: false,
    };
    this.#calls.push(call);
    this.#open.set(number, call);
    return call;
  }

  /** Calls are told in the order in which they were begun. */
  *#startUpTo(last: Call): Generator<ModelDelta, void, void> {
    for (const call of this.#calls) {
      if (!call.isStarted && (call === last || (call.index < last.index && isTellable(call))))
        yield* start(call);
    }
  }
}

function isTellable({ name, json, isEcho }: Call): boolean {
  return name !== '' && (json !== '' || !isEcho);
}

function* start(call: Call): Generator<ModelDelta, void, void> {
  const { index, id, name, json } = call;
  call.isStarted = true;
  yield { type: 'tool_use_start', index, name, ...(id !== '' && { id }) };
  if (json !== '') yield { type: 'tool_input', index, json };
}

/** Whether its arguments can't go on. The last piece tells most often that they do, at no cost. */
function isWhole({ json, lastPiece }: Call): boolean {
  return /\}\s*$/.test(lastPiece) && isJsonObject(readJson(json));
}

/** Arguments are text, but some vendors send the object itself. */
function toJsonText(value: unknown): string {
  return isJsonObject(value) ? JSON.stringify(value) : stringOf(value);
}
