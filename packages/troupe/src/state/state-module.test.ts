import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { anyJson, anyJsonObject, canonical, isDeepFrozen, nested, objectOf } from '../../test/arbitraries.ts';
import { StateError, TroupeError } from '../errors.ts';
import { NotJsonError, type JsonObject, type JsonValue } from '../util/json.ts';
import { StateModule, type StateMigration } from './state-module.ts';

/** A module with whatever properties a test needs. */
class Bag extends StateModule {
  [key: string]: unknown;

  constructor(registered: object = {}, modules: object = {}) {
    super();
    for (const [key, value] of Object.entries({ ...registered, ...modules })) this[key] = value;
    for (const key of Object.keys(registered)) this.registerState(key);
  }
}

function errorOf(run: () => unknown): StateError {
  try {
    run();
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}

const messageOf = (run: () => unknown): string => errorOf(run).message;

describe('the four examples of the seed', () => {
  test('1: a registered property is saved, another is not', () => {
    class Counter extends StateModule {
      count = 0;
      temp = 'not tracked';
      constructor() {
        super();
        this.registerState('count');
      }
    }
    const c = new Counter();
    c.count = 100;
    c.temp = 'new value';
    const state = c.stateDict();
    const newC = new Counter();
    newC.loadStateDict(state);
    expect(state).toStrictEqual({ count: 100 });
    expect(newC.count).toBe(100);
    expect(newC.temp).toBe('not tracked');
  });

  test('2: a nested module is found by itself', () => {
    class Memory extends StateModule {
      msgs: string[] = [];
      constructor() {
        super();
        this.registerState('msgs');
      }
    }
    class Agent extends StateModule {
      memory = new Memory();
    }
    const agent = new Agent();
    agent.memory.msgs.push('hello');
    const state = agent.stateDict();
    const newAgent = new Agent();
    newAgent.loadStateDict(state);
    expect(state).toStrictEqual({ memory: { msgs: ['hello'] } });
    expect(newAgent.memory.msgs).toEqual(['hello']);
  });

  test('3: a converter saves what is no JSON', () => {
    class User extends StateModule {
      prefs = new Map<string, string>();
      constructor() {
        super();
        this.registerState('prefs', {
          toJson: (prefs) => Object.fromEntries(prefs),
          fromJson: (json) => new Map(Object.entries(json as Record<string, string>)),
        });
      }
    }
    const user = new User();
    user.prefs.set('lang', 'zh');
    const state = user.stateDict();
    const newUser = new User();
    newUser.loadStateDict(state);
    expect(state).toStrictEqual({ prefs: { lang: 'zh' } });
    expect(newUser.prefs).toEqual(new Map([['lang', 'zh']]));
  });

  test('4: modules nest, and come before properties', () => {
    class ToolHistory extends StateModule {
      calls: unknown[] = [];
      constructor() {
        super();
        this.registerState('calls');
      }
    }
    class ToolKit extends StateModule {
      history = new ToolHistory();
    }
    class Agent extends StateModule {
      toolkit = new ToolKit();
      name: string;
      constructor(name: string) {
        super();
        this.name = name;
        this.registerState('name');
      }
    }
    const agent = new Agent('Assistant');
    agent.toolkit.history.calls.push({ tool: 'search', args: { q: 'test' } });
    const newAgent = new Agent('temp');
    newAgent.loadStateDict(agent.stateDict());
    expect(JSON.stringify(agent.stateDict())).toBe(
      '{"toolkit":{"history":{"calls":[{"tool":"search","args":{"q":"test"}}]}},"name":"Assistant"}',
    );
    expect(newAgent.name).toBe('Assistant');
    expect(newAgent.toolkit.history.calls).toEqual([{ tool: 'search', args: { q: 'test' } }]);
  });
});

describe('parts of the state', () => {
  test('a module is part of the state while its property holds it', () => {
    const bag = new Bag({ own: 1 });
    bag['child'] = new Bag({ a: 1 });
    expect(bag.stateDict()).toEqual({ child: { a: 1 }, own: 1 });
    bag['child'] = new Bag({ b: 2 });
    expect(bag.stateDict()).toEqual({ child: { b: 2 }, own: 1 });
    delete bag['child'];
    expect(bag.stateDict()).toEqual({ own: 1 });
    bag['child'] = new Bag();
    bag['child'] = 'text';
    expect(bag.stateDict()).toEqual({ own: 1 });
  });

  test('private fields, getters of the class and lists of modules stay out', () => {
    class Closed extends StateModule {
      readonly #secret = new Bag({ password: 'hunter2' });
      readonly list = [this.#secret];
      get view(): Bag {
        return this.#secret;
      }
    }
    const closed = new Closed();
    expect(closed.stateDict()).toEqual({});
    expect(closed.view.stateDict()).toEqual({ password: 'hunter2' });
  });

  test('a registered property may have a getter and a setter', () => {
    class Bounded extends StateModule {
      #level = 1;
      constructor() {
        super();
        this.registerState('level');
      }
      get level(): number {
        return this.#level;
      }
      set level(level: number) {
        this.#level = Math.min(level, 9);
      }
    }
    const bounded = new Bounded();
    bounded.loadStateDict({ level: 100 });
    expect([bounded.level, bounded.stateDict()]).toEqual([9, { level: 9 }]);
  });

  test('a child in two places is saved in both, and loaded twice', () => {
    const shared = new Bag({ n: 1 });
    const parent = new Bag({}, { a: shared, b: shared });
    expect(parent.stateDict()).toEqual({ a: { n: 1 }, b: { n: 1 } });
    parent.loadStateDict({ a: { n: 2 }, b: { n: 2 } });
    expect(shared['n']).toBe(2);
    const before = errorOf(() => parent.loadStateDict({ a: { n: 3 }, b: {} }));
    expect([before.path, shared['n']]).toEqual(['Bag.b.n', 2]);
  });

  test('a shared child is saved and loaded once, where it is found first, and may be missing', () => {
    class Shared extends Bag {
      static override readonly isShared = true;
    }
    const shared = new Shared({ n: 1 });
    const parent = new Bag({}, { a: new Bag({}, { x: shared }), b: shared, c: shared });
    expect(parent.stateDict()).toEqual({ a: { x: { n: 1 } } });
    parent.loadStateDict({ a: { x: { n: 2 } }, b: { n: 3 }, c: {} });
    expect(shared['n']).toBe(2);
    parent.loadStateDict({ a: {}, c: { n: 4 } }); // saved when only one had it
    expect(shared['n']).toBe(4);
    parent.loadStateDict({ a: {} });
    expect(shared['n']).toBe(4);
    expect(errorOf(() => parent.loadStateDict({ a: { x: {} } })).path).toBe('Bag.a.x.n');
  });

  test('a module that contains itself is an error with the path', () => {
    const child = new Bag({ n: 1 });
    const parent = new Bag({}, { child });
    child['parent'] = parent;
    expect(messageOf(() => parent.stateDict())).toBe(
      'Invalid state: Bag.child.parent contains itself. Keep the reference to its parent in a private #field.',
    );
    expect(messageOf(() => parent.loadStateDict({ child: { n: 2, parent: { child: {} } } }))).toBe(
      'Invalid state: Bag.child.parent contains itself.',
    );
    expect(child['n']).toBe(1);
  });

  test('is a frozen copy: neither side can change the other', () => {
    const bag = new Bag({ list: [1], deep: { a: [1] } }, { child: new Bag({ list: [1] }) });
    const state = bag.stateDict();
    const saved = JSON.stringify(state);
    expect(isDeepFrozen(state)).toBe(true);
    (bag['list'] as number[]).push(2);
    ((bag['child'] as Bag)['list'] as number[]).push(2);
    expect(JSON.stringify(state)).toBe(saved);
  });
});

describe('registering', () => {
  test.each<[string, unknown, string]>([
    ['a function', () => {}, "value is a function, which JSON can't hold."],
    ['nothing', undefined, "value is undefined, which JSON can't hold."],
    ['a Map', new Map(), 'value is a Map, not a plain object.'],
    ['a Date inside', { at: [new Date(0)] }, 'value.at[0] is a Date, not a plain object.'],
    ['NaN', NaN, "value is NaN, which JSON can't hold."],
    ['a bigint', 1n, "value is a bigint, which JSON can't hold."],
  ])('%s without a converter is a TypeError', (_, value, problem) => {
    const bag = new Bag();
    bag['value'] = value;
    expect(() => bag.registerState('value')).toThrow(
      new TypeError(`${problem} Give registerState a converter { toJson, fromJson }.`),
    );
    expect(bag.stateDict()).toEqual({});
  });

  test('the name of a module is refused', () => {
    const bag = new Bag({}, { child: new Bag() });
    const error = errorOf(() => bag.registerState('child'));
    expect(error.message).toBe('Invalid state: child is a module and already part of the state.');
    expect([error.code, error.name, TroupeError.isInstance(error)]).toEqual([
      'invalid_state',
      'StateError',
      true,
    ]);
    expect(bag.stateDict()).toEqual({ child: {} });
  });

  test('a registered property that becomes a module is told when the state is used', () => {
    const bag = new Bag({ value: 1 });
    bag['value'] = new Bag();
    const message =
      'Invalid state: value was registered as a plain property and is now a module. Register only one of them.';
    expect(messageOf(() => bag.stateDict())).toBe(message);
    expect(messageOf(() => bag.loadStateDict({ value: 2 }))).toBe(message);
    bag['value'] = 3;
    expect(bag.stateDict()).toEqual({ value: 3 });
  });

  test.each(['__proto__', 'constructor', 'prototype', '__version__'])('%s is no name for a state', (name) => {
    const message = `Invalid state: ${name} is not allowed as the name of a state.`;
    expect(messageOf(() => new Bag().registerState(name))).toBe(message);
    const bag = new Bag();
    Object.defineProperty(bag, name, { value: new Bag(), enumerable: true });
    expect(messageOf(() => bag.stateDict())).toBe(message);
  });

  test('twice replaces the converter', () => {
    const bag = new Bag({ value: 1 });
    bag.registerState<number>('value', {
      toJson: (value) => value + 1,
      fromJson: (json) => Number(json) - 1,
    });
    expect(bag.stateDict()).toEqual({ value: 2 });
    bag.loadStateDict({ value: 2 });
    expect(bag['value']).toBe(1);
  });

  test('a converter knows the type of its property', () => {
    class Typed extends StateModule {
      at = new Date(0);
      constructor() {
        super();
        this.registerState('at', {
          toJson(at) {
            expectTypeOf(at.toISOString()).toEqualTypeOf<string>();
            return at.toISOString();
          },
          fromJson(json) {
            expectTypeOf(json).toEqualTypeOf<JsonValue>();
            return new Date(String(json));
          },
        });
      }
    }
    const typed = new Typed();
    typed.loadStateDict({ at: '2026-01-31T00:00:00.000Z' });
    expect(typed.stateDict()).toEqual({ at: '2026-01-31T00:00:00.000Z' });
  });
});

describe('saving', () => {
  test('a value that became something else is told with its place', () => {
    const bag = new Bag({}, { child: new Bag({ value: 1 }) });
    (bag['child'] as Bag)['value'] = { f: () => {} };
    expect(() => bag.stateDict()).toThrow(
      new NotJsonError('Bag.child.value.f', "is a function, which JSON can't hold"),
    );
  });

  test('refuses values that could not be loaded again, and accepts all others', () => {
    const build = (modules: number, depth: number): Bag => {
      let bag = new Bag({ value: nested(depth) });
      for (let i = 1; i < modules; i++) bag = new Bag({}, { child: bag });
      return bag;
    };
    const deepest = build(20, 100);
    const text = JSON.stringify(deepest.stateDict());
    const other = build(20, 1);
    other.loadStateDict(JSON.parse(text));
    expect(JSON.stringify(other.stateDict())).toBe(text);
    expect(() => build(20, 101).stateDict()).toThrow('is nested deeper than 120 levels');
    expect(() => build(21, 100).stateDict()).toThrow(NotJsonError);
    expect(() => build(1, 120).stateDict()).toThrow(NotJsonError);
    expect(build(1, 119).stateDict()).toHaveProperty('value');
  });
});

describe('loading', () => {
  test('gives back what was saved, for any values', () => {
    fc.assert(
      fc.property(anyJson, anyJson, anyJsonObject, (a, b, extra) => {
        const saved = new Bag({ a }, { child: new Bag({ b }) }).stateDict();
        const loaded = new Bag({ a: 0 }, { child: new Bag({ b: 0 }) });
        const known = ['a', 'child', '__version__'];
        const unknown = Object.entries(extra).filter(([key]) => !known.includes(key));
        loaded.loadStateDict(
          objectOf([...Object.entries(JSON.parse(JSON.stringify(saved)) as JsonObject), ...unknown]),
        );
        expect(canonical(loaded.stateDict())).toBe(canonical(saved));
        expect(JSON.stringify(loaded['a'])).toBe(JSON.stringify(a));
      }),
    );
  });

  test('ignores unknown keys', () => {
    const bag = new Bag({ a: 1 });
    bag.loadStateDict({ a: 2, b: 3, valueOf: 4 });
    expect(Object.entries(bag)).toEqual([['a', 2]]);
  });

  test('does not share anything with the state', () => {
    const state = { list: [1], deep: { a: [1] } };
    const bag = new Bag({ list: [], deep: {} });
    bag.loadStateDict(state);
    (bag['list'] as number[]).push(2);
    (bag['deep'] as { a: number[] }).a.push(2);
    expect(state).toEqual({ list: [1], deep: { a: [1] } });
    state.list.push(3);
    expect(bag.stateDict()).toEqual({ list: [1, 2], deep: { a: [1, 2] } });
    const frozen = bag.stateDict();
    const other = new Bag({ list: [], deep: {} });
    other.loadStateDict(frozen);
    (other['list'] as number[]).push(9);
    expect(frozen).toEqual({ list: [1, 2], deep: { a: [1, 2] } });
  });

  describe('strictly, as by default,', () => {
    const build = (): Bag => new Bag({ a: 1 }, { child: new Bag({ b: 1 }, { leaf: new Bag({ c: 1 }) }) });

    test.each<[string, JsonObject, string]>([
      ['a property', { child: { leaf: { c: 2 }, b: 2 } }, 'Bag.a'],
      ['a module', { a: 2 }, 'Bag.child'],
      ['a nested property', { a: 2, child: { leaf: { c: 2 } } }, 'Bag.child.b'],
      ['a nested module', { a: 2, child: { b: 2 } }, 'Bag.child.leaf'],
      ['a property deep inside', { a: 2, child: { b: 2, leaf: {} } }, 'Bag.child.leaf.c'],
    ])('misses %s', (_, state, path) => {
      const bag = build();
      for (const options of [undefined, {}, { strict: true }]) {
        const error = errorOf(() => bag.loadStateDict(state, options));
        expect(error.path).toBe(path);
        expect(error.message).toBe(
          `Invalid state: ${path} is missing. Load with { strict: false } to keep its current value.`,
        );
      }
      expect(bag.stateDict()).toEqual(build().stateDict());
    });

    test('otherwise keeps current values, at any depth', () => {
      const bag = build();
      bag.loadStateDict({ child: { leaf: {}, b: 2 } }, { strict: false });
      expect(bag.stateDict()).toEqual({ a: 1, child: { leaf: { c: 1 }, b: 2 } });
      bag.loadStateDict({}, { strict: false });
      bag.loadStateDict({ child: { leaf: { c: 5 } } }, { strict: false });
      expect(bag.stateDict()).toEqual({ a: 1, child: { leaf: { c: 5 }, b: 2 } });
    });

    test('an inherited key is a missing one', () => {
      const bag = new Bag();
      Object.assign(bag, { toString: 'text' });
      bag.registerState('toString');
      expect(messageOf(() => bag.loadStateDict({}))).toContain('Bag.toString is missing.');
      bag.loadStateDict({ toString: 'other' });
      expect(bag['toString']).toBe('other');
    });
  });

  test.each<[string, unknown, string]>([
    ['nothing', undefined, "Invalid state: the state is undefined, which JSON can't hold."],
    ['null', null, 'Invalid state: the state is null, not an object.'],
    ['a list', [], 'Invalid state: the state is an array, not an object.'],
    ['text', '{}', 'Invalid state: the state is a string, not an object.'],
    ['a module', new Bag(), 'Invalid state: the state is a Bag, not a plain object.'],
    [
      'a function inside',
      { n: () => {} },
      "Invalid state: the state.n is a function, which JSON can't hold.",
    ],
    [
      'a child that is a list',
      { n: 2, child: [] },
      'Invalid state: Bag.child must be an object, not an array.',
    ],
    ['a child that is null', { n: 2, child: null }, 'Invalid state: Bag.child must be an object, not null.'],
  ])('refuses %s', (_, state, message) => {
    const bag = new Bag({ n: 1 }, { child: new Bag() });
    expect(messageOf(() => bag.loadStateDict(state as JsonObject))).toBe(message);
    expect(bag.stateDict()).toEqual({ n: 1, child: {} });
  });

  test('runs no code from the given state', () => {
    let runs = 0;
    const bag = new Bag({ n: 1 });
    const trap = {
      get n() {
        return ++runs;
      },
    };
    expect(messageOf(() => bag.loadStateDict(trap as unknown as JsonObject))).toBe(
      'Invalid state: the state.n is a getter, not a value.',
    );
    const ownKeys = (): never => {
      throw new Error('mine');
    };
    expect(messageOf(() => bag.loadStateDict(new Proxy({}, { ownKeys }) as JsonObject))).toBe(
      'Invalid state: it is not JSON.',
    );
    expect([runs, bag['n']]).toEqual([0, 1]);
  });

  test('asks every module whether it can load now, before anything is changed', () => {
    class Busy extends Bag {
      protected override assertStateCanLoad(): void {
        throw new Error('busy');
      }
    }
    const bag = new Bag({ a: 1 }, { first: new Bag({ b: 1 }), last: new Busy({ c: 1 }) });
    expect(() => bag.loadStateDict({ a: 2, first: { b: 2 }, last: { c: 2 } })).toThrow('busy');
    expect(bag.stateDict()).toEqual({ a: 1, first: { b: 1 }, last: { c: 1 } });
    bag.loadStateDict({ a: 2, first: { b: 2 } }, { strict: false });
    expect(bag.stateDict()).toEqual({ a: 2, first: { b: 2 }, last: { c: 1 } });
  });

  describe('within limits', () => {
    test('of depth', () => {
      const bag = new Bag({ value: 0 });
      expect(messageOf(() => bag.loadStateDict({ value: nested(128) }))).toContain(
        'is nested deeper than 128 levels',
      );
      bag.loadStateDict({ value: nested(119) });
      expect(JSON.stringify(bag['value'])).toBe('['.repeat(119) + ']'.repeat(119));
      expect(errorOf(() => bag.loadStateDict({ value: [[0]] }, { maxDepth: 2 })).path).toBe(
        'the state.value[0]',
      );
    });

    test('of size', () => {
      const bag = new Bag({ value: '' });
      bag.loadStateDict({ value: 'x'.repeat(10) }, { maxSize: 17 });
      expect(messageOf(() => bag.loadStateDict({ value: 'x'.repeat(11) }, { maxSize: 17 }))).toBe(
        'Invalid state: the state.value is beyond the size limit.',
      );
      expect(bag['value']).toBe('x'.repeat(10));
    });

    test('that apply to a state fresh from `stateDict` too', () => {
      const state = new Bag({ value: [[['x'.repeat(100)]]] }).stateDict();
      const bag = new Bag({ value: 0 });
      expect(messageOf(() => bag.loadStateDict(state, { maxDepth: 3 }))).toContain(
        'is nested deeper than 3 levels',
      );
      expect(messageOf(() => bag.loadStateDict(state, { maxSize: 100 }))).toContain(
        'is beyond the size limit',
      );
      expect(bag['value']).toBe(0);
    });
  });
});

describe('all or nothing', () => {
  const SIZE = 9;

  /** Nine properties over three levels of modules, which may refuse a value, or being set. */
  function build(): { root: Bag; parts: Part[] } {
    const parts: Part[] = [];
    const make = (modules: object): Bag => {
      const bag = new Bag({}, modules);
      for (let i = 0; i < 3; i++) parts.push(new Part(bag, `p${i}`));
      return bag;
    };
    const leaf = make({});
    const child = make({ leaf });
    return { root: make({ child }), parts };
  }

  class Part {
    value: unknown = ['before'];
    refusesJson: unknown;
    refusesToBeSet: unknown;
    readCount = 0;
    failsToBeReadAt: number | undefined;

    constructor(bag: Bag, name: string) {
      Object.defineProperty(bag, name, {
        get: () => {
          if (++this.readCount === this.failsToBeReadAt) throw new Error('can not be read');
          return this.value;
        },
        set: (value: unknown) => {
          if (this.refusesToBeSet !== undefined) throw this.refusesToBeSet as Error;
          this.value = value;
        },
        configurable: true,
      });
      bag.registerState(name, {
        toJson: (value) => value as JsonValue,
        fromJson: (json) => {
          if (this.refusesJson !== undefined) throw this.refusesJson as Error;
          return json;
        },
      });
    }
  }

  const level = { p0: ['after'], p1: ['after'], p2: ['after'] };
  const state: JsonObject = { ...level, child: { ...level, leaf: level } };
  const paths = ['child.leaf', 'child', ''].flatMap((module) =>
    ['p0', 'p1', 'p2'].map((name) => ['Bag', module, name].filter((step) => step !== '').join('.')),
  );

  test('everything is loaded when nothing fails', () => {
    const { root, parts } = build();
    root.loadStateDict(state);
    expect(parts.map(({ value }) => value)).toEqual(Array(SIZE).fill(['after']));
  });

  const everyPlace = Array.from({ length: SIZE }, (_, k) => k);

  test.each(everyPlace)('a value that is refused at place %i changes nothing', (k) => {
    const { root, parts } = build();
    const before = parts.map(({ value }) => value);
    parts[k]!.refusesJson = new Error('too old');
    const error = errorOf(() => root.loadStateDict(state));
    expect([error.path, error.message]).toEqual([
      paths[k],
      `Invalid state: ${paths[k]} was refused: too old`,
    ]);
    expect(error.cause).toBe(parts[k]!.refusesJson);
    parts.forEach(({ value }, i) => expect(value).toBe(before[i]));
  });

  test.each(everyPlace)('a setter that throws at place %i changes nothing, even if it always throws', (k) => {
    const { root, parts } = build();
    const before = parts.map(({ value }) => value);
    parts[k]!.refusesToBeSet = new Error('never');
    const error = errorOf(() => root.loadStateDict(state));
    expect([error.path, error.message]).toEqual([
      paths[k],
      `Invalid state: ${paths[k]} refused its value: never`,
    ]);
    expect(error.cause).toBe(parts[k]!.refusesToBeSet);
    parts.forEach(({ value }, i) => expect(value).toBe(before[i]));
    parts[k]!.refusesToBeSet = undefined;
    root.loadStateDict(state);
    expect(parts.map(({ value }) => value)).toEqual(Array(SIZE).fill(['after']));
  });

  test.each(everyPlace)('a getter that throws at place %i changes nothing', (k) => {
    const { root, parts } = build();
    const before = parts.map(({ value }) => value);
    parts[k]!.failsToBeReadAt = parts[k]!.readCount + 1;
    expect(messageOf(() => root.loadStateDict(state))).toBe(
      `Invalid state: ${paths[k]} refused its value: can not be read`,
    );
    parts.forEach(({ value }, i) => expect(value).toBe(before[i]));
  });

  test.each(everyPlace)('a missing key at place %i changes nothing', (k) => {
    const { root, parts } = build();
    const json = JSON.parse(JSON.stringify(state)) as { child: { leaf: object } };
    const levels = [json.child.leaf, json.child, json] as Record<string, unknown>[];
    delete levels[Math.floor(k / 3)]![`p${k % 3}`];
    expect(errorOf(() => root.loadStateDict(json as unknown as JsonObject)).path).toBe(paths[k]);
    expect(parts.map(({ value }) => value)).toEqual(Array(SIZE).fill(['before']));
  });

  test('a property that can not be written changes nothing', () => {
    const bag = new Bag({ a: 1, b: 2 }, { child: new Bag({ c: 3 }) });
    Object.defineProperty(bag, 'b', { value: 2, writable: false });
    expect(messageOf(() => bag.loadStateDict({ a: 9, b: 9, child: { c: 9 } }))).toBe(
      'Invalid state: Bag.b refused its value: it is read-only',
    );
    expect(bag.stateDict()).toEqual({ a: 1, b: 2, child: { c: 3 } });
  });

  test.each<[string, unknown, string]>([
    ['null', null, 'null'],
    ['what has no text', Object.create(null), 'an error without a message'],
    ['text', 'no', 'no'],
  ])('throwing %s is an error too', (_, thrown, text) => {
    const { root, parts } = build();
    parts[4]!.refusesJson = thrown;
    expect(messageOf(() => root.loadStateDict(state))).toBe(
      `Invalid state: Bag.child.p1 was refused: ${text}`,
    );
    parts[4]!.refusesJson = undefined;
    parts[4]!.refusesToBeSet = thrown;
    expect(messageOf(() => root.loadStateDict(state))).toBe(
      `Invalid state: Bag.child.p1 refused its value: ${text}`,
    );
    expect(parts.map(({ value }) => value)).toEqual(Array(SIZE).fill(['before']));
  });
});

describe('a module saved under another name', () => {
  class Pet extends StateModule {
    age = 3;
    constructor() {
      super();
      this.registerState('age');
    }
  }
  class Owner extends StateModule {
    static override readonly stateNames = { cat: 'pet' };
    readonly cat = new Pet();
  }

  test('has that name in every state', () => {
    const owner = new Owner();
    expect(owner.stateDict()).toEqual({ pet: { age: 3 } });
    owner.loadStateDict({ pet: { age: 4 } });
    expect(owner.cat.age).toBe(4);
    expect(messageOf(() => owner.loadStateDict({ cat: { age: 5 } }))).toContain('Owner.pet');
  });

  test('must be the only one with that name', () => {
    class Zoo extends Owner {
      readonly pet = new Pet();
    }
    const problem = "Invalid state: pet is also the saved name of 'cat'. Rename the property.";
    expect(messageOf(() => new Zoo().stateDict())).toBe(problem);
  });
});

describe('versions', () => {
  /** Version 1 had `name`; version 2 has `first` and `last`; version 3 counts in `visits`. */
  const migrations: Record<number, StateMigration> = {
    1: ({ name, ...rest }) => {
      const [first = '', last = ''] = String(name).split(' ');
      return { ...rest, first, last };
    },
    2: (state) => ({ ...state, visits: 0 }),
  };

  class Person extends StateModule {
    static override readonly stateVersion: number = 3;
    static override readonly stateMigrations = migrations;
    first = 'F';
    last = 'L';
    visits = 7;
    constructor() {
      super();
      for (const name of ['first', 'last', 'visits'] as const) this.registerState(name);
    }
  }
  class Home extends StateModule {
    person = new Person();
  }
  const fail = (): never => {
    throw new Error('what is this?');
  };
  const untouched = { person: { __version__: 3, first: 'F', last: 'L', visits: 7 } };

  test('the first version is not written, the others are', () => {
    expect(new Bag({ a: 1 }).stateDict()).toEqual({ a: 1 });
    expect(new Person().stateDict()).toEqual({ __version__: 3, first: 'F', last: 'L', visits: 7 });
  });

  test.each<[string, JsonObject, object]>([
    ['without a version', { name: 'Ann Lee' }, { first: 'Ann', last: 'Lee', visits: 0 }],
    ['of version 1', { __version__: 1, name: 'Ann Lee' }, { first: 'Ann', last: 'Lee', visits: 0 }],
    ['of version 2', { __version__: 2, first: 'Ann', last: 'Lee' }, { first: 'Ann', last: 'Lee', visits: 0 }],
    [
      'of this version',
      { __version__: 3, first: 'A', last: 'B', visits: 1 },
      { first: 'A', last: 'B', visits: 1 },
    ],
  ])('a nested state %s is brought up to date', (_, person, expected) => {
    const home = new Home();
    home.loadStateDict({ person });
    expect(Object.fromEntries(Object.entries(home.person))).toEqual(expected);
    expect(home.stateDict()).toEqual({ person: { __version__: 3, ...expected } });
  });

  test('a newer state is refused, with both versions', () => {
    const home = new Home();
    expect(messageOf(() => home.loadStateDict({ person: { __version__: 4, first: 'A' } }))).toBe(
      'Invalid state: Home.person has version 4; this program knows versions up to 3. Update it.',
    );
    expect(home.stateDict()).toEqual(untouched);
  });

  test.each([0, -1, 1.5, '3', null, true, [3]])('%j is no version', (version) => {
    const home = new Home();
    expect(messageOf(() => home.loadStateDict({ person: { __version__: version } }))).toBe(
      'Invalid state: Home.person.__version__ must be a whole number of 1 or more.',
    );
  });

  test('a version without a migration is refused', () => {
    class Gap extends Person {
      static override readonly stateMigrations = { 1: migrations[1]! };
    }
    expect(messageOf(() => new Gap().loadStateDict({ name: 'Ann Lee' }))).toBe(
      'Invalid state: Gap has version 2, and there is no migration from this version.',
    );
  });

  test.each<[string, StateMigration, string]>([
    ['throws', fail, 'what is this?'],
    ['returns nothing', () => undefined as never, "Odd is undefined, which JSON can't hold"],
    ['returns a list', () => [] as never, 'Odd is an array, not an object'],
    ['returns no JSON', () => ({ at: new Date(0) }) as never, 'Odd.at is a Date, not a plain object'],
    [
      'writes to the state',
      (state) => Object.assign(state, { first: 'X' }),
      'Cannot add property first, object is not extensible',
    ],
  ])('a migration that %s changes nothing', (_, migration, problem) => {
    class Odd extends Person {
      static override readonly stateMigrations = { 1: migration, 2: migrations[2]! };
    }
    const odd = new Odd();
    expect(messageOf(() => odd.loadStateDict({ name: 'Ann Lee' }))).toBe(
      `Invalid state: Odd was refused: ${problem}`,
    );
    expect(odd.stateDict()).toEqual(untouched.person);
  });

  test('a subclass has the version of its class, unless it has its own', () => {
    class Child extends Person {}
    const child = new Child();
    child.loadStateDict({ name: 'Ann Lee' });
    expect(child.stateDict()).toEqual({ __version__: 3, first: 'Ann', last: 'Lee', visits: 0 });
  });
});
