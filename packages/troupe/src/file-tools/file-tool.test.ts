import { expect, test } from 'vitest';

import { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import { InMemoryFileSystem } from '../filesystem/in-memory-file-system.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { makeFileTool } from './file-tool.ts';
import { fileTools } from './file-tools.ts';

const whole = new FileSystemHandle(new InMemoryFileSystem());
const part = whole.narrow(['/workspace/part/']);
const write = (name: string, path: string) =>
  ({ type: 'tool_use', id: path, name, input: { path, content: 'x' } }) as const;

test('a file tool is made again for other files, and again for others', async () => {
  const least = part.narrow([{ path: '/workspace/part/', operations: ['list'] }]);
  const count = makeFileTool(whole, (files) =>
    tool({ name: 'can_write', execute: () => files.can('write', '/workspace/part/x') }),
  );
  const bound = count.files?.bind(part);
  const outputs = [];
  for (const one of [count, bound, bound?.files?.bind(least)]) {
    if (one === undefined) throw new Error('it is not bound to files');
    const toolkit = new Toolkit({ tools: [one] });
    const call = { type: 'tool_use', id: 'c', name: 'can_write', input: {} } as const;
    outputs.push((await toolkit.callToolFunction(call)).output);
  }
  expect(outputs).toEqual(['true', 'true', 'false']);
});

test('every tool of fileTools can be bound to other files', async () => {
  const tools = fileTools(whole, { maxOutputChars: 1234 });
  expect(tools.length).toBeGreaterThan(10);
  const bound = tools.map((one) => one.files?.bind(part));
  expect(bound.map((one) => [one?.name, one?.maxOutputChars])).toEqual(tools.map(({ name }) => [name, 1234]));
  const toolkit = new Toolkit({ tools: bound.filter((one) => one !== undefined) });
  expect(await toolkit.callToolFunction(write('write_file', '/workspace/x'))).toMatchObject({
    status: 'error',
  });
  expect(await toolkit.callToolFunction(write('write_file', '/workspace/part/x'))).toMatchObject({
    status: 'ok',
  });
  expect(JSON.stringify(toolkit.getJsonSchemas())).not.toContain('/userinput/');
});
