import type { ModelDelta } from '../../message/model-delta.ts';
import type { PlainPiece } from '../../model/http/repeated-event.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { numberOf, objectOf, stringOf } from '../../model/http/wire-values.ts';

/** Tool call that is still receiving its pieces. */
interface PartialToolCall {
  readonly index: number;
  /** Number of the chunk with the first piece. */
  readonly chunk: number;
  /** Whether all pieces so far repeat the tool call before: then both may be the same tool call. */
  readonly mayRepeat: boolean;
  id: string;
  name: string;
  json: string;
  lastPiece: string;
  isStarted: boolean;
  /** Fields that the vendor wants back with the tool call. */
  kept: JsonObject;
}

/** Fields of a tool call that go back unchanged: signatures of Gemini, at Google's own endpoint and at LiteLLM. */
export const KEPT_FIELDS: readonly string[] = ['extra_content', 'provider_specific_fields'];

/**
 * Joins the pieces of an answer's tool calls. Vendors separate tool calls by an index, by an id, by order, or
 * by the name alone, and a name may come in pieces too. So a tool call is reported only when its arguments
 * begin or something else follows; by then its name is complete.
 */
export class ChatToolCalls {
  readonly #vendorName: string;
  readonly #isTool: (name: string) => boolean;
  readonly #calls: PartialToolCall[] = [];
  /** Open tool calls by the vendor's index. The next tool call may get the same index. */
  readonly #open = new Map<number, PartialToolCall>();
  #chunks = 0;

  /** Ids of tool calls that were reported whole. */
  readonly #endedIds = new Set<string>();
  #count = 0;

  /** @param toolNames names of the tools that the model was given */
  constructor(toolNames: readonly string[], vendorName: string) {
    this.#vendorName = vendorName;
    const names = new Set(toolNames);
    this.#isTool = (name) => names.has(name);
  }

  /** Reads the pieces of one chunk. */
  *read(pieces: readonly JsonObject[]): Generator<ModelDelta, void, void> {
    this.#chunks++;
    for (const [position, piece] of pieces.entries()) {
      yield* this.#read(piece, numberOf(piece['index']) ?? position);
    }
  }

  /** The piece of arguments that a chunk holds which was read, and nothing else. A piece with a name may begin a tool call. */
  plainPieceOf(pieces: readonly JsonObject[]): PlainPiece | undefined {
    const [piece] = pieces;
    if (piece === undefined || pieces.length > 1) return undefined;
    const { name, arguments: json } = objectOf(piece['function']);
    const call = this.#open.get(numberOf(piece['index']) ?? 0);
    if (typeof json !== 'string' || stringOf(name) !== '' || call?.isStarted !== true) return undefined;
    return { text: json, again: (next) => addInput(call, next) };
  }

  /** Whether the answer has tool calls. */
  get hasCalls(): boolean {
    return this.#calls.some((call) => call.isStarted || canStart(call));
  }

  /** Whether the arguments of all tool calls are complete. */
  get areWhole(): boolean {
    return this.#calls.every((call) => call.json === '' || isJsonObject(readJson(call.json)));
  }

  /** Reports the tool calls with a name and no arguments yet. */
  *settle(): Generator<ModelDelta, void, void> {
    for (const call of this.#calls) if (!call.isStarted && canStart(call)) yield* start(call);
  }

  /** Ends all tool calls. */
  *end(): Generator<ModelDelta, void, void> {
    yield* this.settle();
    for (const { index, id, isStarted, kept } of this.#calls) {
      if (!isStarted) continue;
      if (id !== '') this.#endedIds.add(id);
      const providerMeta = Object.keys(kept).length > 0 && { [this.#vendorName]: { fields: kept } };
      yield { type: 'tool_use_end', index, ...(providerMeta && { providerMeta }) };
    }
    this.#calls.length = 0;
    this.#open.clear();
  }

  *#read(piece: JsonObject, number: number): Generator<ModelDelta, void, void> {
    const called = objectOf(piece['function']);
    const id = stringOf(piece['id']);
    const name = stringOf(called['name']);
    const json = toJsonText(called['arguments']);
    if (this.#endedIds.has(id)) return; // told again behind the finish reason
    let call = this.#open.get(number);
    if (call === undefined || this.#isNext(call, id, name)) {
      if (id === '' && name === '') return; // a piece of a tool call that never began
      call = this.#begin(number, id, name, call);
    } else {
      call.id ||= id;
      if (name !== call.name) call.name += name;
    }
    call.kept = { ...call.kept, ...keptFields(piece) };
    if (json === '') return;
    const input = addInput(call, json);
    if (call.isStarted) yield input;
    else if (call.name !== '') yield* this.#startUpTo(call);
  }

  /** Whether a piece begins a new tool call, although another is open under the same index. */
  #isNext(open: PartialToolCall, id: string, name: string): boolean {
    if (name === '') return false;
    if (id !== '' && open.id !== '') return id !== open.id;
    if (open.name === '') return false;
    if (open.chunk === this.#chunks) return true; // no vendor splits a name within one chunk
    if (name === open.name) return isWhole(open);
    return open.isStarted || (this.#isTool(open.name) && !this.#isTool(open.name + name));
  }

  #begin(number: number, id: string, name: string, before: PartialToolCall | undefined): PartialToolCall {
    const mayRepeat = id === '' && name === before?.name && before.chunk !== this.#chunks;
    const call: PartialToolCall = {
      index: this.#count++,
      chunk: this.#chunks,
      mayRepeat,
      id,
      name,
      json: '',
      lastPiece: '',
      isStarted: false,
      kept: {},
    };
    this.#calls.push(call);
    this.#open.set(number, call);
    return call;
  }

  /** Reports tool calls in the order in which their first pieces came. */
  *#startUpTo(last: PartialToolCall): Generator<ModelDelta, void, void> {
    for (const call of this.#calls) {
      if (!call.isStarted && (call === last || (call.index < last.index && canStart(call))))
        yield* start(call);
    }
  }
}

function addInput(call: PartialToolCall, json: string): ModelDelta {
  call.json += json;
  call.lastPiece = json;
  return { type: 'tool_input', index: call.index, json };
}

function canStart({ name, json, mayRepeat }: PartialToolCall): boolean {
  return name !== '' && (json !== '' || !mayRepeat);
}

function* start(call: PartialToolCall): Generator<ModelDelta, void, void> {
  const { index, id, name, json } = call;
  call.isStarted = true;
  yield { type: 'tool_use_start', index, name, ...(id !== '' && { id }) };
  if (json !== '') yield { type: 'tool_input', index, json };
}

/**
 * Whether the arguments are complete JSON. The last piece alone mostly shows that more must follow, at no
 * cost.
 */
function isWhole({ json, lastPiece }: PartialToolCall): boolean {
  return /\}\s*$/.test(lastPiece) && isJsonObject(readJson(json));
}

/** Converts arguments to text: some vendors send the object itself. */
function toJsonText(value: unknown): string {
  return isJsonObject(value) ? JSON.stringify(value) : stringOf(value);
}

/** The fields of a tool call that the vendor wants back. */
export function keptFields(call: JsonObject): JsonObject {
  return Object.fromEntries(
    KEPT_FIELDS.flatMap((key) => (isJsonObject(call[key]) ? [[key, call[key]] as const] : [])),
  );
}
