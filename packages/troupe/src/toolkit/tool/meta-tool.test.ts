import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../util/json.ts';
import { Toolkit } from '../toolkit.ts';

function make(): Toolkit {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(toolkit.metaTool);
  toolkit.createToolGroup('browser', { description: 'Reads web pages.', notes: 'Go to a page first.' });
  toolkit.createToolGroup('files', { description: 'Reads files.' });
  toolkit.registerToolFunction({ name: 'open_page', group: 'browser', execute: () => 'opened' });
  return toolkit;
}

async function reset(toolkit: Toolkit, input: JsonObject): Promise<readonly [string, unknown]> {
  const call = { type: 'tool_use', id: 'c', name: 'reset_equipped_tools', input } as const;
  const { status, output } = await toolkit.callToolFunction(call);
  return [status, output];
}

describe('the schema of the meta tool', () => {
  test('has a boolean for each group, and follows them', () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(toolkit.metaTool);
    const parameters = (): unknown => toolkit.getJsonSchemas()[0]?.parameters;
    const empty = toolkit.getJsonSchemas()[0];
    expect(empty).toEqual({
      name: 'reset_equipped_tools',
      description:
        'Chooses the tool groups that you can use from now on. Name every group that you need: the others are deactivated.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    });
    toolkit.createToolGroup('browser', { description: 'Reads web pages.' });
    expect(parameters()).toEqual({
      type: 'object',
      properties: { browser: { type: 'boolean', description: 'Reads web pages.', default: false } },
      additionalProperties: false,
    });
    toolkit.createToolGroup('files', { description: 'Reads files.', active: true });
    expect(Object.keys((parameters() as { properties: object }).properties)).toEqual(['browser', 'files']);
    toolkit.removeToolGroups(['browser', 'files']);
    expect(toolkit.getJsonSchemas()[0]).toEqual(empty);
  });

  test('is the same object when groups are only activated', async () => {
    const toolkit = make();
    const [before] = toolkit.getJsonSchemas();
    await reset(toolkit, { browser: true });
    expect(toolkit.getJsonSchemas().map(({ name }) => name)).toEqual(['reset_equipped_tools', 'open_page']);
    expect(toolkit.getJsonSchemas()[0]).toBe(before);
  });

  test('may have a group of any name', async () => {
    const toolkit = make();
    toolkit.createToolGroup('__proto__', { description: 'x' });
    toolkit.createToolGroup('constructor', { description: 'y' });
    const input = JSON.parse('{"__proto__": true, "constructor": true}') as JsonObject;
    expect((await reset(toolkit, input))[0]).toBe('ok');
    expect(toolkit.activeGroups).toEqual(['__proto__', 'constructor']);
  });
});

describe('a call', () => {
  test('says which groups are active from then on, with their notes', async () => {
    const toolkit = make();
    toolkit.updateToolGroups(['files'], true);
    expect(await reset(toolkit, { browser: true })).toEqual([
      'ok',
      "These tool groups are active now, and no others: 'browser'. Mind the notes on how to use them.\n" +
        "<notes>\n## About Tool Group 'browser'\nGo to a page first.\n</notes>",
    ]);
    expect(toolkit.activeGroups).toEqual(['browser']);
    expect(await reset(toolkit, { files: true, browser: false })).toEqual([
      'ok',
      "These tool groups are active now, and no others: 'files'.",
    ]);
    expect(toolkit.activeGroups).toEqual(['files']);
  });

  test('with nothing deactivates all', async () => {
    const toolkit = make();
    toolkit.updateToolGroups(['files', 'browser'], true);
    expect(await reset(toolkit, {})).toEqual(['ok', 'All tool groups are deactivated now.']);
    expect(toolkit.activeGroups).toEqual([]);
  });

  test.each<[string, JsonObject, string]>([
    ['an unknown group', { files: true, music: true }, '- music: This is not allowed here.'],
    ['the basic group', { basic: false }, '- basic: This is not allowed here.'],
    ['no boolean', { files: 1 }, '- files: Instance type "number" is invalid. Expected "boolean".'],
    [
      'text that is no boolean',
      { files: 'yes' },
      '- files: Instance type "string" is invalid. Expected "boolean".',
    ],
  ])('with %s is an error, and changes nothing', async (_, input, problem) => {
    const toolkit = make();
    toolkit.updateToolGroups(['browser'], true);
    expect(await reset(toolkit, input)).toEqual([
      'error',
      `Arguments Validation Error: Correct these and call the tool again.\n${problem}`,
    ]);
    expect(toolkit.activeGroups).toEqual(['browser']);
  });

  test('takes a boolean in a string', async () => {
    const toolkit = make();
    expect((await reset(toolkit, { files: 'true' }))[0]).toBe('ok');
    expect(toolkit.activeGroups).toEqual(['files']);
  });

  test('goes through middleware like any other', async () => {
    const toolkit = make();
    toolkit.registerMiddleware((call, next) => next({ ...call, input: { ...call.input, files: true } }));
    await reset(toolkit, { browser: true });
    expect(toolkit.activeGroups).toEqual(['browser', 'files']);
  });
});
