import { afterEach, beforeEach, expect, test } from 'vitest';

import { setRunConfig } from '../config/run-config.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { CharTokenCounter } from '../token/char-token-counter.ts';
import { TokenCounterBase } from '../token/token-counter-base.ts';
import { TokenMeter } from './token-meter.ts';

beforeEach(() => setRunConfig({ logging: 'silent' }));
afterEach(() => setRunConfig({}));

/** Fails once, then counts 7 tokens. */
class RecoveringCounter extends TokenCounterBase {
  calls = 0;

  override async count(): Promise<number> {
    this.calls++;
    if (this.calls === 1) throw new Error('down');
    return 7;
  }

  protected override async countOne(): Promise<number> {
    return 7;
  }
}

test('a time of day that is set back does not prolong the time of estimates', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const counter = new RecoveringCounter();
  const meter = new TokenMeter(counter, 1000);
  const { signal } = new AbortController();
  const count = (): Promise<number> => meter.count([Msg.user('Hi')], [], new CharTokenCounter(), signal);
  const estimate = await count();
  clock.setTime(clock.now() - 3_600_000);
  await clock.advance(299_999);
  expect([await count(), counter.calls]).toEqual([estimate, 1]);
  await clock.advance(1);
  expect([await count(), counter.calls]).toEqual([7, 2]);
});
