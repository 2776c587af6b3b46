import { expect, test } from 'vitest';

import type { Span } from '../../../src/protocol.ts';
import { placeOn, spanTree, timeAxis } from './span-tree.ts';

function span(id: string, startMs: number, endMs: number | undefined, more: Partial<Span> = {}): Span {
  return {
    id,
    traceId: 't',
    name: id,
    kind: 'model',
    startMs,
    ...(endMs !== undefined && { endMs }),
    status: 'ok',
    agentPath: [],
    attributes: {},
    events: [],
    ...more,
  };
}

const SPANS = [
  span('late', 50, 60, { parentId: 'root' }),
  span('early', 10, 20, { parentId: 'root' }),
  span('inner', 12, 15, { parentId: 'early' }),
  span('root', 0, 100, { kind: 'agent' }),
  span('orphan', 70, 80, { parentId: 'missing' }),
];

test('orders spans by start below their parents, and keeps spans without a parent', () => {
  const rows = spanTree(SPANS, new Set());
  expect(rows.map((row) => [row.span.id, row.depth, row.hasChildren])).toEqual([
    ['root', 0, true],
    ['early', 1, true],
    ['inner', 2, false],
    ['late', 1, false],
    ['orphan', 0, false],
  ]);
});

test('hides the children of closed spans', () => {
  expect(spanTree(SPANS, new Set(['early'])).map((row) => row.span.id)).toEqual([
    'root',
    'early',
    'late',
    'orphan',
  ]);
});

test('ends for spans that are parents of each other', () => {
  const rows = spanTree(
    [
      span('a', 0, 1, { parentId: 'b' }),
      span('b', 0, 1, { parentId: 'a' }),
      span('c', 0, 1, { parentId: 'c' }),
    ],
    new Set(),
  );
  expect(rows.map((row) => row.span.id)).toEqual(['c']);
});

test('folds gaps in which nothing runs, and no others', () => {
  const spans = [
    span('a', 0, 100),
    span('b', 1100, 1200),
    span('w', 100, 1100, { kind: 'wait', toolCallId: 'c' }),
    span('t', 100, 1100, { kind: 'tool', toolCallId: 'c' }),
  ];
  const axis = timeAxis(spans, 1200, true);
  expect(axis.map(({ fromMs, toMs, isGap }) => [fromMs, toMs, isGap])).toEqual([
    [0, 100, false],
    [100, 1100, true],
    [1100, 1200, false],
  ]);
  expect(placeOn(axis, 0)).toBe(0);
  expect(placeOn(axis, 100)).toBeCloseTo(0.485);
  expect(placeOn(axis, 1100)).toBeCloseTo(0.515);
  expect(placeOn(axis, 1200)).toBeCloseTo(1);
  expect(timeAxis(spans, 1200, false)).toEqual([{ fromMs: 0, toMs: 1200, isGap: false, from: 0, to: 1 }]);
});

test('draws a span without an end up to now', () => {
  expect(timeAxis([span('a', 0, undefined)], 500, true).at(-1)?.toMs).toBe(500);
});
