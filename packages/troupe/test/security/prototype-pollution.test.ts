// A key is a key. `__proto__`, `constructor` and `toString` are stored like any other, or refused, and never
// reach a prototype. (vercel/ai #16006, #15953, #16040; Langfuse's polluted worker.)

import assert from 'node:assert';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { StateError, TroupeError } from '../../src/errors.ts';
import { HookedModule, type hookTypes } from '../../src/hooks/hooked-module.ts';
import type { HookPoint, PreHook } from '../../src/hooks/run-hooks.ts';
import { Exchange } from '../../src/message/exchange.ts';
import { findHistoryFaults } from '../../src/message/history.ts';
import { MsgDraft } from '../../src/message/msg-draft.ts';
import { Msg } from '../../src/message/msg.ts';
import { StateModule } from '../../src/state/state-module.ts';
import { copyJson, parseJson, type JsonObject } from '../../src/util/json.ts';
import { canonical, HOSTILE_KEYS } from '../arbitraries.ts';

class Box extends StateModule {
  value: unknown = 0;
  constructor() {
    super();
    this.registerState('value');
  }
}

const PROTOTYPES = [
  Object.prototype,
  Array.prototype,
  Function.prototype,
  String.prototype,
  Map.prototype,
  Msg.prototype,
];

/** Everything that the prototypes hold. */
const inventory = (): unknown[] =>
  PROTOTYPES.map((prototype) =>
    Reflect.ownKeys(prototype).map((key) => {
      const { value, get, set } = Object.getOwnPropertyDescriptor(prototype, key) ?? {};
      return [key, value, get, set] as unknown[];
    }),
  );

let before: unknown[] = [];
beforeAll(() => {
  before = inventory();
});
afterEach(() => {
  assert.deepStrictEqual(inventory(), before);
  assert.strictEqual(({} as { polluted?: unknown }).polluted, undefined);
});

/** `{"key": {"polluted": true}}`, as an attacker would send it. */
const attack = (key: string): string =>
  `{${JSON.stringify(key)}:{"polluted":true,"prototype":{"polluted":true}}}`;
const parsed = (key: string): JsonObject => JSON.parse(attack(key)) as JsonObject;

describe.each(HOSTILE_KEYS.map((key) => [key]))('the key %j', (key) => {
  test('is an ordinary key of parsed and copied JSON', () => {
    for (const value of [parseJson(attack(key)), copyJson(parsed(key), 'value')]) {
      expect(JSON.stringify(value)).toBe(attack(key));
      expect(Object.keys(value as object)).toEqual([key]);
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    }
  });

  test('is an ordinary key of a message, its metadata and its blocks', () => {
    const fields = '"id":"m","name":"a","role":"user"';
    const block = `{"type":"text","text":"a",${attack(key).slice(1)}`;
    const extra = ['id', 'name', 'role', 'content', 'metadata', 'timestamp'].includes(key)
      ? ''
      : `,${attack(key).slice(1, -1)}`;
    const saved = `{${fields},"content":[${block}],"metadata":${attack(key)},"timestamp":"t"${extra}}`;
    const msg = Msg.from(JSON.parse(saved));
    expect(canonical(msg.toJSON())).toBe(canonical(JSON.parse(saved)));
    expect(Object.getPrototypeOf(msg)).toBe(Msg.prototype);
    expect(Object.getPrototypeOf(msg.metadata)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(msg.getContentBlocks()[0])).toBe(Object.prototype);
    expect(canonical(msg.with({ content: msg.content }).toJSON())).toBe(canonical(JSON.parse(saved)));
    expect((msg.metadata as { polluted?: unknown }).polluted).toBe(undefined);
  });

  test('is an ordinary key of the input and the provider data of a call', () => {
    const draft = new MsgDraft('Ann');
    draft.add({ type: 'tool_use_start', index: 0, id: key, name: key, providerMeta: parsed(key) });
    for (const letter of attack(key)) draft.add({ type: 'tool_input', index: 0, json: letter });
    draft.add({ type: 'tool_use_end', index: 0, providerMeta: { more: 1 } });
    draft.add({ type: 'thinking', thinking: 'a', providerMeta: parsed(key) });
    const [call, thought] = draft.finish().content as unknown as [
      { input: object; providerMeta: object; id: string },
      { providerMeta: object },
    ];
    expect(JSON.stringify(call.input)).toBe(attack(key));
    expect(JSON.stringify(thought.providerMeta)).toBe(attack(key));
    expect(Object.keys(call.providerMeta).toSorted()).toEqual([key, 'more'].toSorted());
    if (key !== '') expect(call.id).toBe(key);
  });

  test('is an ordinary id of calls and results', () => {
    const thought = Msg.assistant([{ type: 'tool_use', id: key, name: key, input: {} }]);
    const exchange = new Exchange(thought);
    expect(exchange.addResult({ type: 'tool_result', id: key, name: key, output: 'a', status: 'ok' })).toBe(
      true,
    );
    expect(findHistoryFaults(exchange.toMsgs())).toEqual([]);
    expect(() =>
      new Exchange(Msg.assistant([])).addResult({
        type: 'tool_result',
        id: key,
        name: key,
        output: 'a',
        status: 'ok',
      }),
    ).toThrow('A tool result has the id of no tool call of this message.');
    expect(findHistoryFaults([thought])).toEqual([`the tool call '${key}' at the end has no result`]);
  });

  test('is an ordinary key inside a state, and no more than ignored beside one', () => {
    const box = new Box();
    const state = `{"value":${attack(key)}}`;
    box.loadStateDict(JSON.parse(state) as JsonObject);
    expect(JSON.stringify(box.stateDict())).toBe(state);
    expect(Object.getPrototypeOf(box.value)).toBe(Object.prototype);
    if (key === '__version__') {
      expect(() => box.loadStateDict({ ...parsed(key), value: 1 })).toThrow(StateError);
      return;
    }
    box.loadStateDict(JSON.parse(`{${attack(key).slice(1, -1)},"value":1}`) as JsonObject);
    expect(Object.entries(box)).toEqual([['value', 1]]);
    expect(Object.getPrototypeOf(box)).toBe(Box.prototype);
    expect(box.constructor).toBe(Box);
  });

  test('is no key that a state inherits', () => {
    class Empty extends StateModule {}
    const box = new Empty();
    if (['__proto__', 'constructor', 'prototype', '__version__'].includes(key)) {
      expect(() => box.registerState(key)).toThrow(StateError);
      return;
    }
    Object.defineProperty(box, key, { value: 'mine', enumerable: true, writable: true, configurable: true });
    box.registerState(key);
    expect(() => box.loadStateDict({})).toThrow(`Empty.${key} is missing.`);
    box.loadStateDict({}, { strict: false });
    expect(Reflect.get(box, key)).toBe('mine');
    const saved = box.stateDict();
    expect(JSON.stringify(saved)).toBe(`{${JSON.stringify(key)}:"mine"}`);
  });

  test('is an ordinary name of a hook, and no type of one', async () => {
    const points: readonly HookPoint[] = [
      { method: 'say', pre: 'preSay', post: 'postSay', params: ['words'] },
    ];
    class Speaker extends HookedModule {
      static override readonly hookPoints = points;
      declare readonly [hookTypes]?: { preSay: PreHook<Speaker, { words: string }> };
      async say(words: string): Promise<string> {
        return words;
      }
    }
    const speaker = new Speaker();
    const hook = (_: Speaker, { words }: { readonly words: string }) => ({ words: `${words}!` });
    expect(() => speaker.removeInstanceHook('preSay', key)).toThrow(TroupeError);
    speaker.registerInstanceHook('preSay', key, hook);
    Speaker.registerClassHook('preSay', key, hook);
    expect(await speaker.say('a')).toBe('a!!');
    speaker.removeInstanceHook('preSay', key);
    Speaker.removeClassHook('preSay', key);
    expect(await speaker.say('a')).toBe('a');
    expect(() => speaker.registerInstanceHook(key as 'preSay', 'a', hook)).toThrow(
      `Speaker has no hook type '${key}'.`,
    );
    expect(() => Speaker.registerClassHook(key as 'preSay', 'a', hook)).toThrow(TroupeError);
    expect(speaker.hooksOf(key)).toEqual([]);
    speaker.registerInstanceHook('preSay', 'evil', () => parsed(key) as { words?: string });
    await expect(speaker.say('a')).rejects.toThrow(
      `The preSay hook 'evil' must return nothing or an object with some of: words; not ${key}.`,
    );
  });
});

describe('with a prototype that can not be written to', () => {
  beforeAll(() => Object.freeze(Object.prototype)); // for the rest of this file

  test.each(HOSTILE_KEYS.map((key) => [key]))('%j works as before', (key) => {
    expect(Object.isFrozen(Object.prototype)).toBe(true);
    const msg = Msg.user('a', { metadata: parsed(key) });
    expect(JSON.stringify(Msg.from(JSON.parse(JSON.stringify(msg))))).toBe(JSON.stringify(msg));
    expect(JSON.stringify(msg.with({ metadata: parsed(key) }))).toBe(JSON.stringify(msg));
    const box = new Box();
    box.loadStateDict({ value: parsed(key) });
    expect(JSON.stringify(box.stateDict())).toBe(`{"value":${attack(key)}}`);
    const draft = new MsgDraft('Ann');
    draft.add({ type: 'text', text: 'a', providerMeta: parsed(key) });
    expect(draft.finish().content).toEqual([{ type: 'text', text: 'a', providerMeta: parsed(key) }]);
  });
});
