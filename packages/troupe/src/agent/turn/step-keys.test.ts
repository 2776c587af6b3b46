import { expect, test } from 'vitest';
import fc from 'fast-check';

import type { StepInit } from '../../event/step.ts';
import { StepKeys } from './step-keys.ts';

const step = (name: string, key?: string): StepInit => ({ kind: 'other', name, key });

test('a key is the path of agent calls, the kind, the name and an ordinal', () => {
  const keys = new StepKeys();
  expect(keys.next({ kind: 'model', name: 'reasoning' }, undefined)).toBe('model:reasoning#1');
  expect(keys.next({ kind: 'model', name: 'reasoning' }, undefined)).toBe('model:reasoning#2');
  expect(keys.next({ kind: 'tool', name: 'look', key: 'call_1' }, 'call_1')).toBe('tool:call_1#1');
  const expert = keys.nested('expert', 'call_1');
  expect(expert.next({ kind: 'model', name: 'reasoning' }, undefined)).toBe(
    'call_1/expert#1/model:reasoning#1',
  );
  const again = keys.nested('expert', 'call_1');
  expect(again.next({ kind: 'id', name: 'x' }, 'look_1')).toBe('call_1/expert#2/look_1/id:x#1');
});

test('steps of parallel tool calls have the same keys in whatever order they run', () => {
  const take = (order: readonly string[]): string[] => {
    const keys = new StepKeys();
    return order.map((toolCallId) => keys.next({ kind: 'id', name: 'x' }, toolCallId)).toSorted();
  };
  expect(take(['a', 'b', 'a', 'c'])).toEqual(take(['c', 'b', 'a', 'a']));
});

test('no two steps of a run share a key, whatever agents, tool calls and steps are called', () => {
  const name = fc.constantFrom('a', 'b', 'a#1', 'a/b', 'other:a', 'a%23', '', '#1', '%', ':', '/');
  const place = fc.record({ agent: fc.option(name), toolCall: fc.option(name), name, key: fc.option(name) });
  fc.assert(
    fc.property(fc.array(place, { minLength: 2, maxLength: 30 }), (places) => {
      const root = new StepKeys();
      const keys = places.map(({ agent, toolCall, name, key }) => {
        const of = agent === null ? root : root.nested(agent, toolCall ?? undefined);
        return of.next(step(name, key ?? undefined), toolCall ?? undefined);
      });
      expect(new Set(keys).size).toBe(places.length);
    }),
  );
});
