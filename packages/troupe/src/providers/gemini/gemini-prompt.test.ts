import { expect, test } from 'vitest';
import type { AssistantItem, PromptItem } from '../../formatter/prompt.ts';
import { geminiDialectOf } from './gemini-dialect.ts';
import { arrange } from './gemini-prompt.ts';

const DIALECT = geminiDialectOf('gemini-2.5-flash', '');
const says = (text: string): AssistantItem => ({
  role: 'assistant',
  name: 'a',
  content: [{ type: 'text', text }],
});
const asks = (text: string): PromptItem => ({ role: 'user', name: 'u', content: [{ type: 'text', text }] });

test('items are the same objects every time, also those that are made of several', () => {
  const items = [says('A'), says('B'), says('C'), asks('D'), says('E')];
  const first = arrange(items, DIALECT).items;
  const second = arrange([...items, asks('F')], DIALECT).items;
  expect(first).toHaveLength(5); // with one at each end
  expect(first.slice(0, 4).map((item, i) => item === second[i])).toEqual([true, true, true, true]);
  expect(first[1]).toEqual({
    ...says('A'),
    content: ['A', 'B', 'C'].map((text) => ({ type: 'text', text })),
  });
});

test('an answer that is followed by another one than before is not taken for the old one', () => {
  const first = says('A');
  const contentOf = (next: AssistantItem): unknown => arrange([asks('Q'), first, next], DIALECT).items[1];
  expect(contentOf(says('B'))).toMatchObject({ content: [{ text: 'A' }, { text: 'B' }] });
  expect(contentOf(says('C'))).toMatchObject({ content: [{ text: 'A' }, { text: 'C' }] });
});
