import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import type { PlainPiece } from '../../model/http/repeated-event.ts';
import { objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { usageSoFar } from './anthropic-usage.ts';
import { CitedText } from './tools/cited-text.ts';
import {
  ANTHROPIC_KEY,
  isServerCall,
  isServerResult,
  toCompaction,
  toOpaque,
  toServerResult,
} from './tools/server-tools.ts';

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['pause_turn', 'other'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'refusal'],
]);

/**
 * Regular stop reasons. After any other or unknown reason the last tool call may lack arguments, even if
 * closed.
 */
const REGULAR: readonly string[] = ['end_turn', 'stop_sequence', 'tool_use', 'pause_turn'];

/** Types of blocks that are read piece by piece. */
const READ: readonly string[] = ['text', 'thinking', 'compaction'];

/** Reason of a turn that Claude wants to continue. */
const PAUSE = 'pause_turn';

/** Fields of a message and of its usage that say something about the answer as a whole. */
const ANSWER_FIELDS = [
  'model',
  'stop_sequence',
  'stop_details',
  'container',
  'context_management',
  'diagnostics',
];
/** Fields of the usage that are read as counts; the others are kept. */
const COUNTED =
  /^(?:input_tokens|output_tokens|output_tokens_details|cache_creation|cache_(?:creation|read)_input_tokens)$/;

/**
 * Decodes the events of an answer; ignores unknown events. A call is complete when its block was closed and either
 * another block follows or the answer ends regularly. An answer may also come whole, with its start.
 */
export class AnthropicDecoder implements WireDecoder {
  readonly #open = new Map<number, OpenBlock>();
  #text = new CitedText();
  /** Names of server tools by the id of their call. */
  readonly #serverTools = new Map<string, string>();
  #closedCalls: OpenBlock[] = [];
  #hasToolCalls = false;
  #id = '';
  #hasContent = false;
  #usage: Usage | undefined;
  #reason: string | undefined;
  #isOver = false;
  /** See `WireDecoder`. */
  plainPiece: PlainPiece | undefined;

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  *read(event: JsonObject): Generator<ModelDelta, void, void> {
    this.plainPiece = undefined;
    const index = typeof event['index'] === 'number' ? event['index'] : 0;
    switch (stringOf(event['type'])) {
      case 'message_start':
        return yield* this.#start(objectOf(event['message']));
      case 'content_block_start':
        return yield* this.#startBlock(index, objectOf(event['content_block']));
      case 'content_block_delta':
        yield* this.#delta(index, objectOf(event['delta']));
        this.plainPiece = this.#plainPieceOf(index, objectOf(event['delta']));
        return;
      case 'content_block_stop':
        return yield* this.#endBlock(index);
      case 'message_delta':
        return yield* this.#about({ ...event, ...objectOf(event['delta']) });
      case 'message_stop':
        this.#isOver = true;
    }
  }

  /** The piece of text or arguments that a delta holds, and nothing else. */
  #plainPieceOf(index: number, delta: JsonObject): PlainPiece | undefined {
    const { type, text, partial_json: json } = delta;
    if (Object.keys(delta).length > 2) return undefined;
    const block = this.#open.get(index);
    if (type === 'text_delta' && block?.type === 'text' && typeof text === 'string')
      return { text, again: (more) => this.#moreText(more) };
    if (type === 'input_json_delta' && block?.type === 'tool_use' && typeof json === 'string')
      return { text: json, again: (more) => ({ type: 'tool_input', index, json: more }) };
    return undefined;
  }

  *readWhole(message: JsonObject): Generator<ModelDelta, void, void> {
    yield* this.read({ type: 'message_start', message });
  }

  *end(): Generator<ModelDelta, void, void> {
    yield* this.#text.end();
    const stopReason = this.#reason ?? '';
    if (REGULAR.includes(stopReason)) yield* this.#endCalls();
    const reason = REASONS.get(stopReason) ?? 'other';
    yield { type: 'finish', reason: reason === 'stop' && this.#hasToolCalls ? 'tool_calls' : reason };
  }

  *#start(message: JsonObject): Generator<ModelDelta, void, void> {
    const id = stringOf(message['id']);
    if (this.#hasContent && id !== this.#id) yield* this.#restart();
    if (id !== '' && this.#id === '') {
      this.#id = id;
      yield { type: 'response_id', id };
    }
    for (const [index, block] of objectsOf(message['content']).entries()) {
      yield* this.#startBlock(index, block);
      yield* this.#endBlock(index);
    }
    yield* this.#about(message);
  }

  /** Begins again: some gateways ask a second time when a connection is lost, and send another answer behind the half one. */
  *#restart(): Generator<ModelDelta, void, void> {
    this.#open.clear();
    this.#text = new CitedText();
    this.#serverTools.clear();
    this.#closedCalls = [];
    this.#hasToolCalls = false;
    this.#hasContent = false;
    this.#id = '';
    this.#usage = undefined;
    this.#reason = undefined;
    yield { type: 'reset', reason: 'The server began the answer again.' };
  }

  /** Reads the data about the answer as a whole: stop reason, counts, and more. */
  *#about(message: JsonObject): Generator<ModelDelta, void, void> {
    const usage = objectOf(message['usage']);
    this.#reason = stringOf(message['stop_reason']) || this.#reason;
    const said = {
      ...(message['stop_reason'] === PAUSE && { stop_reason: PAUSE }),
      ...known(message, ANSWER_FIELDS),
      ...known(
        usage,
        Object.keys(usage).filter((key) => !COUNTED.test(key)),
      ),
      ...cacheLives(usage),
    };
    if (Object.keys(said).length > 0)
      yield { type: 'provider_meta', providerMeta: { [ANTHROPIC_KEY]: said } };
    yield* this.#count(message['usage']);
  }

  *#startBlock(index: number, start: JsonObject): Generator<ModelDelta, void, void> {
    this.#hasContent = true;
    yield* this.#endCalls(); // more content follows, so these tool calls were not cut off
    const type = stringOf(start['type']);
    if (type !== 'text') yield* this.#text.end();
    this.#open.set(index, { index, type, start, hasThinking: false, signature: '', content: '', pieces: [] });
    if (type === 'tool_use' || isServerCall(type)) return yield* this.#startCall(index, start);
    if (type === 'redacted_thinking') yield wholeThinking({ redactedData: stringOf(start['data']) });
    else if (isServerResult(type)) {
      const name = this.#serverTools.get(stringOf(start['tool_use_id']));
      yield { type: 'block', block: toServerResult(start, name) };
    } else if (READ.includes(type)) {
      if (type === 'text') this.#text.begin();
      yield* this.#delta(index, start);
    }
  }

  *#startCall(index: number, start: JsonObject): Generator<ModelDelta, void, void> {
    const { id: _id, name: _name, input: _input, ...rest } = start; // the rest goes back with the call
    const id = stringOf(start['id']);
    const name = stringOf(start['name']);
    const call = { type: 'tool_use_start', index, ...(id !== '' && { id }), name } as const;
    if (rest['type'] === 'tool_use') {
      const caller = objectOf(rest['caller']);
      const isProgram = stringOf(caller['tool_id']) !== '';
      yield { ...call, ...(isProgram && { providerMeta: { [ANTHROPIC_KEY]: { caller } } }) };
    } else {
      this.#serverTools.set(id, name);
      yield { ...call, executedBy: ANTHROPIC_KEY, providerMeta: { [ANTHROPIC_KEY]: { block: rest } } };
    }
    const input = objectOf(start['input']); // mostly empty: the input follows in pieces
    if (Object.keys(input).length > 0) yield { type: 'tool_input', index, json: JSON.stringify(input) };
  }

  /** Converts the start or a piece of a block to a delta. */
  *#delta(index: number, piece: JsonObject): Generator<ModelDelta, void, void> {
    const block = this.#open.get(index);
    if (block === undefined) {
      if (isJsonObject(piece['citation'])) yield* this.#text.citeLate(piece['citation']);
      return;
    }
    switch (block.type) {
      case 'text':
        return yield* this.#addText(piece);
      case 'thinking':
        return yield* addThinking(block, piece);
      case 'compaction':
        block.content += stringOf(piece['content']);
        return;
    }
    if (isUnknown(block.type)) return void block.pieces.push(piece);
    const json = stringOf(piece['partial_json']);
    if (json !== '' && (block.type === 'tool_use' || isServerCall(block.type)))
      yield { type: 'tool_input', index, json };
  }

  *#addText(piece: JsonObject): Generator<ModelDelta, void, void> {
    const text = stringOf(piece['text']);
    if (isJsonObject(piece['citation'])) this.#text.cite(piece['citation']);
    for (const citation of objectsOf(piece['citations'])) this.#text.cite(citation);
    if (text === '') return;
    yield this.#moreText(text);
  }

  #moreText(text: string): ModelDelta {
    this.#text.add(text);
    return { type: 'text', text };
  }

  *#endBlock(index: number): Generator<ModelDelta, void, void> {
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (block === undefined) return;
    if (block.type === 'tool_use' || isServerCall(block.type)) this.#closedCalls.push(block);
    else if (block.type === 'text') yield* this.#text.endBlock();
    else if (block.type === 'compaction')
      yield { type: 'block', block: toCompaction({ ...block.start, content: block.content }) };
    else if (isUnknown(block.type)) {
      const { start, pieces } = block;
      const raw = pieces.length === 0 ? start : { ...start, deltas: pieces };
      yield { type: 'block', block: toOpaque(raw, index) };
    }
    if (block.type !== 'thinking') return;
    const { signature, hasThinking } = block;
    if (hasThinking) yield { type: 'thinking', thinking: '', providerMeta: { anthropic: { signature } } };
    else if (signature !== '') yield wholeThinking({ signature });
  }

  *#endCalls(): Generator<ModelDelta, void, void> {
    const calls = this.#closedCalls;
    this.#closedCalls = [];
    for (const { index, type } of calls) {
      this.#hasToolCalls ||= type === 'tool_use';
      yield { type: 'tool_use_end', index };
    }
  }

  *#count(counts: JsonValue | undefined): Generator<ModelDelta, void, void> {
    if (!isJsonObject(counts)) return;
    const usage = usageSoFar(counts, this.#usage);
    const isNew = (Object.keys(usage) as (keyof Usage)[]).some((key) => usage[key] !== this.#usage?.[key]);
    this.#usage = usage;
    if (isNew) yield { type: 'usage', usage };
  }
}

/** Block of the answer before its end. */
interface OpenBlock {
  readonly index: number;
  readonly type: string;
  readonly start: JsonObject;
  hasThinking: boolean;
  signature: string;
  /** Summary so far, of a compaction. */
  content: string;
  /** Pieces of a block of an unknown type. */
  readonly pieces: JsonObject[];
}

function isUnknown(type: string): boolean {
  const isKnown = READ.includes(type) || type === 'tool_use' || type === 'redacted_thinking';
  return !isKnown && !isServerCall(type) && !isServerResult(type);
}

function* addThinking(block: OpenBlock, piece: JsonObject): Generator<ModelDelta, void, void> {
  const thinking = stringOf(piece['thinking']);
  block.signature += stringOf(piece['signature']);
  if (thinking === '') return;
  block.hasThinking = true;
  yield { type: 'thinking', thinking };
}

/** Makes a block of hidden thinking. A separate block: its metadata must not merge with the block before. */
function wholeThinking(anthropic: JsonObject): ModelDelta {
  return { type: 'block', block: { type: 'thinking', thinking: '', providerMeta: { anthropic } } };
}

/** Picks the given fields that are not null. */
function known(holder: JsonObject, keys: readonly string[]): JsonObject {
  const given: Record<string, JsonValue> = {};
  for (const key of keys) {
    const value = holder[key];
    if (value !== undefined && value !== null) given[key] = value;
  }
  return given;
}

/** Tokens written to the cache, by how long they are kept, if there are any. */
function cacheLives({ cache_creation: written }: JsonObject): JsonObject {
  if (!isJsonObject(written) || !Object.values(written).some((count) => count !== 0)) return {};
  return { cache_creation: written };
}
