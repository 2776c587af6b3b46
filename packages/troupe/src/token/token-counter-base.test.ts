import { expect, test } from 'vitest';
import { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { TokenCounterBase, type CountOptions } from './token-counter-base.ts';

/** Counts letters, and keeps the texts. */
class LetterCounter extends TokenCounterBase {
  readonly asked: string[] = [];
  failures = 0;

  override async count(
    messages: readonly Msg[],
    _tools: readonly ToolSchema[] = [],
    { signal }: CountOptions = {},
  ): Promise<number> {
    const text = messages.map((msg) => msg.text).join('');
    this.asked.push(text);
    if (this.failures-- > 0) throw new Error('busy');
    signal?.throwIfAborted();
    return text.length;
  }
}

const [a, b, c] = [Msg.user('a'), Msg.user('bb'), Msg.user('ccc')];

test('countEach counts each message by itself, and each only once ever', async () => {
  const counter = new LetterCounter();
  expect(await counter.countEach([a, b])).toEqual([1, 2]);
  expect(await counter.countEach([b, c, a, b])).toEqual([2, 3, 1, 2]);
  expect(counter.asked).toEqual(['a', 'bb', 'ccc']);
  expect(await counter.countEach([])).toEqual([]);
});

test('another counter counts for itself', async () => {
  const [first, second] = [new LetterCounter(), new LetterCounter()];
  await first.countEach([a]);
  expect(await second.countEach([a])).toEqual([1]);
  expect(second.asked).toEqual(['a']);
});

test('a count that failed is tried again', async () => {
  const counter = new LetterCounter();
  counter.failures = 1;
  await expect(counter.countEach([a, b])).rejects.toThrow('busy');
  expect(await counter.countEach([a, b])).toEqual([1, 2]);
  expect(counter.asked).toEqual(['a', 'a', 'bb']);
});

test('an aborted signal stops the counting; what is known is told nevertheless', async () => {
  const counter = new LetterCounter();
  await counter.countEach([a]);
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(counter.countEach([a, b], { signal })).rejects.toThrow('enough');
  expect(counter.asked).toEqual(['a']);
  expect(await counter.countEach([a], { signal })).toEqual([1]);
});

test('a counter that learns nothing has an empty state', () => {
  const counter = new LetterCounter();
  expect(counter.stateDict()).toEqual({});
  expect(() => counter.loadStateDict({})).not.toThrow();
  expect(() => counter.noteSent([a, b], [b])).not.toThrow();
});
