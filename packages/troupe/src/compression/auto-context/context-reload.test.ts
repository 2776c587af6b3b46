import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { ToolOutputBlock } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import { fakeIds } from '../../testing/fake-ids.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import type { JsonObject } from '../../util/json.ts';
import {
  call,
  pair,
  result,
  results,
  summingModel,
  thought,
  taskWith,
} from '../../../test/compression-task.ts';
import { AutoContextMemory } from './auto-context-memory.ts';

let ids: Disposable | undefined;
beforeEach(() => {
  ids = fakeIds();
});
afterEach(() => ids?.[Symbol.dispose]());

/** A memory with one offload, and its uuid. */
async function shrunken(msg: Msg, maxToken = 2000): Promise<{ memory: AutoContextMemory; uuid: string }> {
  const memory = new AutoContextMemory({
    maxToken,
    largePayloadThreshold: 100,
    minCompressionTokenThreshold: 0,
  });
  await memory.add([msg, Msg.assistant('fine'), Msg.user('and?')]);
  await memory.compress(taskWith(summingModel()));
  return { memory, uuid: [...memory.getOffloadContext().keys()][0] ?? '' };
}

async function reload(
  memory: AutoContextMemory,
  input: JsonObject,
): Promise<{ status: string; output: readonly ToolOutputBlock[] | string }> {
  const toolkit = new Toolkit();
  for (const tool of memory.contextTools) toolkit.registerToolFunction(tool);
  return toolkit.callToolFunction(call('r', 'context_reload', input));
}

const partsOf = (output: readonly ToolOutputBlock[] | string): string[] =>
  typeof output === 'string'
    ? [output]
    : output.map((block) => (block.type === 'text' ? block.text : block.type));

test('the tool says what tags are, and nothing else does: the system prompt stays the same', async () => {
  const { memory } = await shrunken(Msg.user('x'.repeat(5000)));
  expect([memory.contextInstruction, memory.contextTools.map(({ name }) => name)]).toEqual([
    '',
    ['context_reload'],
  ]);
  expect(memory.contextTools[0]?.description).toContain('<!-- CONTEXT_OFFLOAD: uuid=... -->');
});

describe('context_reload', () => {
  test('gives back what was moved out, byte for byte', async () => {
    const msg = Msg.user('x"\\\n🐻'.repeat(40).padEnd(12_000), { metadata: { a: [1] } });
    const { memory, uuid } = await shrunken(msg, 6000);
    expect(memory.getOffloadContext().size).toBe(1);
    const { status, output } = await reload(memory, { working_context_offload_uuid: uuid });
    expect(status).toBe('ok');
    const [json, ...notes] = partsOf(output);
    expect(notes).toMatchObject([
      expect.stringMatching(/^\(Characters 0 to 1406 of \d+\. Go on with offset 1406\.\)$/),
    ]);
    expect(JSON.stringify([msg]).startsWith(json ?? '-')).toBe(true);
  });

  test('returns parts that fit, uncut, which together are the whole', async () => {
    const msg = Msg.user('🐻'.repeat(3000));
    const { memory, uuid } = await shrunken(msg);
    let whole = '';
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const { output } = await reload(memory, {
        working_context_offload_uuid: ` ${uuid} `,
        offset,
        limit: 333,
      });
      const [part = '', note = ''] = partsOf(output);
      expect(part).toBe(part.toWellFormed());
      expect(part.length).toBeLessThanOrEqual(334);
      whole += part;
      const next: string | undefined = /Go on with offset (\d+)/.exec(note)?.[1];
      offset = next === undefined ? undefined : Number(next);
    }
    expect(whole).toBe(JSON.stringify([msg]));
  });

  test('never gives more than fits, whatever the model wants', async () => {
    const { memory, uuid } = await shrunken(Msg.user('x'.repeat(50_000)), 2000);
    const { output } = await reload(memory, { working_context_offload_uuid: uuid, limit: 1_000_000 });
    expect(partsOf(output)[0]?.length).toBe(468); // an eighth of 1500 tokens
  });

  test('shows media as media, in their part', async () => {
    const image = {
      type: 'image',
      source: { type: 'base64', mediaType: 'image/png', data: 'QUJD' },
    } as const;
    const msg = Msg.user([
      { type: 'text', text: 'x'.repeat(2000) },
      image,
      { type: 'text', text: '"data":"[medium 1]"' },
    ]);
    const memory = new AutoContextMemory({ maxToken: 6000 });
    await memory.add([thought(call('a')), results(result('a', [image, image]))]);
    await memory.add([msg, Msg.assistant('x'.repeat(15_000)), Msg.user('and?')]);
    await memory.compress(taskWith(summingModel({ error: new Error('no') })));
    const [uuid = ''] = [...memory.getOffloadContext()].find(([, msgs]) => msgs.includes(msg)) ?? [];
    const first = await reload(memory, { working_context_offload_uuid: uuid, limit: 300 });
    const all = [...memory.reload(uuid)];
    expect(all).toContain(msg);
    const shown: ToolOutputBlock[] = [];
    let text = '';
    for (let offset = 0; ;) {
      const { output } = await reload(memory, { working_context_offload_uuid: uuid, offset });
      const blocks = typeof output === 'string' ? [] : output;
      shown.push(...blocks.filter(({ type }) => type === 'image'));
      text += partsOf(output)[0] ?? '';
      const next = /Go on with offset (\d+)/.exec(partsOf(output).at(-1) ?? '')?.[1];
      if (next === undefined) break;
      offset = Number(next);
    }
    expect(first.status).toBe('ok');
    expect(shown).toEqual(text.match(/"data":"\[medium \d\]"/g)?.map(() => image));
    expect(text.replace(/"\[medium \d\]"(?=\})/g, '"QUJD"')).toBe(JSON.stringify(all));
  });

  test.each([
    ['no uuid', { working_context_offload_uuid: ' ' }, 'Say which uuid to reload.'],
    [
      'a wrong one',
      { working_context_offload_uuid: 'nope' },
      'Nothing is kept under this uuid. It is wrong, or was cleared.',
    ],
  ])('%s', async (_, input, problem) => {
    const { memory } = await shrunken(Msg.user('x'.repeat(5000)));
    expect(await reload(memory, input)).toMatchObject({ status: 'error', output: problem });
  });

  test('cleared messages and offsets behind the end are errors', async () => {
    const { memory, uuid } = await shrunken(Msg.user('x'.repeat(5000)));
    expect(await reload(memory, { working_context_offload_uuid: uuid, offset: 1e6 })).toMatchObject({
      status: 'error',
    });
    memory.clearOffload(uuid);
    expect(await reload(memory, { working_context_offload_uuid: uuid })).toMatchObject({ status: 'error' });
    expect(memory.getOriginalMemoryMsgs().length).toBe(3);
  });
});

describe('reloaded messages', () => {
  const reloadPair = async (memory: AutoContextMemory, uuid: string, id: string): Promise<Msg[]> => {
    const { output } = await reload(memory, { working_context_offload_uuid: uuid });
    return [
      thought(call(id, 'context_reload', { working_context_offload_uuid: uuid })),
      results(result(id, output, 'context_reload')),
    ];
  };

  test('stays until the model has read it, and is then moved out again under the same uuid', async () => {
    const { memory, uuid } = await shrunken(Msg.user('x'.repeat(5000)));
    const reloaded = await reloadPair(memory, uuid, 'r1');
    await memory.add([Msg.assistant('y'.repeat(3800)), Msg.user('and now?'), ...reloaded]);
    expect(await memory.compress(taskWith(summingModel('Mush.')))).toBe(true);
    expect((await memory.getMemory()).slice(-2), 'not read yet').toEqual(reloaded);
    const sizes = [memory.getOffloadContext().size];
    for (let i = 2; i < 6; i++) {
      await memory.add([...(await reloadPair(memory, uuid, `r${i}`)), ...pair(`c${i}`, 'y'.repeat(1400))]);
      await memory.compress(taskWith(summingModel({ error: new Error('no') })));
      sizes.push(memory.getOffloadContext().size);
    }
    const shown = await memory.getMemory();
    const outputs = shown
      .flatMap((msg) => msg.getContentBlocks('tool_result'))
      .filter(({ name }) => name === 'context_reload');
    expect(outputs.length).toBeGreaterThan(0);
    expect(outputs.map(({ output }) => output)).toEqual(
      outputs.map(
        () =>
          `What was reloaded here was read, and is moved out again.\n<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`,
      ),
    );
    expect(
      [...memory.getOffloadContext().values()]
        .flat()
        .filter((msg) => msg.hasContentBlocks('tool_result') && JSON.stringify(msg).includes('xxxx')),
    ).toEqual([]);
  });

  test('goes also if it came with others, which stay', async () => {
    const { memory, uuid } = await shrunken(Msg.user('x'.repeat(5000)));
    const input = { working_context_offload_uuid: uuid };
    const calls = [call('r1', 'context_reload', input), call('s'), call('r2', 'context_reload', input)];
    const outputs = [
      result('r1', 'x'.repeat(1200), 'context_reload'),
      result('s', 'mine'),
      result('r2', 'y'.repeat(1200), 'context_reload'),
    ];
    await memory.add([thought(...calls), results(...outputs), ...pair('c', 'z'.repeat(1500))]);
    await memory.compress(taskWith(summingModel({ error: new Error('no') })));
    const gone = `What was reloaded here was read, and is moved out again.\n<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`;
    const shown = await memory.getMemory();
    const kept = shown.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ output }) => output);
    expect(kept.slice(0, 3)).toEqual([gone, 'mine', gone]);
  });

  test('is cut if it can not be helped, and is not kept a second time', async () => {
    const { memory, uuid } = await shrunken(Msg.user('x'.repeat(5000)), 600);
    await memory.add([
      thought(call('r', 'context_reload', { working_context_offload_uuid: uuid })),
      results(result('r', 'x'.repeat(3000), 'context_reload')),
    ]);
    const before = memory.getOffloadContext().size;
    await memory.compress(taskWith(summingModel({ error: new Error('no') })));
    const last = (await memory.getMemory()).at(-1);
    expect(last?.getContentBlocks('tool_result')[0]?.output).toBe(
      `${'x'.repeat(200)}...\n<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`,
    );
    expect(
      [...memory.getOffloadContext().values()]
        .flat()
        .filter((msg) => JSON.stringify(msg).includes('context_reload')),
    ).toEqual([]);
    expect(memory.getOffloadContext().size - before).toBeLessThanOrEqual(1);
  });
});
