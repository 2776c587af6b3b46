import { expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import { tool, type Tool, type ToolCallResult } from '../tool/tool.ts';
import { Toolkit, type ToolkitOptions } from '../toolkit.ts';

const NOTE = '<system-info>The tool call has been interrupted by the user.</system-info>';
const call = { type: 'tool_use', id: 'c1', name: 'work', input: {} } as const;

/** A tool that shows these snapshots and then hangs until the interrupt. */
async function interrupted(
  snapshots: readonly unknown[],
  settings: Partial<Tool>,
  options: ToolkitOptions = {},
): Promise<ToolCallResult> {
  const controller = new AbortController();
  const work = tool({
    name: 'work',
    async *execute() {
      for (const snapshot of snapshots) yield snapshot;
      setImmediate(() => controller.abort());
      await new Promise<never>(() => {});
    },
  });
  const toolkit = new Toolkit({ ...options, tools: [{ ...work, ...settings }] });
  return toolkit.callToolFunction(call, { signal: controller.signal, onChunk: () => {} });
}

const result = (output: ToolCallResult['output']): ToolCallResult => ({
  type: 'tool_result',
  id: 'c1',
  name: 'work',
  output,
  status: 'interrupted',
});
const star = (text: unknown): string => String(text).replaceAll('4711', '****');

test('postProcess changes what the tool had shown once, together with the note', async () => {
  const seen: unknown[] = [];
  const postProcess: Tool['postProcess'] = (_call, given) => {
    seen.push([given.status, given.output]);
    return { ...given, output: `[${star(given.output)}]` };
  };
  expect(await interrupted(['card 4711'], { postProcess })).toEqual(result(`[card ****\n${NOTE}]`));
  expect(seen).toEqual([
    ['ok', 'card 4711'],
    ['interrupted', `card 4711\n${NOTE}`],
  ]);
});

test('postProcess runs also if the tool has shown nothing, and may be async or return nothing', async () => {
  const added: Tool['postProcess'] = async (_call, { output }) => `Please check. ${String(output)}`;
  expect(await interrupted([], { postProcess: added })).toEqual(result(`Please check. ${NOTE}`));
  expect(await interrupted(['half'], { postProcess: () => undefined })).toEqual(result(`half\n${NOTE}`));
});

test.each([
  ['throws', (): never => fail()],
  ['rejects', async (): Promise<never> => fail()],
  ['hangs', (): Promise<never> => new Promise<never>(() => {})],
])('where postProcess %s on the interrupted result, nothing of the tool is shown', async (_, broken) => {
  const postProcess: Tool['postProcess'] = (_call, given) =>
    given.status === 'interrupted' ? broken() : { ...given, output: star(given.output) };
  await withRunConfig({ logging: 'silent' }, async () => {
    expect(await interrupted(['card 4711'], { postProcess })).toEqual(result(NOTE));
  });
});

test('a long output is cut behind postProcess, and keeps the note', async () => {
  const postProcess: Tool['postProcess'] = (_call, given) => ({ ...given, output: star(given.output) });
  const { output } = await interrupted(
    [`${'a'.repeat(98)}4711${'b'.repeat(500)}`],
    { postProcess },
    {
      maxOutputChars: 100,
    },
  );
  expect(output).toMatch(/^a{98}\*\*…/);
  expect(String(output).endsWith(NOTE)).toBe(true);
});

test('a tool call that never ran has no postProcess', async () => {
  let runs = 0;
  const toolkit = new Toolkit({
    tools: [tool({ name: 'work', execute: () => 'done', postProcess: () => void runs++ })],
  });
  const given = await toolkit.callToolFunction(call, { signal: AbortSignal.abort() });
  expect([given, runs]).toEqual([result(NOTE), 0]);
});

function fail(): never {
  throw new Error('broken');
}
