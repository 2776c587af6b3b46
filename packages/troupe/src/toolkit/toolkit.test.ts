import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { withRunConfig } from '../config/run-config.ts';
import { StateError, TroupeError } from '../errors.ts';
import type { ToolUseBlock } from '../message/blocks.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';
import type { JsonSchema } from '../util/schema.ts';
import type { CallToolOptions } from './call/tool-call.ts';
import { ToolResponse } from './tool/tool-response.ts';
import { tool, type Tool, type ToolCallResult } from './tool/tool.ts';
import { isSuspended } from './call/tool-call-outcome.ts';
import { Toolkit } from './toolkit.ts';

const INTERRUPTED_NOTE = '<system-info>The tool call has been interrupted by the user.</system-info>';
const never = new Promise<never>(() => {});

function callOf(name: string, input: JsonObject = {}): ToolUseBlock {
  return { type: 'tool_use', id: `call_${name}`, name, input };
}

function result(name: string, output: ToolCallResult['output'], rest: Partial<ToolCallResult> = {}): object {
  return { type: 'tool_result', id: `call_${name}`, name, output, status: 'ok', ...rest };
}

async function outputOf(
  toolkit: Toolkit,
  name: string,
  input?: JsonObject,
  options?: CallToolOptions,
): Promise<unknown> {
  return (await toolkit.callToolFunction(callOf(name, input), options)).output;
}

const namesOf = (toolkit: Toolkit): string[] => toolkit.getJsonSchemas().map(({ name }) => name);
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  schema: z.object({ a: z.number(), b: z.number().default(1) }),
  execute: ({ a, b }) => a + b,
});

describe('a tool', () => {
  test('is called with checked arguments, and gives the result of the tool call', async () => {
    const toolkit = new Toolkit();
    expect(toolkit.registerToolFunction(add)).toBe('add');
    expect(await toolkit.callToolFunction(callOf('add', { a: '2' }))).toEqual(result('add', '3'));
    expect(await outputOf(toolkit, 'add', { a: 'two' })).toBe(
      'Arguments Validation Error: Correct these and call the tool again.\n' +
        '- a: Invalid input: expected number, received string',
    );
  });

  test('may be registered under other terms', async () => {
    const toolkit = new Toolkit();
    toolkit.createToolGroup('math', { description: 'Numbers.', active: true });
    const name = toolkit.registerToolFunction(add, {
      name: 'add_ten',
      description: 'Adds ten.',
      preset: { b: 10 },
      group: 'math',
      readOnly: true,
    });
    expect(name).toBe('add_ten');
    expect(toolkit.getJsonSchemas()).toEqual([
      {
        name: 'add_ten',
        description: 'Adds ten.',
        parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      },
    ]);
    expect(await outputOf(toolkit, 'add_ten', { a: 1, b: 99 })).toBe('11');
    expect(toolkit.get('add_ten')).toMatchObject({ group: 'math', readOnly: true });
    expect(add.name).toBe('add');
  });

  test('may be given to the constructor', async () => {
    const hello = tool({ name: 'hello', execute: () => 'Hello.' });
    const toolkit = new Toolkit({ tools: [add, hello] });
    expect(toolkit.getJsonSchemas().map(({ name }) => name)).toEqual(['add', 'hello']);
    expect((await toolkit.callToolFunction(callOf('add', { a: 1, b: 2 }))).output).toBe('3');
    expect(() => new Toolkit({ tools: [hello, hello] })).toThrow("There is a tool 'hello' already.");
  });

  test('may have a schema that depends on the moment, which is offered as it is then', async () => {
    const schemaOf = (name: string): JsonSchema => ({
      type: 'object',
      properties: { [name]: {} },
      required: [name],
    });
    let current = schemaOf('a');
    const live: Tool = { name: 'live', schema: { current: () => current }, execute: () => 'ran' };
    const toolkit = new Toolkit({ tools: [live, add] });
    const overlay = toolkit.withTools(tool({ name: 'more', execute: () => 'ran' }));
    for (const name of ['a', 'b']) {
      current = schemaOf(name);
      for (const one of [toolkit, overlay]) {
        expect(one.getJsonSchemas()[0]?.parameters['required']).toEqual([name]);
        expect(one.getJsonSchemas()).toBe(one.getJsonSchemas());
        expect((await one.callToolFunction(callOf('live', { [name]: 1 }))).status).toBe('ok');
      }
    }
  });

  test('may be written where it is registered', async () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({
      name: 'shout',
      schema: z.object({ text: z.string() }),
      execute: ({ text }) => text.toUpperCase(),
    });
    toolkit.registerToolFunction({ name: 'shout', execute: () => 'second' }, { namesakeStrategy: 'rename' });
    expect(await outputOf(toolkit, 'shout', { text: 'hi' })).toBe('HI');
    expect(await outputOf(toolkit, 'shout_2')).toBe('second');
  });

  test('can be asked for, and removed', async () => {
    const other = tool({ name: 'other', execute: () => 'there' });
    const toolkit = new Toolkit({ tools: [other, add] });
    expect(namesOf(toolkit)).toEqual(['other', 'add']);
    expect([toolkit.has('add'), toolkit.has('none'), toolkit.get('add')?.name, toolkit.get('none')]).toEqual([
      true,
      false,
      'add',
      undefined,
    ]);
    expect([toolkit.removeToolFunction('add'), toolkit.removeToolFunction('add')]).toEqual([true, false]);
    expect(await toolkit.callToolFunction(callOf('add'))).toMatchObject({
      status: 'unavailable',
      output: "FunctionNotFoundError: There is no tool 'add'. There are: other.",
    });
    expect(namesOf(toolkit)).toEqual(['other']);
  });

  test('whose name is taken is a mistake', () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(add);
    expect(() => toolkit.registerToolFunction(add)).toThrow(TroupeError);
  });

  test('tells the program more than the model', async () => {
    const toolkit = new Toolkit();
    const metadata = { rows: 7 };
    toolkit.registerToolFunction({ name: 't', execute: () => new ToolResponse('seven', { metadata }) });
    toolkit.registerToolFunction({ name: 'no', execute: () => new ToolResponse('no', { status: 'denied' }) });
    expect(await toolkit.callToolFunction(callOf('t'))).toEqual(result('t', 'seven', { metadata }));
    expect(await toolkit.callToolFunction(callOf('no'))).toEqual(result('no', 'no', { status: 'denied' }));
  });

  test('may call tools by itself', async () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(add);
    toolkit.registerToolFunction({
      name: 'twice',
      execute: async (_, { signal }) => `${String(await outputOf(toolkit, 'add', { a: 1 }, { signal }))}!`,
    });
    expect(await outputOf(toolkit, 'twice')).toBe('2!');
  });
});

describe('groups', () => {
  function make(): Toolkit {
    const toolkit = new Toolkit();
    toolkit.createToolGroup('files', { description: 'Files.' });
    toolkit.registerToolFunction({ name: 'now', execute: () => 'now' });
    toolkit.registerToolFunction({ name: 'read', group: 'files', execute: () => 'read' });
    return toolkit;
  }

  test('that are inactive are neither offered nor executed', async () => {
    const toolkit = make();
    expect(namesOf(toolkit)).toEqual(['now']);
    expect(await toolkit.callToolFunction(callOf('read'))).toEqual(
      result(
        'read',
        "FunctionInactiveError: The tool 'read' is in the tool group 'files', which is not active.",
        {
          status: 'unavailable',
        },
      ),
    );
    toolkit.registerToolFunction(toolkit.metaTool);
    expect(await outputOf(toolkit, 'read')).toMatch(/Activate it by calling 'reset_equipped_tools' first\.$/);
    toolkit.updateToolGroups(['files'], true);
    expect(namesOf(toolkit)).toEqual(['now', 'read', 'reset_equipped_tools']);
    expect(await outputOf(toolkit, 'read')).toBe('read');
  });

  test('are removed with their tools', async () => {
    const toolkit = make();
    toolkit.updateToolGroups(['files'], true);
    toolkit.removeToolGroups(['files']);
    expect([namesOf(toolkit), toolkit.has('read')]).toEqual([['now'], false]);
    expect(() => toolkit.removeToolGroups(['basic'])).toThrow(TroupeError);
    expect(toolkit.has('now')).toBe(true);
  });

  test('can be set as a whole', () => {
    const toolkit = make();
    toolkit.activeGroups = ['files'];
    expect(toolkit.activeGroups).toEqual(['files']);
    expect(() => {
      toolkit.activeGroups = ['none'];
    }).toThrow("There is no tool group 'none'.");
    expect(toolkit.activeGroups).toEqual(['files']);
  });

  test('go with clear, and middleware stays', async () => {
    const toolkit = make();
    toolkit.registerMiddleware(() => 'guarded');
    toolkit.clear();
    expect([namesOf(toolkit), toolkit.has('read')]).toEqual([[], false]);
    toolkit.createToolGroup('files', { description: 'again' });
    toolkit.registerToolFunction({ name: 'now', execute: () => 'now' });
    expect(await outputOf(toolkit, 'now')).toBe('guarded');
  });

  describe('are the state', () => {
    test('saved and loaded', () => {
      const toolkit = make();
      toolkit.updateToolGroups(['files'], true);
      const saved = toolkit.stateDict();
      expect(saved).toEqual({ activeGroups: ['files'], modules: {} });
      const other = make();
      other.createToolGroup('more', { description: 'More.', active: true });
      other.loadStateDict(saved);
      expect(other.activeGroups).toEqual(['files']);
      expect(namesOf(other)).toEqual(['now', 'read']);
    });

    test('of which groups that are gone are left out, with a warning', () => {
      const toolkit = make();
      const lines: string[] = [];
      withRunConfig({ logging: { log: (_, text) => lines.push(text) } }, () =>
        toolkit.loadStateDict({ activeGroups: ['gone', 'files', 'basic'] }),
      );
      expect(toolkit.activeGroups).toEqual(['files']);
      expect(lines).toEqual(['A saved tool group does not exist any more; it stays inactive.']);
    });

    test.each<[JsonValue]>([['files'], [{ files: true }], [[1]], [null]])(
      'that is not %j',
      (activeGroups) => {
        const toolkit = make();
        toolkit.updateToolGroups(['files'], true);
        expect(() => toolkit.loadStateDict({ activeGroups })).toThrow(StateError);
        expect(toolkit.activeGroups).toEqual(['files']);
      },
    );
  });
});

describe('an extended tool', () => {
  test('gets what was added together with its own arguments', async () => {
    const toolkit = new Toolkit();
    const got: unknown[] = [];
    toolkit.registerToolFunction({
      name: 'finish',
      schema: z.object({ text: z.string() }),
      execute: (input) => void got.push(input),
    });
    const [plain] = toolkit.getJsonSchemas();
    toolkit.setExtendedModel('finish', z.object({ mood: z.enum(['good', 'bad']) }));
    expect(toolkit.getJsonSchemas()[0]?.parameters).toEqual({
      type: 'object',
      properties: { text: { type: 'string' }, mood: { type: 'string', enum: ['good', 'bad'] } },
      required: ['text', 'mood'],
    });
    expect(await outputOf(toolkit, 'finish', { text: 'x', mood: 'so so' })).toContain('- mood: ');
    expect(await outputOf(toolkit, 'finish', { text: 'x', mood: 'good' })).toBe('Done.');
    expect(got).toEqual([{ text: 'x', mood: 'good' }]);
    toolkit.setExtendedModel('finish', undefined);
    expect(toolkit.getJsonSchemas()[0]).toEqual(plain);
  });

  test('must exist, and accept the extension', () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(add);
    expect(() => toolkit.setExtendedModel('none', z.object({}))).toThrow("There is no tool 'none'.");
    expect(() => toolkit.setExtendedModel('add', z.object({ a: z.string() }))).toThrow(
      "The tool 'add' can't be extended: both schemas have a property 'a'.",
    );
  });
});

describe('a toolkit with further tools', () => {
  test('leaves the other as it is, and shares all else', async () => {
    const toolkit = new Toolkit({ maxOutputChars: 5 });
    toolkit.createToolGroup('files', { description: 'Files.' });
    toolkit.registerToolFunction(toolkit.metaTool);
    toolkit.registerToolFunction({ name: 'read', group: 'files', execute: () => 'read' });
    toolkit.registerMiddleware(async (call, next) => {
      const result = await next(call);
      return isSuspended(result) ? result : { ...result, metadata: { guarded: true } };
    });
    const before = toolkit.getJsonSchemas();

    const finish = tool({ name: 'finish', execute: () => '1234567' });
    const wider = toolkit.withTools(finish);
    expect(namesOf(wider)).toEqual(['reset_equipped_tools', 'finish']);
    expect(toolkit.getJsonSchemas()).toBe(before);
    expect(toolkit.has('finish')).toBe(false);

    const finished = await wider.callToolFunction(callOf('finish'));
    expect(finished.output).toMatch(/^12345…\n<system-info>The output has 7 characters/);
    expect(finished.metadata).toEqual({ guarded: true });
    await wider.callToolFunction(callOf('reset_equipped_tools', { files: true }));
    expect(toolkit.activeGroups).toEqual(['files']);
    expect(namesOf(wider)).toEqual(['reset_equipped_tools', 'read', 'finish']);
    expect(wider.stateDict()).toEqual(toolkit.stateDict());

    wider.registerToolFunction({ name: 'more', execute: () => 'x' });
    toolkit.registerToolFunction({ name: 'late', execute: () => 'x' });
    expect(namesOf(wider)).toEqual(['reset_equipped_tools', 'read', 'late', 'finish', 'more']);
    expect(namesOf(toolkit)).toEqual(['reset_equipped_tools', 'read', 'late']);
  });

  test('counts abandoned tool calls together with the other', async () => {
    const toolkit = new Toolkit();
    const wider = toolkit.withTools({ name: 'hang', execute: () => never });
    const controller = new AbortController();
    const answer = wider.callToolFunction(callOf('hang'), { signal: controller.signal });
    await nextTurn();
    controller.abort();
    await answer;
    await nextTurn();
    expect([toolkit.abandonedCalls, wider.abandonedCalls]).toEqual([1, 1]);
  });
});

describe('a running tool', () => {
  test('a tool shows results that take the place of each other, and the last comes after all of them', async () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({
      name: 'count',
      async *execute() {
        yield '1';
        yield '1 2';
      },
    });
    const seen: unknown[] = [];
    const last = await toolkit.callToolFunction(callOf('count'), {
      onChunk: async (chunk) => {
        await nextTurn();
        seen.push(chunk);
      },
    });
    expect(seen).toEqual([result('count', '1'), result('count', '1 2')]);
    expect(last).toEqual(result('count', '1 2'));
  });

  test('continues if its listener fails', async () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({
      name: 'count',
      *execute() {
        yield '1';
        yield '2';
      },
    });
    const lines: string[] = [];
    let seen = 0;
    const last = await withRunConfig({ logging: { log: (_, text) => lines.push(text) } }, () =>
      toolkit.callToolFunction(callOf('count'), {
        onChunk: () => {
          seen++;
          throw new Error('no screen');
        },
      }),
    );
    expect(last).toEqual(result('count', '2'));
    expect([seen, lines.length]).toEqual([2, 2]);
  });
});

describe('an interrupt', () => {
  test('gives a result at once, for any tool, and keeps the last snapshot', async () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({ name: 'hang', execute: () => never });
    toolkit.registerToolFunction({
      name: 'text',
      execute(_, { emit }) {
        emit('half');
        return never;
      },
    });
    const image = { type: 'image', source: { type: 'url', url: 'https://a.example/i' } } as const;
    toolkit.registerToolFunction({
      name: 'blocks',
      async *execute() {
        yield new ToolResponse([image], { metadata: { n: 1 } });
        await never;
      },
    });
    const controller = new AbortController();
    const { signal } = controller;
    const answers = ['hang', 'text', 'blocks'].map((name) =>
      toolkit.callToolFunction(callOf(name), { signal }),
    );
    await nextTurn();
    let results: unknown;
    void Promise.all(answers).then((given) => (results = given));
    controller.abort(new Error('stop'));
    await nextTurn(); // and no longer
    expect(results).toEqual([
      result('hang', INTERRUPTED_NOTE, { status: 'interrupted' }),
      result('text', `half\n${INTERRUPTED_NOTE}`, { status: 'interrupted' }),
      result('blocks', [image, { type: 'text', text: INTERRUPTED_NOTE }], {
        status: 'interrupted',
        metadata: { n: 1 },
      }),
    ]);
    await nextTurn();
    expect(toolkit.abandonedCalls).toBe(3);
  });

  test('reaches the tool, and one that stops is not abandoned', async () => {
    const toolkit = new Toolkit();
    const reasons: unknown[] = [];
    toolkit.registerToolFunction({
      name: 'docile',
      execute: (_, { signal }) =>
        new Promise((__, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(new Error('stopped'));
          });
        }),
    });
    const controller = new AbortController();
    const answer = toolkit.callToolFunction(callOf('docile'), { signal: controller.signal });
    await nextTurn();
    controller.abort('enough');
    expect(await answer).toEqual(result('docile', INTERRUPTED_NOTE, { status: 'interrupted' }));
    await nextTurn();
    expect([reasons, toolkit.abandonedCalls]).toEqual([['enough'], 0]);
  });

  test('before the tool call runs nothing', async () => {
    const toolkit = new Toolkit();
    let runs = 0;
    toolkit.registerToolFunction({ name: 't', execute: () => runs++ });
    const answer = await toolkit.callToolFunction(callOf('t'), { signal: AbortSignal.abort() });
    expect([answer.status, runs]).toEqual(['interrupted', 0]);
  });

  test('while arguments are checked runs nothing', async () => {
    const toolkit = new Toolkit();
    let runs = 0;
    let pass = (_: boolean): void => {};
    const schema = z.object({}).refine(() => new Promise<boolean>((resolve) => (pass = resolve)));
    toolkit.registerToolFunction({ name: 't', schema, execute: () => runs++ });
    const controller = new AbortController();
    const answer = toolkit.callToolFunction(callOf('t'), { signal: controller.signal });
    await nextTurn();
    controller.abort();
    expect((await answer).status).toBe('interrupted');
    pass(true);
    await nextTurn();
    expect(runs).toBe(0);
  });

  test('silences the tool for good', async () => {
    const toolkit = new Toolkit();
    const emits: ((snapshot: unknown) => void)[] = [];
    toolkit.registerToolFunction({
      name: 't',
      execute(_, { emit }) {
        emits.push(emit);
        return never;
      },
    });
    const controller = new AbortController();
    const seen: unknown[] = [];
    const onChunk = (chunk: ToolCallResult): void => void seen.push(chunk.output);
    const answer = toolkit.callToolFunction(callOf('t'), { signal: controller.signal, onChunk });
    await nextTurn();
    controller.abort();
    await answer;
    emits[0]?.('late');
    await nextTurn();
    expect([emits.length, seen]).toEqual([1, []]);
  });
});

describe('time', () => {
  test('is limited for each tool, and a tool that does not stop is counted', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const toolkit = new Toolkit({ timeoutMs: 2000 });
    toolkit.registerToolFunction({ name: 'slow', execute: () => never });
    toolkit.registerToolFunction({ name: 'slower', execute: () => never, timeoutMs: 5000 });
    toolkit.registerToolFunction({ name: 'free', execute: () => never, timeoutMs: Infinity });
    const answers: Record<string, unknown> = {};
    for (const name of ['slow', 'slower', 'free']) {
      void toolkit.callToolFunction(callOf(name)).then((answer) => (answers[name] = answer));
    }
    await clock.advance(1999);
    expect(answers).toEqual({});
    await clock.advance(1);
    const text = 'TimeoutError: The tool gave no result within 2 s.';
    expect(answers).toEqual({ slow: result('slow', text, { status: 'error' }) });
    await clock.advance(3000);
    expect(Object.keys(answers)).toEqual(['slow', 'slower']);
    await clock.advance(1e9);
    expect(Object.keys(answers)).toEqual(['slow', 'slower']);
    expect(toolkit.abandonedCalls).toBe(2);
  });

  test('is five minutes by default', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({ name: 'slow', execute: () => never });
    let answer: ToolCallResult | undefined;
    void toolkit.callToolFunction(callOf('slow')).then((given) => (answer = given));
    await clock.advance(299_999);
    expect(answer).toBeUndefined();
    await clock.advance(1);
    expect(answer?.output).toBe('TimeoutError: The tool gave no result within 300 s.');
  });

  test('is limited for arguments, post-processing and offloading too', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const toolkit = new Toolkit({ timeoutMs: 1000, offload: () => never });
    let runs = 0;
    const schema = z.object({}).refine(() => never);
    toolkit.registerToolFunction({ name: 'check', schema, execute: () => runs++ });
    toolkit.registerToolFunction({ name: 'post', execute: () => 'x', postProcess: () => never });
    toolkit.registerToolFunction({ name: 'long', execute: () => '12345', maxOutputChars: 3 });
    const answers = ['check', 'post', 'long'].map((name) => outputOf(toolkit, name));
    await clock.advance(1000);
    expect(await Promise.all(answers)).toEqual([
      'TimeoutError: The tool gave no result within 1 s.',
      'TimeoutError: The tool gave no result within 1 s.',
      '123…\n<system-info>The output has 5 characters. Only the first 3 are shown.</system-info>',
    ]);
    expect(runs).toBe(0);
  });

  test('leaves no timer behind', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const toolkit = new Toolkit({ maxOutputChars: 1, offload: () => 'ref' });
    toolkit.registerToolFunction({ name: 't', execute: () => 'text', postProcess: () => 'more' });
    expect(await outputOf(toolkit, 't')).toContain("kept as 'ref'");
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('post-processing', () => {
  const secret = (call: ToolUseBlock, { output }: ToolCallResult): string =>
    `${call.name}: ${String(output).replaceAll('s3cret', '***')}`;

  test('changes the result, sync or async; nothing returned leaves it', async () => {
    const toolkit = new Toolkit();
    const execute = (): string => 'the s3cret';
    toolkit.registerToolFunction({ name: 'a', execute, postProcess: secret });
    toolkit.registerToolFunction({
      name: 'b',
      execute,
      postProcess: async (call, given) => secret(call, given),
    });
    toolkit.registerToolFunction({ name: 'c', execute, postProcess: () => undefined });
    toolkit.registerToolFunction({
      name: 'd',
      execute,
      postProcess: (_, given) => ({ ...given, status: 'denied' }),
    });
    expect(await outputOf(toolkit, 'a')).toBe('a: the ***');
    expect(await outputOf(toolkit, 'b')).toBe('b: the ***');
    expect(await outputOf(toolkit, 'c')).toBe('the s3cret');
    expect(await toolkit.callToolFunction(callOf('d'))).toEqual(
      result('d', 'the s3cret', { status: 'denied' }),
    );
  });

  test('applies to all output: snapshots, errors, the output kept by an interrupt', async () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({
      name: 't',
      postProcess: secret,
      async *execute() {
        yield 's3cret one';
        await never;
      },
    });
    toolkit.registerToolFunction({
      name: 'e',
      postProcess: secret,
      execute() {
        throw new Error('bad s3cret');
      },
    });
    const controller = new AbortController();
    const seen: unknown[] = [];
    const answer = toolkit.callToolFunction(callOf('t'), {
      signal: controller.signal,
      onChunk: ({ output }) => seen.push(output),
    });
    await nextTurn();
    controller.abort();
    expect((await answer).output).toBe(`t: *** one\n${INTERRUPTED_NOTE}`);
    expect(seen).toEqual(['t: *** one']);
    expect(await outputOf(toolkit, 'e')).toBe('e: Error: bad ***');
  });

  test('gets the whole output, and its own output is cut', async () => {
    const toolkit = new Toolkit({ maxOutputChars: 4 });
    let size = 0;
    toolkit.registerToolFunction({
      name: 't',
      execute: () => 'x'.repeat(100),
      postProcess(_, { output }) {
        size = output.length;
        return '12345';
      },
    });
    expect(await outputOf(toolkit, 't')).toMatch(/^1234…\n<system-info>The output has 5 characters/);
    expect(size).toBe(100);
  });

  test('that fails shows nothing of the unprocessed output', async () => {
    const toolkit = new Toolkit();
    const postProcess = (): never => {
      throw new Error('no redactor');
    };
    toolkit.registerToolFunction({
      name: 't',
      postProcess,
      *execute() {
        yield 's3cret';
      },
    });
    const seen: unknown[] = [];
    const answer = await toolkit.callToolFunction(callOf('t'), { onChunk: (chunk) => seen.push(chunk) });
    expect(answer).toEqual(result('t', 'Error: no redactor', { status: 'error' }));
    expect(seen).toEqual([]);
  });

  test('is not for what the toolkit says', async () => {
    const toolkit = new Toolkit();
    toolkit.registerToolFunction({ ...add, execute: () => 1, postProcess: () => 'changed' });
    expect(await outputOf(toolkit, 'add', {})).toContain('Arguments Validation Error:');
    expect(await outputOf(toolkit, 'add', { a: 1 })).toBe('changed');
  });
});

describe('long output', () => {
  const long = '1234567890';
  const note = (rest = ''): string =>
    `12345…\n<system-info>The output has 10 characters. Only the first 5 are shown.${rest}</system-info>`;

  test('is cut, by the limit of the tool or of the toolkit', async () => {
    const toolkit = new Toolkit({ maxOutputChars: 5 });
    toolkit.registerToolFunction({ name: 'a', execute: () => long });
    toolkit.registerToolFunction({ name: 'b', execute: () => long, maxOutputChars: 10 });
    expect(await outputOf(toolkit, 'a')).toBe(note());
    expect(await outputOf(toolkit, 'b')).toBe(long);
  });

  test('is passed to the offload function as a whole', async () => {
    const kept: unknown[] = [];
    const toolkit = new Toolkit({
      maxOutputChars: 5,
      offload: async (text, call) => {
        kept.push([text, call.name]);
        return `mem\n1${'x'.repeat(400)}`;
      },
    });
    toolkit.registerToolFunction({ name: 'a', execute: () => long });
    expect(await outputOf(toolkit, 'a')).toBe(note(` All of it is kept as 'mem 1${'x'.repeat(295)}'.`));
    expect(kept).toEqual([[long, 'a']]);
  });

  test('is still cut when it can not be kept', async () => {
    const lines: string[] = [];
    const toolkit = new Toolkit({
      maxOutputChars: 5,
      offload: () => {
        throw new Error('disk full');
      },
    });
    toolkit.registerToolFunction({ name: 'a', execute: () => long });
    await withRunConfig({ logging: { log: (_, text) => lines.push(text) } }, async () => {
      expect(await outputOf(toolkit, 'a')).toBe(note());
    });
    expect(lines).toEqual(["The output of the tool 'a' could not be offloaded: disk full"]);
  });

  test('is cut in snapshots too, which nobody keeps', async () => {
    let kept = 0;
    const toolkit = new Toolkit({ maxOutputChars: 5, offload: () => `${++kept}` });
    toolkit.registerToolFunction({
      name: 'a',
      *execute() {
        yield long;
        yield 'short';
      },
    });
    const seen: unknown[] = [];
    expect(await outputOf(toolkit, 'a', {}, { onChunk: ({ output }) => seen.push(output) })).toBe('short');
    expect([seen, kept]).toEqual([[note(), 'short'], 0]);
  });
});

describe('concurrent tool calls', () => {
  /** Tool whose tool calls end on request, in the order of their start. */
  function gated(): { execute: () => Promise<string>; ends: (() => void)[]; peak: () => number } {
    const ends: (() => void)[] = [];
    let running = 0;
    let peak = 0;
    return {
      ends,
      peak: () => peak,
      async execute() {
        peak = Math.max(peak, ++running);
        await new Promise<void>((resolve) => ends.push(resolve));
        running--;
        return 'done';
      },
    };
  }

  test('wait for their turn, in order', async () => {
    const toolkit = new Toolkit();
    const { execute, ends, peak } = gated();
    toolkit.registerToolFunction({ name: 't', execute, maxConcurrent: 2 });
    const order: string[] = [];
    const calls = ['a', 'b', 'c', 'd'].map(async (id) => {
      await toolkit.callToolFunction({ ...callOf('t'), id });
      order.push(id);
    });
    await nextTurn();
    expect(ends).toHaveLength(2);
    while (order.length < 4) {
      ends.shift()?.();
      await nextTurn();
    }
    await Promise.all(calls);
    expect([order, peak()]).toEqual([['a', 'b', 'c', 'd'], 2]);
  });

  test('of a generator last until its end', async () => {
    const toolkit = new Toolkit();
    const { execute, ends, peak } = gated();
    const generator = async function* (): AsyncGenerator<string> {
      yield 'begun';
      yield await execute();
    };
    toolkit.registerToolFunction({ name: 't', execute: generator, maxConcurrent: 1 });
    const calls = ['a', 'b'].map((id) => toolkit.callToolFunction({ ...callOf('t'), id }));
    for (let i = 0; i < 2; i++) {
      while (ends.length === 0) await nextTurn();
      await nextTurn();
      expect(ends).toHaveLength(1);
      ends.shift()?.();
    }
    expect((await Promise.all(calls)).map(({ output }) => output)).toEqual(['done', 'done']);
    expect(peak()).toBe(1);
  });

  test('are limited for the whole toolkit as well', async () => {
    const toolkit = new Toolkit({ maxConcurrent: 1 });
    const { execute, ends, peak } = gated();
    toolkit.registerToolFunction({ name: 'a', execute });
    toolkit.registerToolFunction({ name: 'b', execute, maxConcurrent: 1 });
    const calls = ['a', 'b', 'b', 'a'].map((name) => toolkit.callToolFunction(callOf(name)));
    for (let i = 0; i < 4; i++) {
      await nextTurn();
      expect(ends).toHaveLength(1);
      ends.shift()?.();
    }
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(peak()).toBe(1);
  });

  test('that wait for their turn can be interrupted, and their wait does not count for the timeout', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const toolkit = new Toolkit({ timeoutMs: 1000 });
    const { execute, ends } = gated();
    toolkit.registerToolFunction({ name: 't', maxConcurrent: 1, timeoutMs: 5000, execute });
    toolkit.registerToolFunction({ name: 'other', execute: () => 'at once' });
    const controller = new AbortController();
    const first = toolkit.callToolFunction(callOf('t'));
    const second = toolkit.callToolFunction(callOf('t'), { signal: controller.signal });
    const third = toolkit.callToolFunction(callOf('t'));
    await clock.advance(4000);
    controller.abort();
    expect((await second).status).toBe('interrupted');
    expect((await toolkit.callToolFunction(callOf('other'))).output).toBe('at once');
    ends.shift()?.();
    expect((await first).output).toBe('done');
    await clock.advance(4000); // the waiting time exceeds the time limit
    ends.shift()?.();
    expect((await third).output).toBe('done');
    expect([clock.pendingTimers, toolkit.abandonedCalls]).toEqual([0, 0]);
  });

  test.each(['is interrupted', 'takes too long'])(
    'never run beside one that %s and does not stop, until that is over',
    async (how) => {
      const clock = new FakeClock();
      using _ = clock.install();
      const toolkit = new Toolkit({ timeoutMs: 1000 });
      const { execute, ends, peak } = gated();
      toolkit.registerToolFunction({ name: 't', maxConcurrent: 1, execute });
      const controller = new AbortController();
      const first = toolkit.callToolFunction(callOf('t'), { signal: controller.signal });
      const second = toolkit.callToolFunction(callOf('t'));
      await clock.advance(500);
      if (how === 'is interrupted') controller.abort();
      await clock.advance(500);
      expect((await first).status).toBe(how === 'is interrupted' ? 'interrupted' : 'error');
      await clock.advance(30_000);
      expect([ends.length, toolkit.abandonedCalls]).toEqual([1, 1]);
      ends.shift()?.();
      await clock.advance(0);
      ends.shift()?.();
      expect((await second).output).toBe('done');
      expect([peak(), clock.pendingTimers]).toEqual([1, 0]);
    },
  );

  test('run beside one that never stops after a minute, and are not kept waiting for ever', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const toolkit = new Toolkit({ timeoutMs: 1000, maxConcurrent: 1 });
    toolkit.registerToolFunction({ name: 'hangs', execute: () => never });
    toolkit.registerToolFunction({ name: 'works', execute: () => 'ran' });
    const first = toolkit.callToolFunction(callOf('hangs'));
    const second = toolkit.callToolFunction(callOf('works'));
    await clock.advance(1000);
    expect((await first).output).toContain('TimeoutError:');
    let answer: unknown;
    void second.then(({ output }) => (answer = output));
    await clock.advance(59_999);
    expect(answer).toBe(undefined);
    await clock.advance(1);
    expect(answer).toBe('ran');
    expect(clock.pendingTimers).toBe(0);
  });
});

test.each([
  [{ timeoutMs: 0 }, 'timeoutMs must be a number of 1 or more.'],
  [{ maxOutputChars: -1 }, 'maxOutputChars must be a number of 1 or more.'],
  [{ maxConcurrent: 0 }, 'maxConcurrent must be a number of 1 or more.'],
])('a toolkit with %j is a mistake', (options, problem) => {
  expect(() => new Toolkit(options)).toThrow(new TroupeError('invalid_config', problem));
});

test('a tool that is undefined is refused with the usual cause', () => {
  expect(() => new Toolkit({ tools: [undefined as never] })).toThrow(
    'A tool is undefined: the module that exports it has not run yet, which a circular import can cause, or exports no such name.',
  );
});
