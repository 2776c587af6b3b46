import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withRunConfig } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { CalibratedTokenCounter } from '../token/calibrated-token-counter.ts';
import { EstimateTokenCounter } from '../token/estimate-token-counter.ts';
import { TokenCounterBase } from '../token/token-counter-base.ts';
import { FormatterBase, type FormatContext } from './formatter-base.ts';
import type { Prompt } from './prompt.ts';
import {
  TruncatedFormatter,
  type Truncation,
  type TruncatedFormatterOptions,
} from './truncated-formatter.ts';

/** A message has as many tokens as its `size` says, and a tool a hundred. */
class SizeCounter extends TokenCounterBase {
  readonly counted: Msg[] = [];

  override async count(messages: readonly Msg[], tools: readonly ToolSchema[] = []): Promise<number> {
    this.counted.push(...messages);
    return messages.reduce((sum, msg) => sum + sizeOf(msg), 100 * tools.length);
  }
}

/** Keeps what it is given. */
class InnerFormatter extends FormatterBase {
  readonly given: (readonly Msg[])[] = [];
  readonly contexts: (FormatContext | undefined)[] = [];
  readonly repairs: readonly string[] = [];

  override format(msgs: readonly Msg[], context?: FormatContext): Prompt {
    this.given.push(msgs);
    this.contexts.push(context);
    return { items: [{ role: 'system', text: `${msgs.length} messages` }], repairs: this.repairs };
  }

  get last(): readonly Msg[] {
    return this.given.at(-1) ?? [];
  }
}

const sizeOf = (msg: Msg): number => Number(msg.metadata['size']);
const size = (tokens: number) => ({ metadata: { size: tokens } });
const total = (msgs: readonly Msg[]): number => msgs.reduce((sum, msg) => sum + sizeOf(msg), 0);
const calls = (ids: readonly string[], tokens: number): Msg =>
  Msg.assistant(
    ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
    size(tokens),
  );
const results = (ids: readonly string[], tokens: number): Msg =>
  Msg.system(
    ids.map((id) => ({ type: 'tool_result', id, name: 'f', output: 'ok', status: 'ok' })),
    size(tokens),
  );

function setUp(options: Partial<TruncatedFormatterOptions> & { maxTokens: number }) {
  const [inner, counter] = [new InnerFormatter(), new SizeCounter()];
  return {
    inner,
    counter,
    formatter: new TruncatedFormatter({ formatter: inner, tokenCounter: counter, ...options }),
  };
}

const instructions = Msg.system('Be kind.', size(10));
const [ask1, say1] = [Msg.user('1', size(10)), Msg.assistant('1', size(10))];
const [ask2, say2] = [Msg.user('2', size(10)), Msg.assistant('2', size(10))];
const ask3 = Msg.user('3', size(10));
const history = [instructions, ask1, say1, ask2, say2, ask3];

describe('a prompt that fits', () => {
  test('is made by the inner formatter of the very same list', async () => {
    const { formatter, inner } = setUp({ maxTokens: 60 });
    const context = { agentName: 'Ann' };
    const prompt = await formatter.format(history, context);
    expect(inner.given).toHaveLength(1);
    expect(inner.last).toBe(history);
    expect(inner.contexts[0]).toBe(context);
    expect(prompt).toEqual({ items: [{ role: 'system', text: '6 messages' }], repairs: [] });
  });

  test('is given to the inner formatter also when it is empty', async () => {
    const { formatter, inner } = setUp({ maxTokens: 1 });
    await formatter.format([]);
    expect(inner.given).toEqual([[]]);
  });
});

describe('a prompt that is too long', () => {
  test('loses its oldest messages, down to three quarters', async () => {
    const { formatter, inner } = setUp({ maxTokens: 59 });
    await formatter.format(history);
    expect(inner.given).toEqual([[instructions, ask2, say2, ask3]]);
  });

  test('loses old messages down to the target', async () => {
    for (const [keepTokens, kept] of [
      [59, [instructions, say1, ask2, say2, ask3]],
      [50, [instructions, say1, ask2, say2, ask3]],
      [49, [instructions, ask2, say2, ask3]],
      [30, [instructions, say2, ask3]],
      [1, [instructions, ask3]],
    ] as const) {
      const { formatter, inner } = setUp({ maxTokens: 59, keepTokens });
      await formatter.format(history);
      expect(inner.given).toEqual([kept]);
    }
  });

  test('is not changed itself', async () => {
    const { formatter } = setUp({ maxTokens: 59 });
    const list = [...history];
    await formatter.format(list);
    expect(list).toEqual(history);
    expect(list.every((msg, i) => msg === history[i])).toBe(true);
  });

  test('includes the tools', async () => {
    const tools = [{ name: 'f', parameters: {} }];
    const { formatter, inner } = setUp({ maxTokens: 159, keepTokens: 159 });
    await formatter.format(history, { tools });
    await formatter.format(history);
    expect(inner.given).toEqual([[instructions, say1, ask2, say2, ask3], history]);
    expect(inner.contexts[0]).toEqual({ tools });
  });

  test('keeps all system messages, at any position', async () => {
    const hint = Msg.system('Hint.', size(10));
    const { formatter, inner } = setUp({ maxTokens: 40 });
    await formatter.format([instructions, ask1, hint, say1, ask2, hint, ask3]);
    expect(inner.given).toEqual([[instructions, hint, hint, ask3]]);
  });

  test('keeps the newest turn as a whole', async () => {
    const turn = [ask3, calls(['a'], 10), results(['a'], 10), say2];
    const { formatter, inner } = setUp({ maxTokens: 45, keepTokens: 1 });
    await formatter.format([ask1, say1, ...turn]);
    expect(inner.given).toEqual([turn]);
  });

  test.each<[string, Msg[]]>([
    ['message', [say1]],
    ['call with its result', [calls(['a'], 5), results(['a'], 5)]],
  ])('keeps the newest %s if no user said anything', async (_, newest) => {
    const { formatter, inner } = setUp({ maxTokens: 45, keepTokens: 1 });
    await formatter.format([instructions, say1, say2, say1, say2, ...newest]);
    expect(inner.given).toEqual([[instructions, ...newest]]);
  });

  test('passes the signal on to the counter', async () => {
    const { formatter, inner } = setUp({ maxTokens: 59 });
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(formatter.format(history, { signal })).rejects.toThrow('enough');
    expect(inner.given).toEqual([]);
  });
});

describe('calls and their results', () => {
  test.each<[string, Msg[]]>([
    ['one after another', [calls(['a'], 10), results(['a'], 10)]],
    ['at once, with one message of results', [calls(['a', 'b'], 10), results(['a', 'b'], 10)]],
    [
      'at once, with a message for each result',
      [calls(['a', 'b'], 10), results(['b'], 5), results(['a'], 5)],
    ],
    ['with something in between', [calls(['a'], 10), Msg.assistant('Wait.', size(5)), results(['a'], 5)]],
    [
      'made by two messages, with results crosswise',
      [calls(['a'], 5), calls(['b'], 5), results(['a'], 5), results(['b'], 5)],
    ],
    ['with a result too many', [calls(['a'], 10), results(['a'], 5), results(['a'], 5)]],
    ['with a result of nobody', [calls(['a'], 10), results(['a', 'x'], 5), results(['y'], 5)]],
  ])('stay or go together: %s', async (_, exchange) => {
    const list = [ask1, ...exchange, ask3];
    expect(total(list)).toBe(40);
    for (const maxTokens of [39, 30]) {
      const { formatter, inner } = setUp({ maxTokens, keepTokens: maxTokens });
      await formatter.format(list);
      expect(inner.given).toEqual([[...exchange, ask3]]);
    }
    for (const maxTokens of [29, 25, 20, 11]) {
      const { formatter, inner } = setUp({ maxTokens, keepTokens: maxTokens });
      await formatter.format(list);
      expect(inner.given).toEqual([[ask3]]);
    }
  });

  test('with an id that is used again belong to the nearest', async () => {
    const exchanges = [1, 2, 3].map(() => [calls(['a'], 10), results(['a'], 10)]);
    const list = [...exchanges.flat(), ask3];
    const { formatter, inner } = setUp({ maxTokens: 69, keepTokens: 55 });
    await formatter.format(list);
    expect(inner.given).toEqual([[...exchanges.slice(1).flat(), ask3]]);
  });

  test('a second result goes with the messages before it, however far its tool call is', async () => {
    const again = results(['a'], 5);
    const { formatter, inner } = setUp({ maxTokens: 54, keepTokens: 30 });
    await formatter.format([calls(['a'], 10), results(['a'], 10), say1, say2, again, ask3]);
    expect(inner.given).toEqual([[say2, again, ask3]]);
  });

  test('a message of results starts no turn, from any author', async () => {
    const turn = [ask2, calls(['a'], 10), results(['a'], 10).with({ role: 'user' })];
    const { formatter, inner } = setUp({ maxTokens: 30, keepTokens: 1 });
    await formatter.format([ask1, say1, ...turn]);
    expect(inner.given).toEqual([turn]);
  });

  test('without a counterpart stand alone', async () => {
    const [orphan, open] = [results(['x'], 10), calls(['y'], 10)];
    const { formatter, inner } = setUp({ maxTokens: 39, keepTokens: 30 });
    await formatter.format([orphan, open, say1, ask3]);
    expect(inner.given).toEqual([[open, say1, ask3]]);
  });
});

describe('messages that must stay but are too long', () => {
  const long = Msg.user('Long.', size(100));

  test('is sent, reported each time, and logged once', async () => {
    const lines: string[] = [];
    const logging = { log: (level: string, message: string) => void lines.push(`${level} ${message}`) };
    const { formatter, inner } = setUp({ maxTokens: 50 });
    const problem = 'it has about 110 tokens, more than the limit of 50, and nothing more can be left out';
    await withRunConfig({ logging }, async () => {
      for (let n = 0; n < 2; n++) {
        expect((await formatter.format([instructions, ask1, long])).repairs).toEqual([problem]);
      }
    });
    expect(inner.given).toEqual([
      [instructions, long],
      [instructions, long],
    ]);
    expect(lines).toEqual([`warn A prompt is too long: ${problem}.`]);
  });

  test('is the very same list if nothing is dropped', async () => {
    const { formatter, inner } = setUp({ maxTokens: 5 });
    for (const list of [[instructions, long], [instructions]]) {
      const { repairs } = await formatter.format(list);
      expect(repairs).toHaveLength(1);
      expect(inner.last).toBe(list);
    }
  });

  test('is reported behind what the inner formatter repaired', async () => {
    const inner = new InnerFormatter();
    Object.assign(inner, { repairs: ['an empty message'] });
    const formatter = new TruncatedFormatter({
      formatter: inner,
      tokenCounter: new SizeCounter(),
      maxTokens: 5,
    });
    expect((await formatter.format([long])).repairs).toEqual([
      'an empty message',
      expect.stringContaining('100'),
    ]);
  });
});

describe('from turn to turn', () => {
  test('only new messages are counted', async () => {
    const { formatter, counter } = setUp({ maxTokens: 59 });
    await formatter.format(history.slice(0, 5));
    expect(counter.counted).toEqual(history.slice(0, 5));
    await formatter.format(history);
    expect(counter.counted.slice(5)).toEqual([ask3]);
    await formatter.format(history);
    expect(counter.counted).toHaveLength(6);
  });

  test('the cut stays in place while the rest fits', async () => {
    const truncations: Truncation[] = [];
    const { formatter, inner } = setUp({
      maxTokens: 100,
      keepTokens: 60,
      onTruncate: (truncation) => truncations.push(truncation),
    });
    const list = Array.from({ length: 20 }, (_, i) => Msg.user(`${i}`, size(10)));
    const firsts: string[] = [];
    for (let n = 1; n <= list.length; n++) {
      await formatter.format(list.slice(0, n));
      firsts.push(inner.last[0]?.text ?? '');
    }
    // The 11th is one too many, and six stay; so is the 16th, when ten had become of them.
    expect(firsts.join(' ')).toBe('0 0 0 0 0 0 0 0 0 0 5 5 5 5 5 10 10 10 10 10');
    expect(truncations).toEqual([
      { dropped: list.slice(0, 5), kept: list.slice(5, 11), tokens: 60 },
      { dropped: list.slice(0, 10), kept: list.slice(10, 16), tokens: 60 },
    ]);
  });

  test('a conversation that shares messages with another is cut by its own length', async () => {
    const { formatter, inner } = setUp({ maxTokens: 100, keepTokens: 60 });
    const [shared, long] = [Msg.user('Shared.', size(10)), Msg.user('Long.', size(50))];
    const before = Array.from({ length: 9 }, (_, i) => Msg.assistant(`${i}`, size(10)));
    await formatter.format([...before, shared, long]);
    expect(inner.last).toEqual([shared, long]);
    await formatter.format([...before, shared, ask3]);
    expect(inner.last).toEqual([...before.slice(5), shared, ask3]);
  });

  test('a history that was shortened from behind is cut anew', async () => {
    const { formatter, inner } = setUp({ maxTokens: 100, keepTokens: 60 });
    const list = Array.from({ length: 16 }, (_, i) => Msg.user(`${i}`, size(10)));
    await formatter.format(list);
    expect(inner.last).toEqual(list.slice(10));
    await formatter.format(list.slice(0, 11));
    expect(inner.last).toEqual(list.slice(5, 11));
  });
});

test('a calibrated counter gets the sent prompt', async () => {
  const counter = new CalibratedTokenCounter(new EstimateTokenCounter());
  const inner = new InnerFormatter();
  const formatter = new TruncatedFormatter({ formatter: inner, tokenCounter: counter, maxTokens: 300 });
  const list = Array.from({ length: 40 }, (_, i) =>
    Msg.user(`This is message number ${i}, as dull as all the others.`),
  );
  await formatter.format(list);
  expect(inner.last.length).toBeLessThan(20);
  const sent = await counter.count(inner.last);
  await counter.learn(list, undefined, { inputTokens: sent * 1.5, outputTokens: 1 });
  expect(counter.factor).toBeCloseTo(1.5);
});

test.each([
  [{ maxTokens: 0 }, 'maxTokens must be more than 0.'],
  [{ maxTokens: -1 }, 'maxTokens must be more than 0.'],
  [{ maxTokens: NaN }, 'maxTokens must be more than 0.'],
  [{ maxTokens: 10, keepTokens: 0 }, 'keepTokens must be more than 0, and at most maxTokens.'],
  [{ maxTokens: 10, keepTokens: 11 }, 'keepTokens must be more than 0, and at most maxTokens.'],
  [{ maxTokens: 10, keepTokens: NaN }, 'keepTokens must be more than 0, and at most maxTokens.'],
])('%j is refused', (limits, message) => {
  expect(() => setUp(limits)).toThrow(new TroupeError('invalid_config', message));
});

describe('for any transcript', () => {
  /** Messages, each with the number of the group that stays or goes together; instructions belong to no group. */
  interface Said {
    readonly msg: Msg;
    readonly group: number | undefined;
  }
  type Step = {
    readonly kind: 'calls';
    readonly count: number;
    readonly split: boolean;
    readonly hint: boolean;
  };
  type Event = { readonly kind: 'user' | 'say' | 'hint' } | Step;

  const anySize = fc.integer({ min: 1, max: 40 });
  const anyEvent: fc.Arbitrary<Event> = fc.oneof(
    { weight: 2, arbitrary: fc.constant({ kind: 'user' as const }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'say' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'hint' as const }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('calls' as const),
        count: fc.integer({ min: 1, max: 4 }),
        split: fc.boolean(),
        hint: fc.boolean(),
      }),
    },
  );
  const anyScript = fc.record({
    events: fc.array(anyEvent, { minLength: 1, maxLength: 25 }),
    sizes: fc.array(anySize, { minLength: 1, maxLength: 60 }),
    reusesIds: fc.boolean(),
    maxTokens: fc.integer({ min: 1, max: 600 }),
    keepShare: fc.double({ min: 0.05, max: 1, noNaN: true }),
    toolCount: fc.integer({ min: 0, max: 2 }),
  });

  /** The transcript, in pieces: a model is asked at the end of each. */
  function play({
    events,
    sizes,
    reusesIds,
  }: {
    events: readonly Event[];
    sizes: readonly number[];
    reusesIds: boolean;
  }) {
    let count = 0;
    const next = () => size(sizes[count++ % sizes.length] ?? 1);
    const pieces: Said[][] = [];
    for (const [group, event] of events.entries()) {
      if (event.kind === 'calls') {
        const ids = Array.from({ length: event.count }, (_, i) => (reusesIds ? `${i}` : `${group}-${i}`));
        const parts = event.split ? ids.toReversed().map((id) => [id]) : [ids];
        pieces.push([
          { msg: calls(ids, next().metadata.size), group },
          ...(event.hint ? [{ msg: Msg.system('Hint.', next()), group: undefined }] : []),
          ...parts.map((part) => ({ msg: results(part, next().metadata.size), group })),
        ]);
      } else if (event.kind === 'hint') pieces.push([{ msg: Msg.system('Hint.', next()), group: undefined }]);
      else if (event.kind === 'user') pieces.push([{ msg: Msg.user('?', next()), group }]);
      else pieces.push([{ msg: Msg.assistant('!', next()), group }]);
    }
    return pieces;
  }

  const isHint = ({ group }: Said): boolean => group === undefined;

  /** Where the newest turn begins: at the last user, or else at the last group. */
  function newestTurn(said: readonly Said[]): number {
    const asked = said.findLastIndex(({ msg }) => msg.role === 'user');
    if (asked >= 0) return asked;
    const last = said.findLast(({ group }) => group !== undefined)?.group;
    return last === undefined ? said.length : said.findIndex(({ group }) => group === last);
  }

  test('instructions, the newest turn and pairs are kept, in order, within the limit, and no less than fits', async () => {
    let truncated = 0;
    await fc.assert(
      fc.asyncProperty(anyScript, async (script) => {
        const said = play(script).flat();
        const { maxTokens, toolCount } = script;
        const keepTokens = maxTokens * script.keepShare;
        const { formatter, inner } = setUp({ maxTokens, keepTokens });
        const msgs = said.map(({ msg }) => msg);
        const tools = Array.from({ length: toolCount }, (_, i) => ({ name: `t${i}`, parameters: {} }));
        const { repairs } = await withRunConfig({}, () => formatter.format(msgs, { tools }));
        const kept = new Set(inner.last);
        const isKept = ({ msg }: Said): boolean => kept.has(msg);
        const besides = 100 * toolCount;

        expect(inner.last).toEqual(msgs.filter((msg) => kept.has(msg)));
        expect(inner.last.length).toBeGreaterThan(0);
        if (besides + total(msgs) <= maxTokens) {
          expect(inner.last).toBe(msgs);
          expect(repairs).toEqual([]);
          return;
        }
        const newest = newestTurn(said);
        const mustStay = said.filter((one, i) => isHint(one) || i >= newest);
        expect(mustStay.every(isKept)).toBe(true);
        for (const { group } of said) {
          const together = said.filter((one) => one.group === group && group !== undefined);
          expect(new Set(together.map(isKept)).size).toBeLessThanOrEqual(1);
        }
        const tokens = besides + total(inner.last);
        const isLeast = inner.last.length === mustStay.length;
        expect(tokens <= maxTokens || isLeast).toBe(true);
        expect(tokens <= keepTokens || isLeast).toBe(true);
        expect(repairs.length).toBe(tokens > maxTokens ? 1 : 0);
        const dropped = said.filter((one) => !isKept(one));
        if (dropped.length === 0) return;
        truncated++;
        // The dropped messages are the beginning, and the newest of these would not have fitted.
        const firstKept = said.findIndex((one) => isKept(one) && !isHint(one));
        expect(dropped.every((one) => said.indexOf(one) < firstKept)).toBe(true);
        const nextGroup = dropped.filter(({ group }) => group === dropped.at(-1)?.group);
        expect(tokens + total(nextGroup.map(({ msg }) => msg))).toBeGreaterThan(keepTokens);
      }),
      { numRuns: 1500 },
    );
    expect(truncated).toBeGreaterThan(300);
  });

  test('as it grows, the prompt only grows behind, until that would be too long', async () => {
    let grown = 0;
    await fc.assert(
      fc.asyncProperty(anyScript, async (script) => {
        const { maxTokens } = script;
        const { formatter, inner } = setUp({ maxTokens, keepTokens: maxTokens * script.keepShare });
        const msgs: Msg[] = [];
        let before: readonly Msg[] = [];
        for (const piece of play(script)) {
          const added = piece.map(({ msg }) => msg);
          msgs.push(...added);
          await formatter.format([...msgs]);
          const longer = [...before, ...added];
          if (total(longer) <= maxTokens) {
            expect(inner.last).toEqual(longer);
            if (longer.length < msgs.length) grown++;
          }
          before = inner.last;
        }
      }),
      { numRuns: 1000 },
    );
    expect(grown).toBeGreaterThan(100);
  });

  test('the same transcript gives the same prompt, in another formatter as well', async () => {
    await fc.assert(
      fc.asyncProperty(anyScript, async (script) => {
        const msgs = play(script).flatMap((piece) => piece.map(({ msg }) => msg));
        const [a, b] = [setUp(script), setUp(script)];
        for (const { formatter } of [a, a, b]) await formatter.format(msgs);
        expect(a.inner.given[1]).toEqual(a.inner.given[0]);
        expect(b.inner.given[0]).toEqual(a.inner.given[0]);
      }),
      { numRuns: 200 },
    );
  });
});
