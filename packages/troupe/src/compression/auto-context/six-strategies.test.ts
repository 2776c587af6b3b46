// Each of the six strategies on the example that the description of AgentScope's AutoContextMemory gives for it.
import { beforeEach, afterEach, expect, test } from 'vitest';

import { findHistoryFaults } from '../../message/history.ts';
import { Msg } from '../../message/msg.ts';
import { fakeIds } from '../../testing/fake-ids.ts';
import type { ScriptedModel } from '../../testing/scripted-model.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import { call, result, results, summingModel, thought, taskWith } from '../../../test/compression-task.ts';
import { AutoContextMemory } from './auto-context-memory.ts';
import type { AutoContextOptions } from './auto-context-options.ts';

let ids: Disposable | undefined;
beforeEach(() => {
  ids = fakeIds();
});
afterEach(() => ids?.[Symbol.dispose]());

interface Made {
  readonly memory: AutoContextMemory;
  readonly shown: readonly Msg[];
  readonly requests: ScriptedModel['requests'];
  readonly types: readonly string[];
}

async function compressed(
  msgs: readonly Msg[],
  options: AutoContextOptions,
  summary = 'In short: done.',
): Promise<Made> {
  const memory = new AutoContextMemory(options);
  await memory.add(msgs);
  const model = summingModel(summary);
  expect(await memory.compress(taskWith(model))).toBe(true);
  const shown = await memory.getMemory();
  expect(findHistoryFaults(shown)).toEqual([]);
  expect(memory.getOriginalMemoryMsgs()).toEqual(msgs);
  const types = memory.getCompressionEvents().map(({ eventType }) => eventType);
  return { memory, shown, requests: model.requests, types };
}

const tag = (uuid: string): string => `<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`;
const uuidIn = (memory: AutoContextMemory): string => [...memory.getOffloadContext().keys()][0] ?? '';
/** Calls of tool1 and tool2 with their results. */
const twoCalls = (): Msg[] => [
  thought(call('1', 'tool1', { x: 1 })),
  results(result('1', 'first '.repeat(30), 'tool1')),
  thought(call('2', 'tool2', { y: 2 })),
  results(result('2', 'second '.repeat(30), 'tool2')),
];

test('tool_invocation_compress: two tool calls with their results become one summary', async () => {
  const calls = twoCalls();
  const msgs = [Msg.user('Do it.'), ...calls, Msg.assistant('Done.'), Msg.user('And now?')];
  const summary = 'I called tool1(x=1) and tool2(y=2), with these results: first, second.';
  const limits = {
    msgThreshold: 7,
    minConsecutiveToolMessages: 3,
    lastKeep: 2,
    minCompressionTokenThreshold: 0,
  };
  const { memory, shown, requests, types } = await compressed(msgs, limits, summary);
  expect(types).toEqual(['TOOL_INVOCATION_COMPRESS']);
  expect(shown.map(({ text }) => text)).toEqual([
    'Do it.',
    `${summary}\n${tag(uuidIn(memory))}`,
    'Done.',
    'And now?',
  ]);
  expect(memory.reload(uuidIn(memory))).toEqual(calls);
  const [prompt, text] = requests[0]?.messages ?? [];
  expect(prompt?.text).toContain('exact arguments');
  expect(text?.text).toContain('[calls tool1 with] {"x":1}');
  expect(text?.text).toContain(`[tool2 gave, ok] ${'second '.repeat(30)}`);
});

/** A text of 10 000 characters, and a conversation after it. */
const longText = (): Msg => Msg.user('x'.repeat(10_000));

test.each([
  ['large_message_offload_with_protection', 2],
  ['large_message_offload', 50],
])(
  '%s: of a text with 10 000 characters a uuid stays, by which it can be loaded',
  async (strategy, lastKeep) => {
    const long = longText();
    const others = [
      Msg.assistant('Read.'),
      Msg.user('Thanks.'),
      Msg.assistant('Well.'),
      Msg.user('And now?'),
    ];
    const { memory, shown, requests, types } = await compressed([long, ...others], {
      maxToken: 5000,
      lastKeep,
    });
    expect([types, requests]).toEqual([[strategy.toUpperCase()], []]);
    const uuid = uuidIn(memory);
    expect(shown[0]?.text).toBe(`${'x'.repeat(200)}...\n${tag(uuid)}`);
    expect(shown.slice(1)).toEqual(others);
    expect(memory.getOffloadContext()).toEqual(new Map([[uuid, [long]]]));
    const toolkit = new Toolkit({ tools: memory.contextTools });
    const input = { working_context_offload_uuid: uuid };
    const { output } = await toolkit.callToolFunction(call('r', 'context_reload', input));
    expect(JSON.stringify(output)).toContain('x'.repeat(1000));
  },
);

test('previous_round_conversation_summary: questions and answers about the weather become one summary', async () => {
  const weather = [
    Msg.user('How is the weather today?'),
    Msg.assistant('It is sunny today, 25 degrees.', { name: 'Friday' }),
    Msg.user('Is it good for going out?'),
    Msg.assistant('It is very good for going out.', { name: 'Friday' }),
  ];
  const next = [
    Msg.user('Where to?'),
    Msg.assistant('To the lake.', { name: 'Friday' }),
    Msg.user('And now?'),
  ];
  const summary = 'The user asked about the weather and going out. I said: sunny, 25 degrees, good.';
  const { memory, shown, requests, types } = await compressed(
    [...weather, ...next],
    { msgThreshold: 7 },
    summary,
  );
  expect(types).toEqual(['PREVIOUS_ROUND_CONVERSATION_SUMMARY']);
  expect(shown.map(({ text }) => text)).toEqual([
    `Summary of earlier messages:\n${summary}\n${tag(uuidIn(memory))}`,
    ...next.map(({ text }) => text),
  ]);
  expect(memory.reload(uuidIn(memory))).toEqual(weather);
  expect(requests.map(({ messages }) => messages[1]?.text)).toEqual([
    weather
      .map(({ role, name, text }) => `<message role="${role}" name="${name}">\n${text}\n</message>`)
      .join('\n'),
  ]);
});

test('current_round_large_message_summary: one very large message of the current round gets shorter', async () => {
  const page = `${'It rains a lot. '.repeat(600)}The key is 4711.`;
  const found = [thought(call('1', 'read')), results(result('1', page, 'read'))];
  const limits = { maxToken: 5000 };
  const summary = 'It rains a lot. The key is 4711.';
  const { memory, shown, requests, types } = await compressed(
    [Msg.user('Read it.'), ...found],
    limits,
    summary,
  );
  expect(types).toEqual(['CURRENT_ROUND_LARGE_MESSAGE_SUMMARY']);
  expect(shown[1]).toBe(found[0]);
  expect(shown[2]?.content).toEqual([result('1', `${summary}\n${tag(uuidIn(memory))}`, 'read')]);
  expect(memory.reload(uuidIn(memory))).toEqual([found[1]]);
  expect(requests[0]?.messages[1]?.text.startsWith('It rains a lot. It rains')).toBe(true);
});

test('current_round_message_compress: the tool calls of the current round become one summary of a given length', async () => {
  const calls = twoCalls();
  const next = [thought(call('3')), results(result('3', 'not read yet'))];
  const msgs = [Msg.user('Do it.'), ...calls, ...next];
  const summary = 'I ran several tools, and mainly finished the first half.';
  const limits = { msgThreshold: 7, currentRoundCompressionRatio: 0.5 };
  const { memory, shown, requests, types } = await compressed(msgs, limits, summary);
  expect(types).toEqual(['CURRENT_ROUND_MESSAGE_COMPRESS']);
  expect(shown).toEqual([msgs[0], expect.any(Msg), ...next]);
  expect(shown[1]?.text).toBe(`${summary}\n${tag(uuidIn(memory))}`);
  expect(memory.reload(uuidIn(memory))).toEqual(calls);
  expect(requests[0]?.messages.at(-1)?.text).toMatch(/ Write about \d+ characters \(50 %\)\.$/);
});
