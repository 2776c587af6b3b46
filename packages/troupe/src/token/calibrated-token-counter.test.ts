import { describe, expect, test } from 'vitest';
import { withRunConfig } from '../config/run-config.ts';
import { StateError } from '../errors.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { CalibratedTokenCounter } from './calibrated-token-counter.ts';
import { TokenCounterBase } from './token-counter-base.ts';

/** Ten tokens per letter, and a hundred per tool. */
class LetterCounter extends TokenCounterBase {
  counted = 0;

  override async count(messages: readonly Msg[], tools: readonly ToolSchema[] = []): Promise<number> {
    this.counted++;
    return messages.reduce((sum, msg) => sum + 10 * msg.text.length, 100 * tools.length);
  }
}

const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 1 });
const msgs = (letters: number) => [Msg.user('x'.repeat(letters))];
const tools: ToolSchema[] = [{ name: 'f', parameters: {} }];

async function all(stream: AsyncIterable<ModelDelta>): Promise<ModelDelta[]> {
  const deltas = [];
  for await (const delta of stream) deltas.push(delta);
  return deltas;
}

describe('learning', () => {
  test('an estimate that is off by 40 % is within 5 % after a few answers', async () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    const truth = (letters: number, n: number) =>
      Math.round(14 * letters * (1 + (n % 3 === 0 ? 0.04 : -0.03)));
    expect(await counter.count(msgs(100))).toBe(1000);
    for (let n = 1; n <= 4; n++) await counter.learn(msgs(50 * n), undefined, usage(truth(50 * n, n)));
    expect(Math.abs((await counter.count(msgs(100))) / 1400 - 1)).toBeLessThan(0.05);
    const [each = 0] = await counter.countEach(msgs(100));
    expect(Math.abs(each / 1400 - 1)).toBeLessThan(0.05);
  });

  test('the tools are part of the prompt', async () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    await counter.learn(msgs(10), tools, usage(300));
    expect(counter.factor).toBe(1.5);
    expect(await counter.count(msgs(10), tools)).toBe(300);
  });

  test('the factor follows a change, and large prompts weigh more', async () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    for (let n = 0; n < 20; n++) await counter.learn(msgs(100), undefined, usage(2000));
    expect(counter.factor).toBeCloseTo(2);
    await counter.learn(msgs(1), undefined, usage(5));
    expect(counter.factor).toBeCloseTo(2, 1);
    for (let n = 0; n < 20; n++) await counter.learn(msgs(100), undefined, usage(500));
    expect(counter.factor).toBeCloseTo(0.5, 1);
  });

  test.each([0, -5, NaN, Infinity, 1, 249, 4001, 1_000_000])(
    'a report of %d tokens for about 1000 is ignored',
    async (inputTokens) => {
      const counter = new CalibratedTokenCounter(new LetterCounter());
      await counter.learn(msgs(100), undefined, usage(inputTokens));
      expect(counter.factor).toBe(1);
      await counter.learn(msgs(100), undefined, usage(1200));
      await counter.learn(msgs(100), undefined, usage(inputTokens));
      expect(counter.factor).toBe(1.2);
    },
  );

  test('nothing is learned from a prompt without tokens', async () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    await counter.learn([], undefined, usage(0));
    await counter.learn([], undefined, usage(7));
    expect(counter.factor).toBe(1);
  });

  test('of a shortened prompt, only the sent part counts', async () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    const [history, sent] = [[...msgs(100), ...msgs(50)], msgs(50)];
    counter.noteSent(history, sent);
    await counter.learn(history, undefined, usage(600));
    expect(counter.factor).toBe(1.2);
  });
});

describe('a watched model', () => {
  test('gives the same deltas, and is learned from', async () => {
    const script = [{ text: 'Hello!', usage: usage(700) }, 'Without a report.'];
    const counter = new CalibratedTokenCounter(new LetterCounter());
    const watched = counter.watch(new ScriptedModel(script, 'a-model'));
    const plain = new ScriptedModel(script, 'a-model');
    expect(watched.modelName).toBe('a-model');
    expect(watched.capabilities).toEqual(plain.capabilities);
    for (const _ of script) {
      const request = { messages: msgs(40), tools };
      expect(await all(watched.stream(request))).toEqual(await all(plain.stream(request)));
      expect(counter.factor).toBe(1.4);
    }
  });

  test('is learned from by call, with the last of its reports', async () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    const deltas: ModelDelta[] = [1, 800].map((tokens) => ({ type: 'usage', usage: usage(tokens) }));
    const answer = await counter
      .watch(new ScriptedModel([{ text: 'Hi.', deltas }]))
      .call({ messages: msgs(100) });
    expect(answer.text).toBe('Hi.');
    expect(counter.factor).toBe(0.8);
  });

  test('is not learned from when it fails, when it is left, or when two models answered', async () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    const report = { type: 'usage', usage: usage(2000) } as const;
    const reset: ModelDelta = { type: 'reset', reason: 'another model' };
    const model = counter.watch(
      new ScriptedModel([
        { deltas: [report], error: new Error('overloaded') },
        { deltas: [report, report] },
        { deltas: [report, reset, report] },
      ]),
    );
    const request = { messages: msgs(100) };
    await expect(all(model.stream(request))).rejects.toThrow('overloaded');
    for await (const _ of model.stream(request)) break;
    expect(await all(model.stream(request))).toHaveLength(3);
    expect(counter.factor).toBe(1);
  });

  test('answers also when the counting fails', async () => {
    class Broken extends TokenCounterBase {
      override async count(): Promise<number> {
        throw new Error('no network');
      }
    }
    const lines: string[] = [];
    const logging = { log: (level: string, message: string) => void lines.push(`${level} ${message}`) };
    const model = new CalibratedTokenCounter(new Broken()).watch(
      new ScriptedModel([{ text: 'Hi.', usage: usage(9) }]),
    );
    const answer = await withRunConfig({ logging }, () => model.call({ messages: msgs(1) }));
    expect(answer.text).toBe('Hi.');
    expect(lines).toEqual(['warn The token counter could not be calibrated: no network']);
  });
});

describe('the learned factor', () => {
  test('is saved and loaded', async () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    await counter.learn(msgs(100), undefined, usage(1500));
    expect(counter.stateDict()).toEqual({ learned: { reported: 1500, counted: 1000 } });
    const other = new CalibratedTokenCounter(new LetterCounter());
    other.loadStateDict(counter.stateDict());
    expect(other.factor).toBe(1.5);
    await other.learn(msgs(100), undefined, usage(1500));
    expect(other.factor).toBe(1.5);
  });

  test('can be nothing', () => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    counter.loadStateDict(new CalibratedTokenCounter(new LetterCounter()).stateDict());
    expect(counter.factor).toBe(1);
  });

  test.each([
    { reported: 1500 },
    { reported: 0, counted: 10 },
    { reported: 10, counted: 0 },
    { reported: -10, counted: -10 },
    { reported: 1000, counted: 1 },
    { reported: '10', counted: 10 },
    'much',
    null,
  ])('is refused if it makes no sense: %j', (learned) => {
    const counter = new CalibratedTokenCounter(new LetterCounter());
    expect(() => counter.loadStateDict({ learned })).toThrow(StateError);
    expect(counter.factor).toBe(1);
  });
});

test('a count of the inner counter is not made again', async () => {
  const inner = new LetterCounter();
  const counter = new CalibratedTokenCounter(inner);
  const history = msgs(3);
  await counter.countEach(history);
  await counter.countEach(history);
  expect(inner.counted).toBe(1);
});
