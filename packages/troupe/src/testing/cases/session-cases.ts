import { TroupeError } from '../../errors.ts';
import { SessionConflictError, SessionNotFoundError } from '../../session/format/session-error.ts';
import type { ListOptions } from '../../session/session-page.ts';
import type { Session } from '../../session/session.ts';
import { StateModule } from '../../state/state-module.ts';
import { isJsonObject, parseJson, type JsonValue } from '../../util/json.ts';
import { check, checkSame, thrownBy } from '../contract-checks.ts';
import { FakeClock } from '../fake-clock.ts';

interface SessionCase {
  readonly name: string;
  /** @param open opens another session on the same store */
  readonly run: (open: () => Promise<Session>) => Promise<void>;
}

interface Note {
  readonly value: JsonValue;
}

/** Component with a list and a value. */
class Notebook extends StateModule {
  title: JsonValue = '';
  notes: readonly Note[] = [];
  /** Called for every note that is converted to JSON. */
  onWrite: () => void = () => {};

  constructor() {
    super();
    this.registerState('title');
    this.registerStateList<Note>('notes', {
      toJson: ({ value }) => {
        this.onWrite();
        return { value };
      },
      fromJson: (json) => {
        if (!isJsonObject(json) || json['value'] === undefined) throw new TypeError('it is no note');
        return { value: json['value'] };
      },
    });
  }

  add(...values: readonly JsonValue[]): this {
    this.notes = [...this.notes, ...values.map((value) => ({ value }))];
    return this;
  }

  get values(): readonly JsonValue[] {
    return this.notes.map(({ value }) => value);
  }
}

/** Component with a nested component. */
class Nested extends StateModule {
  readonly inner = new Notebook();
}

/** Component that refuses to load. */
class Refusing extends Notebook {
  protected override assertStateCanLoad(): void {
    throw new TroupeError('invalid_state', 'Not now.');
  }
}

async function loaded(session: Session, key: Parameters<Session['load']>[0]): Promise<Notebook> {
  const book = new Notebook();
  check(await session.load(key, { book }), 'There should be such a session.');
  return book;
}

async function isConflict(work: Promise<unknown>, what: string): Promise<void> {
  const error = await thrownBy(work, what);
  check(error instanceof SessionConflictError, `${what} should be a conflict, not ${String(error)}.`);
}

/** Values that are hard to save exactly. */
const HARD_VALUES: readonly JsonValue[] = [
  '',
  '\u0000\n\r\u2028\u2029"\\',
  'naïve ☕ 日本語 👩‍🚀',
  '\ud800 alone \udfff',
  'nai\u0308ve',
  '$1 \\x41 ${x} ? :name %s',
  0.1 + 0.2,
  1e300,
  null,
  [[], {}, [{}]],
  { lc: 2, type: 'constructor', id: ['Set'], method: 'constructor', args: ['return 1'] },
  parseJson('{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"then":"x"}'),
];

/** Invalid ids: no strings, or strings outside the range of a store. */
const REFUSED_IDS: readonly unknown[] = [
  '',
  '\ud800',
  'a\udc00b',
  'x'.repeat(1025),
  7,
  null,
  undefined,
  ['a'],
  {},
];

const LONG = 'long'.repeat(64);

/** Ids of identity providers, and ids that a path, a key, a query or a file system could misunderstand. */
const ANY_IDS: readonly string[] = [
  'auth0|5f7c8ec7c33c6c004bbafe82',
  'google-oauth2|103547991597142817347',
  'https://idp.example/users/7?tenant=a&b',
  'Jürgen Groß',
  'anna+work@example.com',
  '日本語',
  '👩‍🚀',
  '.',
  '..',
  '../x',
  '/etc/passwd',
  'a/b',
  'a\\b',
  'a\0b',
  '%2e%2e',
  'a%2fb',
  'a=2fb',
  'a=b',
  '=61',
  '~',
  '~root',
  'con',
  'CON',
  'Con.txt',
  'com1',
  'a.',
  'a ',
  ' a',
  'a..b',
  'a...b',
  '__proto__',
  'nai\u0308ve',
  'naïve',
  'NAÏVE',
  'a\nb',
  "a' OR '1'='1",
  'a{b}',
  'a:b',
  'a*?b',
  '-rf',
  '\u017f',
  '\u212a',
  'k',
  'K',
  'x'.repeat(129),
  'X'.repeat(129),
  LONG,
  `${LONG}a`,
  `${LONG}A`,
  '日'.repeat(60),
  'x'.repeat(1024),
];

export const SESSION_CASES: readonly SessionCase[] = [
  {
    name: 'saved state is loaded, also by a session opened later',
    run: async (open) => {
      const session = await open();
      const book = new Notebook().add(...HARD_VALUES);
      book.title = { hard: HARD_VALUES };
      const shelf = new Nested();
      shelf.inner.add('inside');
      const info = await session.save({ user: 'anna', session: 'first' }, { book, shelf });
      checkSame([info.session, info.user, info.revision], ['first', 'anna', 1], 'what save returns');

      const again = { book: new Notebook(), shelf: new Nested() };
      check(await (await open()).load({ user: 'anna', session: 'first' }, again), 'It should be there.');
      checkSame(again.book.stateDict(), book.stateDict(), 'the notebook');
      checkSame(JSON.stringify(again.book.values), JSON.stringify(HARD_VALUES), 'its notes');
      checkSame(again.shelf.stateDict(), shelf.stateDict(), 'the shelf');
      check(Reflect.get({}, 'polluted') === undefined, 'The prototype of objects was changed.');
    },
  },
  {
    name: 'an unknown session loads nothing',
    run: async (open) => {
      const session = await open();
      const book = new Notebook().add('mine');
      checkSame(await session.load('nothing', { book }), false, 'what load returns');
      checkSame(book.values, ['mine'], 'the notes');
      checkSame(await session.exists('nothing'), false, 'whether it exists');
      checkSame(await session.list(), { sessions: [] }, 'the list');
      await session.save('nothing', { book });
      checkSame((await loaded(await open(), 'nothing')).values, ['mine'], 'what was saved after that');
    },
  },
  {
    name: 'a list that grew, shrank, changed, moved or was emptied is saved exactly',
    run: async (open) => {
      const session = await open();
      const book = new Notebook().add('a', 'b', 'c', 'd', 'e');
      const steps: ((notes: readonly Note[]) => readonly Note[])[] = [
        (notes) => notes,
        (notes) => [...notes, { value: 'f' }],
        (notes) => notes.filter(({ value }) => value !== 'b' && value !== 'd'),
        (notes) => notes.map((note) => (note.value === 'c' ? { value: 'C' } : note)),
        (notes) => notes.toReversed(),
        (notes) => [...notes, ...notes],
        (notes) => [{ value: 'first' }, ...notes],
        () => [],
        () => [{ value: 'new' }],
      ];
      for (const [i, step] of steps.entries()) {
        book.notes = step(book.notes);
        book.title = i;
        await session.save('list', { book });
        checkSame(
          (await loaded(await open(), 'list')).stateDict(),
          book.stateDict(),
          `the state after step ${i}`,
        );
      }
    },
  },
  {
    name: 'only new items are converted to JSON, also after a load',
    run: async (open) => {
      const session = await open();
      const book = new Notebook().add(...Array.from({ length: 50 }, (_, i) => i));
      await session.save('cost', { book });
      let written = 0;
      book.onWrite = () => written++;
      await session.save('cost', { book });
      checkSame(written, 0, 'items written when nothing is new');
      await session.save('cost', { book: book.add('new') });
      checkSame(written, 1, 'items written for one that is new');

      const again = await loaded(session, 'cost');
      again.onWrite = () => written++;
      await session.save('cost', { book: again.add('newer') });
      checkSame(written, 2, 'items written for one that is new since the load');
      checkSame((await loaded(await open(), 'cost')).values.length, 52, 'the notes');
    },
  },
  {
    name: 'of two writers that continue the same save one gets a conflict',
    run: async (open) => {
      const first = await open();
      const second = await open();
      await first.save('shared', { book: new Notebook().add('start') });
      const a = await loaded(first, 'shared');
      const b = await loaded(second, 'shared');
      await first.save('shared', { book: a.add('a') });
      await isConflict(second.save('shared', { book: b.add('b') }), 'the second save');
      await isConflict(second.save('shared', { book: b }), 'the second save, tried again');
      checkSame((await loaded(second, 'shared')).values, ['start', 'a'], 'what is saved');
      await second.load('shared', { book: b });
      await second.save('shared', { book: b.add('b') });
      checkSame((await loaded(first, 'shared')).values, ['start', 'a', 'b'], 'what is saved then');
      await isConflict(first.save('shared', { book: a }), 'a save that is behind');
    },
  },
  {
    name: 'a save that was not loaded is not overwritten, unless forced',
    run: async (open) => {
      const session = await open();
      await session.save('old', { book: new Notebook().add('old') });
      const stranger = new Notebook().add('new');
      await isConflict(session.save('old', { book: stranger }), 'a save without a load');
      checkSame((await loaded(session, 'old')).values, ['old'], 'what is saved');
      await session.save('old', { book: stranger }, { overwrite: true });
      checkSame((await loaded(session, 'old')).values, ['new'], 'what is saved then');
      await session.save('old', { book: stranger.add('newer') });
      checkSame((await loaded(await open(), 'old')).values, ['new', 'newer'], 'what is saved after that');
      await session.save('fresh', { book: stranger }, { overwrite: true });
      checkSame((await loaded(session, 'fresh')).values, ['new', 'newer'], 'a new session');
    },
  },
  {
    name: 'components that are not passed stay unchanged',
    run: async (open) => {
      const session = await open();
      const a = new Notebook().add('a');
      const b = new Notebook().add('b');
      await session.save('two', { a, b });
      await session.save('two', { a: a.add('a2') });
      await session.save('two', { a, b: b.add('b2') });
      const other = await open();
      const only = new Notebook();
      await other.load('two', { a: only });
      await other.save('two', { a: only.add('a3') });
      const all = { a: new Notebook(), b: new Notebook(), c: new Notebook().add('mine') };
      await other.load('two', all);
      const values = [all.a.values, all.b.values, all.c.values];
      checkSame(values, [['a', 'a2', 'a3'], ['b', 'b2'], ['mine']], 'what was loaded');
      await other.save('two', { c: all.c });
      await isConflict(session.save('two', { a, b }), 'a save that is behind');
      const stranger = { a: all.a, b: new Notebook() };
      await isConflict(other.save('two', stranger), 'a save over a component that was not loaded');
    },
  },
  {
    name: 'components are loaded all or none',
    run: async (open) => {
      const session = await open();
      await session.save('both', { a: new Notebook().add('a'), b: new Notebook().add('b') });
      const a = new Notebook().add('mine');
      await thrownBy(session.load('both', { a, b: new Refusing() }), 'a load that one refuses');
      checkSame(a.values, ['mine'], 'the notes of the other');
    },
  },
  {
    name: 'a deleted session is not saved again by a session that had loaded it',
    run: async (open) => {
      const session = await open();
      const book = new Notebook().add('x');
      await session.save('gone', { book });
      await session.save('stays', { book });
      checkSame(await session.exists('gone'), true, 'whether it exists');
      checkSame(await session.delete('gone'), true, 'what delete returns');
      checkSame(await session.delete('gone'), false, 'what the second delete returns');
      checkSame(await (await open()).exists('gone'), false, 'whether it exists then');
      checkSame(await session.load('gone', { book: new Notebook() }), false, 'what load returns');
      await isConflict(session.save('gone', { book }), 'a save of what was deleted');
      checkSame((await loaded(session, 'stays')).values, ['x'], 'the other session');
      await session.save('gone', { book: new Notebook().add('another') });
      await isConflict(session.save('gone', { book }), 'a save over another of the same name and revision');
      checkSame((await loaded(session, 'gone')).values, ['another'], 'the other of that name');
      await session.delete('gone', { book });
      await session.save('gone', { book });
      checkSame((await loaded(session, 'gone')).values, ['x'], 'what is saved anew');
    },
  },
  {
    name: 'users and sessions are separate for all names',
    run: async (open) => {
      const session = await open();
      const keys = [
        'c',
        'C',
        'b_c',
        { user: 'a', session: 'b_c' },
        { user: 'a_b', session: 'c' },
        { user: 'A', session: 'b_c' },
        { user: 'a', session: 'b_C' },
        { user: 'a-b', session: 'c' },
        { user: 'a', session: 'b-c' },
        { user: 'c', session: 'c' },
        { user: 'sessions', session: 'users' },
        'users',
        'x'.repeat(128),
        { user: 'X'.repeat(128), session: 'Y'.repeat(128) },
        'anna@example.com',
      ];
      for (const [i, key] of keys.entries()) await session.save(key, { book: new Notebook().add(i) });
      for (const [i, key] of keys.entries()) {
        checkSame((await loaded(session, key)).values, [i], `what is saved as ${JSON.stringify(key)}`);
      }
      const { sessions } = await session.list({ allUsers: true });
      const named = sessions.map((info) => JSON.stringify([info.user ?? '', info.session])).sort();
      const expected = keys.map((key) =>
        JSON.stringify(typeof key === 'string' ? ['', key] : [key.user, key.session]),
      );
      checkSame(named, expected.sort(), 'all that are listed');
      const ofA = (await session.list({ user: 'a' })).sessions.map((info) => info.session).sort();
      checkSame(ofA, ['b-c', 'b_C', 'b_c'], 'those of one user');
      await session.delete({ user: 'a', session: 'b_c' });
      checkSame((await loaded(session, 'b_c')).values, [2], 'a session of no user');
    },
  },
  {
    name: 'an id may be any text, and no two are taken for one another',
    run: async (open) => {
      const session = await open();
      const keys = ANY_IDS.flatMap((id) => [{ session: id }, { user: id, session: 'chat' }]);
      keys.push({ user: LONG, session: `${LONG}a` }, { user: 'Jürgen Groß', session: 'a/b' });
      for (const [i, key] of keys.entries()) {
        const info = await session.save(key, { book: new Notebook().add(i) });
        checkSame(
          { ...key, ...info, savedAt: 0 },
          { ...key, revision: 1, savedAt: 0 },
          'what a save returns',
        );
      }
      const later = await open();
      for (const [i, key] of keys.entries())
        checkSame((await loaded(later, key)).values, [i], `what is saved as ${JSON.stringify(key)}`);
      const namesIn = async (options: ListOptions): Promise<readonly string[]> => {
        const names: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await later.list({ ...options, limit: 10, cursor });
          names.push(...page.sessions.map((info) => JSON.stringify([info.user ?? '', info.session])));
          cursor = page.next;
        } while (cursor !== undefined);
        return names.sort();
      };
      const nameOf = ({ user = '', session: id }: { user?: string; session: string }): string =>
        JSON.stringify([user, id]);
      checkSame(await namesIn({ allUsers: true }), keys.map(nameOf).sort(), 'all that are listed');
      checkSame(
        await namesIn({ user: LONG }),
        [nameOf({ user: LONG, session: 'chat' }), nameOf({ user: LONG, session: `${LONG}a` })].sort(),
        'those of a user with a long id',
      );
      checkSame(await later.exists({ user: LONG, session: LONG }), false, 'whether another exists');
      checkSame(await later.delete({ session: '../x' }), true, 'what delete returns');
      checkSame(await later.exists('../x'), false, 'whether it exists then');
      checkSame(await later.delete({ session: LONG }), true, 'what delete returns for a long id');
      checkSame(
        (await loaded(later, { user: 'Jürgen Groß', session: 'a/b' })).values,
        [keys.length - 1],
        'the last',
      );
      await later.copy({ session: `${LONG}a` }, { user: LONG, session: 'copy|1' });
      checkSame(
        (await loaded(later, { user: LONG, session: 'copy|1' })).values,
        [2 * ANY_IDS.indexOf(`${LONG}a`)],
        'the copy',
      );
      const page = await later.list({ user: LONG });
      check(
        page.sessions.some((info) => info.session === 'copy|1'),
        'The copy should be listed.',
      );
      checkSame(await later.prune({ allUsers: true }), keys.length - 1, 'how many are pruned');
    },
  },
  {
    name: 'an id that is no text is refused, and not repeated at length',
    run: async (open) => {
      const session = await open();
      const book = new Notebook();
      for (const id of REFUSED_IDS as readonly string[]) {
        for (const key of [id, { session: id }, { user: id ?? '', session: 'x' }]) {
          if (key === undefined || (typeof key === 'object' && key === null)) continue;
          const tries = [session.save(key, { book }), session.load(key, { book }), session.delete(key)];
          for (const work of [
            ...tries,
            session.exists(key),
            session.copy(key, 'y'),
            session.copy('x', key),
          ]) {
            const error = await thrownBy(work, `the id ${JSON.stringify(id)?.slice(0, 20)}`);
            check(TroupeError.isInstance(error) && error.code === 'invalid_id', `It is ${String(error)}.`);
            check(!/(.)\1{64}/.test(error.message), 'The error repeats a long id.');
          }
        }
      }
      checkSame(await session.list({ allUsers: true }), { sessions: [] }, 'the list');
    },
  },
  {
    name: 'a list of sessions has the newest first, and comes in pages',
    run: withFakeClock(async (open, clock) => {
      const session = await open();
      const book = new Notebook();
      for (const id of ['s1', 's2', 's3', 's4', 's5', 's6', 's7']) {
        await session.save({ user: 'anna', session: id }, { book });
        if (id !== 's4') await clock.advance(1000); // s4 and s5 have the same time
      }
      await session.save({ user: 'anna', session: 's1' }, { book }, { overwrite: true });
      await session.save({ user: 'ben', session: 'other' }, { book: new Notebook() });
      const whole = await session.list({ user: 'anna' });
      const order = whole.sessions.map((info) => info.session);
      checkSame(
        order.filter((id) => id !== 's4' && id !== 's5'),
        ['s1', 's7', 's6', 's3', 's2'],
        'the order',
      );
      checkSame(
        order.filter((id) => id === 's4' || id === 's5').sort(),
        ['s4', 's5'],
        'those of the same time',
      );
      const first = { user: 'anna', session: 's1', revision: 2, savedAt: clock.now() };
      checkSame(whole.sessions[0], first, 'the newest');
      checkSame(whole.next, undefined, 'the next page of all');
      for (const limit of [1, 2, 3, 6, 7]) {
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await session.list({ user: 'anna', limit, cursor });
          check(page.sessions.length > 0 && page.sessions.length <= limit, 'A page is empty or too long.');
          seen.push(...page.sessions.map((info) => info.session));
          cursor = page.next;
        } while (cursor !== undefined);
        checkSame(seen, order, `all pages of ${limit}`);
      }
      for (const cursor of ['', 'x', '1/2', '1/a/b/c']) {
        await thrownBy(session.list({ cursor }), `the cursor '${cursor}'`);
      }
      for (const limit of [0, 1.5, -1, 1001, NaN])
        await thrownBy(session.list({ limit }), `the limit ${limit}`);
    }),
  },
  {
    name: 'old sessions are pruned, and the newest kept',
    run: withFakeClock(async (open, clock) => {
      const session = await open();
      const names = async (): Promise<readonly string[]> =>
        (await session.list({ allUsers: true })).sessions.map((info) => info.session);
      for (const id of ['p1', 'p2', 'p3', 'p4', 'p5']) {
        await session.save(id, { book: new Notebook().add(id) });
        await clock.advance(1000);
      }
      await session.save({ user: 'anna', session: 'hers' }, { book: new Notebook() });
      await clock.advance(1000);
      checkSame(
        await session.prune({ olderThanMs: 5000, keepNewest: 5 }),
        0,
        'how many are too old and too many',
      );
      checkSame(await session.prune({ olderThanMs: 5000 }), 2, 'how many are older');
      checkSame(await names(), ['hers', 'p5', 'p4', 'p3'], 'what is left');
      checkSame(await session.prune({ keepNewest: 1 }), 2, 'how many are too many');
      checkSame(await names(), ['hers', 'p5'], 'what is left then');
      checkSame(await session.prune({ allUsers: true }), 2, 'how many there were');
      checkSame(await names(), [], 'what is left of all');
    }),
  },
  {
    name: 'a copy is independent',
    run: async (open) => {
      const session = await open();
      const book = new Notebook().add('a', 'b');
      book.title = 'original';
      await session.save('from', { book, shelf: new Nested() });
      await session.save('from', { book: book.add('c') });
      const info = await session.copy('from', { user: 'anna', session: 'to' });
      checkSame([info.user, info.session, info.revision], ['anna', 'to', 1], 'what copy returns');
      const branch = await loaded(await open(), { user: 'anna', session: 'to' });
      checkSame(branch.stateDict(), book.stateDict(), 'the copy');
      const other = await open();
      const changed = await loaded(other, { user: 'anna', session: 'to' });
      await other.save({ user: 'anna', session: 'to' }, { book: changed.add('copy') });
      await session.save('from', { book: book.add('d') });
      checkSame((await loaded(session, 'from')).values, ['a', 'b', 'c', 'd'], 'the original');
      await session.delete('from');
      const left = (await loaded(session, { user: 'anna', session: 'to' })).values;
      checkSame(left, ['a', 'b', 'c', 'copy'], 'the copy without the original');
      await isConflict(
        session.copy({ user: 'anna', session: 'to' }, { user: 'anna', session: 'to' }),
        'a copy over it',
      );
      const missing = await thrownBy(session.copy('from', 'x'), 'a copy of nothing');
      check(missing instanceof SessionNotFoundError, `It is ${String(missing)}.`);
    },
  },
  {
    name: 'the save before the last can be copied',
    run: async (open) => {
      const session = await open();
      const book = new Notebook();
      for (const value of ['a', 'b', 'c']) await session.save('past', { book: book.add(value) });
      for (const [revision, values] of [
        [3, ['a', 'b', 'c']],
        [2, ['a', 'b']],
      ] as const) {
        await session.copy('past', `copy-${revision}`, { revision });
        checkSame((await loaded(await open(), `copy-${revision}`)).values, values, `revision ${revision}`);
      }
      const gone = await thrownBy(session.copy('past', 'x', { revision: 1 }), 'a copy of an older save');
      check(gone instanceof SessionNotFoundError, `It is ${String(gone)}.`);
      checkSame(await session.exists('x'), false, 'whether it was copied');
    },
  },
  {
    name: 'the save before the last can be restored',
    run: async (open) => {
      const session = await open();
      const book = new Notebook().add('a');
      await session.save('back', { book });
      const none = await thrownBy(session.restorePrevious('back'), 'going back from the first save');
      check(none instanceof SessionNotFoundError, `It is ${String(none)}.`);
      await session.save('back', { book: book.add('b') });
      await session.save('back', { book: book.add('c') });
      checkSame((await session.restorePrevious('back')).revision, 4, 'the revision');
      checkSame((await loaded(await open(), 'back')).values, ['a', 'b'], 'what was restored');
      await isConflict(session.save('back', { book: book.add('d') }), 'a save from before');
      const again = await loaded(session, 'back');
      await session.save('back', { book: again.add('x', 'y') });
      checkSame(
        (await loaded(await open(), 'back')).values,
        ['a', 'b', 'x', 'y'],
        'what was saved after that',
      );
      await session.restorePrevious('back');
      await session.restorePrevious('back');
      checkSame((await loaded(session, 'back')).values, ['a', 'b', 'x', 'y'], 'back and forth');
    },
  },
  {
    name: 'restored state stays, also when most of the saved state is removed and the rest rewritten',
    run: async (open) => {
      const session = await open();
      const book = new Notebook();
      const page = (name: string): readonly string[] =>
        Array.from({ length: 600 }, (_, i) => `${name} ${i} ${'x'.repeat(150)}`);
      for (const name of ['a', 'b', 'c', 'd']) {
        book.notes = [];
        await session.save('anew', { book: book.add(...page(name)) });
      }
      await session.restorePrevious('anew');
      checkSame((await loaded(await open(), 'anew')).values, page('c'), 'what was restored');
      const again = await loaded(session, 'anew');
      for (const value of ['one', 'two', 'three']) await session.save('anew', { book: again.add(value) });
      checkSame(
        (await loaded(await open(), 'anew')).values,
        [...page('c'), 'one', 'two', 'three'],
        'what followed',
      );
      await session.restorePrevious('anew');
      checkSame(
        (await loaded(await open(), 'anew')).values,
        [...page('c'), 'one', 'two'],
        'what was restored then',
      );
    },
  },
  {
    name: 'many changes by several writers leave the expected state',
    run: async (open) => {
      let random = 42;
      const next = (below: number): number => {
        random = (random * 1103515245 + 12345) % 2147483648;
        return Math.floor((random / 2147483648) * below);
      };
      let session = await open();
      let book = new Notebook();
      for (let step = 0; step < 150; step++) {
        const notes = [...book.notes];
        const at = next(notes.length + 1);
        const added = Array.from({ length: next(40) }, (_, i) => ({
          value: `${step}.${i} ${'x'.repeat(next(200))}`,
        }));
        notes.splice(at, next(4) === 0 ? next(60) : 0, ...(next(3) === 0 ? added : added.slice(0, 2)));
        book.notes = notes;
        book.title = step;
        await session.save('long', { book });
        if (step % 10 !== 9) continue;
        if (next(2) === 0) session = await open();
        const again = await loaded(session, 'long');
        checkSame(again.stateDict(), book.stateDict(), `the state after step ${step}`);
        book = again;
      }
    },
  },
  {
    name: 'many writers that retry lose nothing',
    run: async (open) => {
      const sessions = [await open(), await open(), await open()];
      await sessions[0]?.save('busy', { book: new Notebook() });
      let conflicts = 0;
      const append = async (session: Session, value: string): Promise<void> => {
        for (;;) {
          const book = await loaded(session, 'busy');
          try {
            await session.save('busy', { book: book.add(value) });
            return;
          } catch (error) {
            if (!(error instanceof SessionConflictError)) throw error;
            conflicts++;
          }
        }
      };
      const writers = sessions.flatMap((session, s) => [1, 2].map((n) => ({ session, name: `${s}.${n}` })));
      await Promise.all(
        writers.map(async ({ session, name }) => {
          for (let i = 0; i < 5; i++) await append(session, `${name}.${i}`);
        }),
      );
      const { values } = await loaded(await open(), 'busy');
      const expected = writers.flatMap(({ name }) => [0, 1, 2, 3, 4].map((i) => `${name}.${i}`));
      checkSame(values.map(String).sort(), expected.sort(), 'what was kept');
      check(conflicts > 0, 'There was no conflict: the case has shown nothing.');
    },
  },
  {
    name: 'concurrent saves run one after another',
    run: async (open) => {
      const session = await open();
      const book = new Notebook();
      const saves = Array.from({ length: 10 }, (_, i) => session.save('queue', { book: book.add(i) }));
      const revisions = (await Promise.all(saves)).map(({ revision }) => revision);
      checkSame(revisions, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 'the revisions');
      checkSame(
        (await loaded(await open(), 'queue')).values,
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        'what is saved',
      );
    },
  },
];

/** Runs a case with a fake clock, which only the case moves. */
function withFakeClock(
  run: (open: () => Promise<Session>, clock: FakeClock) => Promise<void>,
): SessionCase['run'] {
  return async (open) => {
    const clock = new FakeClock();
    const installed = clock.install();
    try {
      await run(open, clock);
    } finally {
      installed[Symbol.dispose]();
    }
  };
}
