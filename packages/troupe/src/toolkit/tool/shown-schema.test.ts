import { describe, expect, test } from 'vitest';

import { TroupeError } from '../../errors.ts';
import type { JsonSchema } from '../../util/schema.ts';
import { parametersOf, withExtension, withoutProperties } from './shown-schema.ts';

describe('the arguments of a tool', () => {
  test('are always an object', () => {
    expect(parametersOf('t', undefined)).toEqual({ type: 'object', properties: {} });
    expect(parametersOf('t', {})).toEqual({ type: 'object', properties: {} });
    expect(parametersOf('t', { properties: { a: {} } })).toEqual({ type: 'object', properties: { a: {} } });
    expect(parametersOf('t', { type: 'object', $schema: 'https://json-schema.org/x', title: 'T' })).toEqual({
      type: 'object',
      title: 'T',
      properties: {},
    });
  });

  test.each([
    [{ type: 'string' }],
    [{ type: ['object', 'null'] }],
    [{ anyOf: [{ type: 'object' }] }],
    [{ allOf: [{ type: 'object' }] }],
    [{ $ref: '#/$defs/a' }],
    [{ enum: [1] }],
  ])('can not be %j', (schema: JsonSchema) => {
    const problem = "The arguments of the tool 't' must be an object: give a schema whose type is 'object'.";
    expect(() => parametersOf('t', schema)).toThrow(new TroupeError('invalid_config', problem));
  });
});

describe('hiding properties', () => {
  test('removes properties, also from `required`; an empty list is removed too', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' }, b: {} },
      required: ['a', 'b'],
      title: 'T',
    };
    expect(withoutProperties(schema, ['a'])).toEqual({
      type: 'object',
      properties: { b: {} },
      required: ['b'],
      title: 'T',
    });
    expect(withoutProperties(schema, ['b', 'a'])).toEqual({ type: 'object', properties: {}, title: 'T' });
    expect(schema.required).toEqual(['a', 'b']);
  });
});

describe('an extension', () => {
  const base: JsonSchema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/A' } },
    required: ['a'],
    $defs: { A: { type: 'string', enum: ['x', 'y'] } },
  };

  test('adds properties, required names and definitions', () => {
    const added = {
      type: 'object',
      properties: { b: { $ref: '#/$defs/B' }, c: {} },
      required: ['b'],
      $defs: { B: { type: 'number' }, A: { enum: ['x', 'y'], type: 'string' } },
    };
    const before = structuredClone(base);
    expect(withExtension('t', base, added)).toEqual({
      type: 'object',
      properties: { a: { $ref: '#/$defs/A' }, b: { $ref: '#/$defs/B' }, c: {} },
      required: ['a', 'b'],
      $defs: { A: { type: 'string', enum: ['x', 'y'] }, B: { type: 'number' } },
    });
    expect(base).toEqual(before);
  });

  test('needs no definitions and no required names', () => {
    expect(withExtension('t', { type: 'object', properties: {} }, { properties: { b: {} } })).toEqual({
      type: 'object',
      properties: { b: {} },
    });
  });

  test.each([
    ['a property of both', { properties: { a: {} } }, "both schemas have a property 'a'"],
    [
      'another definition of a name',
      { $defs: { A: { type: 'string', enum: ['x'] } } },
      "both schemas define 'A', and not the same",
    ],
    [
      'more in a definition',
      { $defs: { A: { type: 'string', enum: ['x', 'y'], title: 'A' } } },
      "both schemas define 'A', and not the same",
    ],
    [
      'a reference to its own root',
      { properties: { b: { $ref: '#' } } },
      "the extension refers to itself by '#'",
    ],
  ])('with %s is refused', (_, added: JsonSchema, problem) => {
    expect(() => withExtension('t', base, added)).toThrow(
      new TroupeError('invalid_config', `The tool 't' can't be extended: ${problem}.`),
    );
  });
});
