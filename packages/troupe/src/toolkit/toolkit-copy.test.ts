import { expect, test } from 'vitest';
import { z } from 'zod';
import { tool } from './tool/tool.ts';
import { Toolkit } from './toolkit.ts';

const find = tool({ name: 'find', schema: z.object({ what: z.string() }), execute: ({ what }) => what });
const call = (name: string, input = {}) => ({ type: 'tool_use', id: 'c1', name, input }) as const;

function original(): Toolkit {
  const toolkit = new Toolkit({ tools: [find], maxOutputChars: 50 });
  toolkit.createToolGroup('web', { description: 'The web', notes: 'Be polite.', active: true });
  toolkit.createToolGroup('disk', { description: 'The disk' });
  toolkit.registerToolFunction({ name: 'open', group: 'disk', execute: () => 'opened' });
  toolkit.setExtendedModel('find', z.object({ why: z.string() }));
  toolkit.registerMiddleware((block, next) => next({ ...block, input: { ...block.input, why: 'x' } }));
  return toolkit;
}

test('a copy has the tools, groups, extensions, middleware and limits', async () => {
  const copy = original().copyWith(tool({ name: 'now', execute: () => 'noon' }));
  expect(copy.names).toEqual(['find', 'open', 'now']);
  expect(copy.activeGroups).toEqual(['web']);
  expect(copy.getJsonSchemas()).toEqual([
    ...original().getJsonSchemas(),
    expect.objectContaining({ name: 'now' }),
  ]);
  const result = await copy.callToolFunction(call('find', { what: 'y'.repeat(80) }));
  expect([result.status, String(result.output).length]).toEqual(['ok', expect.any(Number)]);
  expect(String(result.output)).not.toContain('y'.repeat(80));
  expect((await copy.callToolFunction(call('now'))).output).toBe('noon');
});

test('neither changes the other', async () => {
  const toolkit = original();
  const copy = toolkit.copyWith();
  const before = toolkit.getJsonSchemas();
  copy.setExtendedModel('find', undefined);
  copy.updateToolGroups(['disk'], true);
  copy.removeToolFunction('open');
  copy.createToolGroup('extra', { description: 'More' });
  expect([toolkit.names, toolkit.activeGroups, toolkit.hasToolGroup('extra')]).toEqual([
    ['find', 'open'],
    ['web'],
    false,
  ]);
  expect(toolkit.getJsonSchemas()).toBe(before);
  toolkit.clear();
  expect(copy.names).toEqual(['find']);
  await toolkit.metaTool.execute({ web: false } as never, {} as never);
  expect(copy.activeGroups).toEqual(['web', 'disk']);
});
