import { expect, test } from 'vitest';

import { ConcurrencyLimit } from '../tool/concurrency-limit.ts';
import { RegisteredTool } from '../tool/registered-tool.ts';
import { ToolCall, type ToolCallSettings } from './tool-call.ts';

/** The course of tool calls is tested in toolkit.test.ts; this file tests the parts that the toolkit hides. */
test('an interrupted tool call leaves the queue at once', async () => {
  const limit = new ConcurrencyLimit(1);
  const release = await limit.acquire(new AbortController().signal);
  const registered = new RegisteredTool({ name: 't', execute: () => 'ran' });
  const settings: ToolCallSettings = {
    find: () => registered,
    middlewares: [],
    timeoutMs: Infinity,
    maxOutputChars: 100,
    concurrency: limit,
    offload: undefined,
    onAbandoned: () => {},
  };
  const controller = new AbortController();
  const { signal } = controller;
  const answer = new ToolCall(
    settings,
    { type: 'tool_use', id: 'c', name: 't', input: {} },
    { signal },
  ).run();
  await new Promise((resolve) => setImmediate(resolve));
  expect(limit.waiting).toBe(1);
  controller.abort();
  expect(await answer).toMatchObject({ kind: 'result', result: { status: 'interrupted' } });
  expect(limit.waiting).toBe(0);
  release();
  await limit.acquire(new AbortController().signal);
});
