import { describe, expect, test } from 'vitest';

import type { ToolUseBlock } from '../../message/blocks.ts';
import type { ToolMiddleware } from './tool-middleware.ts';
import { ToolResponse } from '../tool/tool-response.ts';
import { ToolSuspension } from '../tool/tool-suspension.ts';
import type { ToolCallResult } from '../tool/tool.ts';
import { isSuspended } from './tool-call-outcome.ts';
import { Toolkit, type ToolkitOptions } from '../toolkit.ts';

const call: ToolUseBlock = { type: 'tool_use', id: 'c1', name: 'echo', input: { text: 'ori' } };
const echoSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

interface Setup {
  readonly toolkit: Toolkit;
  readonly ran: unknown[];
}

function setUp(middlewares: readonly ToolMiddleware[], options?: ToolkitOptions): Setup {
  const toolkit = new Toolkit(options);
  const ran: unknown[] = [];
  toolkit.registerToolFunction({
    name: 'echo',
    schema: echoSchema,
    execute({ text }) {
      ran.push(text);
      return text;
    },
  });
  for (const middleware of middlewares) toolkit.registerMiddleware(middleware);
  return { toolkit, ran };
}

function result(output: string, status: ToolCallResult['status'] = 'ok'): ToolCallResult {
  return { type: 'tool_result', id: 'c1', name: 'echo', output, status };
}

/** Adds text to the argument on the way in, and to the result on the way out. */
function adding(mark: string): ToolMiddleware {
  return async (call, next) => {
    const inner = await next({ ...call, input: { text: `${String(call.input['text'])}[pre${mark}]` } });
    if (isSuspended(inner)) return inner;
    return { ...inner, output: `${String(inner.output)}[post${mark}]` };
  };
}

test('the first that was registered is the outermost', async () => {
  const { toolkit } = setUp([adding('1'), adding('2')]);
  expect(await toolkit.callToolFunction(call)).toEqual(result('ori[pre1][pre2][post2][post1]'));
});

test('a removed middleware no longer runs, even if registered twice', async () => {
  const { toolkit } = setUp([adding('1')]);
  const again = adding('2');
  const remove = toolkit.registerMiddleware(again);
  toolkit.registerMiddleware(again);
  remove();
  remove();
  expect((await toolkit.callToolFunction(call)).output).toBe('ori[pre1][pre2][post2][post1]');
});

test('a middleware may answer without the tool, with any output of a tool', async () => {
  for (const [answer, expected] of [
    ['cached', result('cached')],
    [new ToolResponse('no', { status: 'denied' }), result('no', 'denied')],
    [result('own', 'error'), result('own', 'error')],
  ] as const) {
    const { toolkit, ran } = setUp([() => answer]);
    expect(await toolkit.callToolFunction(call)).toEqual(expected);
    expect(ran).toEqual([]);
  }
});

test('a middleware may run another tool; the result keeps the id and name of the tool call', async () => {
  const { toolkit } = setUp([(call, next) => next({ ...call, id: 'x', name: 'other', input: {} })]);
  toolkit.registerToolFunction({ name: 'other', execute: (_, context) => `for ${context.call.name}` });
  expect(await toolkit.callToolFunction(call)).toEqual(result('for other'));
});

test('changed arguments are checked again', async () => {
  const { toolkit, ran } = setUp([(call, next) => next({ ...call, input: { text: 5 } })]);
  expect(await toolkit.callToolFunction(call)).toMatchObject({
    status: 'error',
    output: expect.stringContaining('Arguments Validation Error:'),
  });
  const unknown = setUp([(call, next) => next({ ...call, name: 'none' })]);
  expect(await unknown.toolkit.callToolFunction(call)).toMatchObject({ status: 'unavailable', name: 'echo' });
  const broken = setUp([(call, next) => next({ ...call, rawInput: '{' })]);
  expect(await broken.toolkit.callToolFunction(call)).toMatchObject({ status: 'error' });
  expect([ran, unknown.ran, broken.ran]).toEqual([[], [], []]);
});

test('a tool call with wrong arguments needs no approval', async () => {
  let asked = 0;
  const { toolkit } = setUp([
    (_, next) => {
      asked++;
      return next();
    },
  ]);
  await toolkit.callToolFunction({ ...call, name: 'none' });
  await toolkit.callToolFunction({ ...call, rawInput: '{' });
  expect(asked).toBe(0);
  expect(await toolkit.callToolFunction(call)).toEqual(result('ori'));
  expect(asked).toBe(1);
});

test('each next runs the tool', async () => {
  const { toolkit, ran } = setUp([
    async (call, next) => {
      const [first, second] = await Promise.all([next(), next({ ...call, input: { text: 'other' } })]);
      if (isSuspended(first) || isSuspended(second)) throw new Error('The tool call must not be suspended.');
      return `${String(first.output)}+${String(second.output)}`;
    },
  ]);
  expect(await toolkit.callToolFunction(call)).toEqual(result('ori+other'));
  expect(ran).toEqual(['ori', 'other']);
});

test('a middleware gets the signal, the context and the agent name', async () => {
  const seen: unknown[] = [];
  const { toolkit } = setUp([
    (call, next, context) => {
      seen.push(context);
      return next(call);
    },
  ]);
  const { signal } = new AbortController();
  await toolkit.callToolFunction(call, { signal, context: { user: 7 }, agentName: 'Ada' });
  expect(seen).toEqual([{ signal, context: { user: 7 }, agentName: 'Ada' }]);
});

describe('a failing middleware', () => {
  test.each<[string, ToolMiddleware, string]>([
    [
      'throws',
      () => {
        throw new Error('no way');
      },
      'Error: no way',
    ],
    ['rejects', () => Promise.reject(new Error('later')), 'Error: later'],
    [
      'throws after the tool',
      async (_, next) => {
        await next();
        throw new Error('after');
      },
      'Error: after',
    ],
    [
      'returns nothing',
      (() => undefined) as never,
      'Error: A tool middleware returned undefined. It must return the result of next(), or a result of its own.',
    ],
    [
      'returns a function',
      (() => () => 1) as never,
      "Error: The result is a function, which JSON can't hold. A tool returns text, blocks, a ToolResponse, or JSON.",
    ],
    [
      'returns a status that is none',
      (() => ({ ...result('x'), status: 'fine' })) as never,
      'Error: result.status must be one of ok, error, interrupted, denied, unavailable.',
    ],
  ])('%s: an error result', async (_, middleware, output) => {
    const { toolkit } = setUp([middleware]);
    expect(await toolkit.callToolFunction(call)).toEqual(result(output, 'error'));
  });

  test('may be caught by one around it', async () => {
    const { toolkit } = setUp([
      async (_, next) => next().catch((error: unknown) => `caught ${String(error)}`),
      () => {
        throw new Error('inner');
      },
    ]);
    expect((await toolkit.callToolFunction(call)).output).toBe('caught Error: inner');
  });
});

describe('an interrupt', () => {
  test('does not wait for it, and runs no tool afterwards', async () => {
    const controller = new AbortController();
    let approve = (): void => {};
    const late: unknown[] = [];
    const { toolkit, ran } = setUp([
      async (_, next) => {
        await new Promise<void>((resolve) => {
          approve = resolve;
        });
        return next().catch((error: unknown) => {
          late.push(error);
          throw error;
        });
      },
    ]);
    const answer = toolkit.callToolFunction(call, { signal: controller.signal });
    await Promise.resolve();
    controller.abort(new Error('stop'));
    expect(await answer).toMatchObject({ status: 'interrupted', id: 'c1' });
    approve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(ran).toEqual([]);
    expect(late).toEqual([new Error('stop')]);
  });

  test('before the tool call asks nobody', async () => {
    let asked = 0;
    const { toolkit } = setUp([
      (_, next) => {
        asked++;
        return next();
      },
    ]);
    expect((await toolkit.callToolFunction(call, { signal: AbortSignal.abort() })).status).toBe(
      'interrupted',
    );
    expect(asked).toBe(0);
  });

  test('a next that nobody waits for harms nobody', async () => {
    const controller = new AbortController();
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({ name: 'echo', execute: () => new Promise(() => {}) });
    toolkit.registerMiddleware((call, next) => {
      void next(call);
      return 'early';
    });
    expect(await toolkit.callToolFunction(call, { signal: controller.signal })).toEqual(result('early'));
    controller.abort(new Error('stop'));
    await new Promise((resolve) => setImmediate(resolve)); // an unhandled rejection would fail this run
  });
});

test('a tool that goes on after the answer shows nothing any more', async () => {
  const toolkit = new Toolkit();
  const seen: unknown[] = [];
  let show = (): void => {};
  let ended = 0;
  toolkit.registerToolFunction({
    name: 'echo',
    async *execute() {
      await new Promise<void>((resolve) => {
        show = resolve;
      });
      yield 'late';
      ended++;
    },
  });
  toolkit.registerMiddleware((call, next) => {
    void next(call);
    return 'early';
  });
  await toolkit.callToolFunction(call, { onChunk: (chunk) => seen.push(chunk) });
  await new Promise((resolve) => setImmediate(resolve));
  show();
  await new Promise((resolve) => setImmediate(resolve));
  expect([seen, ended]).toEqual([[], 1]);
});

test('a next after the answer runs nothing', async () => {
  let later = (): Promise<unknown> => Promise.resolve();
  const { toolkit, ran } = setUp([
    (_, next) => {
      later = next;
      return 'early';
    },
  ]);
  expect(await toolkit.callToolFunction(call)).toEqual(result('early'));
  await expect(later()).rejects.toThrow('The tool call already has its outcome.');
  expect(ran).toEqual([]);
});

describe('a suspended tool call', () => {
  const suspendedCall = { kind: 'suspended', suspension: { kind: 'external', call, reason: 'ask Ann' } };

  function setUpSuspended(...middlewares: readonly ToolMiddleware[]): Toolkit {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({
      name: 'echo',
      schema: echoSchema,
      execute() {
        throw new ToolSuspension('ask Ann');
      },
    });
    for (const middleware of middlewares) toolkit.registerMiddleware(middleware);
    return toolkit;
  }

  test.each<[string, ToolMiddleware]>([
    ['passes it on', (_, next) => next()],
    ['returns a result of its own', async (_, next) => ((await next()) ? 'done' : 'not run')],
    [
      'throws',
      async (_, next) => {
        await next();
        throw new Error('unexpected');
      },
    ],
    ['returns nothing', (async (_: unknown, next: () => Promise<unknown>) => void (await next())) as never],
  ])('stays suspended under middleware that %s', async (_name, middleware) => {
    expect(await setUpSuspended(middleware).runToolCall(call)).toEqual(suspendedCall);
    const outer = adding('1');
    expect(await setUpSuspended(outer, middleware, outer).runToolCall(call)).toMatchObject({
      kind: 'suspended',
      suspension: { call: { input: { text: 'ori[pre1][pre1]' } } },
    });
  });

  test('is seen by middleware as a suspension, not as a failure', async () => {
    const seen: unknown[] = [];
    const toolkit = setUpSuspended(async (_, next) => {
      const given = await next();
      seen.push(isSuspended(given), given);
      return given;
    });
    await toolkit.runToolCall(call);
    expect(seen).toEqual([true, suspendedCall]);
  });

  test('is a result for a program without an agent', async () => {
    expect(await setUpSuspended(adding('1')).callToolFunction(call)).toEqual(
      result('ask Ann', 'unavailable'),
    );
  });

  test('not awaited by a middleware is replaced by the result of the middleware', async () => {
    const toolkit = setUpSuspended((_, next) => {
      void next();
      return 'early';
    });
    expect(await toolkit.runToolCall(call)).toEqual({ kind: 'result', result: result('early') });
  });
});

describe('snapshots of a streaming tool', () => {
  const REDACT: ToolMiddleware = async (_call, next) => {
    const given = await next();
    return isSuspended(given) ? given : redacted(given);
  };
  const redacted = (given: ToolCallResult): ToolCallResult => ({
    ...given,
    output: String(given.output).replaceAll('4711', '****'),
  });
  const redactAll: ToolMiddleware = async (call, next) => {
    const given = await next(call, { mapChunk: redacted });
    return isSuspended(given) ? given : redacted(given);
  };
  const marking =
    (mark: string): ToolMiddleware =>
    (call, next) =>
      next(call, { mapChunk: (chunk) => ({ ...chunk, output: `${String(chunk.output)}${mark}` }) });

  /** The snapshots that somebody outside sees, and the result. */
  async function run(
    middlewares: readonly ToolMiddleware[],
    options: { readonly stopAt?: string } = {},
  ): Promise<{ shown: unknown[]; result: ToolCallResult }> {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({
      name: 'echo',
      async *execute() {
        yield 'card';
        yield 'card 4711';
        if (options.stopAt !== undefined) await new Promise<never>(() => {});
        return 'card 4711 is fine';
      },
    });
    for (const middleware of middlewares) toolkit.registerMiddleware(middleware);
    const controller = new AbortController();
    const shown: unknown[] = [];
    const onChunk = ({ output }: ToolCallResult): void => {
      shown.push(output);
      if (output === options.stopAt) setImmediate(() => controller.abort());
    };
    if (options.stopAt === '') setImmediate(() => controller.abort());
    const result = await toolkit.callToolFunction(
      { ...call, input: {} },
      { onChunk, signal: controller.signal },
    );
    return { shown, result };
  }

  test('are held back by a middleware that does not look at them', async () => {
    const { shown, result: given } = await run([REDACT]);
    expect(shown).toEqual([]);
    expect(given).toEqual(result('card **** is fine'));
  });

  test('pass through a middleware that does, and show what it makes of them', async () => {
    const { shown, result: given } = await run([redactAll]);
    expect(shown).toEqual(['card', 'card ****']);
    expect(given).toEqual(result('card **** is fine'));
  });

  test('go from the innermost middleware to the outermost; one that is silent holds them back for all', async () => {
    expect((await run([marking(' 1'), marking(' 2'), redactAll])).shown).toEqual([
      'card 2 1',
      'card **** 2 1',
    ]);
    expect((await run([marking(' 1'), REDACT])).shown).toEqual([]);
    expect((await run([REDACT, marking(' 1')])).shown).toEqual([]);
  });

  test('may be dropped, changed to a text, or changed later', async () => {
    const choosy: ToolMiddleware = (call, next) =>
      next(call, {
        mapChunk: async ({ output }) =>
          output === 'card' ? undefined : `${String(output).length} characters`,
      });
    expect((await run([choosy])).shown).toEqual(['9 characters']);
  });

  test('are not shown where a middleware throws over them; the result comes all the same', async () => {
    const broken: ToolMiddleware = (call, next) =>
      next(call, {
        mapChunk: () => {
          throw new Error('4711 is a secret');
        },
      });
    const { shown, result: given } = await run([broken]);
    expect([shown, given.output]).toEqual([[], 'card 4711 is fine']);
  });

  test('are changed too in the result of an interrupted tool call', async () => {
    const note = '<system-info>The tool call has been interrupted by the user.</system-info>';
    const seen = await run([redactAll], { stopAt: 'card ****' });
    expect(seen.result).toEqual(result(`card ****\n${note}`, 'interrupted'));
    const hidden = await run([REDACT], { stopAt: '' });
    expect(hidden).toEqual({ shown: [], result: result(note, 'interrupted') });
  });

  test('of a tool that runs again by a second next() are changed by that one', async () => {
    const twice: ToolMiddleware = async (call, next) => {
      await next(call, { mapChunk: (chunk) => chunk });
      return next(call, { mapChunk: redacted });
    };
    expect((await run([twice])).shown).toEqual(['card', 'card 4711', 'card', 'card ****']);
  });
});
