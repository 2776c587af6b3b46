import { expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import { Spending } from './spending.ts';

test('a time of day that is set back or forward changes no elapsed time', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const spending = new Spending();
  spending.start();
  await clock.advance(1000);
  clock.setTime(clock.now() - 90_000);
  expect(spending.elapsedMs).toBe(1000);
  spending.pause();
  await clock.advance(500);
  spending.resume();
  clock.setTime(clock.now() + 180_000);
  await clock.advance(200);
  expect(spending.toJSON()).toEqual({ calls: 0, iterations: 0, ms: 1200 });
});
