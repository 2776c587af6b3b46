/** Schemas, and texts that their grammars do and do not admit. */
import type { JsonSchema } from '../../src/util/schema.ts';
import { spacedJson } from '../../src/providers/llama-cpp/envelope.ts';

interface Example {
  readonly schema: JsonSchema;
  readonly yes: readonly string[];
  readonly no: readonly string[];
}

export const person = {
  type: 'object',
  properties: { nick: { type: 'string' }, name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name'],
} as const;

export const schemaExamples: Readonly<Record<string, Example>> = {
  'any value': {
    schema: {},
    yes: ['1', '-2.5e+10', '"a"', 'null', '[1, {"a": [true]}]', '{}', '"\\u00e9\\n\\/"', '"é😀"'],
    no: [
      '',
      '01',
      '1.',
      '+1',
      '[1,2]',
      '{"a":1}',
      '"\n"',
      '"\\x"',
      '"\\ud83d"',
      '1e999',
      'nul',
      '{"a": 1, }',
    ],
  },
  'a string of some length': {
    schema: { type: 'string', minLength: 2, maxLength: 3 },
    yes: ['"ab"', '"a😀c"', '"\\n\\"\\u0041"'],
    no: ['"a"', '"abcd"', '1'],
  },
  'a string of at least some length': {
    schema: { type: 'string', minLength: 2 },
    yes: ['"ab"', '"abcdefgh"'],
    no: ['"a"', '""'],
  },
  'a length that is too much to count': {
    schema: { type: 'string', maxLength: 100_000 },
    yes: ['""', '"abc"'],
    no: ['1'],
  },
  'a date': {
    schema: { type: 'string', format: 'date' },
    yes: ['"2026-01-31"'],
    no: ['"2026-13-01"', '"2026-1-1"', '"2026-01-32"', '"soon"'],
  },
  'a time': {
    schema: { type: 'string', format: 'time' },
    yes: ['"23:59:59Z"', '"00:00:00.5+05:30"'],
    no: ['"24:00:00Z"', '"12:00"', '"12:60:00Z"'],
  },
  'a date and a time': {
    schema: { type: 'string', format: 'date-time' },
    yes: ['"2026-01-31T09:30:00.000Z"'],
    no: ['"2026-01-31"', '"2026-01-31 09:30:00Z"'],
  },
  'a uuid': {
    schema: { type: 'string', format: 'uuid' },
    yes: ['"123e4567-e89b-12d3-a456-426614174000"'],
    no: ['"123e4567e89b12d3a456426614174000"'],
  },
  'a format that is not known': {
    schema: { type: 'string', format: 'email' },
    yes: ['"a@b.c"', '"anything"'],
    no: ['1'],
  },
  numbers: { schema: { type: 'number' }, yes: ['0', '-1.5', '2e-3'], no: ['"1"', '.5', '--1', '00'] },
  'numbers that are not negative': {
    schema: { type: 'number', minimum: 0 },
    yes: ['0', '1.5'],
    no: ['-1'],
  },
  integers: { schema: { type: 'integer' }, yes: ['0', '-12'], no: ['1.0', '1e2', '1234567890123456'] },
  'integers from 0': { schema: { type: 'integer', minimum: 0 }, yes: ['0', '7'], no: ['-7'] },
  'integers above 0': { schema: { type: 'integer', exclusiveMinimum: 0 }, yes: ['1', '70'], no: ['0', '-7'] },
  'a small range': {
    schema: { type: 'integer', minimum: -1.5, exclusiveMaximum: 3 },
    yes: ['-1', '0', '2'],
    no: ['-2', '3', '-15', '20'],
  },
  'a range between fractions': {
    schema: { type: 'integer', exclusiveMinimum: 0.5, maximum: 2.5 },
    yes: ['1', '2'],
    no: ['0', '3'],
  },
  'a range that is too wide to list': {
    schema: { type: 'integer', minimum: 10, maximum: 5000 },
    yes: ['10', '4999', '9999'],
    no: ['0', '-1'],
  },
  'booleans and null': {
    schema: { type: ['boolean', 'null'] },
    yes: ['true', 'false', 'null'],
    no: ['0', '"true"'],
  },
  'a constant': {
    schema: { const: { a: ['"', '\\', '\n'] } },
    yes: [spacedJson({ a: ['"', '\\', '\n'] })],
    no: ['{}', '{"a": []}'],
  },
  'the constant null': { schema: { const: null }, yes: ['null'], no: ['1'] },
  'an enumeration': {
    schema: { type: 'string', enum: ['red', 'sky "blue"'] },
    yes: ['"red"', String.raw`"sky \"blue\""`],
    no: ['"green"', 'red'],
  },
  'an object with some that is optional': {
    schema: person,
    yes: [
      '{"name": "A"}',
      '{"name": "A", "nick": "B"}',
      '{"name": "A", "nick": "B", "age": 1}',
      '{"name": "A", "age": 1}',
    ],
    no: ['{}', '{"age": 1}', '{"name": "A", "more": 1}', '{"name": "A", }', '{"name": 1}', '{"name": "A"} '],
  },
  'an object of which all is optional': {
    schema: { type: 'object', properties: { a: { type: 'null' }, b: { type: 'null' }, c: { type: 'null' } } },
    yes: ['{}', '{"a": null}', '{"c": null}', '{"a": null, "c": null}', '{"b": null, "c": null}'],
    no: ['{, "a": null}', '{"a": null "c": null}', '{"c": null, "a": null}', '{"a": null, "a": null}'],
  },
  'an object without properties': {
    schema: { type: 'object', properties: {} },
    yes: ['{}'],
    no: ['{"a": 1}', '{ }'],
  },
  'an object that may have none': {
    schema: { type: 'object', additionalProperties: false },
    yes: ['{}'],
    no: ['{"a": 1}'],
  },
  'a dictionary': {
    schema: { type: 'object', additionalProperties: { type: 'integer' } },
    yes: ['{}', '{"a": 1}', '{"a": 1, "b b": 2}'],
    no: ['{"a": "1"}', '{"a": 1,}'],
  },
  'any object': { schema: { type: 'object' }, yes: ['{}', '{"a": [1, {"b": null}]}'], no: ['[]', '1'] },
  'what is required, but not described': {
    schema: { type: 'object', required: ['x', 'x'] },
    yes: ['{"x": 1}', '{"x": [true]}'],
    no: ['{}', '{"x": 1, "x": 1}'],
  },
  'names that need care': {
    schema: {
      properties: { ['__proto__']: { type: 'null' }, 'a"b\\c\n': { type: 'null' } },
      required: ['a"b\\c\n', 'constructor'],
    },
    yes: [
      String.raw`{"a\"b\\c\n": null, "constructor": 1}`,
      String.raw`{"a\"b\\c\n": null, "constructor": 1, "__proto__": null}`,
    ],
    no: ['{}'],
  },
  'an array': {
    schema: { type: 'array', items: { type: 'integer' } },
    yes: ['[]', '[1]', '[1, 2, 3]'],
    no: ['[1,2]', '[1, ]', '["1"]', '[, 1]'],
  },
  'an array of some length': {
    schema: { type: 'array', items: { enum: [1, 2] }, minItems: 2, maxItems: 3 },
    yes: ['[1, 2]', '[2, 2, 1]'],
    no: ['[]', '[1]', '[1, 1, 1, 1]'],
  },
  'an array of at most one': {
    schema: { items: { const: 1 }, maxItems: 1 },
    yes: ['[]', '[1]'],
    no: ['[1, 1]', '{}'],
  },
  'an array of none': { schema: { type: 'array', maxItems: 0 }, yes: ['[]'], no: ['[1]'] },
  'an array of at least one': {
    schema: { type: 'array', items: { const: 1 }, minItems: 1 },
    yes: ['[1]', '[1, 1, 1]'],
    no: ['[]'],
  },
  'a tuple': {
    schema: { type: 'array', prefixItems: [{ const: 1 }, { type: 'string' }], items: false },
    yes: ['[1, "a"]'],
    no: ['[]', '[1]', '[1, "a", 2]'],
  },
  'a tuple that is not called an array': {
    schema: { prefixItems: [{ const: 1 }] },
    yes: ['[1]'],
    no: ['1', '[]'],
  },
  'objects that are not called that': {
    schema: { anyOf: [{ required: ['x'] }, { additionalProperties: { const: 1 } }] },
    yes: ['{"x": null}', '{"y": 1}', '{}'],
    no: ['1', '{"y": 2}'],
  },
  'a tuple and more': {
    schema: { prefixItems: [{ const: 1 }], items: { const: 2 } },
    yes: ['[1]', '[1, 2, 2]'],
    no: ['[]', '[2]'],
  },
  'one of several': {
    schema: { anyOf: [{ type: 'integer' }, { type: 'null' }], description: 'x' },
    yes: ['1', 'null'],
    no: ['"1"'],
  },
  'one of several, with what they share': {
    schema: {
      type: 'object',
      properties: { kind: { type: 'string' } },
      required: ['kind'],
      oneOf: [
        { properties: { kind: { const: 'a' }, x: { type: 'integer' } }, required: ['x'] },
        { properties: { kind: { const: 'b' } } },
        true,
      ],
    },
    yes: ['{"kind": "a", "x": 1}', '{"kind": "b"}', '{"kind": "other"}'],
    no: ['{"kind": "a", "x": "1"}', '{}'],
  },
  'all of several': {
    schema: {
      allOf: [{ $ref: '#/$defs/named' }, { properties: { age: { type: 'integer' } }, required: ['age'] }],
      $defs: { named: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
    },
    yes: ['{"name": "A", "age": 1}'],
    no: ['{"name": "A"}', '{"age": 1}', '{}'],
  },
  'all of several, and one of several': {
    schema: {
      allOf: [{ type: 'object', properties: { a: { const: 1 } } }],
      anyOf: [{ required: ['a'] }, { properties: { b: { const: 2 } }, required: ['b'] }],
    },
    yes: ['{"a": 1}', '{"b": 2}', '{"b": 2, "a": 1}'],
    no: ['{}', '{"a": 2}'],
  },
  'references, also to itself': {
    schema: {
      $ref: '#/$defs/tree~1node',
      $defs: {
        'tree/node': {
          type: 'object',
          properties: {
            value: { $ref: '#/$defs/v' },
            children: { type: 'array', items: { $ref: '#/$defs/tree~1node' } },
          },
          required: ['value'],
        },
        v: { type: 'integer' },
      },
    },
    yes: ['{"value": 1}', '{"value": 1, "children": [{"value": 2, "children": []}]}'],
    no: ['{}', '{"value": 1, "children": [{}]}', '{"value": "1"}'],
  },
  'an object in itself': {
    schema: {
      $ref: '#/$defs/a',
      $defs: { a: { type: 'object', properties: { next: { $ref: '#/$defs/a' } } } },
    },
    yes: ['{}', '{"next": {"next": {}}}'],
    no: ['{"next": 1}'],
  },
  'an array in itself': {
    schema: {
      $ref: '#/definitions/a',
      definitions: { a: { type: 'array', items: { $ref: '#/definitions/a' } } },
    },
    yes: ['[]', '[[], [[]]]'],
    no: ['[1]', '[{}]'],
  },
  'a reference to the whole': {
    schema: { type: 'object', properties: { next: { $ref: '#' } } },
    yes: ['{}', '{"next": {"next": {}}}'],
    no: ['{"next": 1}'],
  },
  'a reference into another document': {
    schema: { $ref: 'other.json#/$defs/a', $defs: { a: { const: 1 } } },
    yes: ['1', '2'],
    no: ['x'],
  },
  'a reference to nowhere': {
    schema: {
      properties: { a: { $ref: '#/$defs/none' }, b: { $ref: 'https://example.com/x' } },
      required: ['a', 'b'],
    },
    yes: ['{"a": 1, "b": [null]}'],
    no: ['{"a": 1}'],
  },
  'a reference that leads only to itself': {
    schema: {
      $ref: '#/$defs/a',
      $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }, { const: 1 }] }, b: { $ref: '#/$defs/a' } },
    },
    yes: ['1', '"anything"'],
    no: ['nothing'],
  },
  'what makes no sense': {
    schema: { type: 'unknown' },
    yes: ['1', '{}'],
    no: ['x'],
  },
};
