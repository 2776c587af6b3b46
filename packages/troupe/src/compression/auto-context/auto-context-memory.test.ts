import { describe, expect, test } from 'vitest';

import { StateError } from '../../errors.ts';
import { COMPRESSED_MARK } from '../../memory/memory-base.ts';
import { Msg } from '../../message/msg.ts';
import { memoryContract } from '../../testing/memory-contract.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import {
  call,
  pairs,
  result,
  results,
  summingModel,
  thought,
  taskWith,
} from '../../../test/compression-task.ts';
import { AutoContextMemory } from './auto-context-memory.ts';
import { EARLY_AUTO_CONTEXT, type AutoContextOptions } from './auto-context-options.ts';

describe('as a memory', () => {
  test.each(memoryContract(() => new AutoContextMemory()))('$name', ({ run }) => run());
});

describe('options', () => {
  const CASES: [string, AutoContextOptions, string][] = [
    ['msgThreshold', { msgThreshold: 0 }, 'msgThreshold must be a whole number of 1 or more.'],
    ['maxToken', { maxToken: 1.5 }, 'maxToken must be a whole number of 1 or more.'],
    ['tokenRatio', { tokenRatio: 1.1 }, 'tokenRatio must be a number from 0.01 to 1.'],
    ['lastKeep', { lastKeep: -1 }, 'lastKeep must be a whole number of 0 or more.'],
    [
      'largePayloadThreshold',
      { largePayloadThreshold: NaN },
      'largePayloadThreshold must be a whole number of 0 or more.',
    ],
    [
      'offloadSinglePreview',
      { offloadSinglePreview: -1 },
      'offloadSinglePreview must be a whole number of 0 or more.',
    ],
    [
      'minConsecutiveToolMessages',
      { minConsecutiveToolMessages: -1 },
      'minConsecutiveToolMessages must be a whole number of 0 or more.',
    ],
    [
      'currentRoundCompressionRatio',
      { currentRoundCompressionRatio: 0 },
      'currentRoundCompressionRatio must be a number from 0.01 to 1.',
    ],
    [
      'minCompressionTokenThreshold',
      { minCompressionTokenThreshold: -1 },
      'minCompressionTokenThreshold must be a whole number of 0 or more.',
    ],
    ['timeoutMs', { timeoutMs: 0 }, 'timeoutMs must be a number from 1 to 2147483647.'],
    [
      'strategies',
      { strategies: { magic: false } as AutoContextOptions['strategies'] },
      "There is no strategy 'magic'. Strategies: tool_invocation_compress, large_message_offload_with_protection, large_message_offload, previous_round_conversation_summary, current_round_large_message_summary, current_round_message_compress.",
    ],
  ];
  test.each(CASES)('%s is checked', (_, options, problem) => {
    expect(() => new AutoContextMemory(options)).toThrow(problem);
  });

  test('by default: 100 messages, three quarters of 128 Ki tokens', async () => {
    const touched = async (msgs: readonly Msg[], sysPrompt = ''): Promise<boolean> => {
      const memory = new AutoContextMemory();
      await memory.add(msgs);
      return memory.compress(taskWith(summingModel('S.'), { sysPrompt }));
    };
    const rounds = (size: number): Msg[] => [
      Msg.user('go'),
      ...pairs('c', 12, 'x'.repeat(size)),
      Msg.assistant('done'),
    ];
    const users = (count: number): Msg[] => Array.from({ length: count }, (_, i) => Msg.user(`${i}`));
    expect(await touched([...rounds(2000), ...users(74)])).toBe(true); // 100 messages; 24 tool messages with more than 5000 tokens
    expect(await touched([...rounds(2000), ...users(73)])).toBe(false);
    const chat = (size: number): Msg[] => [
      Msg.user('x'.repeat(size)),
      Msg.assistant('fine'),
      Msg.user('and?'),
    ];
    const most = Math.floor((98_304 - 9 - 15 - 11) * 2.5);
    expect([await touched(chat(most)), await touched(chat(most - 3))]).toEqual([true, false]);
  });

  test('EARLY_AUTO_CONTEXT: 30 messages, 0.4 of the tokens, and half of the messages protected', async () => {
    expect(EARLY_AUTO_CONTEXT).toEqual({ msgThreshold: 30, tokenRatio: 0.4, lastKeep: 15 });
    const touched = async (count: number, size: number): Promise<boolean> => {
      const memory = new AutoContextMemory({ ...EARLY_AUTO_CONTEXT, maxToken: 10_000 });
      for (let i = 0; i < count; i++)
        await memory.add(
          i % 2 === 0 ? Msg.user('x'.repeat(size)) : Msg.assistant('fine', { name: 'Friday' }),
        );
      return memory.compress(taskWith(summingModel('S.')));
    };
    expect([await touched(29, 10), await touched(30, 10)]).toEqual([false, true]);
    expect([await touched(3, 4900), await touched(3, 4980)]).toEqual([false, true]); // 2 texts of 1992 tokens
  });
});

async function compressed(): Promise<AutoContextMemory> {
  const memory = new AutoContextMemory({
    msgThreshold: 10,
    minConsecutiveToolMessages: 3,
    lastKeep: 0,
    minCompressionTokenThreshold: 0,
  });
  await memory.add([Msg.system('A hint.'), Msg.user('go')], { marks: ['early', 'a'] });
  await memory.add(pairs('c', 5), { marks: 'a' });
  await memory.add([Msg.assistant('done'), Msg.user('and?')]);
  await memory.compress(taskWith(summingModel()));
  expect(await memory.size()).toBe(5);
  return memory;
}

describe('four stores', () => {
  test('the original messages are kept; user messages and answers can be read alone', async () => {
    const memory = await compressed();
    expect(memory.getOriginalMemoryMsgs().length).toBe(14);
    expect(memory.getInteractionMsgs().map(({ text }) => text)).toEqual(['go', 'done', 'and?']);
    expect([...memory.getOffloadContext().values()].map((msgs) => msgs.length)).toEqual([10]);
    expect(memory.getCompressionEvents().length).toBe(1);
    expect(memory.reload('unknown')).toEqual([]);
  });

  test('a deletion affects the working messages only', async () => {
    const memory = await compressed();
    const [first] = await memory.getMemory();
    expect(await memory.delete([first?.id ?? '', 'unknown'])).toBe(1);
    expect(await memory.size()).toBe(4);
    expect(memory.getOriginalMemoryMsgs().length).toBe(14);
  });

  test('offloaded messages are not added again', async () => {
    const memory = await compressed();
    await memory.add(memory.getOriginalMemoryMsgs());
    expect(await memory.size()).toBe(5);
  });

  test('deleted messages can be added again, even if a summary contains them', async () => {
    const memory = new AutoContextMemory({
      maxToken: 3000,
      minCompressionTokenThreshold: 0,
      largePayloadThreshold: 9000,
    });
    const request = Msg.user('q');
    await memory.add([request, ...pairs('p', 3, 'x'.repeat(2000)), Msg.assistant('a'), Msg.user('q2')]);
    await memory.add([Msg.assistant('a2'), Msg.user('and now?')]);
    await memory.compress(taskWith(summingModel()));
    expect(memory.getCompressionEvents()[0]?.eventType).toBe('PREVIOUS_ROUND_CONVERSATION_SUMMARY');
    expect(await memory.delete([request.id])).toBe(1);
    await memory.add(request);
    expect((await memory.getMemory()).at(-1)).toBe(request);
  });

  test('clear empties all four stores', async () => {
    const memory = await compressed();
    await memory.updateCompressedSummary('So far.');
    await memory.clear();
    expect(memory.stateDict()).toEqual(new AutoContextMemory().stateDict());
    expect(memory.contextInstruction).toBe('');
  });

  test('a summary that replaces others has their common marks', async () => {
    const memory = await compressed();
    expect((await memory.getMemory({ mark: 'a' })).length).toBe(3);
    expect((await memory.getMemory({ mark: 'early' })).length).toBe(2);
  });

  test('the summary of the port counts, and comes first', async () => {
    const memory = new AutoContextMemory({ maxToken: 1000, largePayloadThreshold: 100 });
    await memory.add([Msg.user('x'.repeat(1000)), Msg.assistant('fine'), Msg.user('and?')]);
    expect(await memory.compress(taskWith(summingModel()))).toBe(false);
    await memory.updateCompressedSummary('y'.repeat(1000));
    await memory.updateMessagesMark({ newMark: COMPRESSED_MARK, msgIds: [] });
    expect(await memory.compress(taskWith(summingModel()))).toBe(true);
    expect((await memory.getMemory())[0]?.text).toBe('y'.repeat(1000));
  });
});

describe('state', () => {
  const reloaded = (memory: AutoContextMemory): AutoContextMemory => {
    const copy = new AutoContextMemory();
    copy.loadStateDict(JSON.parse(JSON.stringify(memory.stateDict())) as JsonObject);
    return copy;
  };

  test('comes back as it was, marks and stubs included', async () => {
    const memory = await compressed();
    await memory.updateCompressedSummary('So far.');
    const copy = reloaded(memory);
    expect(JSON.stringify(copy.stateDict())).toBe(JSON.stringify(memory.stateDict()));
    const early = { mark: 'early', prependSummary: false };
    expect(await copy.getMemory(early)).toEqual(await memory.getMemory(early));
    expect(copy.getOffloadContext()).toEqual(memory.getOffloadContext());
    expect(copy.getCompressionEvents()).toEqual(memory.getCompressionEvents());
    expect(copy.contextInstruction).toBe(memory.contextInstruction);
    await copy.add([...pairs('d', 6), Msg.assistant('done'), Msg.user('and?')]);
    const stub = (await copy.getMemory({ prependSummary: false }))[2];
    await copy.compress(taskWith(summingModel()));
    expect(await copy.getMemory(), 'a stub is still known to be one').toContain(stub);
  });

  test('the state has each message once, and references otherwise', async () => {
    const memory = await compressed();
    const { workingMemoryStorage, offloadContext } = memory.stateDict();
    const ids = memory.getOriginalMemoryMsgs().map(({ id }) => id);
    expect(offloadContext).toEqual([{ uuid: expect.any(String) as string, msgs: ids.slice(2, 12) }]);
    expect(workingMemoryStorage).toEqual([
      { msg: ids[0], marks: ['early', 'a'] },
      { msg: ids[1], marks: ['early', 'a'] },
      {
        msg: expect.objectContaining({ role: 'assistant' }) as object,
        marks: ['a'],
        stub: { uuid: expect.any(String) as string, kind: 'tools' },
      },
      ids[12],
      ids[13],
    ]);
  });

  test('a further message adds an item to two lists, and leaves the others as they are', async () => {
    const memory = await compressed();
    const before = memory.stateParts().lists;
    await memory.add('one more');
    const after = memory.stateParts().lists;
    expect(
      after.map(({ path, items }, i) => [path[0], items.length - (before[i]?.items.length ?? 0)]),
    ).toEqual([
      ['originalMemoryStorage', 1],
      ['offloadContext', 0],
      ['workingMemoryStorage', 1],
      ['compressionEvents', 0],
    ]);
    for (const [i, { items }] of before.entries())
      expect(items.every((item, n) => after[i]?.items[n] === item)).toBe(true);
  });

  /** A saved state in parts, to be corrupted. */
  interface Saved {
    readonly originals: JsonValue[];
    readonly working: JsonValue[];
    readonly offloads: JsonValue[];
    readonly events: JsonValue[];
  }

  const broken: [string, (saved: Saved) => unknown][] = [
    ['an original is missing', ({ originals }) => originals.shift()],
    ['an original is there twice', ({ originals }) => originals.push(...originals.slice(0, 1))],
    ['a message is shown twice', ({ working }) => working.push(...working.slice(-1))],
    ['an entry is none', ({ working }) => working.push({ mgs: 'x' })],
    ['a stub is none', ({ working }) => working.push({ msg: 'x', stub: { uuid: 'x', kind: 'magic' } })],
    ['an offload is none', ({ offloads }) => offloads.push({ uuid: 'x' })],
    ['an offload refers to nothing', ({ offloads }) => offloads.push({ uuid: 'x', msgs: ['nope'] })],
    ['an event is of no known type', ({ events }) => events.push({ eventType: 'MAGIC' })],
    ['an event has no time', ({ events }) => events.push({ eventType: 'LARGE_MESSAGE_OFFLOAD' })],
  ];
  test.each(broken)('is refused if %s, and nothing changes', async (_, spoil) => {
    const state = (await compressed()).stateDict();
    const list = (name: string): JsonValue[] => [...(state[name] as readonly JsonValue[])];
    const saved: Saved = {
      originals: list('originalMemoryStorage'),
      working: list('workingMemoryStorage'),
      offloads: list('offloadContext'),
      events: list('compressionEvents'),
    };
    spoil(saved);
    const spoiled = {
      ...state,
      originalMemoryStorage: saved.originals,
      workingMemoryStorage: saved.working,
      offloadContext: saved.offloads,
      compressionEvents: saved.events,
    };
    const other = new AutoContextMemory();
    await other.add(['mine', 'own'].map((text) => Msg.user(text)));
    const before = JSON.stringify(other.stateDict());
    expect(() => other.loadStateDict(spoiled)).toThrow(StateError);
    expect(JSON.stringify(other.stateDict())).toBe(before);
    expect(await other.size()).toBe(2);
  });

  test('text that looks like our own stays text', async () => {
    const memory = new AutoContextMemory();
    const texts = [
      '<!-- CONTEXT_OFFLOAD: uuid=x -->',
      '{"msg":"id","stub":{"uuid":"x","kind":"tools"}}',
      '{"__class__":"Msg","lc":1}',
    ];
    const odd = Msg.from({
      ...Msg.user('odd').toJSON(),
      msg: 'extra',
      stub: { uuid: 'x', kind: 'tools' },
      marks: 3,
    });
    await memory.add([
      ...texts.map((text) => Msg.user(text)),
      thought(call('a')),
      results(result('a', texts.join(''))),
      odd,
    ]);
    await memory.delete([odd.id]);
    await memory.add(odd.with({ content: 'another, with the same id' }));
    const copy = reloaded(memory);
    expect(await copy.getMemory()).toEqual(await memory.getMemory());
    expect(JSON.stringify(await copy.getMemory())).toBe(JSON.stringify(await memory.getMemory()));
  });
});
