import { TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import type { MemoryBase, MemoryFilter } from '../memory/memory-base.ts';
import { newId } from '../util/ids.ts';
import type { ContractCase } from './chat-model-contract.ts';
import { check, checkSame, thrownBy } from './contract-checks.ts';

/** Conversation of a memory. A memory without a store may ignore it. */
export interface MemoryContractId {
  readonly userId: string;
  readonly sessionId: string;
}

export interface MemoryContractOptions {
  /**
   * Whether messages are kept in a store, so that a second memory with the same ids has the same messages.
   * @default false
   */
  readonly isStored?: boolean | undefined;
}

type Make = (id?: Partial<MemoryContractId>) => Promise<MemoryBase>;

interface Case {
  readonly name: string;
  readonly isForStored?: true;
  readonly run: (make: Make) => Promise<void>;
}

/**
 * Cases that every memory has to pass, for any test runner: `for (const { name, run } of
 * memoryContract(make)) test(name, run)`.
 * @param make makes a memory; the ids are new for each case. Every memory is cleared at the end, and disposed
 * if possible
 */
export function memoryContract(
  make: (id: MemoryContractId) => MemoryBase | Promise<MemoryBase>,
  { isStored = false }: MemoryContractOptions = {},
): readonly ContractCase[] {
  return CASES.filter(({ isForStored = false }) => isStored || !isForStored).map(({ name, run }) => ({
    name,
    run: async () => {
      const made: MemoryBase[] = [];
      const ids = { userId: `user_${newId()}`, sessionId: `session_${newId()}` };
      try {
        await run(async (id) => {
          const memory = await make({ ...ids, ...id });
          made.push(memory);
          return memory;
        });
      } finally {
        for (const memory of made) await cleanUp(memory);
      }
    },
  }));
}

/** Removes everything from the store. */
async function cleanUp(memory: MemoryBase & Partial<AsyncDisposable>): Promise<void> {
  await memory.clear();
  await memory[Symbol.asyncDispose]?.();
}

const TIME = '2026-01-01T00:00:00.000Z';

function msg(id: string, text = `This is ${id}.`): Msg {
  return Msg.user(text, { id, timestamp: TIME });
}

function msgs(count: number, prefix = ''): readonly Msg[] {
  return Array.from({ length: count }, (_, i) => msg(`${prefix}${i}`));
}

async function checkIds(
  memory: MemoryBase,
  expected: readonly string[],
  filter: MemoryFilter = {},
): Promise<void> {
  const found = await memory.getMemory({ prependSummary: false, ...filter });
  checkSame(
    found.map(({ id }) => id),
    expected,
    `The messages with the filter ${JSON.stringify(filter)}`,
  );
}

async function refuses(work: Promise<unknown>, what: string): Promise<void> {
  const error = await thrownBy(work, what);
  check(
    TroupeError.isInstance(error) && (error.code === 'invalid_input' || error.code === 'invalid_msg'),
    `${what} should be refused with a TroupeError, not with ${String(error)}.`,
  );
}

/** Texts with a meaning for databases or JavaScript, and unusual characters. */
const HOSTILE_TEXTS: readonly string[] = [
  `';--`,
  `x') OR '1'='1`,
  '"; DROP TABLE troupe_message; --',
  '$1',
  '?',
  '%',
  '_',
  '*',
  'a:b',
  '{a}',
  '__proto__',
  'constructor',
  'toString',
  '../x',
  ' ',
  'é',
  'e\u0301',
  '日本語 👩‍🚀',
  'a\u0000b',
  'a\ud800',
  'a\udc00',
  'a\ufffd',
  'a\\',
  'a\\ud800',
  'a\\d800',
  'A',
  'a',
  'long'.repeat(1_000),
  `${'long'.repeat(1_000)}.`,
];

const CASES: readonly Case[] = [
  {
    name: 'an empty memory has no content, before and after every operation',
    async run(make) {
      await checkIds(await make({ sessionId: newId() }), []);
      checkSame(await (await make({ sessionId: newId() })).size(), 0, 'The size');
      checkSame(await (await make({ sessionId: newId() })).delete(['a']), 0, 'The count of delete');
      checkSame(await (await make({ sessionId: newId() })).deleteByMark('a'), 0, 'The count of deleteByMark');
      checkSame(
        await (await make({ sessionId: newId() })).updateMessagesMark({ newMark: 'a' }),
        0,
        'The count of updateMessagesMark',
      );
      checkSame(await (await make({ sessionId: newId() })).getCompressedSummary(), '', 'The summary');
      await (await make({ sessionId: newId() })).clear();
      const memory = await make({ sessionId: newId() });
      await memory.updateCompressedSummary('First.');
      checkSame(await memory.getCompressedSummary(), 'First.', 'The summary');
    },
  },
  {
    name: 'messages come back in order, whole and immutable',
    async run(make) {
      const memory = await make();
      const rich = Msg.assistant(
        [
          { type: 'thinking', thinking: 'Hm.', providerMeta: { x: { signature: 's' } } },
          { type: 'text', text: 'Let me see \ud800 \u0000 日本語 👩‍🚀' },
          {
            type: 'tool_use',
            id: 'call_1',
            name: 'look',
            input: { ['__proto__']: { a: [1, null, -2.5e300] } },
          },
          { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } },
        ],
        {
          id: 'rich',
          timestamp: TIME,
          metadata: { toString: 1, deep: [{ a: '\udfff' }] },
          usage: { inputTokens: 3, outputTokens: 4, seconds: 0.5 },
        },
      );
      const later = Msg.from({ ...msg('later').toJSON(), aKeyOfALaterVersion: { a: 1 } });
      await memory.add(msg('first'));
      await memory.add([rich, later]);
      await memory.add('a text is a message of the user');
      await memory.add(undefined);
      await memory.add(null);
      await memory.add([]);
      const found = await memory.getMemory();
      checkSame(
        found.slice(0, 3).map((one) => one.toJSON()),
        [msg('first').toJSON(), rich.toJSON(), later.toJSON()],
        'The messages',
      );
      check(
        found.every((one) => one instanceof Msg && Object.isFrozen(one)),
        'What comes back must be a frozen Msg.',
      );
      checkSame([found.length, await memory.size()], [4, 4], 'The sizes');
      checkSame([found[3]?.role, found[3]?.text], ['user', 'a text is a message of the user'], 'The text');
    },
  },
  {
    name: 'a message is the same object each time until it is deleted',
    async run(make) {
      const memory = await make();
      await memory.add(msgs(3));
      const before = await memory.getMemory();
      await memory.add(msg('3'));
      await memory.updateMessagesMark({ newMark: 'm', msgIds: ['1'] });
      await memory.delete(['0']);
      const after = await memory.getMemory();
      check(
        after[0] === before[1] && after[1] === before[2],
        'A message should be the same object each time.',
      );
      await memory.updateCompressedSummary('Sum.');
      const [one] = await memory.getMemory();
      const [same] = await memory.getMemory();
      check(one === same, 'A summary should be the same message each time.');
    },
  },
  {
    name: 'changing a returned list does not change the memory',
    async run(make) {
      const memory = await make();
      await memory.add(msgs(2));
      const found = (await memory.getMemory()) as Msg[];
      if (!Object.isFrozen(found)) found.length = 0;
      await checkIds(memory, ['0', '1']);
    },
  },
  {
    name: 'a message is added once, also within one batch; the first one stays',
    async run(make) {
      const memory = await make();
      await memory.add([msg('a', 'first'), msg('a', 'second'), msg('b')]);
      await memory.add([msg('b', 'other'), msg('c'), msg('a', 'third'), msg('c')], { marks: 'late' });
      const texts = (await memory.getMemory()).map(({ text }) => text);
      checkSame(texts, ['first', 'This is b.', 'This is c.'], 'The messages');
      await checkIds(memory, ['c'], { mark: 'late' });
      await memory.delete(['a']);
      await memory.add(msg('a', 'again'));
      checkSame((await memory.getMemory()).map(({ text }) => text).at(-1), 'again', 'The last message');
      await checkIds(memory, ['b', 'c', 'a']);
    },
  },
  {
    name: 'delete counts the deleted messages',
    async run(make) {
      const memory = await make();
      await memory.add(msgs(10));
      checkSame(await memory.delete([]), 0, 'The count for no id');
      checkSame(await memory.delete(['nobody']), 0, 'The count for an unknown id');
      checkSame(await memory.delete(['1', 'nobody', '3', '1']), 2, 'The count');
      checkSame(await memory.delete(['1']), 0, 'The count for one that is gone');
      await checkIds(memory, ['0', '2', '4', '5', '6', '7', '8', '9']);
      checkSame(await memory.size(), 8, 'The size');
    },
  },
  {
    name: 'marks select and exclude messages',
    async run(make) {
      const memory = await make();
      await memory.add(msgs(2), { marks: ['hint', 'hint', 'x'] });
      await memory.add(msg('2'), { marks: 'x' });
      await memory.add(msg('3'), { marks: [] });
      await checkIds(memory, ['0', '1'], { mark: 'hint' });
      await checkIds(memory, ['0', '1', '2'], { mark: 'x' });
      await checkIds(memory, ['2', '3'], { excludeMark: 'hint' });
      await checkIds(memory, ['2'], { mark: 'x', excludeMark: 'hint' });
      await checkIds(memory, [], { mark: 'x', excludeMark: 'x' });
      await checkIds(memory, [], { mark: 'unknown' });
      await checkIds(memory, ['0', '1', '2', '3'], { excludeMark: 'unknown' });
    },
  },
  {
    name: 'marks are added, removed and replaced, and the changed messages are counted',
    async run(make) {
      const memory = await make();
      await memory.add(msgs(5));
      const update = async (expected: number, change: Parameters<MemoryBase['updateMessagesMark']>[0]) =>
        checkSame(
          await memory.updateMessagesMark(change),
          expected,
          `The count of ${JSON.stringify(change)}`,
        );
      await update(3, { newMark: 'a', msgIds: ['0', '1', '2', 'nobody', '0'] });
      await update(1, { newMark: 'a', msgIds: ['2', '3'] });
      await update(0, { newMark: 'a', msgIds: [] });
      await checkIds(memory, ['0', '1', '2', '3'], { mark: 'a' });
      await update(2, { newMark: 'b', oldMark: 'a', msgIds: ['0', '1', '4'] });
      await checkIds(memory, ['0', '1'], { mark: 'b' });
      await checkIds(memory, ['2', '3'], { mark: 'a' });
      await update(1, { oldMark: 'b', msgIds: ['1', '2'] });
      await update(2, { oldMark: 'a' });
      await update(0, { oldMark: 'a' });
      await update(0, { oldMark: 'a', newMark: 'c' });
      await checkIds(memory, ['0'], { mark: 'b' });
      await update(5, { newMark: 'all' });
      await update(4, { newMark: 'b' });
      await update(5, { newMark: 'all', oldMark: 'b' });
      await checkIds(memory, [], { mark: 'b' });
      await checkIds(memory, ['0', '1', '2', '3', '4'], { mark: 'all' });
    },
  },
  {
    name: 'messages are deleted by one or several marks, and counted once',
    async run(make) {
      const memory = await make();
      await memory.add(msgs(2), { marks: ['a', 'b'] });
      await memory.add(msg('2'), { marks: 'b' });
      await memory.add(msg('3'), { marks: 'c' });
      await memory.add(msg('4'));
      checkSame(await memory.deleteByMark('unknown'), 0, 'The count for an unknown mark');
      checkSame(await memory.deleteByMark([]), 0, 'The count for no mark');
      checkSame(await memory.deleteByMark(['a', 'b', 'unknown']), 3, 'The count');
      await checkIds(memory, ['3', '4']);
      await memory.add(msg('0', 'anew'));
      await checkIds(memory, ['3', '4', '0']);
      await checkIds(memory, [], { mark: 'a' });
    },
  },
  {
    name: 'a mark must be a text, and a change must change something',
    async run(make) {
      const memory = await make();
      await memory.add(msg('0'));
      const notText = 7 as never;
      await refuses(memory.add(msg('1'), { marks: '' }), 'An empty mark');
      await refuses(memory.add(msg('1'), { marks: notText }), 'A mark that is a number');
      await refuses(memory.add(msg('1'), { marks: ['a', notText] }), 'A list of marks with a number');
      await refuses(memory.add([msg('1'), notText]), 'A list with something that is no message');
      await refuses(memory.deleteByMark(notText), 'A mark to delete that is a number');
      await refuses(memory.updateMessagesMark({}), 'A change without marks');
      await refuses(memory.updateMessagesMark({ newMark: '' }), 'An empty new mark');
      await refuses(memory.updateMessagesMark({ oldMark: notText }), 'An old mark that is a number');
      await refuses(memory.updateCompressedSummary(notText), 'A summary that is a number');
      await checkIds(memory, ['0']);
    },
  },
  {
    name: 'the summary comes first unless excluded, and clear removes it too',
    async run(make) {
      const memory = await make();
      await memory.add(msgs(2), { marks: 'm' });
      await memory.updateCompressedSummary('We have \ud800 met.');
      checkSame(await memory.getCompressedSummary(), 'We have \ud800 met.', 'The summary');
      const found = await memory.getMemory({ excludeMark: 'm' });
      checkSame(
        found.map(({ role, text }) => [role, text]),
        [['user', 'We have \ud800 met.']],
        'The messages',
      );
      checkSame((await memory.getMemory({ prependSummary: false })).length, 2, 'The count without it');
      checkSame(await memory.size(), 2, 'The size');
      await memory.updateCompressedSummary('');
      await checkIds(memory, ['0', '1'], { prependSummary: true });
      await memory.updateCompressedSummary('Again.');
      await memory.clear();
      checkSame([await memory.getCompressedSummary(), await memory.size()], ['', 0], 'What is left');
      await memory.add(msg('0', 'anew'));
      checkSame(
        (await memory.getMemory()).map(({ text }) => text),
        ['anew'],
        'The messages after it',
      );
    },
  },
  {
    name: 'ids, marks and summaries may be any text',
    async run(make) {
      const memory = await make();
      for (const text of HOSTILE_TEXTS) await memory.add(msg(text), { marks: text });
      await checkIds(memory, HOSTILE_TEXTS);
      for (const text of HOSTILE_TEXTS) await checkIds(memory, [text], { mark: text });
      for (const text of HOSTILE_TEXTS) {
        await memory.updateCompressedSummary(text);
        checkSame(await memory.getCompressedSummary(), text, 'The summary');
      }
      const left = [...HOSTILE_TEXTS];
      for (const text of HOSTILE_TEXTS) {
        const count = left.length % 2 === 0 ? memory.delete([text]) : memory.deleteByMark(text);
        checkSame(await count, 1, `The count for ${JSON.stringify(text.slice(0, 40))}`);
        left.shift();
        await checkIds(memory, left);
      }
    },
  },
  {
    name: 'concurrent adds are all kept, in the order of the calls',
    async run(make) {
      const memory = await make();
      await Promise.all(msgs(50).map((one) => memory.add(one)));
      await checkIds(
        memory,
        msgs(50).map(({ id }) => id),
      );
    },
  },
  {
    name: 'a memory of a thousand messages keeps them in order',
    async run(make) {
      const memory = await make();
      const all = msgs(1_200);
      await memory.add(all);
      await memory.add(all);
      checkSame(
        await memory.updateMessagesMark({ newMark: 'old', msgIds: all.slice(0, 1_100).map(({ id }) => id) }),
        1_100,
        'The count of marks',
      );
      await checkIds(
        memory,
        all.slice(1_100).map(({ id }) => id),
        { excludeMark: 'old' },
      );
      checkSame(await memory.delete(all.slice(0, 1_000).map(({ id }) => id)), 1_000, 'The count of delete');
      checkSame(await memory.deleteByMark('old'), 100, 'The count of deleteByMark');
      await checkIds(
        memory,
        all.slice(1_100).map(({ id }) => id),
      );
    },
  },
  {
    name: 'its state can be loaded',
    async run(make) {
      const memory = await make();
      await memory.add(msgs(3), { marks: ['x'] });
      await memory.updateCompressedSummary('Sum.');
      const other = await make();
      other.loadStateDict(memory.stateDict());
      checkSame(
        (await other.getMemory({ mark: 'x' })).map(({ text }) => text),
        ['Sum.', 'This is 0.', 'This is 1.', 'This is 2.'],
        'The messages',
      );
    },
  },
  {
    name: 'two memories of one conversation see the changes of each other',
    isForStored: true,
    async run(make) {
      const [one, other] = [await make(), await make()];
      await one.add(msgs(3));
      const before = await other.getMemory();
      checkSame(before.length, 3, 'What the other sees');
      await one.add(msg('3'), { marks: 'm' });
      await checkIds(other, ['0', '1', '2', '3']);
      await other.add([msg('4'), msg('3', 'again')]);
      await one.updateMessagesMark({ newMark: 'm', msgIds: ['0', '4'] });
      await checkIds(other, ['0', '3', '4'], { mark: 'm' });
      checkSame(await other.deleteByMark('m'), 3, 'The count of deleteByMark');
      await checkIds(one, ['1', '2']);
      await one.updateCompressedSummary('Sum.');
      checkSame(await other.getCompressedSummary(), 'Sum.', 'The summary');
      check((await other.getMemory()).at(1) === before[1], 'A message should be the same object each time.');
      await one.clear();
      checkSame([await other.size(), await other.getCompressedSummary()], [0, ''], 'What is left');
      await other.add(msg('0', 'anew'));
      await one.add(msg('1', 'anew'));
      for (const memory of [one, other]) {
        checkSame(
          (await memory.getMemory()).map(({ text }) => text),
          ['anew', 'anew'],
          'The messages',
        );
      }
    },
  },
  {
    name: 'several writers lose nothing, and all see the same order',
    isForStored: true,
    async run(make) {
      const writers = await Promise.all(
        ['a', 'b', 'c', 'd'].map(async (name) => [name, await make()] as const),
      );
      await Promise.all(
        writers.map(async ([name, memory]) => {
          for (const one of msgs(25, name)) {
            await memory.add([one, msg('everybody')]);
            await memory.updateMessagesMark({ newMark: name, msgIds: [one.id] });
          }
        }),
      );
      const seen = await Promise.all(
        writers.map(async ([, memory]) => (await memory.getMemory()).map(({ id }) => id)),
      );
      for (const ids of seen) checkSame(ids, seen[0], 'The order that another sees');
      checkSame(new Set(seen[0]).size, 101, 'The count of messages');
      for (const [name, memory] of writers) {
        await checkIds(
          memory,
          msgs(25, name).map(({ id }) => id),
          { mark: name },
        );
      }
    },
  },
  {
    name: 'no two pairs of user and session share anything',
    isForStored: true,
    async run(make) {
      const [a, b, c] = [newId(), newId(), newId()];
      const pairs = [
        [`${a}`, `${b}_${c}`],
        [`${a}_${b}`, `${c}`],
        [`${a}`, `${b}:${c}`],
        [`${a}:${b}`, `${c}`],
        [`${a}","${b}`, c],
        [a, `${b}","${c}`],
        [a, c],
        [b, c],
        [c, a],
        ...HOSTILE_TEXTS.map((text) => [a, `${b}${text}`]),
        ...HOSTILE_TEXTS.map((text) => [`${a}${text}`, b]),
      ];
      const memories: MemoryBase[] = [];
      for (const [i, [userId = '', sessionId = '']] of pairs.entries()) {
        const memory = await make({ userId, sessionId });
        memories.push(memory);
        await memory.add(msg('same', `Of ${i}.`), { marks: 'same' });
        await memory.updateCompressedSummary(`Sum ${i}.`);
      }
      for (const [i, memory] of memories.entries()) {
        const texts = (await memory.getMemory()).map(({ text }) => text);
        checkSame(
          texts,
          [`Sum ${i}.`, `Of ${i}.`],
          `The messages of ${JSON.stringify(pairs[i]).slice(0, 200)}`,
        );
        if (i % 3 === 0) await memory.clear();
        else if (i % 3 === 1) await memory.delete(['same']);
        else await memory.deleteByMark('same');
      }
    },
  },
  {
    name: 'the state holds no messages, and is not that of another conversation',
    isForStored: true,
    async run(make) {
      const memory = await make();
      await memory.add(msg('a', 'a secret of the conversation'));
      await memory.updateCompressedSummary('a secret of the summary');
      const state = memory.stateDict();
      check(!JSON.stringify(state).includes('secret'), 'The state should hold nothing of the conversation.');
      for (const id of [{ sessionId: newId() }, { userId: newId() }]) {
        const other = await make(id);
        const error = await thrownBy(
          Promise.resolve().then(() => other.loadStateDict(state)),
          'Loading the state of another conversation',
        );
        check(
          TroupeError.isInstance(error) && error.code === 'invalid_state',
          `The state of another conversation should be refused with a StateError, not with ${String(error)}.`,
        );
        checkSame(await other.size(), 0, 'The size of the other');
      }
    },
  },
];
