import { expect, test, vi } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import type { ModelError } from '../model-error.ts';
import { DeadlineWatch } from './deadlines.ts';

vi.mock('#platform', async (load) => ({ ...(await load<object>()), reportsConnections: false }));

const LIMITS = { connectMs: 1000, firstByteMs: 5000 };

test('where fetch reports no connections, connectMs is added to firstByteMs', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const missed: ModelError[] = [];
  new DeadlineWatch({ vendor: 'OpenAI' }, LIMITS, (error) => missed.push(error));
  await clock.advance(5999);
  expect(missed).toEqual([]);
  await clock.advance(1);
  expect(missed).toMatchObject([{ kind: 'timeout', deadline: 'first_byte' }]);
});

test('where fetch reports no connections, firstByteMs begins anew with the head of the answer', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const missed: (string | undefined)[] = [];
  const watch = new DeadlineWatch({ vendor: 'OpenAI' }, LIMITS, ({ deadline }) => missed.push(deadline));
  await clock.advance(5999);
  watch.connected();
  await clock.advance(4999);
  expect(missed).toEqual([]);
  await clock.advance(1);
  expect(missed).toEqual(['first_byte']);
});
