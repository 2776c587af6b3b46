import { afterEach, beforeEach, expect, test } from 'vitest';

import { findHistoryFaults } from '../../message/history.ts';
import { Msg } from '../../message/msg.ts';
import { fakeIds } from '../../testing/fake-ids.ts';
import {
  call,
  pair,
  pairs,
  result,
  results,
  summingModel,
  thought,
  taskWith,
  type FakeTask,
} from '../../../test/compression-task.ts';
import { AutoContextMemory } from './auto-context-memory.ts';
import type { AutoContextOptions } from './auto-context-options.ts';
import { AutoContextTokenCounter } from './auto-context-token-counter.ts';

let ids: Disposable | undefined;
beforeEach(() => {
  ids = fakeIds();
});
afterEach(() => ids?.[Symbol.dispose]());

/** Only the last resort. */
const OFF = {
  tool_invocation_compress: false,
  large_message_offload_with_protection: false,
  large_message_offload: false,
  previous_round_conversation_summary: false,
  current_round_large_message_summary: false,
  current_round_message_compress: false,
};

async function fitted(
  msgs: readonly Msg[],
  options: AutoContextOptions = {},
  force = false,
  changes: Partial<FakeTask> = {},
): Promise<{ memory: AutoContextMemory; shown: readonly Msg[]; task: FakeTask; tokens: number }> {
  const memory = new AutoContextMemory({ msgThreshold: 1000, maxToken: 1000, strategies: OFF, ...options });
  await memory.add(msgs);
  const task = taskWith(summingModel(), { force, ...changes });
  await memory.compress(task);
  const shown = await memory.getMemory();
  return {
    memory,
    shown,
    task,
    tokens: await new AutoContextTokenCounter().count(shown),
  };
}

const chat = (count: number): Msg[] =>
  Array.from({ length: count }, (_, i) => [Msg.user(`q${i}`), Msg.assistant(`a${i} `.repeat(20))]).flat();

test('the oldest messages are replaced by one note; a quarter of the context is free then', async () => {
  const msgs = [...chat(20), Msg.user('and now?')];
  const { memory, shown, task, tokens } = await fitted(msgs);
  const [note, ...rest] = shown;
  const gone = msgs.length - rest.length;
  expect(note?.text).toBe(
    `${gone} earlier messages were moved out here.\n<!-- CONTEXT_OFFLOAD: uuid=id-42 -->`,
  );
  expect(rest).toEqual(msgs.slice(gone));
  expect(memory.reload('id-42')).toEqual(msgs.slice(0, gone));
  expect([tokens > 400, tokens < 750 * 0.75 + 15]).toEqual([true, true]);
  expect(task.events).toMatchObject([
    { phase: 'end', strategy: 'last_resort_offload', compressedMessageCount: gone },
  ]);
});

test('an existing note stays while other messages can go', async () => {
  const { memory, shown } = await fitted([...chat(20), Msg.user('and now?')]);
  await memory.add([Msg.assistant('well'), ...chat(10), Msg.user('and now?')]);
  await memory.compress(taskWith(summingModel()));
  const again = await memory.getMemory();
  expect(again[0]).toBe(shown[0]);
  expect(again[1]?.text).toContain('earlier messages were moved out here.');
});

test('the tools that were called are named', async () => {
  const { shown } = await fitted([
    Msg.user('go'),
    ...pairs('c', 20),
    ...pair('d', 'x', 'read_file'),
    Msg.assistant('done '.repeat(300)),
    Msg.user('and?'),
  ]);
  expect(shown[0]?.text).toContain('Tools that were called: search, read_file.');
});

test('calls go with all their results', async () => {
  const both = [thought(call('a'), call('b')), results(result('a')), results(result('b', 'x'.repeat(2500)))];
  const { shown, memory } = await fitted([
    Msg.user('go'),
    ...both,
    ...pairs('c', 2),
    Msg.assistant('done'),
    Msg.user('and?'),
  ]);
  expect(findHistoryFaults(shown)).toEqual([]);
  expect([...memory.getOffloadContext().values()].flat()).toEqual(expect.arrayContaining(both));
});

test('results that nobody has read are cut, not dropped; also their arguments and media', async () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const;
  const ask = thought(
    { type: 'thinking', thinking: 'Hm.' },
    { type: 'text', text: 'I look.' },
    call('a', 'write', { text: 'x'.repeat(3000) }),
    call('b'),
  );
  const answers = [
    results(result('a', 'ok', 'write')),
    results(result('b', [{ type: 'text', text: 'y'.repeat(3000) }, image])),
  ];
  const { shown, memory, tokens } = await fitted([Msg.user('go'), ask, ...answers]);
  expect(tokens).toBeLessThan(750);
  expect(shown.length).toBe(4);
  expect(shown[1]?.content).toEqual([
    { type: 'thinking', thinking: 'Hm.' },
    { type: 'text', text: 'I look.' },
    call('a', 'write', { text: expect.stringMatching(/^x{200}\.\.\.\n<!--/) as string }),
    call('b'),
  ]);
  expect(shown[2]).toBe(answers[0]);
  expect(shown[3]?.content).toEqual([result('b', expect.stringMatching(/^y{200}\.\.\.\n<!--/) as string)]);
  expect([...memory.getOffloadContext().values()]).toEqual([[ask], [answers[1]]]);
});

test('if cutting is not enough, hardly anything stays of them, and still nothing is kept twice', async () => {
  const calls = Array.from({ length: 6 }, (_, i) => call(`c${i}`));
  const answers = calls.map(({ id }) => results(result(id, 'y'.repeat(400))));
  const { shown, memory, tokens } = await fitted([Msg.user('go'), thought(...calls), ...answers], {
    maxToken: 1000,
  });
  expect(tokens).toBeLessThan(750);
  expect(shown.length).toBe(8);
  expect(shown.slice(2).map((msg) => msg.getContentBlocks('tool_result')[0]?.output)).toEqual(
    calls.map(() => expect.stringMatching(/^<!-- CONTEXT_OFFLOAD: uuid=\S+ -->$/) as string),
  );
  expect([...memory.getOffloadContext().values()].flat()).toEqual(answers);
});

test('user messages since the last answer stay longer than the work on them', async () => {
  const msgs = [Msg.user('first'), ...pairs('c', 20), Msg.user('second'), ...pairs('d', 20)];
  const { shown } = await fitted(msgs);
  expect(shown.filter(({ role }) => role === 'user').map(({ text }) => text)).toEqual(['first', 'second']);
});

test('a large part of it goes before a small one', async () => {
  const [small, large, newest] = [Msg.user('find it'), Msg.user('x'.repeat(1500)), Msg.user('quickly')];
  const { shown } = await fitted([small, large, ...pairs('c', 3, 'y'.repeat(200)), newest]);
  expect(shown).toEqual(expect.arrayContaining([small, newest]));
  expect(shown).not.toContain(large);
});

test('but not for ever: the newest request alone is sure to stay', async () => {
  const requests = Array.from({ length: 10 }, (_, i) => Msg.user(`${i}`.repeat(400)));
  const { shown, tokens } = await fitted(requests);
  expect(tokens).toBeLessThan(750);
  expect(shown.at(-1)).toBe(requests.at(-1));
});

test('possible requests go before unread results', async () => {
  const msgs = [
    ...Array.from({ length: 7 }, (_, i) => Msg.user(`${i}`.repeat(400))),
    ...pair('new', 'y'.repeat(300)),
  ];
  const { shown, tokens } = await fitted(msgs);
  expect(tokens).toBeLessThan(750);
  expect(shown.slice(-3)).toEqual(msgs.slice(-3));
});

test('declared requests never go, even if they exceed the limit', async () => {
  const msgs = [Msg.user('x'.repeat(3000)), Msg.user('y'.repeat(400)), ...pairs('c', 3)];
  const requestIds = new Set(msgs.slice(0, 2).map(({ id }) => id));
  const { shown, task } = await fitted(msgs, {}, false, { requestIds });
  expect(shown.slice(0, 2)).toEqual(msgs.slice(0, 2));
  expect(task.events.at(-1)?.phase).toBe('failed');
});

test('broken parts of a history are dropped like others; pending tool calls stay', async () => {
  const waits = [thought(call('w1'), call('w2')), results(result('w1', 'z'.repeat(200)))];
  const msgs = [
    results(result('ghost', 'x'.repeat(3000))),
    Msg.user('go'),
    thought(call('dead', 'search', { q: 'y'.repeat(3000) })),
    Msg.assistant('never mind'),
    Msg.user('and now?'),
    ...waits,
  ];
  const { shown, tokens } = await fitted(msgs);
  expect(tokens).toBeLessThan(750);
  expect(shown.slice(-3)).toEqual(msgs.slice(-3));
  expect(findHistoryFaults(shown)).toEqual(["the tool call 'w2' at the end has no result"]);
});

test('messages that must stay are kept above the limit, and the compression is reported as failed', async () => {
  const request = Msg.user('x'.repeat(5000));
  const { shown, task } = await fitted([...chat(3), request]);
  expect(shown).toContain(request);
  expect(task.events.at(-1)).toEqual({
    type: 'compression',
    phase: 'failed',
    strategy: 'last_resort_offload',
    compressedMessageCount: 0,
    tokensBefore: expect.any(Number) as number,
    problem:
      'The newest request and the pinned, protected and pending messages exceed the token limit. Raise maxToken, or pin fewer messages.',
  });
});

test('a prompt refused by the model loses half, independent of the thresholds', async () => {
  const msgs = [...chat(10), Msg.user('and now?')];
  const before = await new AutoContextTokenCounter().count(msgs);
  const { shown, task } = await fitted(msgs, { maxToken: 100_000 }, true);
  expect(await new AutoContextTokenCounter().count(shown)).toBeLessThan(before / 2);
  expect(task.events.at(-1)?.phase).toBe('end');
});

test('system prompt, tools and hints reduce the space; shares refer to removable messages', async () => {
  const [sysPrompt, msgs] = ['s'.repeat(20_000), [...chat(25), Msg.user('and now?')]];
  const { shown, tokens } = await fitted(msgs, { maxToken: 9000, tokenRatio: 1 }, false, { sysPrompt });
  expect(tokens).toBeGreaterThan(500);
  expect(shown.length).toBeGreaterThan(10);
});

test('a prompt that the model has refused loses half of what can go, and no result that nobody has read', async () => {
  const unread = pair('new', 'SECRET '.padEnd(300, '.'));
  const msgs = [...chat(10), Msg.user('and now?'), ...unread];
  const sysPrompt = 's'.repeat(5000);
  for (const maxToken of [100_000, 2000]) {
    const { shown } = await fitted(msgs, { maxToken }, true, { sysPrompt });
    expect(shown.slice(-3)).toEqual(msgs.slice(-3));
    expect(shown.length).toBeLessThan(msgs.length);
  }
});

test('messages that must stay are not part of the half, so that unread results are not lost needlessly', async () => {
  const msgs = [...chat(4), Msg.user('x'.repeat(5000)), ...pair('new', 'y'.repeat(100))];
  const { shown, task } = await fitted(msgs, { maxToken: 100_000 }, true);
  expect(shown.slice(-3)).toEqual(msgs.slice(-3));
  expect(task.events.map(({ phase }) => phase)).toEqual(['end']);
});

test('if what must stay is too much, results nobody has read may fill the window, and no model is asked', async () => {
  const memory = new AutoContextMemory({ maxToken: 4000 });
  const pinned = Msg.user('P'.repeat(7600));
  await memory.add(pinned, { marks: 'pinned' });
  await memory.add([Msg.user('go'), ...pairs('old', 3, 'x'.repeat(1300)), ...pair('new', 'y'.repeat(1300))]);
  const model = summingModel();
  const task = taskWith(model);
  await memory.compress(task);
  const shown = await memory.getMemory();
  expect(shown.slice(-2).map((msg) => JSON.stringify(msg).includes('new'))).toEqual([true, true]);
  expect(JSON.stringify(shown)).toContain('y'.repeat(1300));
  expect([shown.length, shown[0], model.requests]).toEqual([5, pinned, []]);
  expect(task.events.at(-1)).toMatchObject({ phase: 'failed', strategy: 'last_resort_offload' });
  expect(await new AutoContextTokenCounter().count(shown)).toBeLessThan(4000);

  await memory.add(pair('more', 'z'.repeat(9000)));
  await memory.compress(taskWith(model));
  const next = await memory.getMemory();
  expect(await new AutoContextTokenCounter().count(next)).toBeLessThan(4000);
  expect(next.at(-1)?.getContentBlocks('tool_result')[0]?.output).toMatch(/^z{200}\.\.\.\n<!--/);
});

test('if it is too much even for the window, they are cut, but not dropped for nothing', async () => {
  const memory = new AutoContextMemory({ maxToken: 4000 });
  await memory.add(Msg.user('P'.repeat(11_000)), { marks: 'pinned' });
  const unread = pair('new', 'y'.repeat(1300));
  await memory.add([Msg.user('go'), ...unread]);
  await memory.compress(taskWith(summingModel()));
  const [, , asked, answered, ...others] = await memory.getMemory();
  expect([asked, others]).toEqual([unread[0], []]);
  expect(answered?.getContentBlocks('tool_result')[0]?.output).toMatch(
    /^<!-- CONTEXT_OFFLOAD: uuid=\S+ -->$/,
  );
});

test('an image beside a result that was reloaded is not lost', async () => {
  const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } } as const;
  for (const isRead of [true, false]) {
    const memory = new AutoContextMemory({ maxToken: 4000, largePayloadThreshold: 5000 });
    await memory.add([Msg.user('q'), ...pairs('p', 3, 'x'.repeat(6000)), Msg.assistant('a'), Msg.user('go')]);
    await memory.compress(taskWith(summingModel()));
    const [uuid = ''] = memory.getOffloadContext().keys();
    const content = [
      result('r', 'y'.repeat(9000), 'context_reload'),
      { type: 'text', text: 'seen' } as const,
      image,
    ];
    await memory.add([
      thought(call('r', 'context_reload', { working_context_offload_uuid: uuid })),
      Msg.user(content),
      ...(isRead ? pairs('w', 2, 'x'.repeat(3000)) : []),
    ]);
    expect(await memory.compress(taskWith(summingModel({ error: new Error('down') })))).toBe(true);
    const all = JSON.stringify([await memory.getMemory(), ...memory.getOffloadContext().values()]);
    expect(all).toContain('"AAAA"');
    expect(JSON.stringify(await memory.getMemory())).not.toContain('y'.repeat(300));
  }
});
