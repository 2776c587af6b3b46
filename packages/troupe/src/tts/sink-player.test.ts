import { describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.ts';
import { durationOf, type PcmAudio } from '../util/audio/pcm.ts';
import type { PlayedItem } from './audio-player.ts';
import type { AudioSink } from './audio-sink.ts';
import { SinkPlayer } from './sink-player.ts';

const RATE = 24_000;
const sound = (ms: number, value = 1): PcmAudio => ({
  data: new Uint8Array((ms * RATE * 2) / 1000).fill(value),
  rate: RATE,
});

class Recorder implements AudioSink {
  playedMs = 0;
  flushes = 0;
  values = '';
  wait: Promise<void> | undefined;

  write(audio: PcmAudio): void | Promise<void> {
    this.playedMs += durationOf(audio);
    if (!this.values.endsWith(String(audio.data[0]))) this.values += String(audio.data[0]);
    return this.wait;
  }

  flush(): void {
    this.flushes++;
  }
}

function playerOf(sink: AudioSink): { player: SinkPlayer; ended: PlayedItem[] } {
  const player = new SinkPlayer(sink);
  const ended: PlayedItem[] = [];
  player.onEnd((item) => ended.push(item));
  return { player, ended };
}

describe('SinkPlayer', () => {
  it('plays sound that came in one burst in real time, item after item', async () => {
    using clock = new FakeClock().install();
    const sink = new Recorder();
    const { player, ended } = playerOf(sink);
    player.play('a', sound(600, 1));
    player.play('b', sound(400, 2));
    player.finish('a');
    player.finish('b');
    await clock.advance(300);
    expect([player.played('a'), player.played('b'), sink.playedMs]).toEqual([320, 0, 320]);
    await clock.advance(400);
    expect(ended).toEqual([{ itemId: 'a', playedMs: 600, isComplete: true }]);
    await clock.advance(1000);
    expect(ended.slice(1)).toEqual([{ itemId: 'b', playedMs: 400, isComplete: true }]);
    expect([sink.playedMs, sink.values, clock.pendingTimers]).toEqual([1000, '12', 0]);
  });

  it('stops at once, tells what was played, and drops late sound of the stopped items only', async () => {
    using clock = new FakeClock().install();
    const sink = new Recorder();
    const { player, ended } = playerOf(sink);
    player.play('a', sound(3000, 1));
    await clock.advance(500);
    player.stop();
    player.play('a', sound(3000, 1));
    player.finish('a');
    await clock.advance(500);
    expect([sink.playedMs, sink.flushes, player.played('a'), clock.pendingTimers]).toEqual([520, 1, 520, 0]);
    player.play('b', sound(40, 2));
    player.finish('b');
    await clock.advance(100);
    expect(ended).toEqual([
      { itemId: 'a', playedMs: 520, isComplete: false },
      { itemId: 'b', playedMs: 40, isComplete: true },
    ]);
  });

  it('keeps the rest of the sound in a pause', async () => {
    using clock = new FakeClock().install();
    const sink = new Recorder();
    const { player, ended } = playerOf(sink);
    player.play('a', sound(200));
    player.finish('a');
    await clock.advance(100);
    player.pause();
    await clock.advance(5000);
    expect([player.played('a'), clock.pendingTimers]).toEqual([120, 0]);
    player.resume();
    await clock.advance(100);
    expect(ended).toEqual([{ itemId: 'a', playedMs: 200, isComplete: true }]);
  });

  it('is silent while sound is missing, and does not catch that up', async () => {
    using clock = new FakeClock().install();
    const { player } = playerOf(new Recorder());
    player.play('a', sound(40));
    await clock.advance(1000);
    expect([player.played('a'), clock.pendingTimers]).toEqual([40, 0]);
    player.play('a', sound(400));
    await clock.advance(100);
    expect(player.played('a')).toBe(160);
  });

  it('waits for a slow sink, and counts only what it has taken', async () => {
    using clock = new FakeClock().install();
    const sink = new Recorder();
    const { player } = playerOf(sink);
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.wait = promise;
    player.play('a', sound(400));
    await clock.advance(2000);
    expect(player.played('a')).toBe(20);
    sink.wait = undefined;
    resolve();
    await clock.advance(100);
    expect(player.played('a')).toBeLessThanOrEqual(140);
    expect(player.played('a')).toBeGreaterThanOrEqual(120);
  });

  it('goes on when the sink throws', async () => {
    using clock = new FakeClock().install();
    const { player, ended } = playerOf({
      write() {
        throw new Error('no device');
      },
      flush() {},
    });
    player.play('a', sound(100));
    player.finish('a');
    await clock.advance(500);
    expect(ended).toEqual([{ itemId: 'a', playedMs: 100, isComplete: true }]);
    expect(clock.pendingTimers).toBe(0);
  });
});
