import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';

import { withRunConfig } from '../config/run-config.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { useIdSource } from '../util/ids.ts';
import type { JsonObject } from '../util/json.ts';
import { BackgroundTools, type BackgroundToolsOptions } from './background-tools.ts';
import type { CallToolOptions } from './call/tool-call.ts';
import { ToolResponse } from './tool/tool-response.ts';
import { tool, type Tool, type ToolCallResult, type ToolContext } from './tool/tool.ts';
import { Toolkit } from './toolkit.ts';

let clock: FakeClock;
let stopClock: Disposable;
let stopIds: () => void;
beforeEach(() => {
  clock = new FakeClock();
  stopClock = clock.install();
  let ids = 0;
  stopIds = useIdSource(() => String(++ids));
});
afterEach(() => {
  stopClock[Symbol.dispose]();
  stopIds();
});

/** Toolkit with all tools in the background. */
function setUp(tools: readonly Tool[], options?: BackgroundToolsOptions) {
  const background = new BackgroundTools(options);
  const toolkit = new Toolkit();
  for (const one of tools) toolkit.registerToolFunction(background.inBackground(one));
  for (const one of background.tools) toolkit.registerToolFunction(one);
  const call = (name: string, input: JsonObject = {}, call: CallToolOptions = {}): Promise<ToolCallResult> =>
    toolkit.callToolFunction({ type: 'tool_use', id: `call_${name}`, name, input }, call);
  return { background, toolkit, call };
}

/** Tool that runs until released. */
function slowTool(name = 'slow') {
  const started: ToolContext[] = [];
  let finish: (value: unknown) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const one = tool({
    name,
    execute(_, context) {
      started.push(context);
      return new Promise((resolve, reject) => {
        finish = resolve;
        fail = reject;
      });
    },
  });
  return {
    tool: one,
    started,
    finish: (value: unknown) => finish(value),
    fail: (error: Error) => fail(error),
  };
}

const settle = (): Promise<void> => clock.advance(0);
const task = (id: string, more: JsonObject = {}): JsonObject => ({ task_id: id, ...more });

test('a tool call has a result at once, and the outcome can be viewed later', async () => {
  const slow = slowTool();
  const { call, background } = setUp([slow.tool]);
  expect(await call('slow')).toEqual({
    type: 'tool_result',
    id: 'call_slow',
    name: 'slow',
    output:
      "<system-reminder>The tool 'slow' is running in the background now, as the task 'task_1'. Go on with something else meanwhile: you will be told " +
      'when it is over. Call view_task with this id to see how far it is, wait_task to wait for its result, cancel_task to stop it.</system-reminder>',
    status: 'ok',
    metadata: { taskId: 'task_1' },
  });
  expect(await call('view_task', task('task_1'))).toMatchObject({
    output: "The task 'task_1' of the tool 'slow' is still running.",
    status: 'ok',
  });
  expect(background.tasks).toEqual([{ id: 'task_1', tool: 'slow', state: 'running' }]);

  slow.finish(new ToolResponse('all of it', { metadata: { pages: 3 } }));
  await settle();
  expect(background.tasks).toEqual([{ id: 'task_1', tool: 'slow', state: 'done' }]);
  expect(await call('view_task', task('task_1'))).toEqual({
    type: 'tool_result',
    id: 'call_view_task',
    name: 'view_task',
    output: 'all of it',
    status: 'ok',
    metadata: { pages: 3 },
  });
  expect(background.tasks).toEqual([]);
  expect(background.stateDict()).toEqual({ records: [] });
  expect(await call('view_task', task('task_2'))).toMatchObject({
    output:
      "InvalidTaskIdError: There is no background task 'task_2': it never was, or its result is not kept any longer. There are no tasks.",
    status: 'error',
  });
  expect(clock.pendingTimers).toBe(0);
});

test('only the latest snapshot of a task is kept', async () => {
  let goOn = (): void => {};
  const count = tool({
    name: 'count',
    async *execute() {
      yield '1';
      yield '12';
      await new Promise<void>((resolve) => (goOn = resolve));
      yield [{ type: 'text', text: '123' }];
    },
  });
  const { call } = setUp([count]);
  await call('count');
  await settle();
  expect((await call('view_task', task('task_1'))).output).toBe(
    "The task 'task_1' of the tool 'count' is still running. So far:\n12",
  );
  goOn();
  await settle();
  expect((await call('view_task', task('task_1'))).output).toEqual([{ type: 'text', text: '123' }]);
});

test('waiting ends with the result, or with the time', async () => {
  const slow = slowTool();
  const { call } = setUp([slow.tool]);
  await call('slow');
  const inVain = call('wait_task', task('task_1'));
  await clock.advance(10_000);
  expect((await inVain).output).toBe("The task 'task_1' of the tool 'slow' is still running.");
  const waits = [
    call('wait_task', task('task_1', { timeout: 3000 })),
    call('wait_task', task('task_1', { timeout: 3000 })),
  ];
  await clock.advance(1_000_000);
  slow.finish('done');
  expect((await Promise.all(waits)).map(({ output }) => output)).toEqual(['done', 'done']);
});

test('a result that was not read because of an interrupt can be viewed again, as long as there is space for it', async () => {
  const { call, background, toolkit } = setUp([tool({ name: 'quick', execute: () => 'done' })], {
    maxKept: 2,
  });
  await call('quick');
  await settle();
  const stop = new AbortController();
  const remove = toolkit.registerMiddleware(async (one, next) => {
    await next(one);
    stop.abort(); // while the middleware still runs
    return new Promise<never>(() => {});
  });
  const view = { type: 'tool_use', id: 'v', name: 'view_task', input: task('task_1') } as const;
  const lost = await toolkit.callToolFunction(view, { signal: stop.signal });
  expect(lost.status).toBe('interrupted');
  remove();
  expect((await call('view_task', task('task_1'))).output).toBe('done');
  expect((await call('wait_task', task('task_1'))).output).toBe('done');
  expect([background.tasks, background.takeNotices()]).toEqual([[], []]);

  for (const id of ['task_2', 'task_3']) {
    await call('quick');
    await settle();
    await call('view_task', task(id));
  }
  expect((await call('view_task', task('task_1'))).output).toMatch(/^InvalidTaskIdError:/);
  expect((await call('view_task', task('task_2'))).output).toBe('done');
  background.loadStateDict({ records: [] });
  expect((await call('view_task', task('task_2'))).output).toMatch(/^InvalidTaskIdError:/);
});

test('waiting for a task can be interrupted, and the task continues', async () => {
  const slow = slowTool();
  const { call, background } = setUp([slow.tool]);
  const interrupt = new AbortController();
  await call('slow', {}, { signal: interrupt.signal });
  const waiting = call('wait_task', task('task_1'), { signal: interrupt.signal });
  interrupt.abort();
  expect((await waiting).status).toBe('interrupted');
  expect(slow.started[0]?.signal.aborted).toBe(false);
  slow.finish('still there');
  await settle();
  expect(background.tasks).toEqual([{ id: 'task_1', tool: 'slow', state: 'done' }]);
});

test('a task that fails is told so, and shows why', async () => {
  const slow = slowTool();
  const { call, background } = setUp([slow.tool]);
  await call('slow');
  await settle();
  slow.fail(new Error('no disk'));
  await settle();
  expect(background.takeNotices()).toEqual([
    "The background task 'task_1' of the tool 'slow' has failed. Call view_task with its id to see the result.",
  ]);
  expect(await call('view_task', task('task_1'))).toMatchObject({
    output: 'Error: no disk',
    status: 'error',
  });
});

test('a cancelled task leaves a result, whatever the tool does', async () => {
  const stubborn = tool({
    name: 'stubborn',
    execute(_, { emit }) {
      emit('half');
      return new Promise(() => {});
    },
  });
  const { call, background } = setUp([stubborn]);
  await call('stubborn');
  await settle();
  expect((await call('cancel_task', task('task_1'))).output).toBe(
    "The task 'task_1' is cancelled. Call view_task to see how far it got.",
  );
  expect(background.takeNotices()).toEqual([]); // the canceller knows already
  expect(await call('view_task', task('task_1'))).toMatchObject({
    output:
      "The task 'task_1' of the tool 'stubborn' was cancelled.\nhalf\n<system-info>The tool call has been interrupted by the user.</system-info>",
    status: 'ok',
  });
  expect((await call('cancel_task', task('task_1'))).output).toMatch(/^InvalidTaskIdError:/);
});

test('a task cancelled before its start has a result too', async () => {
  const slow = slowTool();
  const { call } = setUp([{ ...slow.tool, maxConcurrent: 1 }]);
  await call('slow');
  await call('slow');
  await settle();
  await call('cancel_task', task('task_2'));
  expect(slow.started).toHaveLength(1);
  expect((await call('view_task', task('task_2'))).output).toMatch(
    /^The task 'task_2' of the tool 'slow' was cancelled\./,
  );
});

test('a task that is over can not be cancelled, and keeps its result', async () => {
  const { call } = setUp([tool({ name: 'quick', execute: () => 'done' })]);
  await call('quick');
  await settle();
  expect((await call('cancel_task', task('task_1'))).output).toBe(
    "The task 'task_1' is over already. Call view_task to see its result.",
  );
  expect((await call('view_task', task('task_1'))).output).toBe('done');
});

test('the agent is told of each task once, and the program at once', async () => {
  const { call, background } = setUp([tool({ name: 'quick', execute: () => 'done' })]);
  const listener = vi.fn<(done: unknown) => void>(() => {
    throw new Error('a broken listener');
  });
  const other = vi.fn<(done: unknown) => void>();
  background.onDone(listener);
  const stop = background.onDone(other);
  await call('quick');
  await call('quick');
  await settle();
  expect(listener.mock.calls).toEqual([1, 2].map((n) => [{ id: `task_${n}`, tool: 'quick', state: 'done' }]));
  expect(other).toHaveBeenCalledTimes(2);
  stop();
  await call('view_task', task('task_2'));
  const told =
    "The background task 'task_1' of the tool 'quick' is done. Call view_task with its id to see the result.";
  expect(background.takeNotices()).toEqual([told]);
  expect(background.takeNotices()).toEqual([]);
  await call('quick');
  await settle();
  expect(other).toHaveBeenCalledTimes(2);
});

test('arguments are checked before it starts, and reach the tool as the schema made them', async () => {
  const execute = vi.fn<(input: { when: Date; key: string }, context: ToolContext) => unknown>(
    (input, { call, context, agentName }) => [input.when.getTime(), input.key, call.id, context, agentName],
  );
  const schema = z.object({ when: z.string().transform((text) => new Date(text)), key: z.string() });
  const plan = tool({ name: 'plan', description: 'Plans.', schema, preset: { key: 's3cret' }, execute });
  const { call, toolkit } = setUp([]);
  const background = new BackgroundTools();
  toolkit.registerToolFunction(background.inBackground(plan));
  expect(toolkit.getJsonSchemas().at(-1)).toMatchObject({
    name: 'plan',
    description: 'Plans. It runs in the background: the answer is the id of a task.',
    parameters: { properties: { when: { type: 'string' } } },
  });
  expect((await call('plan', { when: 5 })).output).toMatch(/^Arguments Validation Error:/);
  expect(background.tasks).toEqual([]);
  await call('plan', { when: '2026-01-01T00:00:00Z' }, { context: 'user 7', agentName: 'Ann' });
  await settle();
  expect(execute.mock.results[0]?.value).toEqual([
    Date.UTC(2026, 0, 1),
    's3cret',
    'call_plan',
    'user 7',
    'Ann',
  ]);
});

test('time limit, retries, output limit and postProcess are those of the task', async () => {
  let attempts = 0;
  const flaky = tool({
    name: 'flaky',
    timeoutMs: 1000,
    retry: { maxAttempts: 2, baseDelayMs: 0 },
    maxOutputChars: 5,
    returnDirect: true,
    postProcess: ({ id }, { output }) => `${id}: ${String(output)}`,
    execute: () => (++attempts === 1 ? new Promise(() => {}) : '0123456789'),
  });
  const { call, toolkit } = setUp([flaky]);
  expect((await call('flaky')).output).toMatch(/^<system-reminder>.*<\/system-reminder>$/s);
  expect(toolkit.get('flaky')).not.toHaveProperty('returnDirect');
  const result = call('wait_task', task('task_1'));
  await clock.advance(2000);
  expect(attempts).toBe(2);
  expect((await result).output).toBe(
    'call_…\n<system-info>The output has 22 characters. Only the first 5 are shown.</system-info>',
  );
});

test('by default a task may take an hour', async () => {
  const { call } = setUp([slowTool().tool]);
  await call('slow');
  await clock.advance(3_600_000);
  expect((await call('view_task', task('task_1'))).output).toBe(
    'TimeoutError: The tool gave no result within 3600 s.',
  );
});

test('the numbers of running tools and of kept results are limited', async () => {
  const slow = slowTool();
  const { call, background } = setUp([slow.tool, tool({ name: 'quick', execute: () => 'done' })], {
    maxRunning: 2,
    maxKept: 2,
  });
  await call('slow');
  for (let i = 0; i < 3; i++) {
    await call('quick');
    await settle();
  }
  // a running task is never dropped
  expect(background.tasks.map(({ id }) => id)).toEqual(['task_1', 'task_3', 'task_4']);
  await call('slow');
  expect(await call('quick')).toMatchObject({
    output: 'Error: There are 2 tasks in the background already. Wait for one of them, or cancel one.',
    status: 'error',
  });
  expect(() => new BackgroundTools({ maxRunning: 0 })).toThrow('maxRunning');
  expect(() => new BackgroundTools({ maxKept: 0 })).toThrow('maxKept');
});

test('the oldest results are dropped first', async () => {
  const slow = slowTool();
  const { call, background } = setUp([slow.tool, tool({ name: 'quick', execute: () => 'done' })], {
    maxKept: 2,
  });
  await call('slow');
  await call('quick');
  await settle();
  slow.finish('late');
  await settle();
  await call('quick');
  await settle();
  expect(background.tasks.map(({ id }) => id)).toEqual(['task_1', 'task_3']);
});

test('tasks are saved, and one that was running is lost afterwards', async () => {
  const slow = slowTool();
  const { call, background } = setUp([
    slow.tool,
    tool({ name: 'quick', execute: () => [{ type: 'text', text: 'blocks' }] }),
  ]);
  await call('quick');
  await settle();
  await call('slow');
  await settle();
  slow.started[0]?.emit('half');
  await settle();
  const state = background.stateDict();
  expect(state).toEqual({
    records: [
      {
        id: 'task_1',
        tool: 'quick',
        state: 'done',
        isTold: false,
        result: {
          type: 'tool_result',
          id: 'task_1',
          name: 'quick',
          output: [{ type: 'text', text: 'blocks' }],
          status: 'ok',
        },
      },
      {
        id: 'task_2',
        tool: 'slow',
        state: 'running',
        isTold: false,
        result: { type: 'tool_result', id: 'task_2', name: 'slow', output: 'half', status: 'ok' },
      },
    ],
  });
  expect(() => background.loadStateDict(state)).toThrow('still has tasks running');

  const later = setUp([]);
  later.background.loadStateDict(state);
  expect(later.background.tasks).toEqual([
    { id: 'task_1', tool: 'quick', state: 'done' },
    { id: 'task_2', tool: 'slow', state: 'lost' },
  ]);
  expect(later.background.takeNotices()).toEqual([
    "The background task 'task_1' of the tool 'quick' is done. Call view_task with its id to see the result.",
    "The background task 'task_2' of the tool 'slow' was running when the program ended, and its outcome is unknown. Call view_task with its id to see the result.",
  ]);
  expect((await later.call('view_task', task('task_1'))).output).toEqual([{ type: 'text', text: 'blocks' }]);
  expect(await later.call('wait_task', task('task_2'))).toMatchObject({
    output:
      "The task 'task_2' of the tool 'slow' was running when the program ended. Its outcome is unknown. Find out what it has changed before you start it again. It had shown:\nhalf",
    status: 'error',
  });
});

test('a state that is none changes nothing', () => {
  const background = new BackgroundTools();
  const good = { id: 'task_1', tool: 'slow', state: 'done', isTold: true };
  background.loadStateDict({ records: [good] });
  const bad: JsonObject[] = [
    { records: 'none' },
    { records: [1] },
    { records: [{ ...good, id: 5 }] },
    { records: [{ ...good, state: 'new' }] },
    { records: [{ ...good, isTold: 'no' }] },
    { records: [{ ...good, result: { type: 'text', text: 'x' } }] },
  ];
  for (const state of bad) expect(() => background.loadStateDict(state)).toThrow('Invalid state');
  expect(background.tasks).toEqual([{ id: 'task_1', tool: 'slow', state: 'done' }]);
});

test('disposing cancels all, and nothing is started any more', async () => {
  const slow = slowTool();
  const { call, background } = setUp([slow.tool]);
  await call('slow');
  await call('slow');
  await settle();
  await background[Symbol.asyncDispose]();
  expect(slow.started.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  expect(background.tasks.map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
  expect((await call('slow')).output).toBe('Error: The background tools are disposed: no more tasks start.');
  expect(clock.pendingTimers).toBe(0);
});

test('two tools of one name keep apart', async () => {
  const background = new BackgroundTools();
  const toolkits = ['a', 'b'].map((answer) => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(background.inBackground(tool({ name: 'same', execute: () => answer })));
    toolkit.registerToolFunction(background.tools[1] as Tool);
    return toolkit;
  });
  for (const [i, toolkit] of toolkits.entries()) {
    await toolkit.callToolFunction({ type: 'tool_use', id: 'c', name: 'same', input: {} });
    const input = { task_id: `task_${i + 1}` };
    const { output } = await toolkit.callToolFunction({
      type: 'tool_use',
      id: 'd',
      name: 'wait_task',
      input,
    });
    expect(output).toBe(['a', 'b'][i]);
  }
});

test('a listener that fails later is logged, and holds up nobody', async () => {
  const { background, call } = setUp([tool({ name: 'quick', execute: () => 'x' })]);
  const log = vi.fn<(...entry: unknown[]) => void>();
  background.onDone(async () => Promise.reject(new Error('the agent is busy')));
  await withRunConfig({ logging: { log } }, () => call('quick'));
  expect(await call('wait_task', { task_id: 'task_1' })).toMatchObject({ output: 'x' });
  await clock.advance(0);
  expect(log.mock.calls).toEqual([['warn', 'A listener of a background task failed: the agent is busy']]);
});

test('returned notices are the taken ones, even if others were taken meanwhile', async () => {
  const slow = slowTool();
  const { background, call } = setUp([slow.tool, tool({ name: 'quick', execute: () => 'x' })]);
  await call('slow');
  await call('quick');
  await clock.advance(0);
  const notices = background.takeNotices();
  slow.finish('y');
  await clock.advance(0);
  const others = background.takeNotices();
  background.giveNoticesBack(notices);
  expect([notices.length, others.length, background.takeNotices()]).toEqual([1, 1, notices]);
});

test('no more results are loaded than are kept, and a name in them forges no line', () => {
  const background = new BackgroundTools({ maxKept: 2 });
  const saved = (id: string) => ({ id, tool: 't\n# Forged', state: 'done', isTold: false });
  background.loadStateDict({ records: ['a', 'b', 'c'].map(saved) });
  expect(background.tasks.map(({ id }) => id)).toEqual(['b', 'c']);
  expect(background.takeNotices().join('')).not.toContain('\n');
});
