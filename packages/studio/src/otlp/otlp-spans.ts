import type { JsonValue, Usage } from 'troupe';

import type { Span, SpanEvent } from '../protocol.ts';
import { isRecord } from '../store/json-text.ts';
import { BadProtobufError, readFields } from './protobuf-reader.ts';

/** Attributes by key. Keys are untrusted: the object has no prototype. */
type Attributes = Record<string, JsonValue>;

/** A span of a tracer, and where it belongs. */
export interface ReceivedSpan {
  readonly span: Span;
  readonly service: string;
  /** Id of the run, from `gen_ai.conversation.id`. */
  readonly runId: string | undefined;
}

const MAX_DEPTH = 32;
const MAX_SPANS = 20_000;
const MAX_ATTRIBUTES = 256;
const MAX_EVENTS = 256;
const MAX_TEXT = 64 * 1024;
const MAX_NAME = 300;

/** Spans of an export request in protobuf. @throws BadProtobufError */
export function spansFromProtobuf(data: Uint8Array): ReceivedSpan[] {
  const found = new FoundSpans();
  for (const { number, bytes } of readFields(data)) {
    if (number !== 1) continue; // ResourceSpans
    found.count();
    let resource = newAttributes();
    const scopes: Uint8Array[] = [];
    for (const field of readFields(bytes)) {
      if (field.number === 1) resource = attributesIn(field.bytes, 1);
      else if (field.number === 2) {
        found.count();
        scopes.push(field.bytes);
      }
    }
    for (const scope of scopes)
      for (const field of readFields(scope))
        if (field.number === 2) {
          found.count();
          found.add(toSpan(rawSpan(field.bytes), resource));
        }
  }
  return found.spans;
}

/** Spans of an export request in JSON, with the names of the standard or in snake case. @throws BadProtobufError */
export function spansFromJson(body: unknown): ReceivedSpan[] {
  const found = new FoundSpans();
  for (const resourceSpans of listIn(body, 'resourceSpans', 'resource_spans')) {
    found.count();
    const resource = jsonAttributes(isRecord(resourceSpans) ? resourceSpans['resource'] : undefined);
    for (const scope of listIn(resourceSpans, 'scopeSpans', 'scope_spans')) {
      found.count();
      for (const span of listIn(scope, 'spans', 'spans')) {
        found.count();
        found.add(toSpan(rawJsonSpan(span), resource));
      }
    }
  }
  return found.spans;
}

/** The spans of a request. Everything in a request counts, also spans without an id: a request with millions of them is not read on. */
class FoundSpans {
  readonly spans: ReceivedSpan[] = [];
  #count = 0;

  /** Counts a span, a scope or a resource. */
  count(): void {
    if (++this.#count > MAX_SPANS)
      throw new BadProtobufError(`A request has ${MAX_SPANS} spans, scopes and resources at most.`);
  }

  add(span: ReceivedSpan | undefined): void {
    if (span !== undefined) this.spans.push(span);
  }
}

/** A span in the terms of OTLP. */
interface RawSpan {
  traceId: string;
  id: string;
  parentId: string;
  name: string;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  events: SpanEvent[];
  statusCode: number;
  statusMessage: string;
}

function emptySpan(): RawSpan {
  const texts = { traceId: '', id: '', parentId: '', name: '', statusMessage: '' };
  return { ...texts, startMs: 0, endMs: 0, attributes: newAttributes(), events: [], statusCode: 0 };
}

function rawSpan(data: Uint8Array): RawSpan {
  const span = emptySpan();
  const pairs: Uint8Array[] = [];
  for (const { number, bits, bytes } of readFields(data)) {
    if (number === 1) span.traceId = hex(bytes);
    else if (number === 2) span.id = hex(bytes);
    else if (number === 4) span.parentId = hex(bytes);
    else if (number === 5) span.name = text(bytes);
    else if (number === 7) span.startMs = milliseconds(bits);
    else if (number === 8) span.endMs = milliseconds(bits);
    else if (number === 9) pairs.push(bytes);
    else if (number === 11 && span.events.length < MAX_EVENTS) span.events.push(spanEvent(bytes));
    else if (number === 15)
      for (const field of readFields(bytes)) {
        if (field.number === 2) span.statusMessage = text(field.bytes);
        else if (field.number === 3) span.statusCode = Number(field.bits);
      }
  }
  for (const pair of pairs.slice(0, MAX_ATTRIBUTES)) addPair(span.attributes, pair, 0);
  return span;
}

function spanEvent(data: Uint8Array): SpanEvent {
  const attributes = newAttributes();
  let name = '';
  let atMs = 0;
  let count = 0;
  for (const { number, bits, bytes } of readFields(data)) {
    if (number === 1) atMs = milliseconds(bits);
    else if (number === 2) name = text(bytes);
    else if (number === 3 && count++ < MAX_ATTRIBUTES) addPair(attributes, bytes, 0);
  }
  return { name: name.slice(0, MAX_NAME), atMs, attributes };
}

/** Attributes in a repeated field of a message. */
function attributesIn(data: Uint8Array, wanted: number, depth = 0): Attributes {
  const attributes = newAttributes();
  let count = 0;
  for (const { number, bytes } of readFields(data))
    if (number === wanted && count++ < MAX_ATTRIBUTES) addPair(attributes, bytes, depth);
  return attributes;
}

function addPair(attributes: Attributes, data: Uint8Array, depth: number): void {
  let key = '';
  let value: JsonValue = null;
  for (const { number, bytes } of readFields(data)) {
    if (number === 1) key = text(bytes).slice(0, MAX_NAME);
    else if (number === 2) value = anyValue(bytes, depth + 1);
  }
  attributes[key] = value;
}

function anyValue(data: Uint8Array, depth: number): JsonValue {
  if (depth > MAX_DEPTH) throw new BadProtobufError(`Attributes are nested deeper than ${MAX_DEPTH} levels.`);
  let value: JsonValue = null;
  for (const { number, bits, bytes } of readFields(data)) {
    if (number === 1) value = text(bytes);
    else if (number === 2) value = bits !== 0n;
    else if (number === 3) value = toNumber(BigInt.asIntN(64, bits));
    else if (number === 4) value = toDouble(bits);
    else if (number === 5) {
      const items: JsonValue[] = [];
      for (const item of readFields(bytes))
        if (item.number === 1 && items.length < MAX_ATTRIBUTES) items.push(anyValue(item.bytes, depth + 1));
      value = items;
    } else if (number === 6) value = attributesIn(bytes, 1, depth + 1);
    else if (number === 7) value = `${bytes.byteLength} bytes`;
  }
  return value;
}

function rawJsonSpan(value: unknown): RawSpan {
  const span = emptySpan();
  if (!isRecord(value)) return span;
  const of = (camel: string, snake: string): unknown => value[camel] ?? value[snake];
  span.traceId = hexText(of('traceId', 'trace_id'));
  span.id = hexText(of('spanId', 'span_id'));
  span.parentId = hexText(of('parentSpanId', 'parent_span_id'));
  span.name = shown(value['name']);
  span.startMs = jsonTime(of('startTimeUnixNano', 'start_time_unix_nano'));
  span.endMs = jsonTime(of('endTimeUnixNano', 'end_time_unix_nano'));
  span.attributes = jsonAttributes(value);
  for (const event of listIn(value, 'events', 'events').slice(0, MAX_EVENTS)) {
    const { name, timeUnixNano, time_unix_nano: snakeTime } = isRecord(event) ? event : {};
    const atMs = jsonTime(timeUnixNano ?? snakeTime);
    span.events.push({ name: shown(name).slice(0, MAX_NAME), atMs, attributes: jsonAttributes(event) });
  }
  const status = isRecord(value['status']) ? value['status'] : {};
  span.statusCode = status['code'] === 2 || status['code'] === 'STATUS_CODE_ERROR' ? 2 : 0;
  span.statusMessage = shown(status['message']);
  return span;
}

function jsonAttributes(holder: unknown, depth = 0): Attributes {
  const attributes = newAttributes();
  for (const pair of listIn(holder, 'attributes', 'attributes').slice(0, MAX_ATTRIBUTES)) {
    const { key, value } = isRecord(pair) ? pair : {};
    if (typeof key === 'string') attributes[key.slice(0, MAX_NAME)] = jsonValue(value, depth + 1);
  }
  return attributes;
}

function jsonValue(value: unknown, depth: number): JsonValue {
  if (depth > MAX_DEPTH) throw new BadProtobufError(`Attributes are nested deeper than ${MAX_DEPTH} levels.`);
  if (!isRecord(value)) return null;
  const of = (camel: string, snake: string): unknown => value[camel] ?? value[snake];
  const string = of('stringValue', 'string_value');
  if (typeof string === 'string') return string.slice(0, MAX_TEXT);
  const bool = of('boolValue', 'bool_value');
  if (typeof bool === 'boolean') return bool;
  const number = of('intValue', 'int_value') ?? of('doubleValue', 'double_value');
  if (typeof number === 'number' || typeof number === 'string') {
    const read = Number(number);
    return Number.isFinite(read) && (!Number.isInteger(read) || Number.isSafeInteger(read))
      ? read
      : String(number).slice(0, 40);
  }
  const array = of('arrayValue', 'array_value');
  if (isRecord(array))
    return listIn(array, 'values', 'values')
      .slice(0, MAX_ATTRIBUTES)
      .map((item) => jsonValue(item, depth + 1));
  const pairs = of('kvlistValue', 'kvlist_value');
  if (isRecord(pairs)) return jsonAttributes({ attributes: pairs['values'] }, depth + 1);
  return null;
}

/** A span as the page shows it, by the conventions for generative AI. Undefined without ids. */
function toSpan(raw: RawSpan, resource: Attributes): ReceivedSpan | undefined {
  const { traceId, id, parentId, startMs, endMs, attributes, events } = raw;
  if (traceId === '' || id === '') return undefined;
  const named = (key: string): string | undefined => {
    const value = attributes[key];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const operation = named('gen_ai.operation.name');
  const toolName = named('gen_ai.tool.name');
  const toolCallId = named('gen_ai.tool.call.id');
  const modelName = named('gen_ai.response.model') ?? named('gen_ai.request.model');
  const agent = named('gen_ai.agent.name');
  const usage = usageOf(attributes);
  const span: Span = {
    id,
    traceId,
    ...(parentId !== '' && { parentId }),
    name: raw.name.slice(0, MAX_NAME),
    kind: kindOf(operation),
    startMs,
    ...(endMs > 0 && { endMs }),
    status: raw.statusCode === 2 ? 'error' : 'ok',
    agentPath: agent === undefined ? [] : [agent],
    ...(modelName !== undefined && { modelName }),
    ...(toolName !== undefined && { toolName }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(usage && { usage }),
    ...(raw.statusCode === 2 && { error: raw.statusMessage.slice(0, MAX_TEXT) }),
    attributes,
    events,
  };
  const conversation = named('gen_ai.conversation.id') ?? named('project.run_id');
  const service = resource['service.name'];
  return {
    span,
    service: typeof service === 'string' ? service.slice(0, MAX_NAME) : '',
    runId: conversation
      ?.replace(/^"(.*)"$/, '$1')
      .slice(0, 200)
      .toWellFormed(), // AgentScope writes the id as JSON
  };
}

function kindOf(operation: string | undefined): Span['kind'] {
  if (operation === 'invoke_agent' || operation === 'create_agent') return 'agent';
  if (operation === 'execute_tool') return 'tool';
  return operation === 'chat' || operation === 'generate_content' || operation === 'text_completion'
    ? 'model'
    : 'other';
}

function usageOf(attributes: Attributes): Usage | undefined {
  const number = (...keys: string[]): number | undefined =>
    keys.map((key) => attributes[key]).find((value) => typeof value === 'number');
  const inputTokens = number('gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens');
  const outputTokens = number('gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens');
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const cachedTokens = number('gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.cached_tokens');
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    ...(cachedTokens !== undefined && { cachedTokens }),
  };
}

function newAttributes(): Attributes {
  return Object.create(null) as Attributes;
}

function listIn(value: unknown, camel: string, snake: string): readonly unknown[] {
  const list = isRecord(value) ? (value[camel] ?? value[snake]) : undefined;
  return Array.isArray(list) ? list : [];
}

const decoder = new TextDecoder();

function text(bytes: Uint8Array): string {
  return decoder.decode(bytes.subarray(0, MAX_TEXT));
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : '';
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 16)).toString('hex');
}

function hexText(value: unknown): string {
  return typeof value === 'string' && /^[0-9a-f]{1,32}$/i.test(value) ? value.toLowerCase() : '';
}

/** A number; text beyond the numbers that a `number` holds exactly. */
function toNumber(value: bigint): JsonValue {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

function toDouble(bits: bigint): JsonValue {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bits);
  const value = view.getFloat64(0);
  return Number.isFinite(value) ? value : String(value);
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1000n) / 1000;
}

function jsonTime(value: unknown): number {
  const digits = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  return /^\d{1,20}$/.test(digits) ? milliseconds(BigInt(digits)) : 0;
}
