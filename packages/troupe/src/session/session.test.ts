import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJson } from '../../test/arbitraries.ts';
import { withRunConfig } from '../config/run-config.ts';
import { StateError } from '../errors.ts';
import { StateModule, type StateMigration } from '../state/state-module.ts';
import { isJsonObject, NotJsonError, type JsonValue } from '../util/json.ts';
import { fingerprint } from '../util/hash.ts';
import { InMemorySession, InMemoryStore } from './in-memory-session.ts';
import { listToSave, mergeRanges, type SavedList } from './format/list-to-save.ts';
import { SessionConflictError, SessionCorruptError, SessionError } from './format/session-error.ts';
import { checkItem, readHead, readItem, writeHead, writeItem, type Head } from './format/session-format.ts';
import { toSessionKey } from './format/session-key.ts';
import { Session } from './session.ts';
import type { Commit, LogRange } from './format/session-store.ts';

interface Item {
  readonly value: JsonValue;
}

class Bag extends StateModule {
  items: readonly Item[] = [];
  size = 0;

  constructor(fromJson: (json: JsonValue) => Item = toItem) {
    super();
    this.registerState('size');
    this.registerStateList<Item>('items', { toJson: ({ value }) => ({ value }), fromJson });
  }

  add(...values: readonly JsonValue[]): this {
    this.items = [...this.items, ...values.map((value) => ({ value }))];
    this.size = this.items.length;
    return this;
  }

  get values(): readonly JsonValue[] {
    return this.items.map(({ value }) => value);
  }
}

function toItem(json: JsonValue): Item {
  if (!isJsonObject(json) || json['value'] === undefined) throw new TypeError('it is no item');
  return { value: json['value'] };
}

/** A store that reports writes, and can be disturbed. */
class WatchedStore extends InMemoryStore {
  readonly commits: Commit[] = [];
  beforeRead: () => Promise<unknown> = async () => {};
  commitWith: (commit: Commit, done: (commit: Commit) => Promise<void>) => Promise<void> = (commit, done) =>
    done(commit);

  override async readItems(
    ...args: Parameters<InMemoryStore['readItems']>
  ): ReturnType<InMemoryStore['readItems']> {
    const before = this.beforeRead;
    this.beforeRead = async () => {};
    await before();
    return super.readItems(...args);
  }

  override async commit(key: Parameters<InMemoryStore['commit']>[0], commit: Commit): Promise<void> {
    this.commits.push(commit);
    await this.commitWith(commit, (one) => super.commit(key, one));
  }

  get written(): readonly number[] {
    return this.commits.map(({ parts }) => parts.reduce((sum, { items }) => sum + items.length, 0));
  }
}

async function valuesIn(session: Session, key = 's'): Promise<readonly JsonValue[]> {
  const bag = new Bag();
  await session.load(key, { bag });
  return bag.values;
}

describe('written data', () => {
  test('each item once, whatever becomes of the list', async () => {
    const store = new WatchedStore();
    const session = new Session(store);
    const bag = new Bag().add('a', 'b', 'c');
    await session.save('s', { bag });
    await session.save('s', { bag });
    bag.items = bag.items.toReversed();
    await session.save('s', { bag });
    bag.items = [...bag.items.slice(1), { value: 'd' }, ...bag.items];
    await session.save('s', { bag });
    expect(store.written).toStrictEqual([3, 0, 0, 1]);
    expect(await valuesIn(session)).toStrictEqual(['b', 'a', 'd', 'c', 'b', 'a']);
  });

  test('with 5 000 old items as much as with 50', async () => {
    const cost = async (count: number): Promise<readonly [items: number, chars: number]> => {
      const store = new WatchedStore();
      let chars = 0;
      store.commitWith = (commit, done) =>
        done({
          ...commit,
          head: (positions) => {
            const head = commit.head(positions);
            chars = head.length + commit.parts.flatMap(({ items }) => items).join('\n').length;
            return head;
          },
        });
      const session = new Session(store);
      const bag = new Bag().add(...Array.from({ length: count }, (_, i) => `item ${i}`));
      await session.save('s', { bag });
      await session.save('s', { bag: bag.add('one more') });
      return [store.written[1] ?? NaN, chars];
    };
    const [fewItems, fewChars] = await cost(50);
    const [manyItems, manyChars] = await cost(5_000);
    expect([fewItems, manyItems]).toStrictEqual([1, 1]);
    expect(manyChars / fewChars).toBeLessThan(1.1);
  });

  test('with two lists that grow as much at the thousandth save as at the tenth', async () => {
    const store = new WatchedStore();
    const sizes: { readonly head: number; readonly items: number }[] = [];
    store.commitWith = (commit, done) =>
      done({
        ...commit,
        head: (positions) => {
          const head = commit.head(positions);
          sizes.push({
            head: head.length,
            items: commit.parts.flatMap(({ items }) => items).join('').length,
          });
          return head;
        },
      });
    const session = new Session(store);
    const [a, b] = [new Bag(), new Bag()];
    for (let i = 0; i < 1_000; i++) await session.save('s', { a: a.add(`a ${i}`), b: b.add(`b ${i}`) });
    expect((sizes[999]?.head ?? NaN) / (sizes[9]?.head ?? NaN)).toBeLessThan(1.1);
    const written = sizes.reduce((sum, { items }) => sum + items, 0);
    const whole = 2 * 1_000 * `["${'0'.repeat(16)}",{"value":"a 999"}]`.length;
    expect(written / whole).toBeLessThan(1.01);
    const again = { a: new Bag(), b: new Bag() };
    await session.load('s', again);
    expect([again.a.values, again.b.values]).toStrictEqual([a.values, b.values]);
  });

  test('lists that shared a listNumber once get one each with the next save', async () => {
    const store = new WatchedStore();
    const items = ['a 1', 'b 1', 'a 2'].map((value) => writeItem({ value }, ['x']));
    const range = (from: number): LogRange => ({ from, to: from + 1, count: 1 });
    const head: Head = {
      revision: 1,
      savedAt: 5,
      log: '1-old',
      logEnd: 3,
      components: { a: { size: 2 }, b: { size: 1 } },
      lists: [
        { path: ['a', 'items'], listNumber: 0, ranges: [range(0), range(2)] },
        { path: ['b', 'items'], listNumber: 0, ranges: [range(1)] },
      ],
    };
    await store.commit(await toSessionKey('s'), {
      ...head,
      base: undefined,
      parts: [{ listNumber: 0, items }],
      head: () => writeHead(head),
    });
    const session = new Session(store);
    const bags = { a: new Bag(), b: new Bag() };
    await session.load('s', bags);
    await session.save('s', { a: bags.a.add('a 3'), b: bags.b });
    await session.save('s', { a: bags.a, b: bags.b.add('b 2') });
    expect(store.written).toStrictEqual([3, 4, 1]);
    const again = { a: new Bag(), b: new Bag() };
    await session.load('s', again);
    expect([again.a.values, again.b.values]).toStrictEqual([
      ['a 1', 'a 2', 'a 3'],
      ['b 1', 'b 2'],
    ]);
  });

  test('200 000 items, in one go', async () => {
    const session = new InMemorySession();
    const bag = new Bag();
    bag.items = Array.from({ length: 200_000 }, (_, value) => ({ value }));
    await session.save('s', { bag });
    expect((await valuesIn(session)).length).toBe(200_000);
  });

  test('everything anew when most of the log is left over, also of components that are not here', async () => {
    const store = new WatchedStore();
    const session = new Session(store);
    const [bag, other] = [new Bag(), new Bag().add('kept 1', 'kept 2')];
    await session.save('s', { bag, other, third: new Bag().add('x') });
    const stranger = new Session(store);
    await stranger.load('s', { bag });
    for (let i = 0; i < 10; i++) {
      bag.items = [];
      await stranger.save('s', { bag: bag.add(...Array.from({ length: 100 }, (_, k) => `${i}.${k}`)) });
    }
    const logs = new Set(store.commits.map(({ log }) => log));
    expect(logs.size).toBeGreaterThan(2);
    expect(Math.max(...store.written)).toBe(103); // with the entries of the other writers
    const again = { bag: new Bag(), other: new Bag(), third: new Bag() };
    await new Session(store).load('s', again);
    expect([
      again.bag.values.length,
      again.bag.values[0],
      again.other.values,
      again.third.values,
    ]).toStrictEqual([100, '9.0', ['kept 1', 'kept 2'], ['x']]);
    await stranger.save('s', { bag: bag.add('last') });
    expect((await valuesIn(stranger)).length).toBe(101);
  });

  test('a list anew when the version of its module has changed, and only then', async () => {
    class NewBag extends Bag {
      static override readonly stateVersion = 2;
      static override readonly stateMigrations: Readonly<Record<number, StateMigration>> = {
        1: (state) => ({
          ...state,
          items: (state['items'] as readonly JsonValue[]).map((item) => ({
            value: { was: (item as { value: JsonValue }).value },
          })),
        }),
      };
    }
    const store = new WatchedStore();
    const session = new Session(store);
    await session.save('s', { bag: new Bag().add('a', 'b') });
    const bag = new NewBag();
    await session.load('s', { bag });
    await session.save('s', { bag });
    const again = new NewBag();
    await session.load('s', { bag: again });
    expect(again.values).toStrictEqual([{ was: 'a' }, { was: 'b' }]);
    await session.save('s', { bag: again.add('c') });
    expect(store.written).toStrictEqual([2, 2, 1]);
  });

  test('a list anew when a module took in another number of items than were saved', async () => {
    class Unique extends Bag {
      constructor() {
        super();
        let items: readonly Item[] = [];
        Object.defineProperty(this, 'items', {
          get: () => items,
          set: (all: readonly Item[]) => {
            items = all.filter((one, i) => all.findIndex((o) => o.value === one.value) === i);
          },
        });
      }
    }
    const store = new WatchedStore();
    const session = new Session(store);
    await session.save('s', { bag: new Bag().add('a', 'a', 'b') });
    const bag = new Unique();
    await session.load('s', { bag });
    await session.save('s', { bag });
    expect(await valuesIn(session)).toStrictEqual(['a', 'b']);
  });
});

describe('conflicts of writers', () => {
  test('components that were loaded one by one from the same revision save together, and go on apart', async () => {
    const session = new InMemorySession();
    await session.save('s', { a: new Bag(), b: new Bag() });
    const [a, b] = [new Bag(), new Bag()];
    await session.load('s', { a });
    await session.load('s', { b });
    await session.save('s', { a: a.add('a'), b: b.add('b') });
    await session.save('s', { b: b.add('b2') });
    await expect(session.save('s', { a: a.add('a2') })).rejects.toBeInstanceOf(SessionConflictError);
    await session.load('s', { a });
    await expect(session.save('s', { a, b: new Bag() })).rejects.toThrow(
      "has a saved component 'b', but the given one was not loaded from it",
    );
  });

  test('components that were loaded from different revisions do not save together', async () => {
    const session = new InMemorySession();
    await session.save('s', { a: new Bag(), b: new Bag() });
    const [a, b] = [new Bag(), new Bag()];
    await session.load('s', { a });
    await session.save('s', { b: new Bag().add('x'), a: new Bag() }, { overwrite: true });
    await session.load('s', { b });
    await expect(session.save('s', { a, b })).rejects.toThrow('loaded from different revisions');
  });

  test('a component may be in several sessions', async () => {
    const session = new InMemorySession();
    const bag = new Bag().add('x');
    await session.save('one', { bag });
    await session.save({ user: 'u', session: 'one' }, { bag: bag.add('y') });
    await session.save({ user: 'u', session: 'one' }, { bag });
    expect([
      await valuesIn(session, 'one'),
      (await session.list({ user: 'u' })).sessions[0]?.revision,
    ]).toStrictEqual([['x'], 2]);
  });

  test('a component belongs to the session that it was last loaded from or saved to', async () => {
    const session = new InMemorySession();
    await session.save('a', { bag: new Bag().add('A') });
    await session.save('b', { bag: new Bag().add('B') });
    const bag = new Bag();
    await session.load('a', { bag });
    await session.load('b', { bag });
    for (const key of ['a', 'new', { user: 'u', session: 'b' }]) {
      await expect(session.save(key, { bag })).rejects.toThrow(
        "is not what 'bag' was last loaded from or saved to",
      );
    }
    await session.save('b', { bag: bag.add('B2') });
    const saved = new Bag().add('S');
    await session.save('c', { bag: saved });
    await session.save('d', { bag: saved });
    await expect(session.save('c', { bag: saved })).rejects.toBeInstanceOf(SessionConflictError);
    await session.load('a', { bag });
    await session.save('a', { bag: bag.add('A2') });
    await session.save('new', { bag }, { overwrite: true });
    await session.save('new', { bag: bag.add('N') });
    const all = await Promise.all(['a', 'b', 'c', 'new'].map((key) => valuesIn(session, key)));
    expect(all).toStrictEqual([['A', 'A2'], ['B', 'B2'], ['S'], ['A', 'A2', 'N']]);
    expect(await session.exists({ user: 'u', session: 'b' })).toBe(false);
  });

  test('a component does not overwrite one of a name that it was not loaded from', async () => {
    const session = new InMemorySession();
    await session.save('s', { a: new Bag().add('A'), b: new Bag().add('B') });
    const bag = new Bag();
    await session.load('s', { a: bag });
    await expect(session.save('s', { b: bag })).rejects.toThrow("has a saved component 'b', but");
    await session.save('s', { a: bag, c: bag });
    const again = { a: new Bag(), b: new Bag(), c: new Bag() };
    await session.load('s', again);
    expect([again.a.values, again.b.values, again.c.values]).toStrictEqual([['A'], ['B'], ['A']]);
  });

  test('overwriting leaves the components that are not handed over', async () => {
    const session = new InMemorySession();
    await session.save('s', { a: new Bag().add('a'), b: new Bag().add('b1', 'b2') });
    await session.save('s', { a: new Bag().add('new') }, { overwrite: true });
    const again = { a: new Bag(), b: new Bag() };
    await session.load('s', again);
    expect([again.a.values, again.b.values]).toStrictEqual([['new'], ['b1', 'b2']]);
  });

  test('overwriting logs unreadable parts, and keeps the rest', async () => {
    const logged: string[] = [];
    const store = new WatchedStore();
    const session = new Session(store);
    await session.save('s', { a: new Bag().add('a'), b: new Bag().add('b'), c: new Bag().add('c') });
    const readItems = store.readItems.bind(store);
    store.readItems = async (key, log, listNumber, ranges) => {
      if (listNumber === 1) throw new SessionCorruptError('item 0', 'is gone');
      return readItems(key, log, listNumber, ranges);
    };
    await withRunConfig({ logging: { log: (level, text) => logged.push(`${level} ${text}`) } }, () =>
      session.save('s', { a: new Bag().add('new') }, { overwrite: true }),
    );
    expect(logged).toStrictEqual([
      expect.stringContaining(
        "warn Session 's' is overwritten without the component 'b': The saved session is",
      ),
    ]);
    store.readItems = readItems;
    const again = { a: new Bag(), c: new Bag() };
    await session.load('s', again);
    expect([again.a.values, again.c.values]).toStrictEqual([['new'], ['c']]);
  });

  test.each(['not JSON', 'lost before', 'lost after'])(
    'overwriting that failed (%s) is no licence to overwrite',
    async (how) => {
      const store = new WatchedStore();
      const [session, other] = [new Session(store), new Session(store)];
      const bag = new Bag().add('mine');
      await session.save('s', { bag });
      const theirs = new Bag();
      await other.load('s', { bag: theirs });
      await other.save('s', { bag: theirs.add('theirs') });
      if (how === 'not JSON') bag.size = NaN;
      else {
        store.commitWith = async (commit, done) => {
          if (how === 'lost after') await done(commit);
          else commit.head(commit.parts.map(({ items }) => [0, ...items.map((_, i) => i + 1)]));
          throw new Error('the line is dead');
        };
      }
      await expect(session.save('s', { bag }, { overwrite: true })).rejects.toThrow(
        how === 'not JSON' ? 'size' : 'the line is dead',
      );
      bag.size = 1;
      store.commitWith = (commit, done) => done(commit);
      const again = session.save('s', { bag: bag.add('more') });
      if (how === 'lost after') await again;
      else await expect(again).rejects.toBeInstanceOf(SessionConflictError);
      const expected = how === 'lost after' ? ['mine', 'more'] : ['mine', 'theirs'];
      expect(await valuesIn(session)).toStrictEqual(expected);
    },
  );

  test('a full rewrite after two saves of others is a conflict, not a damaged session', async () => {
    const store = new WatchedStore();
    const session = new Session(store);
    const bag = new Bag().add(...Array.from({ length: 600 }, (_, i) => i));
    await session.save('s', { bag });
    bag.items = bag.items.slice(-2);
    for (let i = 0; i < 3; i++)
      await new Session(store).save('s', { bag: new Bag().add(i) }, { overwrite: true });
    await expect(session.save('s', { bag })).rejects.toBeInstanceOf(SessionConflictError);
    expect(await valuesIn(session)).toStrictEqual([2]);
  });

  test('restoring a session that was deleted and created again is a conflict', async () => {
    const store = new WatchedStore();
    const session = new Session(store);
    const bag = new Bag().add('a');
    await session.save('s', { bag });
    await session.save('s', { bag: bag.add('b') });
    store.beforeRead = async () => {
      const other = new Session(store);
      const anew = new Bag().add('c');
      await other.delete('s');
      await other.save('s', { bag: anew });
      await other.save('s', { bag: anew.add('d') });
    };
    await expect(session.restorePrevious('s')).rejects.toBeInstanceOf(SessionConflictError);
    expect(await valuesIn(session)).toStrictEqual(['c', 'd']);
  });

  test.each(['before', 'after'])(
    'a save whose answer was lost %s it happened is made up for by the next',
    async (when) => {
      const store = new WatchedStore();
      const session = new Session(store);
      const bag = new Bag().add('a');
      const lost = new Error('the line is dead');
      store.commitWith = async (commit, done) => {
        commit.head(commit.parts.map(({ items }) => Array.from({ length: items.length + 1 }, (_, i) => i)));
        if (when === 'after') await done(commit);
        throw lost;
      };
      await expect(session.save('s', { bag })).rejects.toMatchObject({
        name: 'SessionError',
        code: 'store_failed',
        cause: lost,
      });
      store.commitWith = (commit, done) => done(commit);
      await session.save('s', { bag: bag.add('b') });
      expect(await valuesIn(session)).toStrictEqual(['a', 'b']);
      expect((await session.list()).sessions[0]?.revision).toBe(when === 'after' ? 2 : 1);
    },
  );

  test('a failed save does not allow overwriting saves of others', async () => {
    const store = new WatchedStore();
    const session = new Session(store);
    const bag = new Bag().add('a');
    await session.save('s', { bag });
    store.commitWith = async (commit) => {
      commit.head([[1, 2]]);
      throw new Error('the line is dead');
    };
    await expect(session.save('s', { bag: bag.add('b') })).rejects.toThrow('the line is dead');
    store.commitWith = (commit, done) => done(commit);
    const other = new Bag();
    await session.load('s', { bag: other });
    await session.save('s', { bag: other.add('other') });
    await expect(session.save('s', { bag })).rejects.toBeInstanceOf(SessionConflictError);
    expect(await valuesIn(session)).toStrictEqual(['a', 'other']);
  });
});

describe('loading', () => {
  test('is begun anew if a save took away what was being read', async () => {
    const store = new WatchedStore();
    const session = new Session(store);
    const bag = new Bag().add(...Array.from({ length: 300 }, (_, i) => i));
    await session.save('s', { bag });
    const other = new Session(store);
    store.beforeRead = async () => {
      for (const value of ['new 1', 'new 2', 'new 3']) {
        bag.items = [];
        await other.save('s', { bag: bag.add(value) }, { overwrite: true });
      }
    };
    expect(await valuesIn(session)).toStrictEqual(['new 3']);
  });

  test('does not retry forever when an item is missing', async () => {
    const store = new WatchedStore();
    const session = new Session(store);
    await session.save('s', { bag: new Bag().add('a') });
    store.readItems = async (_key, log) => {
      throw new SessionCorruptError(log, 'is gone');
    };
    await expect(session.load('s', { bag: new Bag() })).rejects.toBeInstanceOf(SessionCorruptError);
  });

  test('tells when nothing matches, and what has no place', async () => {
    const logged: string[] = [];
    class Nested extends Bag {
      readonly plan = new Bag();
      readonly notes = 'x';
    }
    const session = new InMemorySession();
    await session.save('s', { agent: new Nested().add('a'), other: new Bag() });
    await withRunConfig({ logging: { log: (level, text) => logged.push(`${level} ${text}`) } }, async () => {
      expect(await session.load('s', { friday: new Bag() })).toBe(true);
      await expect(session.load('s', { friday: new Bag() }, { mustMatch: true })).rejects.toMatchObject({
        code: 'session_not_found',
      });
      await session.load('s', { agent: new Bag() });
      await session.load('s', { agent: new Nested(), other: new Bag() });
    });
    expect(logged).toStrictEqual([
      "warn Session 's' has none of the components 'friday', but 'agent', 'other'. If one was renamed, give it its saved name: addComponent('agent', …).",
      "warn Session 's' has saved state that was not loaded: agent.plan. The next save drops it.",
    ]);
  });

  test('tells that a session has no components at all', async () => {
    const session = new InMemorySession();
    await session.save('s', {});
    await expect(session.load('s', { bag: new Bag() }, { mustMatch: true })).rejects.toThrow(
      "Session 's' has none of the components 'bag', but no others either. Save it again.",
    );
  });

  test('can skip missing state with strict: false', async () => {
    class Bigger extends Bag {
      more = 'mine';
      constructor() {
        super();
        this.registerState('more');
      }
    }
    const session = new InMemorySession();
    await session.save('s', { bag: new Bag().add('a') });
    const bag = new Bigger();
    await expect(session.load('s', { bag })).rejects.toBeInstanceOf(StateError);
    expect(bag.values).toStrictEqual([]);
    await session.load('s', { bag }, { strict: false });
    expect([bag.values, bag.more]).toStrictEqual([['a'], 'mine']);
  });

  test('a component that only has a list is saved without the rest', async () => {
    class Only extends StateModule {
      items: readonly Item[] = [];
      constructor() {
        super();
        this.registerStateList<Item>('items', { toJson: ({ value }) => ({ value }), fromJson: toItem });
      }
    }
    const session = new InMemorySession();
    const only = new Only();
    only.items = [{ value: 1 }];
    await session.save('s', { only });
    const again = new Only();
    await session.load('s', { only: again });
    expect(again.items).toStrictEqual([{ value: 1 }]);
  });
});

describe('mistakes', () => {
  test('names and things that can not be components', async () => {
    const session = new InMemorySession();
    for (const name of [
      '',
      '__proto__',
      'constructor',
      'stateDict',
      'toString',
      'a b',
      'a/b',
      '1a',
      'x'.repeat(129),
    ]) {
      const components = Object.defineProperty({}, name, { value: new Bag(), enumerable: true });
      await expect(session.save('s', components)).rejects.toThrow("can't be the name of a component");
      await expect(session.load('s', components)).rejects.toThrow("can't be the name of a component");
    }
    await expect(session.save('s', { bag: {} as never })).rejects.toThrow(
      "The component 'bag' is not a StateModule. Give an agent,",
    );
    const foreign = { stateDict: () => ({}), loadStateDict() {} };
    await expect(session.save('s', { bag: foreign as never })).rejects.toThrow('another copy of troupe');
    expect(await session.exists('s')).toBe(false);
  });

  test('unsavable state is an error, and nothing is saved', async () => {
    const session = new InMemorySession();
    let deep: JsonValue = [];
    for (let i = 0; i < 200_000; i++) deep = [deep];
    for (const value of [deep, NaN, 1n, () => 1] as JsonValue[]) {
      await expect(session.save('s', { bag: new Bag().add('fine', value) })).rejects.toThrow(/bag\.items\.1/);
      await expect(session.save('s', { bag: new Bag().add(value) })).rejects.toMatchObject({
        cause: expect.any(NotJsonError),
      });
    }
    expect(await session.exists('s')).toBe(false);
  });

  test('every savable state can be loaded, at the maximum depth too', async () => {
    const session = new InMemorySession();
    let deep: JsonValue = 'x';
    let saved = 0;
    for (let depth = 1; depth < 140; depth++) {
      deep = [deep];
      for (const bag of [new Bag().add(deep), Object.assign(new Bag(), { size: deep })]) {
        try {
          await session.save('s', { bag }, { overwrite: true });
        } catch (error) {
          expect(String(error)).toMatch(/nested deeper than/);
          continue;
        }
        saved++;
        const again = new Bag();
        await session.load('s', { bag: again });
        expect(JSON.stringify(again.stateDict())).toBe(JSON.stringify(bag.stateDict()));
      }
    }
    expect(saved).toBeGreaterThan(2 * 110);
  });

  test('a store that saves without a head', async () => {
    const store = new WatchedStore();
    store.commitWith = async () => {};
    await expect(new Session(store).save('s', { bag: new Bag() })).rejects.toThrow('without its head');
  });

  test('closing waits for what is being saved', async () => {
    const store = new WatchedStore();
    const order: string[] = [];
    store.commitWith = async (commit, done) => {
      await Promise.resolve();
      await done(commit);
      order.push('saved');
    };
    store.close = async () => void order.push('closed');
    const session = new Session(store);
    const saving = session.save('s', { bag: new Bag() });
    await session.close();
    await saving;
    expect(order).toStrictEqual(['saved', 'closed']);
  });
});

describe('the format', () => {
  const head: Head = {
    revision: 3,
    savedAt: 5,
    log: '1-abc',
    logEnd: 9,
    components: { a: { '☕': [1.5, null, 'x'] } },
    lists: [
      { path: ['a', 'b'], listNumber: 0, ranges: [{ from: 0, to: 4, count: 2 }] },
      { path: ['a', 'c'], listNumber: 0, ranges: [] },
    ],
  };

  test('a head, as it is written in version 1', () => {
    const body =
      '{"revision":3,"savedAt":5,"log":"1-abc","logEnd":9,"components":{"a":{"☕":[1.5,null,"x"]}},"lists":[[["a","b"],[[0,4,2]]],[["a","c"],[]]]}';
    const text = `{"format":"troupe-session","version":1,"checksum":"${fingerprint(`1 ${body}`)}","head":${body}}\n`;
    expect(writeHead(head)).toBe(text);
    expect(readHead(text, 'here')).toStrictEqual(head);
    expect(JSON.parse(text)).toMatchObject({ format: 'troupe-session', version: 1, head: { revision: 3 } });
  });

  test('an item, as it is written in version 1', () => {
    expect(writeItem({ a: '☕\n' }, ['x'])).toBe(`["${fingerprint('{"a":"☕\\n"}')}",{"a":"☕\\n"}]`);
  });

  test('any JSON survives, on one line, and no change of one character does', () => {
    fc.assert(
      fc.property(anyJson, fc.nat(), fc.string({ minLength: 1, maxLength: 1 }), (value, n, other) => {
        const text = writeItem(value, ['x']);
        const place = (): string => 'here';
        expect(text).not.toContain('\n');
        expect(JSON.stringify(readItem(text, place))).toBe(JSON.stringify(value));
        const at = n % text.length;
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        if (changed !== text) expect(() => checkItem(changed, place)).toThrow(SessionCorruptError);
        expect(() => checkItem(text.slice(0, at), place)).toThrow(SessionCorruptError);
      }),
    );
  });

  test('lists: whatever a list becomes, its parts and its new items make it up', () => {
    const items = Array.from({ length: 12 }, (_, i) => ({ value: i }));
    const pick = fc.array(fc.nat(11), { maxLength: 20 });
    fc.assert(
      fc.property(pick, pick, (before, after) => {
        const saved: SavedList = {
          items: before.map((i) => items[i] as object),
          itemRanges: before.map((i) => ({ from: 10 * i, to: 10 * i + 10, count: 1 })),
          ranges: [],
        };
        const list = {
          path: ['x'],
          items: after.map((i) => items[i] as object),
          toJson: (item: object) => item as never,
        };
        const { start, parts, items: drafted } = listToSave(list, saved);
        const whole = [...(start?.itemRanges ?? []), ...parts];
        expect(drafted).toStrictEqual(list.items);
        expect(whole).toHaveLength(after.length);
        const same = [...after, NaN].findIndex((i, at) => i !== before[at]);
        after.forEach((i, at) => {
          const part = whole[at];
          // An item of the unchanged beginning that comes once more is not looked for.
          if (at < same || before.slice(same).includes(i))
            expect(part).toStrictEqual({ from: 10 * i, to: 10 * i + 10, count: 1 });
          else expect(part).toBe(writeItem({ value: i }, ['x']));
        });
      }),
    );
  });

  test('neighbours become one range, and nothing else does', () => {
    const r = (from: number, to: number, count: number): LogRange => ({ from, to, count });
    expect(mergeRanges([r(0, 5, 1), r(5, 9, 2), r(10, 11, 1), r(4, 10, 1), r(10, 12, 1)])).toStrictEqual([
      r(0, 9, 3),
      r(10, 11, 1),
      r(4, 12, 2),
    ]);
  });
});

test('a key says whose session it is', async () => {
  expect(await toSessionKey('s')).toStrictEqual({ user: '', session: 's', ids: { session: 's' } });
  const ids = { session: 's/1', user: 'u' };
  expect(await toSessionKey(ids)).toStrictEqual({ user: 'u', session: 's=2f1', ids });
  for (const key of [undefined, null, 5, {}, { user: 'u' }, { session: 's', user: null }]) {
    await expect(toSessionKey(key as never)).rejects.toThrow(/ id is a text of 1 to 1024 characters/);
  }
  expect(new SessionError('x').code).toBe('store_failed');
});
