import { expect, test } from 'vitest';
import { Msg } from '../message/msg.ts';
import { CharTokenCounter } from './char-token-counter.ts';

const counter = new CharTokenCounter();

test('counts the characters of a line for each message', async () => {
  expect(await counter.count([])).toBe(0);
  const line = '{"name":"user","role":"user","content":"Hello!"}\n';
  expect(await counter.count([Msg.user('Hello!')])).toBe(line.length);
  expect(line).toHaveLength(49);
});

test('a list costs what its messages cost together, and its tools', async () => {
  const msgs = [Msg.system('Be kind.'), Msg.user('Hello!'), Msg.assistant([{ type: 'text', text: 'Hi.' }])];
  const each = await counter.countEach(msgs);
  const tools = [{ name: 'f', parameters: { type: 'object' } }];
  expect(each).toHaveLength(3);
  expect(await counter.count(msgs, tools)).toBe(
    each.reduce((sum, count) => sum + count) + JSON.stringify(tools[0]).length + 1,
  );
});

test('ids, times and costs make no difference, and the bytes of media do not count', async () => {
  const image = (data: string) =>
    ({ type: 'image', source: { type: 'base64', mediaType: 'image/png', data } }) as const;
  const result = (data: string) =>
    ({ type: 'tool_result', id: '1', name: 'f', status: 'ok', output: [image(data)] }) as const;
  const small = Msg.user([image(''), result('')]);
  const large = Msg.user([image('A'.repeat(9000)), result('A'.repeat(9000))], {
    id: 'x'.repeat(99),
    metadata: { a: 'b'.repeat(99) },
    usage: { inputTokens: 1, outputTokens: 2 },
  });
  expect(await counter.count([large])).toBe(await counter.count([small]));
  expect(await counter.count([small])).toBeGreaterThan(100);
});
