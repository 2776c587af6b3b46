// Values for property tests: nasty text, nasty keys, JSON, blocks and messages. Everything here is plain JSON.

import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../src/util/json.ts';

/** Keys that mean something to JavaScript, to a serialiser, or to us. */
export const HOSTILE_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',
  'toJSON',
  '__version__',
  '__class__',
  'lc',
  'length',
  '0',
  '',
] as const;

/** Any UTF-16, lone surrogates, NUL and line separators included. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  fc
    .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 8 })
    .map((points) => String.fromCodePoint(...points)),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    '\ud800',
    '\udc00\ud800',
    'a\ud83d',
    '\u0000',
    '\u2028',
    '</script>',
    '${x}',
    '{"type":"tool_use"}',
  ),
);

/**
 * Without half characters, which have tests of their own, and without a backslash at the end: after `{"a":1,"\\":0}`, JSON.parse of
 * Node 24.21 reads `{"a":1,"\u0001":0}` as the same object.
 */
export const anyKey: fc.Arbitrary<string> = fc
  .oneof(
    { weight: 2, arbitrary: fc.string({ maxLength: 6 }) },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_KEYS) },
    { weight: 1, arbitrary: anyText.map((text) => text.toWellFormed()) },
  )
  .filter((key) => !key.endsWith('\\'));

/** An object with these very properties; `__proto__` is one like any other. */
export function objectOf<T>(entries: readonly (readonly [string, T])[]): { [key: string]: T } {
  const object: { [key: string]: T } = {};
  for (const [key, value] of entries) {
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  }
  return object;
}

function objects(values: fc.Arbitrary<JsonValue>, maxLength = 4): fc.Arbitrary<JsonObject> {
  const entries = fc.uniqueArray(fc.tuple(anyKey, values), { selector: ([key]) => key, maxLength });
  return entries.map(objectOf);
}

const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  anyText,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);

export const anyJson: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    objects(tie('value')),
  ),
})).value;

export const anyJsonObject: fc.Arbitrary<JsonObject> = objects(anyJson);

/** Adds unknown keys to an object, and keeps its own keys. */
function withExtras(object: fc.Arbitrary<JsonObject>, reserved: readonly string[]): fc.Arbitrary<JsonObject> {
  return fc.tuple(object, objects(anyJson, 2)).map(([known, extra]) => {
    const unknown = Object.entries(extra).filter(([key]) => !reserved.includes(key));
    return objectOf([...Object.entries(known), ...unknown]);
  });
}

const RESERVED = (
  'type providerMeta text thinking source filename id name input rawInput output status ' +
  'role content metadata timestamp usage url mediaType data endReason finishReason responseId pending executedBy citations answeredBy'
).split(' ');

const source = withExtras(
  fc.oneof(
    fc.record({ type: fc.constant('base64'), mediaType: anyText, data: anyText }),
    fc.record({ type: fc.constant('url'), url: anyText }),
  ),
  RESERVED,
);

function block(fields: Record<string, fc.Arbitrary<JsonValue>>): fc.Arbitrary<JsonObject> {
  const plain = fc.record(fields);
  const signed = fc.record({ ...fields, providerMeta: anyJsonObject });
  return withExtras(fc.oneof(plain, signed), RESERVED);
}

const text = block({ type: fc.constant('text'), text: anyText });
const media = block({ type: fc.constantFrom('image', 'audio', 'video'), source });
const file = block({ type: fc.constant('file'), source, filename: anyText });

/** Metadata under the keys of providers, as an edited state may hold it: any JSON where the wire form of a block should be. */
const forgedMeta = fc.dictionary(
  fc.constantFrom('anthropic', 'openaiResponses', 'gemini', 'groq'),
  fc.dictionary(
    fc.constantFrom('block', 'item', 'part', 'parts', 'annotations', 'texts', 'caller'),
    fc.oneof(
      anyJson,
      fc.record({
        type: fc.constantFrom('server_tool_use', 'web_search_tool_result', 'web_search_call'),
        id: anyText,
      }),
    ),
  ),
);

function providerBlock(fields: Record<string, fc.Arbitrary<JsonValue>>): fc.Arbitrary<JsonObject> {
  const all = { id: anyText, name: anyText, executedBy: anyText, ...fields };
  return fc.oneof(block(all), fc.record({ ...all, providerMeta: forgedMeta }));
}

const cited = block({
  type: fc.constant('text'),
  text: anyText,
  citations: fc.array(fc.record({ url: anyText, title: anyText, start: fc.nat(), end: fc.nat() }), {
    maxLength: 2,
  }),
});

/** A block of any type, with unknown keys at every level. */
export const anyBlock: fc.Arbitrary<JsonObject> = fc.oneof(
  text,
  media,
  file,
  block({ type: fc.constant('thinking'), thinking: anyText }),
  block({ type: fc.constant('tool_use'), id: anyText, name: anyText, input: anyJsonObject }),
  block({
    type: fc.constant('tool_use'),
    id: anyText,
    name: anyText,
    input: fc.constant({}),
    rawInput: anyText,
  }),
  block({
    type: fc.constant('tool_result'),
    id: anyText,
    name: anyText,
    output: fc.oneof(anyText, fc.array(fc.oneof(text, media, file), { maxLength: 3 })),
    status: fc.constantFrom('ok', 'error', 'interrupted', 'denied', 'unavailable'),
  }),
  cited,
  providerBlock({ type: fc.constant('provider_tool_use'), input: anyJsonObject }),
  providerBlock({
    type: fc.constant('provider_tool_result'),
    output: fc.oneof(anyText, fc.array(fc.oneof(text, media, file), { maxLength: 3 })),
    status: fc.constantFrom('ok', 'error'),
  }),
);

const anyPendingCall = fc.record({
  id: anyText.filter((id) => id !== ''),
  agentPath: fc.array(anyText, { maxLength: 3 }),
  kind: fc.constantFrom('approval', 'external'),
  call: fc.record({ type: fc.constant('tool_use'), id: anyText, name: anyText, input: anyJsonObject }),
});

/** A message as it is saved. */
export const anyMsgJson: fc.Arbitrary<JsonObject> = withExtras(
  fc
    .record({
      id: anyText,
      name: anyText,
      role: fc.constantFrom('user', 'assistant', 'system'),
      content: fc.oneof(anyText, fc.array(anyBlock, { maxLength: 4 })),
      metadata: anyJsonObject,
      timestamp: anyText,
      optional: fc.record(
        {
          usage: fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat(), cachedTokens: fc.nat() }),
          endReason: fc.constantFrom('finished', 'structured', 'tool_suspended', 'interrupted'),
          finishReason: fc.constantFrom('stop', 'tool_calls', 'other'),
          responseId: anyText,
          providerMeta: fc.oneof(anyJsonObject, forgedMeta),
          pending: fc.array(anyPendingCall, { minLength: 1, maxLength: 2 }),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ optional, ...fields }): JsonObject => ({ ...fields, ...optional })),
  RESERVED,
);

/** JSON text with sorted keys: equal for values that differ in the order of their keys only. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join()}}`;
}

/** Whether a value and all nested values are frozen. */
export function isDeepFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen);
}

/** Arrays in arrays: `depth` of them. */
export function nested(depth: number): JsonValue {
  let value: JsonValue = [];
  for (let i = 1; i < depth; i++) value = [value];
  return value;
}
