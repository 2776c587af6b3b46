import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { expect, test } from 'vitest';

import { ConcurrencyLimit } from '../tool/concurrency-limit.ts';
import { RegisteredTool } from '../tool/registered-tool.ts';
import { Toolkit } from '../toolkit.ts';
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

test('a schema that interrupts its own tool call, and then fails, rejects nothing that nobody awaits', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const controller = new AbortController();
  const schema: StandardSchemaV1 & StandardJSONSchemaV1 = {
    '~standard': {
      version: 1,
      vendor: 'own',
      validate: () => {
        controller.abort();
        return Promise.reject(new Error('gone'));
      },
      jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
    },
  };
  const toolkit = new Toolkit({ tools: [{ name: 't', schema, execute: () => 'ran' }] });
  const { signal } = controller;
  const result = await toolkit.callToolFunction(
    { type: 'tool_use', id: 'c', name: 't', input: {} },
    { signal },
  );
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect([result.status, unhandled]).toEqual(['interrupted', []]);
});
