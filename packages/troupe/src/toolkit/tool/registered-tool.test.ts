import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { isDeepFrozen } from '../../../test/arbitraries.ts';
import { TroupeError } from '../../errors.ts';
import type { JsonObject } from '../../util/json.ts';
import { RegisteredTool } from './registered-tool.ts';
import { tool, type Tool } from './tool.ts';

const execute = (): string => 'x';

function problemOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (TroupeError.isInstance(error) && error.code === 'invalid_config') return error.message;
    throw error;
  }
  return '';
}

describe('a tool in the view of a model', () => {
  test('has the name, the description and the schema of the arguments', () => {
    const search = tool({
      name: 'search',
      description: 'Finds things.',
      schema: z.object({ q: z.string().describe('What for.'), max: z.number().default(5) }),
      execute,
    });
    const shown = new RegisteredTool(search).shown();
    expect(shown).toEqual({
      name: 'search',
      description: 'Finds things.',
      parameters: {
        type: 'object',
        properties: {
          q: { type: 'string', description: 'What for.' },
          max: { type: 'number', default: 5 },
        },
        required: ['q'],
      },
    });
    expect(isDeepFrozen(shown)).toBe(true);
  });

  test('without arguments and description is still one', () => {
    expect(new RegisteredTool({ name: 'now', execute }).shown()).toStrictEqual({
      name: 'now',
      parameters: { type: 'object', properties: {} },
    });
  });

  test('hides preset arguments', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' }, key: {} }, required: ['key'] };
    const before = structuredClone(schema);
    expect(
      new RegisteredTool({ name: 't', schema, preset: { key: 's' }, execute }).shown().parameters,
    ).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
    });
    expect(schema).toEqual(before);
  });

  test('does not change when its schema is changed elsewhere', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const registered = new RegisteredTool({ name: 't', schema, execute });
    schema.properties.a.type = 'number';
    expect(registered.shown().parameters).toMatchObject({ properties: { a: { type: 'string' } } });
    expect(await registered.readArguments({ a: 'x' })).toEqual({ ok: true, value: { a: 'x' } });
  });

  test('is the same object until it looks different', () => {
    const registered = new RegisteredTool({ name: 't', schema: { type: 'object' }, execute });
    const plain = registered.shown();
    expect(registered.shown()).toBe(plain);
    registered.extend(z.object({ b: z.string() }));
    const extended = registered.shown();
    expect(extended.parameters).toEqual({
      type: 'object',
      properties: { b: { type: 'string' } },
      required: ['b'],
    });
    expect(registered.shown()).toBe(extended);
    expect(plain.parameters).toEqual({ type: 'object', properties: {} });
    registered.extend(undefined);
    expect(registered.shown()).toEqual(plain);
  });

  test('follows a schema that depends on the moment', () => {
    let current: JsonObject = { type: 'object', properties: {} };
    const registered = new RegisteredTool({ name: 't', schema: { current: () => current }, execute });
    const first = registered.shown();
    expect(registered.shown()).toBe(first);
    current = { type: 'object', properties: { a: {} } };
    expect(registered.shown().parameters).toEqual(current);
  });
});

test('a conflicting extension changes nothing', async () => {
  const registered = new RegisteredTool({ name: 't', schema: z.object({ a: z.string() }), execute });
  const before = registered.shown();
  expect(problemOf(() => registered.extend(z.object({ a: z.number() })))).toBe(
    "The tool 't' can't be extended: both schemas have a property 'a'.",
  );
  expect(registered.shown()).toBe(before);
  expect(await registered.readArguments({ a: 'x' })).toEqual({ ok: true, value: { a: 'x' } });
});

describe('a mistake is told when the tool is registered', () => {
  const NAMES = ['', 'two words', 'ü', 'x'.repeat(65), 'a.b', 'line\n'];
  test.each(NAMES)('the name %j', (name) => {
    expect(problemOf(() => new RegisteredTool({ name, execute }))).toBe(
      `A tool must have a name of 1 to 64 letters, digits, _ and -, not '${name}'.`,
    );
  });

  const ANY: JsonObject = { type: 'object', properties: { a: {} } };
  test.each<[string, Partial<Tool>, string]>([
    ['no function', { execute: undefined as never }, "The tool 't' has no function `execute`."],
    [
      'no object',
      { schema: z.string() },
      "The arguments of the tool 't' must be an object: give a schema whose type is 'object'.",
    ],
    [
      'no JSON Schema',
      { schema: z.object({ at: z.date() }) },
      "The tool 't' has a schema that can't be used: The field 'at' of this zod schema has no JSON Schema",
    ],
    [
      'schemas by name',
      { schema: { city: z.string() } as never },
      "The tool 't' has a schema that can't be used: 'city' is a schema itself: combine the parts in one schema, e.g. with z.object({ … }).",
    ],
    [
      'one id for two fields',
      { schema: z.object({ a: z.string().meta({ id: 'city' }), b: z.number().meta({ id: 'city' }) }) },
      "The tool 't' has a schema that can't be used: This zod schema has no JSON Schema: Duplicate schema id",
    ],
    [
      'metadata of a field that are no JSON',
      { schema: z.object({ a: z.array(z.string().meta({ example: 1n })) }) },
      "The tool 't' has a schema that can't be used: The field 'a' of this zod schema has no JSON Schema",
    ],
    [
      'metadata of the arguments that are no JSON',
      { schema: z.object({ a: z.string() }).meta({ example: 1n }) },
      "The tool 't' has a schema that can't be used: This zod schema has no JSON Schema",
    ],
    ['a number', { schema: 5 as never }, "The tool 't' has a schema that can't be used: A schema is made by"],
    [
      'a schema that is no JSON',
      { schema: { type: 'object', x: (() => 1) as never } },
      "The tool 't' has a schema that can't be used: the schema.x is a function",
    ],
    [
      'an unknown preset',
      { schema: ANY, preset: { b: 1 } },
      "The tool 't' has no argument 'b' that could be preset.",
    ],
    [
      'a preset without arguments',
      { preset: { b: 1 } },
      "The tool 't' has no argument 'b' that could be preset.",
    ],
    [
      'a preset that is no JSON',
      { schema: ANY, preset: { a: (() => 's3cret') as never } },
      "The tool 't' can't be registered: preset.a is a function, which JSON can't hold.",
    ],
    ['no time', { timeoutMs: 0 }, 'timeoutMs must be a number of 1 or more.'],
    ['no output', { maxOutputChars: NaN }, 'maxOutputChars must be a number of 1 or more.'],
    ['no place', { maxConcurrent: 0 }, 'maxConcurrent must be a number of 1 or more.'],
    ['no attempt', { retry: { maxAttempts: 0 } }, 'retry.maxAttempts must be a whole number of 1 or more.'],
    [
      'a negative wait',
      { retry: { maxAttempts: 2, baseDelayMs: -1 } },
      'retry.baseDelayMs must be a number of 0 or more.',
    ],
  ])('%s', (_, options, problem) => {
    expect(problemOf(() => new RegisteredTool({ name: 't', execute, ...options }))).toContain(problem);
  });
});
