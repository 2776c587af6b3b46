import { describe, expect, test } from 'vitest';

import { StateModule } from '../state/state-module.ts';
import { sessionContract } from '../testing/session-contract.ts';
import { InMemorySession } from './in-memory-session.ts';

class Counter extends StateModule {
  count = 0;

  constructor() {
    super();
    this.registerState('count');
  }
}

describe('a scope of sessions', () => {
  const place = () => {
    const session = new InMemorySession();
    return () => session.scoped('bob@');
  };
  test.each(sessionContract(place))('$name', ({ run }) => run());

  test('shows its own sessions only, a page at a time, however many others there are', async () => {
    const all = new InMemorySession();
    const bob = all.scoped('bob@');
    for (let n = 0; n < 1100; n++) await all.save(`other${n}`, { c: new Counter() });
    for (let n = 0; n < 3; n++) await bob.save(`mine${n}`, { c: new Counter() });
    await bob.scoped('kid@').save('x', { c: new Counter() });
    await all.scoped('bobby@').save('y', { c: new Counter() });
    const first = await bob.list({ limit: 2 });
    const second = await bob.list({ limit: 2, cursor: first.next });
    const ids = [...first.sessions, ...second.sessions].map(({ session }) => session);
    expect(ids.sort()).toEqual(['mine0', 'mine1', 'mine2']);
    expect(second.next).toBeUndefined();
    expect(await bob.prune({})).toBe(3);
    expect(await all.exists('other0')).toBe(true);
    expect(await bob.scoped('kid@').exists('x')).toBe(true);
  });

  test('reaches no other, and its prefix is marked as one', async () => {
    const all = new InMemorySession();
    await all.scoped('a@').scoped('b@').save('x', { c: new Counter() });
    expect(await all.scoped('a@').exists('b@x')).toBe(false);
    await all.scoped('a@').save('b@x', { c: new Counter() });
    expect((await all.scoped('a@').list()).sessions.map(({ session }) => session)).toEqual(['b@x']);
    expect(await all.scoped('a@').scoped('b@').delete('x')).toBe(true);
    expect(await all.scoped('a@').exists('b@x')).toBe(true);
    expect((await all.list()).sessions.map(({ session }) => session)).toEqual(['a@b=40x']);
    expect(await all.exists('a@b=40x')).toBe(false); // the session is reached by its scope only
    expect(await all.prune({})).toBe(1);
    expect(() => all.scoped('a')).toThrow("A scope of sessions must end with '@'.");
    await expect(all.scoped(`${'a'.repeat(199)}@`).exists('x')).rejects.toMatchObject({ code: 'invalid_id' });
    await expect(all.scoped('../@').exists('x')).rejects.toMatchObject({ code: 'invalid_id' });
  });

  test('is of no use any more when its time is over, nor is what was made of it', async () => {
    const all = new InMemorySession();
    const over = new AbortController();
    const lent = all.scoped('a@', over.signal);
    await lent.save('x', { c: new Counter() });
    over.abort();
    const c = new Counter();
    const kid = lent.scoped('kid@');
    const tried = [
      lent.save('y', { c }),
      lent.load('x', { c }),
      lent.delete('x'),
      lent.list(),
      kid.save('z', { c }),
    ];
    for (const { status, ...rest } of await Promise.allSettled(tried)) {
      expect([status, rest]).toMatchObject(['rejected', { reason: { code: 'store_failed' } }]);
    }
    expect((await all.list()).sessions.map(({ session }) => session)).toEqual(['a@x']);
  });
});
