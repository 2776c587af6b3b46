import { expect, it } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import type { PcmAudio } from '../../util/audio/pcm.ts';
import { SocketPlayer } from './socket-player.ts';

const sound = (ms: number): PcmAudio => ({ data: new Uint8Array(ms * 48), rate: 24_000 });

it('sends sound with the id of its item, also after words about items that were stopped', async () => {
  using clock = new FakeClock().install();
  const sent: string[] = [];
  const player = new SocketPlayer((itemId) => void sent.push(itemId));
  player.play('a', sound(1000));
  await clock.advance(20);
  player.stop();
  player.finish('a');
  player.play('a', sound(20));
  player.play('b', sound(40));
  player.play('c', sound(20));
  for (const itemId of ['b', 'c']) player.finish(itemId);
  await clock.advance(200);
  expect(sent).toEqual(['a', 'a', 'b', 'b', 'c']);
  expect(clock.pendingTimers).toBe(0);
});
