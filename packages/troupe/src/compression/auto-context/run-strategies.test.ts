// Behaviour of AgentScope's AutoContextMemory as intended, with its mistakes corrected.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { findHistoryFaults } from '../../message/history.ts';
import { Msg } from '../../message/msg.ts';
import { fakeIds } from '../../testing/fake-ids.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { ScriptedModel } from '../../testing/scripted-model.ts';
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

const clock = new FakeClock();
let installed: Disposable[] = [];
beforeEach(() => {
  installed = [fakeIds(), clock.install()];
});
afterEach(() => installed.forEach((one) => one[Symbol.dispose]()));

/** Limits under which everything is large enough to compress. */
const EAGER: AutoContextOptions = {
  msgThreshold: 10,
  minConsecutiveToolMessages: 3,
  lastKeep: 5,
  minCompressionTokenThreshold: 0,
};

async function memoryOf(
  msgs: readonly Msg[],
  options: AutoContextOptions = EAGER,
): Promise<AutoContextMemory> {
  const memory = new AutoContextMemory(options);
  await memory.add(msgs);
  return memory;
}

interface Made {
  readonly hasChanged: boolean;
  readonly shown: readonly Msg[];
  readonly task: FakeTask;
  readonly requests: ScriptedModel['requests'];
}

async function compress(
  memory: AutoContextMemory,
  model = summingModel(),
  changes: Partial<FakeTask> = {},
): Promise<Made> {
  const task = taskWith(model, changes);
  const hasChanged = await memory.compress(task);
  const shown = await memory.getMemory();
  expect(findHistoryFaults(shown).filter((fault) => !fault.includes('at the end has no result'))).toEqual([]);
  return { hasChanged, shown, task, requests: model.requests };
}

const users = (count: number, size = 1): Msg[] =>
  Array.from({ length: count }, (_, i) => Msg.user(`${i}`.padEnd(size, '.')));
const round = (i: number, count = 1): Msg[] => [
  Msg.user(`question ${i}`),
  ...pairs(`r${i}_`, count),
  Msg.assistant(`answer ${i}`),
];
const typesOf = (memory: AutoContextMemory): string[] =>
  memory.getCompressionEvents().map(({ eventType }) => eventType);
const tagIn = (msg: Msg | undefined): string =>
  /uuid=(\S+) -->/.exec(JSON.stringify(msg?.content))?.[1] ?? '';
const textsOf = (msgs: readonly Msg[]): string[] => msgs.map((msg) => msg.text);
/** Only these strategies. */
const only = (...names: string[]): AutoContextOptions['strategies'] =>
  Object.fromEntries(
    [
      'tool_invocation_compress',
      'large_message_offload_with_protection',
      'large_message_offload',
      'previous_round_conversation_summary',
      'current_round_large_message_summary',
      'current_round_message_compress',
    ].map((name) => [name, names.includes(name)]),
  );

describe('below the thresholds', () => {
  test('nothing happens', async () => {
    const msgs = round(1, 3);
    const { hasChanged, shown, requests, task } = await compress(await memoryOf(msgs));
    expect([hasChanged, requests, task.events]).toEqual([false, [], []]);
    expect(shown.every((msg, i) => msg === msgs[i])).toBe(true);
  });

  test('an empty memory has nothing to do', async () => {
    expect((await compress(new AutoContextMemory())).hasChanged).toBe(false);
  });

  test('compression starts at the limit of messages or of tokens, not one below', async () => {
    const isTouched = async (
      options: AutoContextOptions,
      msgs: readonly Msg[],
      sysPrompt = '',
    ): Promise<boolean> => {
      const limits = { ...EAGER, largePayloadThreshold: 50, lastKeep: 0, ...options };
      return (await compress(await memoryOf(msgs, limits), summingModel(), { sysPrompt })).hasChanged;
    };
    const msgs = [Msg.user('x'.repeat(300)), Msg.assistant('y'), Msg.user('z')]; // 129 + 14 + 10 tokens
    const round = [Msg.user('x'), ...pair('c', 'y'.repeat(200)), Msg.assistant('z'), Msg.user('u')];
    const [minConsecutiveToolMessages, msgThreshold] = [1, 5];
    expect(await isTouched({ minConsecutiveToolMessages, msgThreshold }, round)).toBe(true);
    expect(await isTouched({ minConsecutiveToolMessages, msgThreshold: 6 }, round)).toBe(false);
    expect(await isTouched({ maxToken: 204 }, msgs)).toBe(true); // 153 are three quarters of it
    expect(await isTouched({ maxToken: 206 }, msgs)).toBe(false);
    expect(await isTouched({ maxToken: 206 }, msgs, 'Be good.')).toBe(true); // other parts of the prompt count too
  });
});

describe('tool calls of earlier rounds', () => {
  test('are summed up in one message', async () => {
    const msgs = [Msg.user('go'), ...pairs('c', 5), Msg.assistant('done'), ...users(10)];
    const memory = await memoryOf(msgs);
    const { hasChanged, shown, requests, task } = await compress(
      memory,
      summingModel({ text: 'I searched.', usage: { inputTokens: 70, outputTokens: 3 } }),
    );
    expect([hasChanged, shown.length, requests.length]).toEqual([true, 13, 1]);
    const stub = shown[1];
    const uuid = tagIn(stub);
    expect(stub?.toJSON()).toMatchObject({
      role: 'assistant',
      name: 'Friday',
      content: `I searched.\n<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`,
      metadata: { _compress_meta: { offloaduuid: uuid } },
    });
    expect(shown[0]).toBe(msgs[0]);
    expect(shown.slice(2)).toEqual(msgs.slice(11));
    expect(memory.reload(uuid)).toEqual(msgs.slice(1, 11));
    expect(memory.getOriginalMemoryMsgs()).toEqual(msgs);
    expect(memory.getCompressionEvents()).toEqual([
      {
        eventType: 'TOOL_INVOCATION_COMPRESS',
        timestamp: clock.now(),
        compressedMessageCount: 10,
        previousMessageId: msgs[0]?.id,
        nextMessageId: msgs[11]?.id,
        compressedMessageId: stub?.id,
        metadata: {
          inputToken: 70,
          outputToken: 3,
          time: 0,
          tokenBefore: expect.any(Number),
          tokenAfter: expect.any(Number),
          usage: { inputTokens: 70, outputTokens: 3 },
        },
      },
    ]);
    const [event] = memory.getCompressionEvents();
    expect(task.events).toEqual([
      {
        type: 'compression',
        phase: 'start',
        strategy: 'tool_invocation_compress',
        compressedMessageCount: 10,
        tokensBefore: event?.metadata.tokenBefore,
      },
      {
        type: 'compression',
        phase: 'progress',
        strategy: 'tool_invocation_compress',
        compressedMessageCount: 10,
        tokensBefore: event?.metadata.tokenBefore,
      },
      {
        type: 'compression',
        phase: 'end',
        strategy: 'tool_invocation_compress',
        compressedMessageCount: 10,
        tokensBefore: event?.metadata.tokenBefore,
        tokensAfter: event?.metadata.tokenAfter,
        previousMessageId: msgs[0]?.id,
        nextMessageId: msgs[11]?.id,
        compressedMessageId: stub?.id,
        durationMs: 0,
        usage: { inputTokens: 70, outputTokens: 3 },
      },
    ]);
    expect(task.usages).toEqual([{ inputTokens: 70, outputTokens: 3 }]);
    expect((await compress(memory)).hasChanged).toBe(false); // still many messages, but nothing left to compress
  });

  test('stay if they are no more than the least number', async () => {
    const memory = await memoryOf([Msg.user('go'), ...pairs('c', 5), Msg.assistant('done'), ...users(10)], {
      ...EAGER,
      minConsecutiveToolMessages: 10,
      strategies: only('tool_invocation_compress'),
    });
    expect(await compress(memory)).toMatchObject({ hasChanged: false, requests: [] });
  });

  test('stay if they have too few tokens; later strategies are still tried', async () => {
    const memory = await memoryOf(
      [
        Msg.user('go'),
        ...pairs('c', 5),
        Msg.assistant('done'),
        Msg.user('x'.repeat(3000)),
        Msg.assistant('y'),
        ...users(10),
      ],
      {
        ...EAGER,
        msgThreshold: 1000,
        maxToken: 1600,
        minCompressionTokenThreshold: 5000,
        largePayloadThreshold: 100,
      },
    );
    expect((await compress(memory)).requests).toEqual([]);
    expect(typesOf(memory)).toEqual(['LARGE_MESSAGE_OFFLOAD_WITH_PROTECTION']);
  });

  test('among the newest messages stay', async () => {
    const msgs = [Msg.user('go'), ...pairs('c', 4), Msg.assistant('done'), ...users(2)];
    const { shown } = await compress(await memoryOf(msgs));
    expect(shown.length).toBe(7);
    expect(shown.slice(2, 4)).toEqual(msgs.slice(7, 9)); // the fourth pair
  });

  test('seven runs: five at a time, and the others too if that is not enough', async () => {
    const msgs = [...Array.from({ length: 7 }, (_, i) => round(i, 2)).flat(), ...users(10)];
    const strategies = only('tool_invocation_compress');
    const enough = await memoryOf(msgs, { ...EAGER, msgThreshold: 38, strategies });
    expect((await compress(enough)).requests.length).toBe(5);
    expect(await enough.size()).toBe(37);
    const tooMuch = await memoryOf(msgs, { ...EAGER, msgThreshold: 37, strategies });
    expect((await compress(tooMuch)).requests.length).toBe(6);
    expect(await tooMuch.size()).toBe(34);
  });

  test('small runs do not keep a big one from being summed up', async () => {
    const small = Array.from({ length: 5 }, (_, i) => round(i, 2)).flat();
    const big = [Msg.user('big'), ...pairs('big', 3, 'x'.repeat(2000)), Msg.assistant('big answer')];
    const memory = await memoryOf([...small, ...big, ...users(10)], {
      ...EAGER,
      minCompressionTokenThreshold: 1000,
      strategies: only('tool_invocation_compress'),
    });
    const { requests } = await compress(memory);
    expect(requests.length).toBe(1);
    expect(memory.getCompressionEvents()).toMatchObject([{ compressedMessageCount: 6 }]);
  });

  test('that only edit a plan need no model', async () => {
    const plan = ['create_plan', 'finish_subtask', 'view_subtasks'].flatMap((name) =>
      pair(name, 'x'.repeat(300), name),
    );
    const memory = await memoryOf([Msg.user('go'), ...plan, Msg.assistant('done'), ...users(10)]);
    const { shown, requests } = await compress(memory);
    expect(requests).toEqual([]);
    expect(memory.reload(tagIn(shown[1]))).toEqual(plan);
  });

  test('are told to the model without those about a plan, which are taken out all the same', async () => {
    const run = [...pair('p', 'planned', 'create_plan'), ...pairs('c', 3)];
    const memory = await memoryOf([Msg.user('go'), ...run, Msg.assistant('done'), ...users(10)]);
    const { requests, shown } = await compress(memory);
    expect(JSON.stringify(requests[0]?.messages)).not.toContain('create_plan');
    expect(memory.reload(tagIn(shown[1]))).toEqual(run);
  });

  test('a round whose calls were summed up can still be summed up as a whole', async () => {
    const msgs = [
      Msg.user('go'),
      ...pairs('c', 5),
      Msg.assistant('done '.repeat(500)),
      ...round(1),
      ...users(2),
    ];
    const limits = { ...EAGER, lastKeep: 0, msgThreshold: 1000, maxToken: 1500, largePayloadThreshold: 5000 };
    const { shown } = await compress(await memoryOf(msgs, limits));
    expect(textsOf(shown).slice(0, 3)).toEqual([
      'go',
      expect.stringMatching(/^In short: done\.\n<!--/),
      'question 1',
    ]);
  });
});

describe('large messages', () => {
  const large = (size = 3000): Msg => Msg.user('x'.repeat(size));
  const limits = {
    ...EAGER,
    msgThreshold: 1000,
    maxToken: 1000,
    largePayloadThreshold: 100,
    strategies: only('large_message_offload_with_protection', 'large_message_offload'),
  };
  const rest = [Msg.assistant('fine'), ...users(10)];

  test('leave their beginning', async () => {
    const msg = Msg.user('x'.repeat(3000), { name: 'Ann', metadata: { a: 1 } });
    const memory = await memoryOf([msg, ...rest], limits);
    const { shown, requests, task } = await compress(memory);
    const uuid = tagIn(shown[0]);
    expect(shown[0]?.toJSON()).toMatchObject({
      name: 'Ann',
      role: 'user',
      content: `${'x'.repeat(200)}...\n<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`,
      metadata: { a: 1, _compress_meta: { offloaduuid: uuid } },
      timestamp: msg.timestamp,
    });
    expect(shown[0]?.id).not.toBe(msg.id);
    expect(memory.reload(uuid)).toEqual([msg]);
    expect(requests).toEqual([]);
    expect(memory.getCompressionEvents()).toMatchObject([
      {
        eventType: 'LARGE_MESSAGE_OFFLOAD_WITH_PROTECTION',
        compressedMessageCount: 1,
        metadata: { inputToken: 1209, outputToken: expect.any(Number), time: 0 },
      },
    ]);
    expect(task.events.map(({ phase }) => phase)).toEqual(['end']);
  });

  test('among the newest are left alone at first, and are the very same', async () => {
    const msgs = [large(), Msg.assistant('fine'), ...users(3), large(), Msg.assistant('fine'), ...users(3)];
    const memory = await memoryOf(msgs, {
      ...limits,
      maxToken: 2200,
      strategies: only('large_message_offload_with_protection'),
    });
    const { shown } = await compress(memory);
    expect(shown.map((msg, i) => msg === msgs[i])).toEqual([false, ...Array.from({ length: 9 }, () => true)]);
  });

  test('are taken also among the newest, even if there are only few messages', async () => {
    const msgs = [large(9000), Msg.assistant('fine'), Msg.user('and?')];
    const memory = await memoryOf(msgs, { maxToken: 2000, lastKeep: 50 });
    const { shown } = await compress(memory);
    expect(typesOf(memory)).toEqual(['LARGE_MESSAGE_OFFLOAD']);
    expect(shown.slice(1)).toEqual(msgs.slice(1));
  });

  test('with tool calls stay', async () => {
    const calls = [thought({ type: 'text', text: 'x'.repeat(3000) }, call('a')), results(result('a'))];
    const memory = await memoryOf([Msg.user('go'), ...calls, ...rest], limits);
    await compress(memory);
    expect(typesOf(memory)).toEqual(['LAST_RESORT_OFFLOAD']);
  });

  test('with a result keep its id, name and status', async () => {
    const msgs = [thought(call('a')), Msg.system([{ ...result('a', 'x'.repeat(3000)), status: 'error' }])];
    const memory = await memoryOf([Msg.user('go'), ...msgs, ...rest], limits);
    const { shown } = await compress(memory);
    expect(shown[2]?.content).toEqual([
      {
        ...result('a', `${'x'.repeat(200)}...\n<!-- CONTEXT_OFFLOAD: uuid=${tagIn(shown[2])} -->`),
        status: 'error',
      },
    ]);
  });

  test('with several results keep all of them', async () => {
    const both = results(result('a', 'x'.repeat(3000)), result('b', 'small'), result('c', 'y'.repeat(3000)));
    const memory = await memoryOf(
      [Msg.user('go'), thought(call('a'), call('b'), call('c')), both, ...rest],
      limits,
    );
    const { shown } = await compress(memory);
    const tag = `...\n<!-- CONTEXT_OFFLOAD: uuid=${tagIn(shown[2])} -->`;
    expect(shown[2]?.content).toEqual([
      result('a', 'x'.repeat(200) + tag),
      result('b', 'small'),
      result('c', 'y'.repeat(200) + tag),
    ]);
    expect(memory.reload(tagIn(shown[2]))).toEqual([both]);
  });

  test('keep their media', async () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const;
    const msgs = [
      Msg.user([{ type: 'text', text: 'x'.repeat(3000) }, image]),
      thought(call('a')),
      results(result('a', [{ type: 'text', text: 'y'.repeat(3000) }, image])),
    ];
    const { shown } = await compress(await memoryOf([...msgs, ...rest], limits));
    expect(shown[0]?.getContentBlocks().map(({ type }) => type)).toEqual(['text', 'image']);
    expect(shown[2]?.getContentBlocks('tool_result')[0]?.output).toEqual([
      { type: 'text', text: expect.stringContaining('CONTEXT_OFFLOAD') },
      image,
    ]);
  });

  test('are not offloaded again, however small a large message is', async () => {
    const memory = await memoryOf([large(), ...rest], { ...limits, largePayloadThreshold: 50 });
    const first = await compress(memory);
    await memory.add(Msg.user('y'.repeat(1500)));
    await compress(memory);
    expect(new Set(typesOf(memory).slice(1))).toEqual(new Set(['LAST_RESORT_OFFLOAD']));
    expect([...memory.getOffloadContext().values()][1]).toContain(first.shown[0]);
  });

  test('that are summaries stay, at any length', async () => {
    const long = [Msg.user('go'), ...pairs('c', 5, 'x'.repeat(3000)), Msg.assistant('done'), ...users(10)];
    const memory = await memoryOf(long, { ...EAGER, maxToken: 2000, largePayloadThreshold: 100 });
    const { shown } = await compress(memory, summingModel('A long summary. '.repeat(15)));
    expect(typesOf(memory)).toEqual(['TOOL_INVOCATION_COMPRESS']);
    expect(shown[1]?.text.length).toBeGreaterThan(200);
  });

  test('stay if the replacement would be longer', async () => {
    const memory = await memoryOf([large(60), ...rest, Msg.user('y'.repeat(3000))], {
      ...limits,
      largePayloadThreshold: 50,
    });
    await compress(memory);
    expect(new Set(typesOf(memory))).toEqual(new Set(['LAST_RESORT_OFFLOAD']));
  });

  test('stay if only the number of messages is too large', async () => {
    const memory = await memoryOf([large(), ...rest], { ...limits, msgThreshold: 5, maxToken: 100_000 });
    expect((await compress(memory)).hasChanged).toBe(false);
  });

  test('are never cut within a character', async () => {
    const memory = await memoryOf([Msg.user('🐻'.repeat(2000)), ...rest], {
      ...limits,
      offloadSinglePreview: 101,
    });
    expect((await compress(memory)).shown[0]?.text).toMatch(/^(?:🐻){50}\.\.\.\n<!--/u);
  });
});

describe('earlier rounds', () => {
  test('are summed up, except the newest', async () => {
    const msgs = [...[1, 2, 3, 4, 5].flatMap((i) => round(i)), Msg.user('and now?')];
    const memory = await memoryOf(msgs, { ...EAGER, msgThreshold: 15, minConsecutiveToolMessages: 6 });
    const { shown, requests } = await compress(memory, summingModel('So.'));
    expect([shown.length, requests.length]).toEqual([13, 4]);
    expect(shown.filter(({ role }) => role === 'user').map((msg) => msgs.includes(msg))).toEqual(
      Array.from({ length: 6 }, () => true),
    );
    expect(typesOf(memory)).toEqual(Array.from({ length: 4 }, () => 'PREVIOUS_ROUND_CONVERSATION_SUMMARY'));
    expect(memory.getCompressionEvents().map((event) => event.compressedMessageCount)).toEqual([3, 3, 3, 3]);
    expect(memory.reload(tagIn(shown[1]))).toEqual(msgs.slice(1, 4));
    expect(shown.slice(8)).toEqual(msgs.slice(16));
    expect(memory.getOriginalMemoryMsgs()).toEqual(msgs);
    await memory.add('more');
    expect((await compress(memory)).hasChanged).toBe(false);
  });

  test('without any work in between are summed up together, with their requests', async () => {
    const msgs = [...[1, 2, 3, 4, 5, 6].flatMap((i) => round(i, 0)), Msg.user('and now?')];
    const memory = await memoryOf(msgs);
    const { shown, requests, task } = await compress(memory);
    expect(shown.slice(1)).toEqual(msgs.slice(10));
    const uuid = tagIn(shown[0]);
    expect(shown[0]?.toJSON()).toMatchObject({
      role: 'assistant',
      name: 'Friday',
      content: `Summary of earlier messages:\nIn short: done.\n<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`,
      metadata: { _compress_meta: { offloaduuid: uuid } },
    });
    expect(memory.reload(uuid)).toEqual(msgs.slice(0, 10));
    expect(requests.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
      [
        expect.stringMatching(/^Below is the older part of a conversation/),
        msgs
          .slice(0, 10)
          .map(({ role, name, text }) => `<message role="${role}" name="${name}">\n${text}\n</message>`)
          .join('\n'),
        expect.stringMatching(/^That was all\. .* your name is "Friday"\./),
        'The text above has 90 characters. Write about 27 characters (30 %).',
      ],
    ]);
    expect(
      task.events.map(({ phase, strategy, compressedMessageCount }) => [
        phase,
        strategy,
        compressedMessageCount,
      ]),
    ).toEqual(
      ['start', 'progress', 'end'].map((phase) => [phase, 'previous_round_conversation_summary', 10]),
    );
    expect(await compress(memory)).toMatchObject({ hasChanged: false, requests: [] });
  });

  test('are summed up together also if each of them is too small for a summary of its own', async () => {
    const msgs = [...[1, 2, 3, 4].flatMap((i) => round(i)), Msg.user('and now?')];
    const limits = { ...EAGER, minConsecutiveToolMessages: 6, minCompressionTokenThreshold: 5000 };
    const { shown, requests } = await compress(await memoryOf(msgs, limits));
    expect(requests.length).toBe(1);
    expect(shown).toEqual([expect.any(Msg), ...msgs.slice(12)]);
  });

  test('that are few and small go late, and still before the last resort', async () => {
    const unread = pair('c', 'x'.repeat(1500));
    const msgs = [...[1, 2, 3].flatMap((i) => round(i)), Msg.user('and now?'), ...unread];
    const limits = { ...EAGER, msgThreshold: 1000, maxToken: 1200, minCompressionTokenThreshold: 5000 };
    const memory = await memoryOf(msgs, limits);
    const { shown, requests } = await compress(memory);
    expect(typesOf(memory)).toEqual(['PREVIOUS_ROUND_CONVERSATION_SUMMARY']);
    expect(requests.length).toBe(1);
    expect(shown).toEqual([expect.any(Msg), ...msgs.slice(-3)]);
  });

  test('of an earlier summary and a little more go into the next summary', async () => {
    const memory = await memoryOf([...[1, 2, 3, 4, 5].flatMap((i) => round(i, 0)), Msg.user('and now?')]);
    const first = await compress(memory, summingModel('They count to 4.'));
    await memory.add([Msg.assistant('yes'), ...[6, 7, 8].flatMap((i) => round(i, 0)), Msg.user('and now?')]);
    const { shown, requests } = await compress(memory, summingModel('They count to 7.'));
    expect(requests.length).toBe(1);
    expect(requests[0]?.messages[1]?.text).toMatch(
      /^<message role="assistant" name="Friday">\nSummary of earlier messages:\nThey count to 4\./,
    );
    expect(memory.reload(tagIn(shown[0]))[0]).toBe(first.shown[0]);
    expect(textsOf(shown).slice(1)).toEqual(['question 8', 'answer 8', 'and now?']);
  });

  test('are never a summary alone, nor one with notes only', async () => {
    const memory = await memoryOf([...[1, 2, 3, 4, 5].flatMap((i) => round(i, 0)), Msg.user('and now?')]);
    await compress(memory);
    const again = await compress(memory, undefined, { force: true });
    expect(again.requests.map(({ messages }) => messages[1]?.text.includes('question 5'))).toEqual([true]);
    expect((await compress(memory, undefined, { force: true })).requests).toEqual([]);
  });

  test('keep the work on them: a tool call goes with its results, what is pinned or protected stays', async () => {
    const pinned = Msg.user('remember this');
    const precious = pair('p', 'gold', 'skill');
    const msgs = [...round(1), ...precious, ...round(2), Msg.assistant('fine'), ...round(3), Msg.user('go')];
    const memory = await memoryOf(msgs.slice(0, 6), { ...EAGER, protectedTools: ['skill'] });
    await memory.add(pinned, { marks: 'pinned' });
    await memory.add(msgs.slice(6));
    const { shown } = await compress(memory);
    expect(shown.filter((msg) => [pinned, ...precious].includes(msg))).toEqual([...precious, pinned]);
    expect(shown.slice(-5)).toEqual(msgs.slice(-5));
    expect([...memory.getOffloadContext().values()].flat().length).toBeGreaterThan(7);
  });

  test('and what others said since, without a request, are history up to the request', async () => {
    const chatter = Array.from({ length: 12 }, (_, i) =>
      Msg.assistant(`I say ${i}.`, { name: i % 2 ? 'Bob' : 'Carol' }),
    );
    const request = Msg.user('What do you think?');
    const memory = await memoryOf([...round(1, 0), ...chatter, request]);
    const { shown, requests } = await compress(memory, undefined, { requestIds: new Set([request.id]) });
    expect(requests.length).toBe(1);
    expect(requests[0]?.messages[1]?.text).toContain(
      '<message role="user" name="Carol">\nI say 0.\n</message>',
    );
    expect(shown.length).toBeLessThan(8);
    expect(shown.slice(-2)).toEqual([chatter.at(-1), request]);
  });

  test('with a summary of their work are summed up normally', async () => {
    const memory = await memoryOf([Msg.user('go'), ...pairs('c', 5, 'x'.repeat(300))], {
      ...EAGER,
      minConsecutiveToolMessages: 20,
      msgThreshold: 1000,
      maxToken: 1000,
      largePayloadThreshold: 5000,
    });
    await compress(memory, summingModel('I searched, and searched again.'));
    expect(typesOf(memory)).toEqual(['CURRENT_ROUND_MESSAGE_COMPRESS']);
    await memory.add([Msg.assistant('an answer '.repeat(200)), ...round(2), ...users(6)]);
    const { shown } = await compress(memory, summingModel('Short.'));
    expect(textsOf(shown).slice(0, 3)).toEqual(['go', expect.stringMatching(/^Short\.\n<!--/), 'question 2']);
  });
});

describe('large messages of the current round', () => {
  const limits = {
    ...EAGER,
    msgThreshold: 1000,
    maxToken: 2000,
    largePayloadThreshold: 100,
    strategies: only('current_round_large_message_summary'),
  };

  test('get shorter: calls stay the same, results keep their ids', async () => {
    const ask = thought({ type: 'text', text: 'x'.repeat(6000) }, call('a'), call('b')).with({
      metadata: { mine: 1 },
    });
    const answers = results(result('a', 'y'.repeat(6000)), result('b', 'small'));
    const memory = await memoryOf([Msg.user('go'), ask, answers], limits);
    const { shown, requests } = await compress(memory, summingModel('Short.'));
    const [resultTag, textTag] = [tagIn(shown[2]), tagIn(shown[1])];
    const tagged = (uuid: string): string => `Short.\n<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`;
    expect(shown[1]?.content).toEqual([{ type: 'text', text: tagged(textTag) }, call('a'), call('b')]);
    expect(shown[1]?.metadata).toEqual({ mine: 1, _compress_meta: { offloaduuid: textTag } });
    expect(shown[2]?.content).toEqual([result('a', tagged(resultTag)), result('b', 'small')]);
    expect([memory.reload(textTag), memory.reload(resultTag)]).toEqual([[ask], [answers]]);
    expect(typesOf(memory)).toEqual(Array.from({ length: 2 }, () => 'CURRENT_ROUND_LARGE_MESSAGE_SUMMARY'));
    expect(requests.map(({ messages }) => messages[1]?.text)).toEqual(['y'.repeat(3000), 'x'.repeat(3000)]); // as much as fits
    const sent = requests.flatMap(({ messages }) => messages);
    expect(sent.every(({ role, content }) => role === 'user' && typeof content === 'string')).toBe(true);
    await memory.add(pair('c'));
    const again = await compress(memory, undefined, { force: true });
    expect(again.requests, 'what was shortened is not shortened again').toEqual([]);
  });

  test('unread by the model come last, and stay if the rest is enough', async () => {
    const msgs = [Msg.user('go'), ...pair('a', 'x'.repeat(3000)), ...pair('b', 'y'.repeat(3000))];
    const { shown, requests } = await compress(await memoryOf(msgs, { ...limits, maxToken: 3000 }));
    expect(requests.map(({ messages }) => messages[1]?.text)).toEqual(['x'.repeat(3000)]);
    expect(shown.slice(3)).toEqual(msgs.slice(3));
  });

  test('stay if only the number of messages is too large', async () => {
    const msgs = [Msg.user('go'), ...pairs('a', 2, 'x'.repeat(300))];
    const memory = await memoryOf(msgs, { ...limits, msgThreshold: 3, maxToken: 100_000 });
    expect(await compress(memory)).toMatchObject({ hasChanged: false, requests: [] });
  });

  test('huge arguments are cut, which needs no model', async () => {
    const ask = thought(call('a', 'write_file', { path: 'a.txt', content: 'x'.repeat(4000), lines: [1, 2] }));
    const memory = await memoryOf(
      [Msg.user('go'), ask, results(result('a', 'written', 'write_file'))],
      limits,
    );
    const { shown, requests } = await compress(memory);
    expect(requests).toEqual([]);
    const content = `${'x'.repeat(200)}...\n<!-- CONTEXT_OFFLOAD: uuid=${tagIn(shown[1])} -->`;
    expect(shown[1]?.content).toEqual([call('a', 'write_file', { path: 'a.txt', content, lines: [1, 2] })]);
    expect(memory.reload(tagIn(shown[1]))).toEqual([ask]);
  });

  test('arguments that are large without any long text are cut as a whole', async () => {
    const numbers = Array.from({ length: 2000 }, (_, i) => i);
    const ask = thought(call('a', 'sum', { numbers }));
    const memory = await memoryOf([Msg.user('go'), ask, results(result('a', '1', 'sum'))], limits);
    const { shown } = await compress(memory);
    expect(shown[1]?.getContentBlocks('tool_use')[0]?.input).toEqual({
      offloaded: expect.stringMatching(/^\{"numbers":\[0,1,2.*\.\.\.\n<!--/s) as string,
    });
  });
});

describe('the current round', () => {
  const limits = { ...EAGER, msgThreshold: 4, strategies: only('current_round_message_compress') };

  test('is summed up in one message, except a call that waits', async () => {
    const done = [...pair('a', '1234567'), ...pair('b', '1234567')];
    const waits = thought(call('w'));
    const memory = await memoryOf([Msg.user('go'), ...done, waits], limits);
    const { shown, requests } = await compress(memory, summingModel('A and b.'));
    const uuid = tagIn(shown[1]);
    expect(shown.length).toBe(3);
    expect(shown[1]).toMatchObject({
      role: 'assistant',
      name: 'Friday',
      content: `A and b.\n<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`,
      metadata: { _compress_meta: { offloaduuid: uuid, compressed_current_round: true } },
    });
    expect(shown[2]).toBe(waits);
    expect(memory.reload(uuid)).toEqual(done);
    // {"q":"a"} and 1234567, twice
    expect(requests[0]?.messages.at(-1)?.text).toBe(
      'The text above has 32 characters. Write about 10 characters (30 %).',
    );
    expect((await compress(memory)).hasChanged, 'nothing to do until the result is there').toBe(false);

    await memory.add([results(result('w')), ...pair('c')]);
    const again = await compress(memory, summingModel('All.'));
    expect(again.shown.length).toBe(4);
    expect(memory.getCompressionEvents().at(-1)).toMatchObject({ compressedMessageCount: 3 });
  });

  test('with two calls of which one waits is left alone', async () => {
    const memory = await memoryOf([Msg.user('go'), thought(call('a'), call('b')), results(result('a'))], {
      ...limits,
      msgThreshold: 2,
    });
    expect(await compress(memory)).toMatchObject({ hasChanged: false, requests: [] });
  });

  test('neither a summary nor a lone answer is summarized again', async () => {
    const memory = await memoryOf([Msg.user('go'), ...pairs('c', 3), thought(call('w'))], limits);
    expect((await compress(memory)).requests.length).toBe(1);
    expect((await compress(memory, undefined, { force: true })).requests.length).toBe(0);
    const lone = await memoryOf([Msg.user('go'), Msg.assistant('an answer')], { ...limits, msgThreshold: 2 });
    expect((await compress(lone)).requests).toEqual([]);
  });

  test('keeps the newest calls: nobody has read their results', async () => {
    const msgs = [Msg.user('go'), ...pairs('c', 4)];
    const { shown } = await compress(await memoryOf(msgs, limits));
    expect(shown).toEqual([msgs[0], expect.any(Msg), ...msgs.slice(-2)]);
    const alone = await memoryOf([Msg.user('go'), ...pair('c')], { ...limits, msgThreshold: 2 });
    expect((await compress(alone)).hasChanged).toBe(false);
  });

  test('gives up the newest calls only when there is no other way', async () => {
    const msgs = [Msg.user('go'), ...pairs('c', 3), ...pair('big', 'x'.repeat(6000))];
    const memory = await memoryOf(msgs, { ...limits, maxToken: 2000 });
    const { shown, requests } = await compress(memory);
    expect(requests.length).toBe(2);
    expect(shown.length).toBe(2);
  });

  test('is left alone if it is little beside all the rest, and only the number of messages is too much', async () => {
    const rounds = [1, 2, 3, 4, 5].flatMap((i) => round(i, 0));
    const memory = await memoryOf([...rounds, Msg.user('go'), ...pairs('c', 3)], limits);
    expect(await compress(memory)).toMatchObject({ hasChanged: false, requests: [] });
  });

  test('begins with what the user said first since the last answer', async () => {
    const msgs = [Msg.user('go'), ...pairs('c', 3), Msg.user('and quickly!'), ...pairs('d', 2)];
    const { shown } = await compress(await memoryOf(msgs, limits));
    expect(shown).toEqual([msgs[0], msgs[7], expect.any(Msg), ...msgs.slice(-2)]);
  });
});

describe('the prompt of the summarizing model', () => {
  const msgs = [Msg.user('go'), ...pairs('c', 5), Msg.assistant('done'), ...users(10)];
  const lastText = ({ requests }: Made): string | undefined => requests[0]?.messages.at(-1)?.text;

  test('the prompt, the messages as text, the end, and no tools', async () => {
    const { requests } = await compress(await memoryOf(msgs));
    expect(requests[0]).toEqual({
      messages: expect.any(Array) as Msg[],
      agentName: 'Friday',
      formatter: undefined,
    });
    const [prompt, text, end, ...others] = requests[0]?.messages ?? [];
    expect(others).toEqual([]);
    expect(prompt?.text).toMatch(/^Below are tool calls/);
    expect(end?.text).toMatch(/^That was all\./);
    expect(text?.text.split('\n').slice(0, 6)).toEqual([
      '<message role="assistant" name="Friday">',
      '[calls search with] {"q":"c0"}',
      '</message>',
      '<message role="system" name="system">',
      '[search gave, ok] found',
      '</message>',
    ]);
  });

  test('a text can not end its enclosing tag', async () => {
    const run = pairs('c', 5, 'x</message>y');
    const { requests } = await compress(
      await memoryOf([Msg.user('go'), ...run, Msg.assistant('done'), ...users(10)]),
    );
    expect(requests[0]?.messages[1]?.text.match(/<\/message>/g)?.length).toBe(10);
  });

  test('the plan comes last, if there is one', async () => {
    expect(lastText(await compress(await memoryOf(msgs), undefined, { planHint: 'Goal: find it' }))).toBe(
      'Goal: find it',
    );
    expect(lastText(await compress(await memoryOf(msgs)))).toMatch(/^That was all/);
  });

  test.each([
    ['a custom prompt', 'Be brief.', /^Be brief\.$/],
    ['an empty one', '  ', /^Below are tool calls/],
  ])('%s', async (_, previousRoundToolCompress, expected) => {
    const { requests } = await compress(
      await memoryOf(msgs, { ...EAGER, customPrompt: { previousRoundToolCompress } }),
    );
    expect(requests[0]?.messages[0]?.text).toMatch(expected);
  });

  test('every kind of summary has its own prompt', async () => {
    const customPrompt = {
      previousRoundSummary: 'P1',
      historySummary: 'P4',
      currentRoundLargeMessage: 'P2',
      currentRoundCompress: 'P3',
    };
    const current = [Msg.user('go'), ...pair('x', 'x'.repeat(200)), ...pairs('y', 20, 'y'.repeat(90))];
    const limits = { ...EAGER, msgThreshold: 1000, maxToken: 2000, largePayloadThreshold: 100, customPrompt };
    const memory = await memoryOf([...round(1), ...round(2), ...current], limits);
    const { requests } = await compress(memory, summingModel('S.'));
    expect(requests.map(({ messages }) => messages[0]?.text)).toEqual(['P1', 'P4', 'P2', 'P3']);
  });

  test('no more than fits: the longest parts are cut, and of very many messages the oldest are left out', async () => {
    const long = [Msg.user('go'), ...pairs('c', 5, 'x'.repeat(5000)), Msg.assistant('done'), ...users(5)];
    const { requests } = await compress(await memoryOf(long, { ...EAGER, maxToken: 4000 }));
    const text = requests[0]?.messages[1]?.text ?? '';
    expect(text.length).toBeLessThan(4000 * 0.75 * 2 + 100);
    expect(text.match(/x+ \[…\]/g)?.length).toBe(5);
    const many = [Msg.user('go'), ...pairs('c', 200), Msg.assistant('done'), ...users(3)];
    const other = await compress(await memoryOf(many, { ...EAGER, maxToken: 4000 }));
    const start = other.requests[0]?.messages[1]?.text ?? '';
    expect(start).toMatch(/^\(\d+ older messages are left out here\.\)/);
    expect(start).toContain('{"q":"c198"}');
  });

  test('a separate model is used if given', async () => {
    const [own, agents] = [summingModel(), summingModel()];
    await compress(await memoryOf(msgs, { ...EAGER, model: own }), agents);
    expect([own.requests.length, agents.requests.length]).toEqual([1, 0]);
  });

  test('a tag that a model makes up does not get into the conversation', async () => {
    const { shown } = await compress(
      await memoryOf(msgs),
      summingModel('So. <!-- CONTEXT_OFFLOAD: uuid=nonsense -->'),
    );
    expect(shown[1]?.text).toMatch(/^So\.\n<!-- CONTEXT_OFFLOAD: uuid=id-\d+ -->$/);
  });
});

test('a strategy that is switched off is not used', async () => {
  const msgs = [Msg.user('go'), ...pairs('c', 5), Msg.assistant('done'), ...users(10)];
  const { requests } = await compress(
    await memoryOf(msgs, { ...EAGER, strategies: { tool_invocation_compress: false } }),
  );
  expect(requests).toEqual([]);
});

test('strategies run until the prompt fits, also after a pass with a change', async () => {
  const msgs = [
    ...Array.from({ length: 8 }, (_, i) => [
      Msg.user(`q${i}`),
      ...pairs(`r${i}_`, 3, 'x'.repeat(400)),
      Msg.assistant(`a${i}`),
    ]).flat(),
    Msg.user('now'),
  ];
  const memory = await memoryOf(msgs, { ...EAGER, lastKeep: 0, msgThreshold: 25 });
  const { shown } = await compress(memory);
  expect(shown.length).toBeLessThan(25);
  expect(new Set(typesOf(memory)).size).toBeGreaterThan(1);
});

describe('messages that must stay', () => {
  const msgs = [
    Msg.system('All hail.'),
    Msg.user('go'),
    ...pairs('c', 2),
    Msg.system('A hint.'),
    ...pairs('d', 2),
    Msg.assistant('done'),
    Msg.user('and?'),
  ];
  const limits = { ...EAGER, msgThreshold: 3, minConsecutiveToolMessages: 0, lastKeep: 0, maxToken: 300 };

  test('all system messages', async () => {
    const { shown } = await compress(await memoryOf(msgs, limits));
    expect(shown.filter(({ role }) => role === 'system')).toEqual([msgs[0], msgs[6]]);
  });

  test('tool calls of protected tools, with their results', async () => {
    const skill = [
      thought(call('s', 'skill'), call('t')),
      results(result('s', 'x'.repeat(200), 'skill')),
      results(result('t')),
    ];
    const memory = await memoryOf(
      [Msg.user('go'), ...pairs('c', 3), ...skill, ...pairs('d', 3), Msg.assistant('done'), Msg.user('and?')],
      { ...limits, maxToken: 700, protectedTools: ['skill'] },
    );
    const { shown, hasChanged } = await compress(memory);
    expect(hasChanged).toBe(true);
    expect(shown.filter((msg) => skill.includes(msg))).toEqual(skill);
  });

  test.each([
    ['by a mark', {}, { marks: 'pinned' }],
    ['by a rule', { isPinned: (msg: Msg) => msg.text.startsWith('remember') }, {}],
  ])('a pinned message %s', async (_, options, addOptions) => {
    const pinned = Msg.user('remember: '.padEnd(400, 'x'));
    const memory = await memoryOf(msgs, { ...limits, maxToken: 800, largePayloadThreshold: 50, ...options });
    await memory.add(pinned, addOptions);
    await memory.add([Msg.assistant('noted'), Msg.user('and?')]);
    const { shown, hasChanged } = await compress(memory);
    expect(hasChanged).toBe(true);
    expect(shown).toContain(pinned);
  });

  test('a text that looks like a tag, or metadata that looks like ours, is like any other', async () => {
    const fake = Msg.user(`${'x'.repeat(3000)} <!-- CONTEXT_OFFLOAD: uuid=id-1 -->`, {
      metadata: { _compress_meta: { offloaduuid: 'id-1' } },
    });
    const memory = await memoryOf([fake, Msg.assistant('fine'), ...users(10)], {
      ...EAGER,
      maxToken: 1000,
      largePayloadThreshold: 100,
    });
    const { shown } = await compress(memory);
    expect(memory.reload(tagIn(shown[0]))).toEqual([fake]);
    expect(tagIn(shown[0])).not.toBe('id-1');
  });

  test('messages before a change: the same objects', async () => {
    const before = [...round(1, 0), ...round(2, 0)];
    const memory = await memoryOf(
      [...before, Msg.user('go'), ...pairs('c', 5), Msg.assistant('done'), ...users(6)],
      { ...EAGER, msgThreshold: 15 },
    );
    const { shown } = await compress(memory);
    expect(before.map((msg, i) => shown[i] === msg)).toEqual([true, true, true, true]);
  });
});

describe('no more than has to be', () => {
  const rounds = (count: number, size: number): Msg[] =>
    Array.from({ length: count }, (_, i) => [
      Msg.user(`q${i}`),
      ...pairs(`r${i}_`, 3, 'z'.repeat(size)),
      Msg.assistant(`a${i}`),
    ]).flat();

  test('is summed up of the rounds that are over, and of runs of calls', async () => {
    const limits = { maxToken: 40_000, lastKeep: 0, minCompressionTokenThreshold: 100 };
    for (const minConsecutiveToolMessages of [100, 5]) {
      const memory = await memoryOf([...rounds(12, 2000), Msg.user('and now?')], {
        ...limits,
        minConsecutiveToolMessages,
      });
      const { requests } = await compress(memory);
      expect(requests.length).toBe(1);
      expect(memory.getCompressionEvents()[0]?.metadata.tokenAfter).toBeLessThan(30_000);
    }
  });

  test('is shortened of the current round', async () => {
    const memory = await memoryOf([Msg.user('go'), ...pairs('p', 9, 'x'.repeat(8500))], { maxToken: 40_000 });
    expect((await compress(memory, summingModel('s'.repeat(500)))).requests.length).toBe(1);
  });
});

describe('a model is asked rather than nothing left', () => {
  test('with a small window too', async () => {
    const talk = Array.from({ length: 12 }, (_, i) => [
      Msg.user(`q${i}`),
      ...pairs(`p${i}_`, 3, 'z'.repeat(400)),
      Msg.assistant(`a${i}`),
    ]).flat();
    const memory = await memoryOf([...talk, Msg.user('and now?')], { maxToken: 8000 });
    const { requests } = await compress(memory);
    expect(requests.length).toBeGreaterThan(0);
    expect(typesOf(memory)).not.toContain('LAST_RESORT_OFFLOAD');
  });

  test('for the newest earlier round, if there is no other', async () => {
    const memory = await memoryOf(
      [Msg.user('q'), ...pairs('p', 22, 'z'.repeat(4000)), Msg.assistant('a'), Msg.user('and now?')],
      { maxToken: 32_000, largePayloadThreshold: 5000 },
    );
    const { requests, shown } = await compress(memory);
    expect([requests.length, typesOf(memory)]).toEqual([1, ['TOOL_INVOCATION_COMPRESS']]);
    expect(textsOf(shown)).toEqual(['q', expect.stringMatching(/^In short/), 'a', 'and now?']);
    const many = Array.from({ length: 8 }, (_, i) => thought(call(`m${i}`), call(`n${i}`)));
    const answers = many.map((_, i) =>
      results(result(`m${i}`, 'z'.repeat(4000)), result(`n${i}`, 'z'.repeat(4000))),
    );
    const task = many.flatMap((msg, i) => [msg, answers[i] as Msg]);
    const other = await memoryOf([Msg.user('q'), ...task, Msg.assistant('a'), Msg.user('and now?')], {
      maxToken: 32_000,
      largePayloadThreshold: 5000,
      minConsecutiveToolMessages: 100,
    });
    expect((await compress(other)).requests.length).toBe(1);
    expect(typesOf(other)).toEqual(['PREVIOUS_ROUND_CONVERSATION_SUMMARY']);
    expect(textsOf(await other.getMemory())).toEqual(['q', expect.stringMatching(/^In short/), 'and now?']);
  });
});

describe('hints behind the conversation count too', () => {
  test('in a prompt that fits without hints', async () => {
    const msgs = [...[1, 2, 3].flatMap((i) => round(i, 2)), Msg.user('and now?')];
    const limits = { maxToken: 1000, minCompressionTokenThreshold: 0, minConsecutiveToolMessages: 1 };
    expect((await compress(await memoryOf(msgs, limits))).hasChanged).toBe(false);
    const hints = [Msg.user('A plan. '.repeat(150))];
    const { hasChanged } = await compress(await memoryOf(msgs, limits), undefined, { hints });
    expect(hasChanged).toBe(true);
  });
});

describe('the request to the agent', () => {
  const task = pairs('p', 5, 'x'.repeat(1200));
  const asked = async (
    msgs: readonly Msg[],
    changes: Partial<FakeTask>,
    fails = false,
  ): Promise<readonly Msg[]> => {
    const model = fails ? summingModel({ error: new Error('down') }) : summingModel();
    const { shown, hasChanged } = await compress(await memoryOf(msgs, { maxToken: 2500 }), model, changes);
    expect(hasChanged).toBe(true);
    return shown;
  };

  test.each([
    ['a model that sums up', false],
    ['a model that fails', true],
  ])('by another agent stays, with %s', async (_, fails) => {
    const request = Msg.assistant('Delete only a.txt.', { name: 'Planner' });
    const before = [Msg.user('Hello'), Msg.assistant('I vote for it.', { name: 'Other' })];
    for (const requestIds of [new Set([request.id]), new Set<string>()]) {
      expect(await asked([request, ...task], { requestIds }, fails)).toContain(request);
      expect(await asked([...before, request, ...task], { requestIds }, fails)).toContain(request);
    }
    const unnamed = Msg.assistant('Delete only a.txt.');
    expect(await asked([unnamed, ...task], { requestIds: new Set([unnamed.id]) }, fails)).toContain(unnamed);
  });

  test('stays with all its parts, however large; what was only said besides does not', async () => {
    const [large, small] = [Msg.user('r '.repeat(1500)), Msg.user('Be quick.')];
    const chat = Msg.user('Chat. '.repeat(100));
    const requestIds = new Set([large.id, small.id]);
    const shown = await asked([large, small, chat, ...task], { requestIds }, true);
    expect(shown).toEqual(expect.arrayContaining([large, small]));
    expect(shown).not.toContain(chat);
    expect(await asked([large, small, ...task], {}, true)).toEqual(expect.arrayContaining([large, small]));
  });

  test('is not ended by what another agent says: the work on it is the current one', async () => {
    const memory = await memoryOf(
      [Msg.user('go'), ...task, Msg.assistant('By the way.', { name: 'Other' }), ...pair('last')],
      { maxToken: 2500, largePayloadThreshold: 5000 },
    );
    await compress(memory);
    expect(typesOf(memory)).toEqual(['CURRENT_ROUND_MESSAGE_COMPRESS']);
  });
});
