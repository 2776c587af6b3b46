import { expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import { TurnStop } from './turn-stop.ts';

test('stops in two degrees: the reply, and then the waits for what follows', () => {
  const stop = new TurnStop('ann');
  const { waitsEnded } = stop;
  stop.stopReply('interrupted');
  expect([stop.signal.reason, waitsEnded.aborted]).toEqual(['interrupted', false]);
  stop.endWaits('again');
  expect([stop.signal.reason, waitsEnded.reason]).toEqual(['interrupted', 'again']);
  stop.end();
});

test('the end of all waits stops the reply too, for those who ask later as well', () => {
  const stop = new TurnStop('ann');
  stop.endWaits('aborted');
  expect([stop.signal.reason, stop.waitsEnded.reason]).toEqual(['aborted', 'aborted']);
  stop.end();
});

test('all waits share one grace, which begins with the first stop', async () => {
  using clock = new FakeClock().install();
  const stop = new TurnStop('ann');
  stop.stopReply('interrupted');
  await clock.advance(30);
  let isOver = false;
  void stop.graceOver.then(() => (isOver = true));
  stop.endWaits('again');
  await clock.advance(9);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(isOver).toBe(true);
  expect(new TurnStop('ann', stop.graceOver).graceOver).toBe(stop.graceOver);
});

test('a call that is over starts no timer', () => {
  using clock = new FakeClock().install();
  const running = new TurnStop('ann');
  running.stopReply('interrupted');
  expect(clock.pendingTimers).toBe(1);
  running.end();
  const over = new TurnStop('ann');
  over.end();
  over.stopReply('late');
  expect([clock.pendingTimers, over.signal.aborted]).toEqual([0, true]);
});
