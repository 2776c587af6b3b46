import { describe, expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import { useRandomSource } from '../../util/ids.ts';
import { DeadlineError } from '../../util/async/deadline.ts';
import { runTool, type ToolRun } from './run-tool.ts';
import { SnapshotQueue } from './snapshot-queue.ts';
import type { Tool, ToolContext } from '../tool/tool.ts';

const never = new Promise<never>(() => {});

/** Runs a tool, and collects its snapshots. */
function run(
  execute: Tool<unknown>['execute'],
  { settings = {}, ...changes }: Partial<ToolRun> & { settings?: Partial<Tool> } = {},
): { output: Promise<unknown>; shown: unknown[] } {
  const shown: unknown[] = [];
  const output = runTool({
    tool: { name: 't', execute, ...settings },
    input: { a: 1 },
    context: { call: { type: 'tool_use', id: 'c', name: 't', input: {} }, context: 'mine', agentName: 'Ada' },
    deadline: { timeoutMs: 1000, signal: undefined },
    newSnapshots: () =>
      new SnapshotQueue({
        prepare: ({ output, status }) => ({ type: 'tool_result', id: 'c', name: 't', output, status }),
        show: (result) => shown.push(result.output),
      }),
    ...changes,
  });
  output.catch(() => {});
  return { output, shown };
}

const ok = (output: unknown): object => ({ output, status: 'ok' });

test('a tool gets its arguments and the context of the tool call', async () => {
  const seen: unknown[] = [];
  await run((input, { signal, emit, ...rest }: ToolContext) => {
    seen.push(input, rest, signal.aborted, typeof emit);
  }).output;
  expect(seen).toEqual([
    { a: 1 },
    { call: { type: 'tool_use', id: 'c', name: 't', input: {} }, context: 'mine', agentName: 'Ada' },
    false,
    'function',
  ]);
});

describe('a generator', () => {
  test.each<[string, Tool<unknown>['execute']]>([
    [
      'sync',
      function* () {
        yield '1';
        yield '12';
      },
    ],
    [
      'async',
      async function* () {
        yield '1';
        yield '12';
      },
    ],
    [
      'promised',
      async () =>
        (function* () {
          yield '1';
          yield '12';
        })(),
    ],
    [
      'of promises',
      function* () {
        yield Promise.resolve('1');
        yield Promise.resolve('12');
      },
    ],
  ])('%s: the last snapshot is the result', async (_, execute) => {
    const { output, shown } = run(execute);
    expect(await output).toEqual(ok('12'));
    expect(shown).toEqual(['1', '12']);
  });

  test('gives its return value, if there is one', async () => {
    const { output, shown } = run(function* () {
      yield 'working';
      return { done: true };
    });
    expect(await output).toEqual(ok('{"done":true}'));
    expect(shown).toEqual(['working']);
  });

  test('that yields nothing gives the result Done.', async () => {
    expect(await run(function* () {}).output).toEqual(ok('Done.'));
  });

  test('that throws fails', async () => {
    const { output, shown } = run(async function* () {
      yield 'half';
      throw new Error('broken');
    });
    await expect(output).rejects.toThrow('broken');
    expect(shown).toEqual(['half']);
  });

  test('that yields a function fails', async () => {
    let closed = 0;
    const { output } = run(function* () {
      try {
        yield () => 1;
      } finally {
        closed++;
      }
    });
    await expect(output).rejects.toThrow("The result is a function, which JSON can't hold");
    expect(closed).toBe(1);
  });

  test('that never ends is stopped, sync or async, and may clean up', async () => {
    let closed = 0;
    const { output, shown } = run(
      function* () {
        try {
          for (let i = 0; ; i++) yield i;
        } finally {
          closed++;
        }
      },
      { deadline: { timeoutMs: Infinity, signal: undefined } },
    );
    await expect(output).rejects.toThrow(
      'The tool gave more than 100000 snapshots, and no end was in sight.',
    );
    expect([shown.length, closed]).toEqual([100_000, 1]);
  });

  test('that never ends does not block timers', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    let yielded = 0;
    const { output } = run(function* () {
      for (;;) yield yielded++;
    });
    await clock.advance(1000);
    await expect(output).rejects.toEqual(new DeadlineError(1000));
    expect(yielded).toBeLessThan(10_000);
    const before = yielded;
    await clock.advance(0);
    expect(yielded).toBe(before);
  });

  test('waits until each snapshot is taken in', async () => {
    const log: string[] = [];
    const { output } = run(
      async function* () {
        log.push('makes 1');
        yield '1';
        log.push('makes 2');
        yield '2';
      },
      {
        newSnapshots: () =>
          new SnapshotQueue({
            prepare: ({ output, status }) => ({ type: 'tool_result', id: 'c', name: 't', output, status }),
            async show({ output }) {
              await new Promise((resolve) => setImmediate(resolve));
              log.push(`took ${output as string}`);
            },
          }),
      },
    );
    await output;
    expect(log).toEqual(['makes 1', 'took 1', 'makes 2', 'took 2']);
  });

  test('is told to stop at once, even while it is waited for', async () => {
    const controller = new AbortController();
    let closed = 0;
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () => never,
        return: async () => {
          closed++;
          return { done: true, value: undefined };
        },
      }),
    };
    const { output } = run(() => source, { deadline: { timeoutMs: Infinity, signal: controller.signal } });
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error('stop'));
    expect(closed).toBe(1);
    await expect(output).rejects.toThrow('stop');
  });

  test('that can not be closed is abandoned', async () => {
    const controller = new AbortController();
    let made = 0;
    const source = {
      [Symbol.asyncIterator]: () => ({
        async next() {
          await new Promise((resolve) => setImmediate(resolve));
          return { done: false, value: `${++made}` };
        },
      }),
    };
    const { output } = run(() => source, { deadline: { timeoutMs: Infinity, signal: controller.signal } });
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error('stop'));
    await expect(output).rejects.toThrow('stop');
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    const before = made;
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(before).toBeGreaterThan(1);
    expect(made).toBe(before);
  });

  test.each([
    ['a list', ['a'], '["a"]'],
    ['text', 'abc', 'abc'],
  ])('is not %s', async (_, value, output) => {
    expect(await run(() => value).output).toEqual(ok(output));
  });
});

describe('emit', () => {
  test('shows snapshots, and the result comes after all of them', async () => {
    const { output, shown } = run(async (_, { emit }) => {
      emit('1');
      await Promise.resolve();
      await Promise.resolve();
      emit([{ type: 'text', text: '12' }]);
      return '123';
    });
    expect(await output).toEqual(ok('123'));
    expect(shown).toEqual(['1', [{ type: 'text', text: '12' }]]);
  });

  test('is waited for at the end, however long it takes to show', async () => {
    const shown: unknown[] = [];
    const { output } = run((_, { emit }) => (emit('half'), 'done'), {
      newSnapshots: () =>
        new SnapshotQueue({
          prepare: ({ output, status }) => ({ type: 'tool_result', id: 'c', name: 't', output, status }),
          async show(result) {
            await new Promise((resolve) => setImmediate(resolve));
            shown.push(result.output);
          },
        }),
    });
    expect(await output).toEqual(ok('done'));
    expect(shown).toEqual(['half']);
  });

  test('of something that is no snapshot fails the tool', async () => {
    const { output } = run((_, { emit }) => emit(Symbol('x')));
    await expect(output).rejects.toThrow('The result is a symbol');
  });

  test('has no effect once the tool is done', async () => {
    let late = (_: unknown): void => {};
    const { output, shown } = run((_, { emit }) => {
      late = emit;
      return 'done';
    });
    expect(await output).toEqual(ok('done'));
    late('late');
    await new Promise((resolve) => setImmediate(resolve));
    expect(shown).toEqual([]);
  });
});

describe('a retry', () => {
  test('runs again after a failure, with growing waits', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const restore = useRandomSource(() => 0.5);
    const started: number[] = [];
    const begin = clock.now();
    const { output } = run(
      () => {
        started.push(clock.now() - begin);
        if (started.length < 4) throw new Error(`no ${started.length}`);
        return 'yes';
      },
      { settings: { retry: { maxAttempts: 4, baseDelayMs: 100 } } },
    );
    await clock.advance(10_000);
    restore();
    expect(await output).toEqual(ok('yes'));
    expect(started).toEqual([0, 50, 150, 350]);
  });

  test('ends with the last failure', async () => {
    let runs = 0;
    const { output } = run(() => Promise.reject(new Error(`no ${++runs}`)), {
      settings: { retry: { maxAttempts: 3, baseDelayMs: 0 } },
    });
    await expect(output).rejects.toThrow('no 3');
    expect(runs).toBe(3);
  });

  test('is up to the program', async () => {
    const asked: unknown[] = [];
    let runs = 0;
    const { output } = run(
      () => {
        throw new Error(`no ${++runs}`);
      },
      {
        settings: {
          retry: {
            maxAttempts: 5,
            baseDelayMs: 0,
            shouldRetry(error, attempt) {
              asked.push([(error as Error).message, attempt]);
              return attempt < 2;
            },
          },
        },
      },
    );
    await expect(output).rejects.toThrow('no 2');
    expect(asked).toEqual([
      ['no 1', 1],
      ['no 2', 2],
    ]);
  });

  test('also follows a time-out, and an earlier attempt can show nothing any more', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const emits: ((snapshot: unknown) => void)[] = [];
    const { output, shown } = run(
      (_, { emit }) => {
        emits.push(emit);
        return emits.length === 1 ? never : 'second';
      },
      { settings: { retry: { maxAttempts: 2, baseDelayMs: 10 } } },
    );
    await clock.advance(1000);
    emits[0]?.('late');
    await clock.advance(10);
    expect(await output).toEqual(ok('second'));
    expect(shown).toEqual([]);
  });

  test('is not considered after an interrupt', async () => {
    const controller = new AbortController();
    let asked = 0;
    const { output } = run(() => never, {
      settings: { retry: { maxAttempts: 9, baseDelayMs: 0, shouldRetry: () => asked++ < 100 } },
      deadline: { timeoutMs: Infinity, signal: controller.signal },
    });
    controller.abort(new Error('stop'));
    await expect(output).rejects.toThrow('stop');
    expect(asked).toBe(0);
  });

  test('ends with an interrupt, also while it waits', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const controller = new AbortController();
    let runs = 0;
    const { output } = run(
      () => {
        runs++;
        throw new Error('no');
      },
      {
        settings: { retry: { maxAttempts: 9, baseDelayMs: 10_000 } },
        deadline: { timeoutMs: 1000, signal: controller.signal },
      },
    );
    await clock.advance(0);
    controller.abort(new Error('stop'));
    await expect(output).rejects.toThrow('stop');
    expect([runs, clock.pendingTimers]).toEqual([1, 0]);
  });
});
