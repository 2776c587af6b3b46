import { expect, test } from 'vitest';

import { FakeClock } from '../testing/fake-clock.ts';
import { monotonic } from '../util/clock.ts';
import { addCost } from './add-cost.ts';

test('the seconds of an answer do not depend on the time of day', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const startedAt = monotonic();
  await clock.advance(1500);
  clock.setTime(clock.now() - 90_000);
  const usage = { inputTokens: 1_000_000, outputTokens: 0 };
  expect(addCost({ type: 'usage', usage }, startedAt, { input: 2, output: 1 })).toEqual({
    type: 'usage',
    usage: { ...usage, seconds: 1.5, cost: 2 },
  });
});
