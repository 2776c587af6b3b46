// trace() around functions of the program: results, streams and errors stay as they are.
import { expect, test } from 'vitest';

import { ReActAgent } from '../../src/index.ts';
import { trace } from '../../src/otel/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { RecordedSpans, summaryOf } from './recorded-spans.ts';

const NAME = 'invoke_generic_function work';

test('functions, promises and generators of both kinds give the same with tracing and without', async () => {
  const use = async (): Promise<unknown[]> => {
    const counter = {
      start: 1,
      next: trace('work', function (this: { start: number }, n: number) {
        return this.start + n;
      }),
    };
    const numbers = trace('work', function* (n: number): Generator<number, string, boolean | undefined> {
      for (let i = 0; i < n; i++) if (yield i) return 'stopped';
      return 'over';
    });
    const later = trace('work', async function* (n: number) {
      for (let i = 0; i < n; i++) yield i;
    });
    const iterator = numbers(3);
    const items = [];
    for await (const item of later(2)) items.push(item);
    return [
      counter.next(2),
      await trace('work', async (text: string) => text.toUpperCase())('a'),
      [...numbers(2)],
      iterator.next(),
      iterator.next(true),
      items,
    ];
  };
  const plain = await use();
  using spans = await RecordedSpans.start();
  expect(await use()).toEqual(plain);
  expect(plain).toEqual([
    3,
    'A',
    [0, 1],
    { value: 0, done: false },
    { value: 'stopped', done: true },
    [0, 1],
  ]);
  expect(spans.ended.map(({ name }) => name)).toEqual(Array.from({ length: 5 }, () => NAME));
  expect(spans.open).toEqual([]);
});

test('errors pass through and are marked; a generator that is left ends its span', async () => {
  using spans = await RecordedSpans.start();
  const error = new RangeError('private matters');
  expect(() =>
    trace('work', () => {
      throw error;
    })(),
  ).toThrow(error);
  await expect(trace('work', () => Promise.reject(error))()).rejects.toBe(error);
  const failing = trace('work', async function* () {
    yield 1;
    throw error;
  });
  const read = async (): Promise<void> => {
    for await (const _ of failing());
  };
  await expect(read()).rejects.toBe(error);
  for await (const _ of failing()) break;
  expect(spans.begun.map(summaryOf)).toMatchObject([
    { status: 'ERROR', message: 'RangeError' },
    { status: 'ERROR', message: 'RangeError' },
    { status: 'ERROR', message: 'RangeError' },
    { status: 'UNSET' },
  ]);
  expect(spans.open).toEqual([]);
  expect(spans.text).not.toContain('private');
});

test('agents called by a function are below it, also by a generator', async () => {
  using spans = await RecordedSpans.start({ captureContent: true });
  const agentOf = (): ReActAgent =>
    new ReActAgent({ name: 'Friday', model: new ScriptedModel(['Hi.'], 'm'), console: false });
  const work = trace('work', async function* (said: string) {
    yield (await agentOf().call(said)).text;
  });
  for await (const text of work('Hello')) expect(text).toBe('Hi.');
  expect(spans.tree()).toEqual([
    { name: NAME, children: [{ name: 'invoke_agent Friday', children: [{ name: 'chat m' }] }] },
  ]);
  expect(spans.attributesOf(NAME)).toMatchObject({
    'agentscope.function.name': 'work',
    'agentscope.function.input': '["Hello"]',
    'agentscope.function.output': '"Hi."',
  });
});
