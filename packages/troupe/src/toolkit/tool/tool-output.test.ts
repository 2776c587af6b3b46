import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { anyBlock, anyJson } from '../../../test/arbitraries.ts';
import type { ToolOutputBlock } from '../../message/blocks.ts';
import { parseJson, type JsonObject } from '../../util/json.ts';
import { fromResult, toToolOutput } from './tool-output.ts';
import { ToolResponse } from './tool-response.ts';

const ADVICE = 'A tool returns text, blocks, a ToolResponse, or JSON.';

class Row {
  readonly id = 1;
}

describe('output of a tool', () => {
  test.each([
    ['a string', 'plain "text"', 'plain "text"'],
    ['an empty string', '', ''],
    ['nothing', undefined, 'Done.'],
    ['null', null, 'null'],
    ['a number', 1.5, '1.5'],
    ['a boolean', false, 'false'],
    ['an object', { a: [1, { b: 'x' }], gone: undefined }, '{"a":[1,{"b":"x"}]}'],
    ['an empty list', [], '[]'],
    ['a list', ['a', 1], '["a",1]'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a bigint', 10n, '"10"'],
    ['a map', new Map([['a', 1n]]), '{"a":"1"}'],
    ['a set', new Set([1]), '[1]'],
    ['no number', NaN, 'null'],
    ['rows of a database', [new Row(), { at: new Date(0) }], '[{"id":1},{"at":"1970-01-01T00:00:00.000Z"}]'],
    ['an object with toJSON', { toJSON: () => ({ a: 1 }) }, '{"a":1}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ])('%s becomes text', (_, value, output) => {
    expect(toToolOutput(value)).toEqual({ output, status: 'ok' });
  });

  test('a list of blocks stays one, as a frozen copy', () => {
    const blocks = [
      { type: 'text', text: 'see', extra: 1 },
      { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } },
      { type: 'file', source: { type: 'url', url: 'https://a.example/b' }, filename: 'b' },
    ];
    const { output } = toToolOutput(blocks);
    expect(output).toEqual(blocks);
    expect(output[0]).not.toBe(blocks[0]);
    expect(Object.isFrozen(output[0])).toBe(true);
  });

  test.each([
    [
      'with a type of their own',
      [
        { type: 'file', name: 'a.txt' },
        { type: 'folder', name: 'b' },
      ],
    ],
    ['that are blocks only by their type', [{ type: 'image', url: 'x' }]],
    ['of a message', [{ type: 'tool_use', id: 'a', name: 'b', input: {} }]],
    ['more than anybody can look at', Array.from({ length: 1001 }, () => ({ type: 'text', text: 'x' }))],
  ])('a list of things %s is data', (_, value) => {
    expect(toToolOutput(value)).toEqual({ output: JSON.stringify(value), status: 'ok' });
  });

  test('a response tells content, status and data for the program', () => {
    const response = new ToolResponse('no', { status: 'denied', metadata: { by: ['me'] } });
    expect(toToolOutput(response)).toEqual({ output: 'no', status: 'denied', metadata: { by: ['me'] } });
    const content: ToolOutputBlock[] = [{ type: 'text', text: 'a' }];
    expect(toToolOutput(new ToolResponse(content))).toEqual({ output: content, status: 'ok' });
  });

  test.each<[string, unknown, string]>([
    [
      'a block that is none',
      [{ type: 'image', url: 'x' }],
      'content[0].source must be an object, not undefined.',
    ],
    [
      'a call',
      [{ type: 'tool_use', id: 'a', name: 'b', input: {} }],
      'content[0].type must be one of text, image',
    ],
    ['text', ['x'], 'content[0].type must be one of text, image'],
  ])('a response with %s among its blocks is a mistake', (_, content, problem) => {
    expect(() => toToolOutput(new ToolResponse(content as ToolOutputBlock[]))).toThrow(problem);
  });

  test('a response may have no blocks at all', () => {
    expect(toToolOutput(new ToolResponse([]))).toEqual({ output: [], status: 'ok' });
  });

  test('JSON that looks like a response is JSON', () => {
    const value = { content: 'x', status: 'denied', metadata: { a: 1 } };
    expect(toToolOutput(value)).toEqual({ output: JSON.stringify(value), status: 'ok' });
  });

  test('a response of another copy of the package is one too', () => {
    const foreign = { [Symbol.for('troupe.tool_response')]: true, content: 'x', status: 'error' };
    expect(toToolOutput(foreign)).toEqual({ output: 'x', status: 'error' });
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const unreadable = {
    get name(): string {
      throw new Error('no such column');
    },
  };
  test.each([
    ['a function', () => 1, "The result is a function, which JSON can't hold"],
    ['a symbol', Symbol('x'), "The result is a symbol, which JSON can't hold"],
    ['a value that contains itself', cyclic, 'The result.self refers to itself'],
    [
      'a getter that throws',
      { rows: [unreadable] },
      'The result.rows[0].name could not be read: no such column',
    ],
  ])('%s is refused by name', (_, value, problem) => {
    expect(() => toToolOutput(value)).toThrow(new TypeError(`${problem}. ${ADVICE}`));
  });

  test('metadata that is no JSON is refused', () => {
    const metadata = { f: () => 1 } as unknown as JsonObject;
    expect(() => toToolOutput(new ToolResponse('x', { metadata }))).toThrow(
      "metadata.f is a function, which JSON can't hold",
    );
  });

  test('a getter makes no block and no response of a value', () => {
    const called: string[] = [];
    const item = {
      get type(): string {
        called.push('type');
        return 'text';
      },
      text: 'x',
    };
    expect(toToolOutput([item])).toEqual({ output: '[{"type":"text","text":"x"}]', status: 'ok' });
    expect(called).toEqual(['type']); // once, to write it
    expect(toToolOutput({ toString: () => called.push('toString') })).toEqual({ output: '{}', status: 'ok' });
    expect(called).toEqual(['type']);
  });

  test('keys that mean something to JavaScript stay inert', () => {
    const text = '{"__proto__":{"polluted":true},"constructor":1,"then":"x"}';
    expect(toToolOutput(parseJson(text))).toEqual({ output: text, status: 'ok' });
    expect('polluted' in {}).toBe(false);
  });

  test('media that no provider takes is left out, with its size', () => {
    const image = (data: string): ToolOutputBlock => ({
      type: 'image',
      source: { type: 'base64', mediaType: 'image/png', data },
    });
    const most = 'A'.repeat(32 * 1024 * 1024);
    expect(toToolOutput([image(most)]).output).toEqual([image(most)]);
    expect(toToolOutput([image('AAAA'), image(most), image('BBBB')]).output).toEqual([
      image('AAAA'),
      {
        type: 'text',
        text: '<system-info>The image of 33554432 base64 characters is too large to be shown.</system-info>',
      },
      image('BBBB'),
    ]);
  });

  test('all JSON, and all blocks, have an output', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const { output } = toToolOutput(value);
        if (typeof output === 'string')
          expect(output).toBe(typeof value === 'string' ? value : JSON.stringify(value));
      }),
    );
    fc.assert(
      fc.property(fc.array(anyBlock, { maxLength: 4 }), (blocks) => {
        const { output } = toToolOutput(blocks);
        expect(typeof output === 'string' ? parseJson(output) : output).toEqual(
          parseJson(JSON.stringify(blocks)),
        ); // JSON has no -0
      }),
    );
  });
});

describe('output of a middleware', () => {
  test('a result is taken apart, anything else is as from a tool', () => {
    const result = {
      type: 'tool_result',
      id: 'x',
      name: 'y',
      output: 'z',
      status: 'denied',
      metadata: { a: 1 },
    };
    expect(fromResult(result)).toEqual({ output: 'z', status: 'denied', metadata: { a: 1 } });
    expect(fromResult('text')).toEqual({ output: 'text', status: 'ok' });
    expect(fromResult({ a: 1 })).toEqual({ output: '{"a":1}', status: 'ok' });
    expect(toToolOutput(result).output).toBe(JSON.stringify(result));
  });
});
