import { afterEach, describe, expect, test } from 'vitest';

import { withRunConfig } from '../config/run-config.ts';
import { InterruptedError } from '../errors.ts';
import {
  continueTrace,
  installInstrumentation,
  isTracing,
  outcomeOfError,
  traced,
  traceHeaders,
  withoutTracing,
  type Instrumentation,
  type StartedSpan,
} from './instrumentation.ts';
import type { SpanOutcome, TracedOperation } from './traced-operation.ts';

const operation = { type: 'compression', isForced: false } as const;
let uninstall = (): void => {};
afterEach(() => uninstall());

/** Notes what it is told. */
class Notes implements Instrumentation {
  isRecording = true;
  readonly begun: TracedOperation[] = [];
  readonly ended: SpanOutcome[] = [];

  begin(begun: TracedOperation): StartedSpan {
    this.begun.push(begun);
    return { capturesContent: false, run: (body) => body(), end: (outcome) => void this.ended.push(outcome) };
  }

  headers(): { traceparent: string } {
    return { traceparent: 'here' };
  }

  continueTrace<T>(_headers: unknown, body: () => T): T {
    return body();
  }
}

test('without an instrumentation an operation is not even described', async () => {
  const describeNothing = (): never => {
    throw new Error('described');
  };
  expect(isTracing()).toBe(false);
  expect(await traced(describeNothing, async () => 'done')).toBe('done');
  expect(traceHeaders()).toEqual({});
  expect(continueTrace(describeNothing, () => 'done')).toBe('done');
  const idle = new Notes();
  idle.isRecording = false;
  uninstall = installInstrumentation(idle);
  expect(isTracing()).toBe(false);
  expect(await traced(describeNothing, async () => 'done')).toBe('done');
  expect(traceHeaders()).toEqual({});
});

test('a span ends once: with the result, with the error, or when the signal is aborted', async () => {
  const notes = new Notes();
  uninstall = installInstrumentation(notes);
  const outcomeOf = (count: number): SpanOutcome => ({ status: 'ok', count });
  await traced(
    () => operation,
    async () => 3,
    { outcomeOf },
  );
  const error = new Error('no');
  await expect(
    traced(
      () => operation,
      () => Promise.reject(error),
    ),
  ).rejects.toBe(error);
  const stop = new AbortController();
  const hanging = Promise.withResolvers<void>();
  const running = traced(
    () => operation,
    () => hanging.promise,
    { signal: stop.signal },
  );
  stop.abort(new InterruptedError('Friday', 'user'));
  expect(notes.ended).toEqual([
    { status: 'ok', count: 3 },
    { status: 'error', error },
    { status: 'interrupted' },
  ]);
  hanging.resolve();
  await running;
  expect(notes.ended).toHaveLength(3);
});

test('outcomes of errors tell stops from failures', () => {
  const aborted = AbortSignal.abort(new Error('left'));
  expect(outcomeOfError(new Error('x'), aborted)).toEqual({ status: 'aborted' });
  expect(outcomeOfError(new DOMException('x', 'AbortError'))).toEqual({ status: 'aborted' });
  expect(outcomeOfError(new InterruptedError('Friday', 'user'))).toEqual({ status: 'interrupted' });
  expect(outcomeOfError('x')).toEqual({ status: 'error', error: 'x' });
});

test('code without tracing has no spans, also after an await', async () => {
  const notes = new Notes();
  uninstall = installInstrumentation(notes);
  await withoutTracing(async () => {
    await Promise.resolve();
    await traced(
      () => operation,
      async () => {},
    );
    expect(traceHeaders()).toEqual({});
  });
  expect(notes.begun).toEqual([]);
  await traced(
    () => operation,
    async () => {},
  );
  expect(notes.begun).toEqual([operation]);
});

describe('an instrumentation that throws neither fails nor repeats the work', () => {
  const broken = (): never => {
    throw new Error('collector down');
  };
  const span = { capturesContent: false, run: <T>(body: () => T): T => body(), end: () => {} };
  const cases: readonly [string, Instrumentation][] = [
    ['when it is asked', Object.defineProperty(new Notes(), 'isRecording', { get: broken })],
    ['at the start', Object.assign(new Notes(), { begin: broken })],
    ['before the work', Object.assign(new Notes(), { begin: () => ({ ...span, run: broken }) })],
    [
      'after the work',
      Object.assign(new Notes(), {
        begin: () => ({ ...span, run: <T>(body: () => T): T => (body(), broken()) }),
      }),
    ],
    ['at the end', Object.assign(new Notes(), { begin: () => ({ ...span, end: broken }) })],
    ['between programs', Object.assign(new Notes(), { headers: broken, continueTrace: broken })],
  ];

  test.each(cases)('%s', async (when, instrumentation) => {
    uninstall = installInstrumentation(instrumentation);
    const lines: string[] = [];
    let calls = 0;
    await withRunConfig({ logging: { log: (_level, line) => void lines.push(line) } }, async () => {
      const work = async (): Promise<string> => `call ${++calls}`;
      expect(await traced(() => operation, work)).toBe('call 1');
      const hasHeaders = !['between programs', 'when it is asked'].includes(when);
      expect(traceHeaders()).toEqual(hasHeaders ? { traceparent: 'here' } : {});
      expect(await continueTrace(() => undefined, work)).toBe('call 2');
      await expect(
        traced(
          () => operation,
          () => Promise.reject(new TypeError('own')),
        ),
      ).rejects.toThrow('own');
      expect(() =>
        continueTrace(
          () => undefined,
          () => {
            throw new TypeError('own');
          },
        ),
      ).toThrow('own');
    });
    expect(new Set(lines)).toEqual(new Set(['A tracer failed: collector down']));
  });
});
