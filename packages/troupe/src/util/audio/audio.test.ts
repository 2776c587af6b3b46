import { describe, expect, it } from 'vitest';
import { bytesOf, durationOf, samplesOf, WholeSamples } from './pcm.ts';
import { resample, Resampler } from './resampler.ts';
import { fromWav, toWav, WavReader } from './wav.ts';

/** One second of a tone. */
function tone(hertz: number, rate: number, amplitude = 16_000): Uint8Array {
  return bytesOf(
    Int16Array.from({ length: rate }, (_, i) => amplitude * Math.sin((2 * Math.PI * hertz * i) / rate)),
  );
}

/** Power of a tone and of everything else in a sound, without its first and last tenth. */
function powers(data: Uint8Array, rate: number, hertz: number): { tone: number; rest: number } {
  const samples = samplesOf(data).slice(rate / 10, -rate / 10);
  let [sin, cos, all] = [0, 0, 0];
  for (const [i, sample] of samples.entries()) {
    const angle = (2 * Math.PI * hertz * i) / rate;
    sin += sample * Math.sin(angle);
    cos += sample * Math.cos(angle);
    all += sample * sample;
  }
  const n = samples.length;
  const power = (2 * (sin * sin + cos * cos)) / (n * n);
  return { tone: power, rest: all / n - power };
}

const decibels = (ratio: number): number => 10 * Math.log10(ratio);

describe('Resampler', () => {
  it.each([
    [24_000, 16_000],
    [16_000, 24_000],
    [22_050, 24_000],
    [44_100, 16_000],
  ])('keeps a tone of 1 kHz from %i to %i Hz, over noise by 80 dB', (from, to) => {
    const { data } = resample({ data: tone(1000, from), rate: from }, to);
    const { tone: kept, rest } = powers(data, to, 1000);
    expect(Math.abs(decibels(kept / (16_000 ** 2 / 2)))).toBeLessThan(0.1);
    expect(decibels(kept / Math.max(rest, 1e-9))).toBeGreaterThan(80);
  });

  it('removes what the lower rate can not carry', () => {
    const { data } = resample({ data: tone(10_000, 24_000), rate: 24_000 }, 16_000);
    const { tone: leak, rest } = powers(data, 16_000, 6000); // where 10 kHz would appear
    expect(decibels(16_000 ** 2 / 2 / Math.max(leak + rest, 1e-9))).toBeGreaterThan(60);
  });

  it('gives the same samples for a stream in pieces of any size', () => {
    const sound = tone(440, 22_050);
    const whole = resample({ data: sound, rate: 22_050 }, 16_000).data;
    for (const size of [2, 442, 7000]) {
      const resampler = new Resampler(22_050, 16_000);
      const pieces: number[] = [];
      for (let i = 0; i < sound.length; i += size)
        pieces.push(...resampler.feed(sound.subarray(i, i + size)));
      pieces.push(...resampler.end());
      expect(Uint8Array.from(pieces)).toEqual(whole);
    }
  });

  it('keeps the duration', () => {
    const output = resample({ data: tone(440, 22_050), rate: 22_050 }, 24_000);
    expect(Math.abs(durationOf(output) - 1000)).toBeLessThan(1);
  });
});

describe('WavReader', () => {
  const sound = { data: tone(440, 8000), rate: 8000 };

  it('reads what toWav wrote, whole and byte by byte', () => {
    const file = toWav(sound);
    expect(fromWav(file)).toEqual(sound);
    const reader = new WavReader();
    const bytes: number[] = [];
    for (const byte of file) bytes.push(...(reader.feed(Uint8Array.of(byte))?.data ?? []));
    expect(Uint8Array.from(bytes)).toEqual(sound.data);
  });

  it('reads a file whose header has no length, and mixes two channels', () => {
    const stereo = Int16Array.from([100, 300, -200, 0]);
    const file = toWav({ data: bytesOf(stereo), rate: 8000 });
    const view = new DataView(file.buffer);
    view.setUint16(22, 2, true);
    view.setUint32(40, 0xffffffff, true);
    expect(fromWav(file)).toEqual({ data: bytesOf(Int16Array.from([200, -100])), rate: 8000 });
  });

  it('refuses what is no WAV file of 16-bit samples', () => {
    expect(() => fromWav(new TextEncoder().encode('<html>not found</html>'))).toThrow('is not a WAV file');
    const file = toWav(sound);
    new DataView(file.buffer).setUint16(34, 8, true);
    expect(() => fromWav(file)).toThrow('has no 16-bit samples');
    expect(() => fromWav(toWav(sound).subarray(0, 40))).toThrow('has no sound');
  });
});

describe('WholeSamples', () => {
  it('keeps the first half of a sample until the second half comes', () => {
    const whole = new WholeSamples();
    const pieces = [[1], [2, 3], [], [4, 5, 6], [7]].map((bytes) => [...whole.feed(Uint8Array.from(bytes))]);
    expect(pieces).toEqual([[], [1, 2], [], [3, 4, 5, 6], []]);
  });
});
