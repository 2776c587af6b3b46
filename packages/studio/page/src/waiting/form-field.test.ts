import { expect, test } from 'vitest';

import {
  fieldOf,
  fromControl,
  initialValue,
  isSameJson,
  toControl,
  withKey,
  type FormField,
} from './form-field.ts';

const PLAIN = { title: undefined, description: undefined, preset: undefined };

test('makes a field for each kind of schema, and JSON for every other', () => {
  const schema = {
    type: 'object',
    required: ['name', 'size'],
    properties: {
      name: { type: 'string', title: 'Name', description: 'Of the order' },
      note: { type: ['string', 'null'], maxLength: 2000 },
      size: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
      isUrgent: { type: 'boolean' },
      colour: { enum: ['red', 'green'] },
      when: { type: 'string', format: 'date' },
      tags: { type: 'array', items: { type: 'string' } },
      address: { $ref: '#/$defs/Address' },
      contact: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      nickname: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null, title: 'Nickname' },
      parent: { anyOf: [{ $ref: '#/$defs/Address' }, { type: 'null' }] },
      wish: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
      mixed: { allOf: [{ type: 'string' }] },
      tuple: { type: 'array', prefixItems: [{ type: 'string' }] },
      elsewhere: { $ref: 'https://example.com/schema' },
    },
    $defs: { Address: { type: 'object', properties: { city: { type: 'string' } } } },
  };
  const text: FormField = { ...PLAIN, kind: 'text', format: 'text', isLong: false };
  const expected = {
    name: { ...text, title: 'Name', description: 'Of the order' },
    note: { ...text, isLong: true },
    size: { ...PLAIN, kind: 'number', isInteger: true, min: 1, max: 9, preset: 3 },
    isUrgent: { ...PLAIN, kind: 'boolean' },
    colour: { ...PLAIN, kind: 'choice', options: ['red', 'green'] },
    when: { ...text, format: 'date' },
    tags: { ...PLAIN, kind: 'list', item: text },
    address: { ...PLAIN, kind: 'object', fields: [{ name: 'city', field: text, isRequired: false }] },
    contact: { ...PLAIN, kind: 'union', variants: [text, { ...PLAIN, kind: 'number', isInteger: false }] },
    nickname: { ...text, title: 'Nickname', preset: null },
    parent: {
      ...PLAIN,
      preset: null,
      kind: 'object',
      fields: [{ name: 'city', field: text, isRequired: false }],
    },
    wish: { ...PLAIN, kind: 'union', variants: [text, { ...PLAIN, kind: 'number', isInteger: false }] },
    mixed: { ...PLAIN, kind: 'json' },
    tuple: { ...PLAIN, kind: 'json' },
    elsewhere: { ...PLAIN, kind: 'json' },
  };
  const field = fieldOf(schema);
  expect(field).toEqual({
    ...PLAIN,
    kind: 'object',
    fields: Object.entries(expected).map(([name, one]) => ({
      name,
      field: one,
      isRequired: name === 'name' || name === 'size',
    })),
  });
  expect(initialValue(field)).toEqual({ size: 3, nickname: null, parent: null });
});

test('ends at a schema that contains itself', () => {
  const schema = {
    $ref: '#/$defs/Node',
    $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } } },
  };
  expect(JSON.stringify(fieldOf(schema)).match(/"next"/g)).toHaveLength(9);
  expect(fieldOf({ $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } })).toEqual({
    ...PLAIN,
    kind: 'json',
  });
});

test('sets and removes keys of any name without touching prototypes', () => {
  const value = withKey({ a: 1 }, '__proto__', 'x');
  expect(JSON.stringify(value)).toBe('{"a":1,"__proto__":"x"}');
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(withKey({ a: 1, b: 2 }, 'a', undefined)).toEqual({ b: 2 });
});

test('compares JSON without regard to the order of keys', () => {
  expect(isSameJson({ a: [1, { b: null }], c: 2 }, { c: 2, a: [1, { b: null }] })).toBe(true);
  expect(isSameJson({ a: 1 }, { a: 1, b: null })).toBe(false);
  expect(isSameJson([1], { 0: 1 })).toBe(false);
});

test('texts of controls become what the formats of JSON Schema ask for, and back', () => {
  const at = new Date(2026, 0, 31, 9, 30);
  expect(fromControl('datetime-local', '2026-01-31T09:30')).toBe(at.toISOString());
  expect(toControl('datetime-local', at.toISOString())).toBe('2026-01-31T09:30:00');
  expect(toControl('datetime-local', 'soon')).toBe('soon');
  expect([fromControl('time', '09:30'), fromControl('time', '09:30:05')]).toEqual(['09:30:00', '09:30:05']);
  expect([fromControl('email', ''), fromControl('text', '')]).toEqual([undefined, '']);
  expect(toControl('text', '2026-01-31T09:30:00Z')).toBe('2026-01-31T09:30:00Z');
});
