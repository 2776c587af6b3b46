// Nothing that comes in is too deep or too large to be refused with an error of ours, in few steps; and nothing that
// was taken in is too deep to be saved and loaded again. (Checklist rows 28, 29 and 47.)

import { countWork } from '../counted-work.ts';
import { describe, expect, test } from 'vitest';
import { InvalidMsgError, StateError } from '../../src/errors.ts';
import { Exchange } from '../../src/message/exchange.ts';
import { MsgDraft } from '../../src/message/msg-draft.ts';
import { Msg } from '../../src/message/msg.ts';
import { StateModule } from '../../src/state/state-module.ts';
import { NotJsonError, parseJson, type JsonObject } from '../../src/util/json.ts';
import { nested } from '../arbitraries.ts';

const DEEP = 200_000;

class Box extends StateModule {
  value: unknown = 'before';
  constructor() {
    super();
    this.registerState('value');
  }
}

/** The error of `run`, which has to come in few steps. */
async function quickError(run: () => unknown): Promise<Error> {
  let thrown: unknown;
  const { steps } = await countWork(() => {
    try {
      run();
    } catch (error) {
      thrown = error;
    }
  });
  if (!(thrown instanceof Error)) throw new Error('Nothing was thrown.');
  expect(steps).toBeLessThan(DEEP);
  return thrown;
}

const loop: { [key: string]: unknown } = {};
loop['self'] = { again: [loop] };

describe.each<[string, () => unknown]>([
  ['200 000 lists in lists', () => nested(DEEP)],
  ['200 000 objects in objects', () => JSON.parse(`${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`) as unknown],
  ['something that contains itself', () => loop],
])('%s', (_, make) => {
  const value = make() as JsonObject;

  test('is no message', async () => {
    const metadata = { value };
    const saved = { ...Msg.user('a').toJSON(), value };
    const block = { type: 'tool_use', id: 'a', name: 'a', input: { value } } as const;
    for (const run of [
      () => Msg.user('a', { metadata }),
      () => Msg.from(saved),
      () => Msg.user('a').with({ metadata }),
      () => Msg.assistant([block]),
      () => new MsgDraft('Ann').add({ type: 'block', block }),
      () => new MsgDraft('Ann').add({ type: 'text', text: 'a', providerMeta: metadata }),
    ]) {
      const error = await quickError(run);
      expect(error).toBeInstanceOf(InvalidMsgError);
      expect(error.message).toMatch(/ is nested deeper than \d+ levels, or refers to itself\.$/);
      expect(error.message.length).toBeLessThan(300);
    }
  });

  test('is no state', async () => {
    const box = new Box();
    const error = await quickError(() => box.loadStateDict({ value }));
    expect(error).toBeInstanceOf(StateError);
    expect(box.value).toBe('before');
    box.value = value;
    expect(await quickError(() => box.stateDict())).toBeInstanceOf(NotJsonError);
    expect(() => new Box().registerState('value')).not.toThrow();
    expect(await quickError(() => box.registerState('value'))).toBeInstanceOf(TypeError);
  });
});

test('JSON text of any depth is refused, not crashed on', async () => {
  const text = '['.repeat(1_000_000);
  expect((await quickError(() => parseJson(text))).message).toBe('the text is not JSON');
  expect(await quickError(() => parseJson(text.slice(0, DEEP) + ']'.repeat(DEEP)))).toBeInstanceOf(
    NotJsonError,
  );
});

test('arguments of any depth are kept as text', () => {
  const json = `{"a":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}`;
  const draft = new MsgDraft('Ann');
  draft.add({ type: 'tool_use_start', index: 0, id: 'c1', name: 'a' });
  draft.add({ type: 'tool_input', index: 0, json });
  draft.add({ type: 'tool_use_end', index: 0 });
  expect(draft.finish().content).toEqual([
    { type: 'tool_use', id: 'c1', name: 'a', input: {}, rawInput: json },
  ]);
});

test('depth can not be smuggled in step by step', async () => {
  let msg = Msg.user('a');
  let steps = 0;
  const error = await quickError(() => {
    for (; steps < DEEP; steps++) msg = msg.with({ metadata: { before: msg.metadata } });
  });
  expect(error).toBeInstanceOf(InvalidMsgError);
  expect(steps).toBe(99);
  expect(Msg.from(JSON.parse(JSON.stringify(msg))).metadata).toEqual(msg.metadata);

  const box = new Box();
  box.value = 1;
  steps = 0;
  expect(
    await quickError(() => {
      for (; steps < DEEP; steps++) box.value = box.stateDict();
    }),
  ).toBeInstanceOf(NotJsonError);
  expect(steps).toBe(120);
});

test('values that fit into a message fit into a history, into a state, and back', () => {
  class Memory extends StateModule {
    content: readonly Msg[] = [];
    constructor() {
      super();
      this.registerState('content', {
        toJson: (msgs) => msgs.map((msg) => msg.toJSON()),
        fromJson: (json) => (json as readonly unknown[]).map((msg) => Msg.from(msg)),
      });
    }
  }
  class Agent extends StateModule {
    memory = new Memory();
  }
  class Team extends StateModule {
    leader = new Agent();
  }
  const deepest = { deep: nested(99) } as const;
  const input = { deep: nested(98) } as JsonObject;
  const thought = Msg.assistant([{ type: 'tool_use', id: 'c1', name: 'a', input }], { metadata: deepest });
  const team = new Team();
  team.leader.memory.content = new Exchange(thought).toMsgs();
  const saved = JSON.stringify({ version: 1, sessions: [{ state: team.stateDict() }] });
  const loaded = new Team();
  const envelope = parseJson(saved) as unknown as { sessions: [{ state: JsonObject }] };
  loaded.leader.loadStateDict(envelope.sessions[0].state['leader'] as JsonObject);
  expect(JSON.stringify(loaded.leader.memory.content)).toBe(JSON.stringify(team.leader.memory.content));
});

describe('size', { timeout: 30_000 }, () => {
  const tooLong = 'x'.repeat(256 * 1024 * 1024);

  test('of more than 256 million characters is refused', async () => {
    expect((await quickError(() => Msg.user('a', { metadata: { tooLong } }))).message).toBe(
      'metadata.tooLong is beyond the size limit.',
    );
    expect((await quickError(() => new Box().loadStateDict({ value: tooLong }))).message).toBe(
      'Invalid state: the state.value is beyond the size limit.',
    );
    expect((await quickError(() => parseJson(`${tooLong}x`))).message).toBe(
      'the text is beyond the size limit',
    );
  });

  test('of many megabytes comes back as it was', () => {
    const text = `${'0123456789'.repeat(2_000_000)}\ud800`;
    const loaded = Msg.from(JSON.parse(JSON.stringify(Msg.user(text, { metadata: { text } }))));
    expect(loaded.content === text).toBe(true);
    expect(loaded.metadata['text'] === text).toBe(true);
  });

  test('of 100 000 keys comes back as it was', () => {
    const value = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key${i}`, i]));
    const box = new Box();
    box.loadStateDict({ value });
    expect(JSON.stringify(box.stateDict()) === JSON.stringify({ value })).toBe(true);
  });

  test('can be limited for a load', async () => {
    const value = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key${i}`, i]));
    expect(await quickError(() => new Box().loadStateDict({ value }, { maxSize: 50_000 }))).toBeInstanceOf(
      StateError,
    );
    expect(
      await quickError(() => new Box().loadStateDict({ value: nested(5) }, { maxDepth: 5 })),
    ).toBeInstanceOf(StateError);
  });

  test('of a key is no part of an error', async () => {
    const key = `secret ${'x'.repeat(10_000_000)}`;
    expect((await quickError(() => Msg.user('a', { metadata: { [key]: NaN } }))).message.length).toBeLessThan(
      300,
    );
    expect((await quickError(() => new Box().loadStateDict({ [key]: NaN }))).message.length).toBeLessThan(
      300,
    );
  });
});

test.each<[string, unknown]>([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['a bigint', 1n],
  ['a Date', new Date(0)],
  ['a Map', new Map()],
  ['a typed array', new Uint8Array(8)],
  ['a regular expression', /a/],
  ['undefined in a list', [undefined]],
  ['a hole in a list', Array(3)],
])('%s is refused when it comes in, not when it is saved', (_, value) => {
  expect(() => Msg.user('a', { metadata: { value } as JsonObject })).toThrow(InvalidMsgError);
  expect(() => new Box().loadStateDict({ value } as JsonObject)).toThrow(StateError);
});

test('-0 becomes 0 when it comes in, so that saving changes nothing', () => {
  const msg = Msg.user('a', { metadata: { value: -0 } });
  expect(Object.is(msg.metadata['value'], 0)).toBe(true);
  expect(Msg.from(JSON.parse(JSON.stringify(msg))).metadata).toStrictEqual(msg.metadata);
});

test('a thousand calls of one id are a thousand calls', () => {
  const draft = new MsgDraft('Ann');
  for (let index = 0; index < 1000; index++) {
    draft.add({ type: 'tool_use_start', index, id: 'same', name: 'a' });
    draft.add({ type: 'tool_use_end', index });
  }
  const exchange = new Exchange(draft.finish());
  expect(new Set(exchange.calls.map(({ id }) => id)).size).toBe(1000);
  expect(exchange.toMsgs()).toHaveLength(1001);
});
