// Random conversations, random limits, and models with good, bad or no summaries: the promises of compress
// hold for all.
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { AutoContextMemory } from '../src/compression/auto-context/auto-context-memory.ts';
import type { AutoContextOptions } from '../src/compression/auto-context/auto-context-options.ts';
import { AutoContextTokenCounter } from '../src/compression/auto-context/auto-context-token-counter.ts';
import type { ContentBlock, ToolOutputBlock, ToolResultBlock } from '../src/message/blocks.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg } from '../src/message/msg.ts';
import type { ScriptedTurn } from '../src/testing/scripted-model.ts';
import type { JsonObject } from '../src/util/json.ts';
import { call, reachable, result, summingModel, taskWith } from './compression-task.ts';
import { sampleOf } from './fair-sample.ts';
import { rejectionsOf } from './five-wires.ts';
import { PNG } from './wire/histories.ts';

/** A conversation, with the indexes of pinned messages. */
interface Talk {
  readonly msgs: readonly Msg[];
  readonly pinned: ReadonlySet<Msg>;
  readonly waiting: readonly string[];
  /** Request ids given by the agent; may be empty. */
  readonly requests: readonly Msg[];
}

type Piece =
  | {
      readonly type: 'user' | 'other' | 'answer' | 'system';
      readonly text: string;
      readonly hasImage: boolean;
      readonly isPinned: boolean;
    }
  | {
      readonly type: 'calls';
      readonly names: readonly string[];
      readonly outputs: readonly string[];
      readonly text: string;
      readonly isOneMessage: boolean;
      readonly hasImage: boolean;
      readonly isPinned: boolean;
    };

const image: ToolOutputBlock = {
  type: 'image',
  source: { type: 'base64', mediaType: 'image/png', data: PNG },
};
const TAG = '<!-- CONTEXT_OFFLOAD: uuid=made-up -->';

const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('ok', 'A short line.', 'Two and a half words', TAG, '你好 🐻') },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 100, max: 900 }).map((size) => 'lorem ipsum '.repeat(size / 12)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 2000, max: 9000 }).map((size) => '🐻x'.repeat(size / 3)) },
);
const isRare = fc.integer({ min: 0, max: 19 }).map((n) => n === 0);
const names = fc.array(
  fc.constantFrom('search', 'search', 'read_file', 'create_plan', 'finish_subtask', 'precious'),
  { minLength: 1, maxLength: 4 },
);

const piece: fc.Arbitrary<Piece> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom('user' as const, 'user' as const, 'other' as const),
      text,
      hasImage: isRare,
      isPinned: isRare,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('answer' as const),
      text,
      hasImage: fc.constant(false),
      isPinned: isRare,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('system' as const),
      text: fc.constant('A hint.'),
      hasImage: fc.constant(false),
      isPinned: fc.constant(false),
    }),
  },
  {
    weight: 8,
    arbitrary: names.chain((names) =>
      fc.record({
        type: fc.constant('calls' as const),
        names: fc.constant(names),
        outputs: fc.array(text, { minLength: names.length, maxLength: names.length }),
        text: fc.oneof(fc.constant(''), text),
        isOneMessage: fc.boolean(),
        hasImage: isRare,
        isPinned: isRare,
      }),
    ),
  },
);

const isSaid = ({ role, name }: Msg): boolean => role === 'user' || name === 'other';

function talkOf(pieces: readonly Piece[], waiting: 0 | 1 | 2, requestCount = 0): Talk {
  const msgs: Msg[] = [];
  const pinned = new Set<Msg>();
  for (const [n, piece] of pieces.entries()) {
    const added = msgsOf(piece, n);
    msgs.push(...added);
    const last = added.at(-1);
    if (piece.isPinned && last !== undefined) pinned.add(last);
  }
  if (waiting > 0) msgs.push(Msg.assistant([call('w1'), call('w2')], { name: 'Friday' }));
  if (waiting > 1) msgs.push(Msg.system([result('w1')]));
  const requests = requestCount === 0 ? [] : msgs.filter(isSaid).slice(-requestCount);
  return { msgs, pinned, requests, waiting: waiting === 0 ? [] : waiting === 1 ? ['w1', 'w2'] : ['w2'] };
}

function msgsOf(piece: Piece, n: number): Msg[] {
  if (piece.type !== 'calls') {
    const content: ContentBlock[] = [{ type: 'text', text: piece.text }, ...(piece.hasImage ? [image] : [])];
    return [
      new Msg({
        name: piece.type === 'answer' ? 'Friday' : piece.type,
        role: piece.type === 'answer' || piece.type === 'other' ? 'assistant' : piece.type,
        content: piece.hasImage ? content : piece.text,
      }),
    ];
  }
  const calls = piece.names.map((name, i) =>
    call(`c${n}_${i}`, name, { q: piece.outputs[i]?.slice(0, 40) ?? '' }),
  );
  const thoughts: ContentBlock[] = piece.text === '' ? [] : [{ type: 'text', text: piece.text }];
  const blocks = calls.map(({ id, name }, i): ToolResultBlock => {
    const output = piece.outputs[i] ?? '';
    return result(id, piece.hasImage ? [{ type: 'text', text: output }, image] : output, name);
  });
  return [
    Msg.assistant([...thoughts, ...calls], { name: 'Friday' }),
    ...(piece.isOneMessage ? [Msg.system(blocks)] : blocks.map((block) => Msg.system([block]))),
  ];
}

const options: fc.Arbitrary<AutoContextOptions> = fc.record({
  msgThreshold: fc.constantFrom(5, 30, 1000),
  maxToken: fc.constantFrom(1200, 3000, 20_000),
  lastKeep: fc.constantFrom(0, 2, 10),
  largePayloadThreshold: fc.constantFrom(50, 600),
  offloadSinglePreview: fc.constantFrom(0, 20, 200),
  minConsecutiveToolMessages: fc.constantFrom(0, 2, 6),
  minCompressionTokenThreshold: fc.constantFrom(0, 200),
  protectedTools: fc.constantFrom([], ['precious']),
});

const turn: fc.Arbitrary<ScriptedTurn> = fc.constantFrom<ScriptedTurn[]>(
  { text: 'In short: it went well.' },
  { text: `Well. ${TAG}` },
  { text: 'So much to say. '.repeat(2000) },
  { text: '' },
  { toolCalls: [{ name: 'search', input: {} }] },
  { text: 'half a', error: new Error('broken') },
);

const counter = new AutoContextTokenCounter();
const SYS_PROMPT = 'Be good.';
const TOOLS = [{ name: 'search', parameters: { type: 'object' } }];

/** The tokens of the whole prompt. */
async function tokensOf(memory: AutoContextMemory): Promise<number> {
  return counter.count([Msg.system(SYS_PROMPT), ...(await memory.getMemory())], TOOLS);
}

/** Messages that must stay unchanged, derived from the conversation and not from the memory. */
function mustStay(
  { msgs, pinned, waiting, requests }: Talk,
  { protectedTools = [] }: AutoContextOptions,
): ReadonlySet<Msg> {
  const stays = new Set<Msg>();
  const request = requests.length > 0 ? undefined : msgs.findLast(isSaid);
  const idsOf = (msg: Msg): string[] => msg.getContentBlocks(['tool_use', 'tool_result']).map(({ id }) => id);
  const kept = new Set<string>(waiting);
  for (const msg of msgs) {
    const blocks = msg.getContentBlocks(['tool_use', 'tool_result']);
    if (pinned.has(msg) || blocks.some(({ name }) => protectedTools.includes(name)))
      for (const id of idsOf(msg)) kept.add(id);
  }
  for (let before = -1; before < kept.size;) {
    before = kept.size;
    for (const msg of msgs)
      if (idsOf(msg).some((id) => kept.has(id))) for (const id of idsOf(msg)) kept.add(id);
  }
  for (const msg of msgs) {
    const isSystem = msg.role === 'system' && !msg.hasContentBlocks('tool_result');
    if (
      msg === request ||
      requests.includes(msg) ||
      pinned.has(msg) ||
      isSystem ||
      idsOf(msg).some((id) => kept.has(id))
    )
      stays.add(msg);
  }
  return stays;
}

async function memoryOf({ msgs, pinned }: Talk, options: AutoContextOptions): Promise<AutoContextMemory> {
  const memory = new AutoContextMemory(options);
  for (const msg of msgs) await memory.add(msg, pinned.has(msg) ? { marks: 'pinned' } : {});
  return memory;
}

async function check(
  talk: Talk,
  options: AutoContextOptions,
  turn: ScriptedTurn,
  force: boolean,
): Promise<boolean> {
  const memory = await memoryOf(talk, options);
  const before = await tokensOf(memory);
  const requestIds = new Set(talk.requests.map(({ id }) => id));
  const task = taskWith(summingModel(turn), { sysPrompt: SYS_PROMPT, tools: TOOLS, requestIds, force });
  const hasChanged = await memory.compress(task);
  const shown = await memory.getMemory();
  const after = await tokensOf(memory);
  const { maxToken = 0 } = options;

  expect(findHistoryFaults(shown)).toEqual(
    talk.waiting.map((id) => `the tool call '${id}' at the end has no result`),
  );
  const stays = mustStay(talk, options);
  expect([...stays].filter((msg) => !shown.includes(msg))).toEqual([]);
  if (after >= Math.floor(maxToken * 0.75) && !force) {
    const fixed = [...stays, Msg.system(SYS_PROMPT)];
    expect(await counter.count(fixed, TOOLS)).toBeGreaterThan(maxToken * 0.75 - 250);
    expect(task.events.at(-1)).toMatchObject({ phase: 'failed', strategy: 'last_resort_offload' });
  }
  expect(hasChanged ? after < before : after === before).toBe(true);

  const untouched = shown.filter((msg) => talk.msgs.includes(msg));
  expect(untouched, 'in their order').toEqual(talk.msgs.filter((msg) => untouched.includes(msg)));
  const kept = reachable(memory, shown);
  expect(
    talk.msgs.filter((msg) => !kept.has(msg)),
    'all can be reloaded',
  ).toEqual([]);
  expect(memory.getOriginalMemoryMsgs()).toEqual(talk.msgs);

  const copy = new AutoContextMemory(options);
  copy.loadStateDict(JSON.parse(JSON.stringify(memory.stateDict())) as JsonObject);
  expect(JSON.stringify(copy.stateDict())).toBe(JSON.stringify(memory.stateDict()));
  expect(await copy.getMemory()).toEqual(shown);

  const offloads = memory.getOffloadContext().size;
  if (!(await memory.compress(taskWith(summingModel(turn), { sysPrompt: SYS_PROMPT, tools: TOOLS })))) {
    expect(memory.getOffloadContext().size, 'nothing is left behind by what came to nothing').toBe(offloads);
  }
  if (shown.length < 80 && shown.some(({ role }) => role === 'user')) {
    expect(await rejectionsOf([Msg.system(SYS_PROMPT), ...shown])).toEqual([]);
  }
  return hasChanged;
}

test('a conversation of any shape is made to fit, and nothing is lost', { timeout: 60_000 }, async () => {
  const numRuns = sampleOf('conversations of any shape that are made to fit', 300, 100);
  let changed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { minLength: 1, maxLength: 40 }),
      fc.constantFrom(0, 0, 0, 1, 2),
      fc.constantFrom(0, 0, 1, 2),
      options,
      turn,
      isRare,
      async (pieces, waiting, requestCount, options, turn, force) => {
        if (await check(talkOf(pieces, waiting, requestCount), options, turn, force)) changed++;
      },
    ),
    { numRuns },
  );
  expect(changed).toBeGreaterThan(numRuns / 3);
});

test('so is one of two thousand messages', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { minLength: 30, maxLength: 40 }),
      options,
      turn,
      async (pieces, options, turn) => {
        const many = Array.from({ length: 25 }, () => pieces).flat();
        expect(await check(talkOf(many, 0), options, turn, false)).toBe(true);
      },
    ),
    { numRuns: 5 },
  );
});

/** Chats of a user, or another agent, with the agent: each line has an answer, sometimes after one small tool call. */
const chat: fc.Arbitrary<readonly Piece[]> = fc
  .array(fc.record({ line: text, reply: text, by: fc.constantFrom('user', 'other'), hasCall: isRare }), {
    minLength: 2,
    maxLength: 60,
  })
  .map((rounds) =>
    rounds.flatMap(({ line, reply, by, hasCall }): Piece[] => {
      const plain = { hasImage: false, isPinned: false };
      const call: Piece = {
        type: 'calls',
        names: ['search'],
        outputs: ['ok'],
        text: '',
        isOneMessage: true,
        ...plain,
      };
      return [
        { type: by === 'user' ? 'user' : 'other', text: line, ...plain },
        ...(hasCall ? [call] : []),
        { type: 'answer', text: reply, ...plain },
      ];
    }),
  );

test('a plain chat is made to fit by summaries, and nothing is lost', { timeout: 60_000 }, async () => {
  const numRuns = sampleOf('plain chats that are made to fit', 200, 70);
  let changed = 0;
  let summarized = 0;
  await fc.assert(
    fc.asyncProperty(chat, options, turn, isRare, async (pieces, options, turn, force) => {
      const last: Piece = { type: 'user', text: 'And now?', hasImage: false, isPinned: false };
      const talk = talkOf([...pieces, last], 0, 1);
      if (await check(talk, options, turn, force)) changed++;
      const memory = await memoryOf(talk, options);
      const requestIds = new Set(talk.requests.map(({ id }) => id));
      const task = { sysPrompt: SYS_PROMPT, tools: TOOLS, requestIds };
      await memory.compress(taskWith(summingModel('In short: fine.'), task));
      const types = memory.getCompressionEvents().map(({ eventType }) => eventType);
      expect(types, 'a model that summarizes leaves nothing to the last resort').not.toContain(
        'LAST_RESORT_OFFLOAD',
      );
      if (types.includes('PREVIOUS_ROUND_CONVERSATION_SUMMARY')) summarized++;
    }),
    { numRuns },
  );
  expect(changed).toBeGreaterThan(numRuns * 0.3);
  expect(summarized).toBeGreaterThan(numRuns * 0.3);
});
