import { describe, expect, test } from 'vitest';
import { silentLogger } from '../config/logger.ts';
import { withRunConfig } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { StateModule } from '../state/state-module.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { AutoSave, type SaveSignals } from './auto-save.ts';
import { InMemorySession, InMemoryStore } from './in-memory-session.ts';
import { SessionConflictError, SessionNotFoundError } from './format/session-error.ts';
import { SessionManager } from './session-manager.ts';
import { Session } from './session.ts';

class Counter extends StateModule {
  count = 0;

  constructor(readonly componentName?: string) {
    super();
    this.registerState('count');
  }
}

class ReActThing extends StateModule {
  readonly inner = new Counter();
}

/** An agent as autosave sees it: reports the end of agent calls, and waits before tools with side effects. */
class Agent extends Counter implements SaveSignals {
  readonly settled = new Set<() => void>();
  readonly checkpoints = new Set<() => Promise<void>>();
  isRunning = false;

  onSettled(listener: () => void): () => void {
    this.settled.add(listener);
    return () => void this.settled.delete(listener);
  }

  onCheckpoint(listener: () => Promise<void>): () => void {
    this.checkpoints.add(listener);
    return () => void this.checkpoints.delete(listener);
  }

  settle(): void {
    this.count++;
    this.isRunning = false;
    for (const listener of this.settled) listener();
  }

  async checkpoint(): Promise<void> {
    this.count++;
    for (const listener of this.checkpoints) await listener();
  }
}

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (TroupeError.isInstance(error)) return error.code;
    throw error;
  }
  return 'nothing was thrown';
};

describe('SessionManager', () => {
  test('saves components, and loads them into others', async () => {
    const session = new InMemorySession();
    const [agent, thing] = [new Counter(), new ReActThing()];
    agent.count = 3;
    thing.inner.count = 4;
    const manager = SessionManager.forSessionId('s')
      .withSession(session)
      .addComponent(agent)
      .addComponent(thing);
    expect(await manager.sessionExists()).toBe(false);
    expect(await manager.loadIfExists()).toBe(false);
    expect(await manager.saveIfExists()).toBe(false);
    expect(await manager.sessionExists()).toBe(false);
    await expect(manager.loadOrThrow()).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(manager.deleteOrThrow()).rejects.toThrow("There is no session 's'.");
    await manager.saveSession();
    const renamed = SessionManager.forSessionId('s')
      .withSession(session)
      .addComponent('other', new Counter());
    await expect(renamed.loadOrThrow()).rejects.toThrow(
      "has none of the components 'other', but 'counter', 'reActThing'. If one was renamed, give it its saved name: addComponent('counter', …).",
    );
    expect(await manager.sessionExists()).toBe(true);

    const [agent2, thing2] = [new Counter(), new ReActThing()];
    const other = SessionManager.forSessionId('s')
      .withSession(session)
      .addComponent(agent2)
      .addComponent(thing2);
    expect(await other.loadIfExists()).toBe(true);
    expect([agent2.count, thing2.inner.count]).toStrictEqual([3, 4]);
    agent2.count = 5;
    expect(await other.saveIfExists()).toBe(true);
    await expect(manager.saveOrThrow()).rejects.toBeInstanceOf(SessionConflictError);
    await manager.loadOrThrow();
    expect(agent.count).toBe(5);
    await manager.saveOrThrow();
    await expect(other.saveSession()).rejects.toBeInstanceOf(SessionConflictError);
    await other.saveSession({ overwrite: true });

    expect(await manager.deleteSession()).toBe(true);
    expect(await manager.deleteIfExists()).toBe(false);
    expect(await manager.sessionExists()).toBe(false);
    await manager.saveSession();
    expect(await manager.sessionExists()).toBe(true);
    await manager.deleteOrThrow();
  });

  test('saves under the name of the component, of its class, or the given one', async () => {
    const session = new InMemorySession();
    const own = new Counter('memory');
    const blank = new Counter('  ');
    const given = new Counter('unused');
    const thing = new ReActThing();
    [own, blank, given, thing.inner].forEach((counter, i) => (counter.count = i + 1));
    const manager = SessionManager.forSessionId('names').withSession(session);
    await manager
      .addComponent(own)
      .addComponent(blank)
      .addComponent('given', given)
      .addComponent(thing)
      .saveSession();
    const loaded = {
      memory: new Counter(),
      counter: new Counter(),
      given: new Counter(),
      reActThing: new ReActThing(),
    };
    await session.load('names', loaded);
    expect(loaded).toMatchObject({
      memory: { count: 1 },
      counter: { count: 2 },
      given: { count: 3 },
      reActThing: { inner: { count: 4 } },
    });
  });

  test('saves under the name of the class that declares one, and a subclass under its own', async () => {
    class Diary extends Counter {
      static override readonly componentName: string = 'notes';
    }
    class Logbook extends Diary {}
    const session = new InMemorySession();
    const [diary, logbook] = [new Diary(), new Logbook()];
    [diary.count, logbook.count] = [1, 2];
    await SessionManager.forSessionId('s')
      .withSession(session)
      .addComponent(diary)
      .addComponent(logbook)
      .saveSession();
    const loaded = { notes: new Counter(), logbook: new Counter() };
    await session.load('s', loaded);
    expect(loaded).toMatchObject({ notes: { count: 1 }, logbook: { count: 2 } });
  });

  test('two users have two sessions', async () => {
    const session = new InMemorySession();
    const manager = (user: string, counter: Counter) =>
      SessionManager.forSessionId('s').forUser(user).withSession(session).addComponent(counter);
    const anna = new Counter();
    anna.count = 7;
    await manager('anna', anna).saveSession();
    expect(await manager('ben', new Counter()).sessionExists()).toBe(false);
    expect(await session.list({ user: 'anna' })).toMatchObject({
      sessions: [{ user: 'anna', session: 's' }],
    });
  });

  test('mistakes are told at once', async () => {
    const manager = SessionManager.forSessionId('s');
    expect(codeOf(() => SessionManager.forSessionId(''))).toBe('invalid_id');
    expect(codeOf(() => SessionManager.forSessionId('x'.repeat(1025)))).toBe('invalid_id');
    expect(codeOf(() => manager.forUser('\ud800'))).toBe('invalid_id');
    expect(codeOf(() => manager.withSession(null as never))).toBe('invalid_input');
    expect(codeOf(() => manager.addComponent(undefined as never))).toBe('invalid_input');
    expect(codeOf(() => manager.addComponent('name', {} as never))).toBe('invalid_input');
    expect(codeOf(() => manager.addComponent(new (class extends StateModule {})()))).toBe('invalid_input');
    expect(codeOf(() => manager.sessionExists())).toBe('invalid_config');
    expect(codeOf(() => manager.autoSave())).toBe('invalid_config');
    const empty = SessionManager.forSessionId('s').withSession(new InMemorySession());
    const nothing = 'the session has no component. Call addComponent(agent) first.';
    await expect(empty.saveSession()).rejects.toThrow(`There is nothing to save: ${nothing}`);
    await expect(empty.loadIfExists()).rejects.toThrow(`There is nothing to load: ${nothing}`);
    expect(await empty.sessionExists()).toBe(false);
    manager.addComponent(new Counter());
    expect(() => manager.addComponent(new Counter())).toThrow(
      "There is a component 'counter' already. Name one of them: addComponent('other', component).",
    );
    await expect(manager.saveSession()).rejects.toThrow('Call withSession(session) first.');
    for (const name of ['stateDict', 'a b', '$x', '']) {
      expect(() => manager.addComponent(name, new Counter())).toThrow("can't be the name of a component.");
    }
  });
});

describe('autoSave', () => {
  const setUp = (agent = new Agent()) => {
    const session = new InMemorySession();
    const manager = SessionManager.forSessionId('auto').withSession(session).addComponent('agent', agent);
    const saved = async (): Promise<number | undefined> => {
      const counter = new Counter();
      return (await session.load('auto', { agent: counter })) ? counter.count : undefined;
    };
    return { agent, session, manager, saved };
  };

  test('saves after a call, once for all that come in time', async () => {
    const clock = new FakeClock();
    using _clock = clock.install();
    const { agent, session, manager, saved } = setUp();
    manager.autoSave({ debounceMs: 100 });
    agent.settle();
    await clock.advance(60);
    agent.settle();
    expect(await saved()).toBeUndefined();
    await clock.advance(40);
    expect(await saved()).toBe(2);
    expect((await session.list()).sessions[0]?.revision).toBe(1);
    agent.settle();
    await clock.advance(100);
    expect(await saved()).toBe(3);
    expect(clock.pendingTimers).toBe(0);
  });

  test('without an agent among the components warns, because nothing says when to save', async () => {
    const logged: string[] = [];
    await withRunConfig(
      { logging: { log: (level, message) => logged.push(`${level} ${message}`) } },
      async () => {
        const manager = SessionManager.forSessionId('s').withSession(new InMemorySession());
        manager.autoSave(); // components may come later
        manager.addComponent(new Counter()).autoSave();
        manager.addComponent(new Agent()).autoSave();
        await manager[Symbol.asyncDispose]();
      },
    );
    expect(logged).toEqual([
      "warn autoSave of the session 's' saves nothing before it is disposed of: no component is an agent or a pipeline. Add the agent: addComponent(agent).",
    ]);
  });

  test('saves pending changes when disposed, and stops', async () => {
    const clock = new FakeClock();
    using _clock = clock.install();
    const { agent, manager, saved } = setUp();
    manager.autoSave({ debounceMs: 1_000_000 });
    agent.settle();
    agent.settle();
    await manager[Symbol.asyncDispose]();
    expect(await saved()).toBe(2);
    expect(clock.pendingTimers).toBe(0);
    expect([agent.settled.size, agent.checkpoints.size]).toStrictEqual([0, 0]);
  });

  test('nothing is saved when nothing has happened', async () => {
    const { manager, saved } = setUp();
    await manager.autoSave()[Symbol.asyncDispose]();
    expect(await saved()).toBeUndefined();
  });

  test('saves when it is disposed of what changed without a call, and nothing twice', async () => {
    const { agent, session, manager, saved } = setUp();
    manager.autoSave();
    agent.count = 5;
    await manager[Symbol.asyncDispose]();
    await manager[Symbol.asyncDispose]();
    expect(await saved()).toBe(5);
    const reader = SessionManager.forSessionId('auto')
      .withSession(session)
      .addComponent('agent', new Agent());
    reader.autoSave();
    await reader.loadIfExists();
    agent.count = 6;
    await manager.saveSession();
    await reader[Symbol.asyncDispose](); // nothing has changed, so this is no conflict
    expect([await saved(), (await session.list()).sessions[0]?.revision]).toStrictEqual([6, 2]);
  });

  test('waits for a call that runs when it is disposed of, and keeps its checkpoints until then', async () => {
    const { agent, manager, saved } = setUp();
    manager.autoSave({ debounceMs: 1_000_000 });
    agent.isRunning = true;
    const disposed = manager[Symbol.asyncDispose]();
    await agent.checkpoint();
    expect(await saved()).toBe(1);
    agent.settle();
    await disposed;
    expect(await saved()).toBe(2);
    expect([agent.settled.size, agent.checkpoints.size]).toStrictEqual([0, 0]);
  });

  test('does not bring back a session that was deleted', async () => {
    const clock = new FakeClock();
    using _clock = clock.install();
    const { agent, session, manager } = setUp();
    manager.autoSave({ debounceMs: 100 });
    await manager.saveSession();
    agent.settle();
    await manager.deleteSession();
    await clock.advance(1_000);
    await manager[Symbol.asyncDispose]();
    expect(await session.exists('auto')).toBe(false);
  });

  test('does not save for one user what was saved for another', async () => {
    const session = new InMemorySession();
    const agent = new Counter();
    const open = (user: string): SessionManager =>
      SessionManager.forSessionId('s').forUser(user).withSession(session).addComponent(agent);
    await open('ann').saveSession();
    expect(await open('bob').loadIfExists()).toBe(false);
    await expect(open('bob').saveSession()).rejects.toBeInstanceOf(SessionConflictError);
    await open('ann').saveSession();
  });

  test('a save that was asked for just before the session was deleted does not bring it back', async () => {
    const { agent, session, manager } = setUp();
    manager.autoSave({ debounceMs: 1_000_000 });
    await manager.saveSession();
    await Promise.all([agent.checkpoint(), manager.deleteSession()]);
    await manager[Symbol.asyncDispose]();
    expect(await session.exists('auto')).toBe(false);
  });

  test('does not save for one user what was loaded for another', async () => {
    const clock = new FakeClock();
    using _clock = clock.install();
    const session = new InMemorySession();
    const ofBen = new Agent();
    ofBen.count = 1234;
    await session.save({ user: 'ben', session: 'c' }, { agent: ofBen });
    const agent = new Agent();
    const of = (user: string): SessionManager =>
      SessionManager.forSessionId('c').forUser(user).withSession(session).addComponent('agent', agent);
    const errors: unknown[] = [];
    const anna = of('anna');
    await withRunConfig({ logging: silentLogger }, async () => {
      anna.autoSave({ debounceMs: 50, onError: (error) => errors.push(error) });
      agent.settle();
      await of('ben').loadIfExists();
      await clock.advance(100);
    });
    expect(errors).toStrictEqual([expect.any(SessionConflictError)]);
    expect(await anna.sessionExists()).toBe(false);
  });

  test('ignores components after it was disposed, even if another one has failed', async () => {
    const { agent, session, manager } = setUp();
    manager.autoSave({ debounceMs: 1_000 });
    manager.autoSave({ debounceMs: 1_000 });
    agent.settle();
    await session.save('auto', { agent: new Counter() });
    await withRunConfig({ logging: silentLogger }, () =>
      expect(manager[Symbol.asyncDispose]()).rejects.toBeInstanceOf(SessionConflictError),
    );
    const late = new Agent();
    manager.addComponent('late', late);
    expect([agent.settled.size, late.settled.size]).toStrictEqual([0, 0]);
  });

  test('a checkpoint waits until the state is saved, and fails with the save', async () => {
    const { agent, session, manager, saved } = setUp();
    const errors: unknown[] = [];
    manager.autoSave({ debounceMs: 1_000_000, onError: (error) => errors.push(error) });
    await agent.checkpoint();
    expect(await saved()).toBe(1);
    await session.save('auto', { agent: new Counter() }, { overwrite: true });
    await expect(withRunConfig({ logging: silentLogger }, () => agent.checkpoint())).rejects.toBeInstanceOf(
      SessionConflictError,
    );
    expect(errors).toHaveLength(1);
  });

  test('a component that is added later is watched too', async () => {
    const clock = new FakeClock();
    using _clock = clock.install();
    const { manager, session } = setUp();
    manager.autoSave();
    const late = new Agent();
    manager.addComponent('late', late);
    late.settle();
    await clock.advance(0);
    const counter = new Counter();
    await session.load('auto', { late: counter });
    expect(counter.count).toBe(1);
  });

  test('a save that fails is reported, and made up for by the next one', async () => {
    const clock = new FakeClock();
    using _clock = clock.install();
    const logged: string[] = [];
    const errors: unknown[] = [];
    const problem = new Error('the disk is full');
    let failures = 2;
    let saves = 0;
    await withRunConfig(
      { logging: { log: (level, message) => logged.push(`${level} ${message}`) } },
      async () => {
        const agent = new Agent();
        const autoSave = new AutoSave(
          async () => {
            if (failures-- > 0) throw problem;
            saves++;
          },
          { onError: (error) => errors.push(error) },
        );
        autoSave.watch(agent);
        agent.settle();
        await clock.advance(0);
        await expect(autoSave.flush()).rejects.toBe(problem);
        expect(saves).toBe(0);
        await autoSave[Symbol.asyncDispose]();
      },
    );
    expect(saves).toBe(1);
    expect(errors).toStrictEqual([problem, problem]);
    expect(logged).toStrictEqual(Array(2).fill('error The session was not saved: the disk is full'));
  });

  test('a call that ends while a save runs is saved by another one', async () => {
    const clock = new FakeClock();
    using _clock = clock.install();
    const agent = new Agent();
    const counts: number[] = [];
    const releases: (() => void)[] = [];
    const autoSave = new AutoSave(() => {
      counts.push(agent.count);
      return new Promise((resolve) => releases.push(resolve));
    });
    autoSave.watch(agent);
    agent.settle();
    await clock.advance(0);
    agent.settle();
    const flushes = [autoSave.flush(), autoSave.flush()];
    await clock.advance(0);
    expect(counts).toStrictEqual([1]);
    releases.shift()?.();
    await clock.advance(0);
    expect(counts).toStrictEqual([1, 2]);
    releases.shift()?.();
    await Promise.all(flushes);
    expect(counts).toStrictEqual([1, 2]);
  });
});

describe('a component that is part of another one', () => {
  class Memory extends StateModule {
    readonly items: { readonly text: string }[] = [];

    constructor() {
      super();
      const readItem = (json: unknown): { text: string } => ({ text: (json as { text: string }).text });
      this.registerStateList('items', {
        toJson: ({ text }: { text: string }) => ({ text }),
        fromJson: readItem,
      });
    }
  }
  class Owner extends StateModule {
    readonly memory = new Memory();
  }
  /** Counts the items that are written. */
  class CountingStore extends InMemoryStore {
    items = 0;

    override async commit(...[key, commit]: Parameters<InMemoryStore['commit']>): Promise<void> {
      for (const part of commit.parts) this.items += part.items.length;
      return super.commit(key, commit);
    }
  }
  const open = (session: Session, owner: Owner, memoryFirst = false): SessionManager => {
    const manager = SessionManager.forSessionId('s').withSession(session);
    return memoryFirst
      ? manager.addComponent('memory', owner.memory).addComponent('agent', owner)
      : manager.addComponent('agent', owner).addComponent('memory', owner.memory);
  };
  const textsOf = ({ items }: Memory): string[] => items.map(({ text }) => text);

  test.each([false, true])(
    'is saved once, and loads with both, or alone (memory first: %s)',
    async (first) => {
      const counter = new CountingStore();
      const store = new Session(counter);
      const owner = new Owner();
      owner.memory.items.push({ text: 'one' }, { text: 'two' });
      await open(store, owner, first).saveSession();
      const both = new Owner();
      const manager = open(store, both, first);
      await manager.loadOrThrow();
      expect(textsOf(both.memory)).toStrictEqual(['one', 'two']);
      both.memory.items.push({ text: 'three' });
      await manager.saveSession();
      const alone = new Memory();
      await SessionManager.forSessionId('s').withSession(store).addComponent('memory', alone).loadOrThrow();
      expect(textsOf(alone)).toStrictEqual(['one', 'two', 'three']);
      expect(counter.items).toBe(3);
    },
  );

  test('and was saved alone meanwhile is newer than the copy in the other one', async () => {
    const store = new InMemorySession();
    const owner = new Owner();
    owner.memory.items.push({ text: 'one' });
    await open(store, owner).saveSession();
    const alone = new Memory();
    const manager = SessionManager.forSessionId('s').withSession(store).addComponent('memory', alone);
    await manager.loadOrThrow();
    alone.items.push({ text: 'two' });
    await manager.saveSession();
    const both = new Owner();
    const later = open(store, both);
    await later.loadOrThrow();
    expect(textsOf(both.memory)).toStrictEqual(['one', 'two']);
    await later.saveSession();
    const again = new Owner();
    await open(store, again).loadOrThrow();
    expect(textsOf(again.memory)).toStrictEqual(['one', 'two']);
  });
});
