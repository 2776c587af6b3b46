import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ReActAgent } from '../../src/react/react-agent.ts';
import { CommandTtsModel } from '../../src/speech/command-tts-model.ts';
import { findProgram } from '../../src/speech/find-program.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { ScriptedSttModel } from '../../src/testing/voice/scripted-stt-model.ts';
import { CacheTtsModel } from '../../src/tts/cache-tts-model.ts';
import { SinkPlayer } from '../../src/tts/sink-player.ts';
import { joinBytes, type PcmAudio } from '../../src/util/audio/pcm.ts';
import { Resampler } from '../../src/util/audio/resampler.ts';
import { toWav } from '../../src/util/audio/wav.ts';
import { now } from '../../src/util/clock.ts';
import { VoicePipeline } from '../../src/voice/pipeline/voice-pipeline.ts';

const RATE = 16_000;
const hasPrograms = ['espeak-ng', 'sox'].every((program) => findProgram([program]) !== undefined);

const SENTENCES = [
  'The weather in Lisbon is sunny and warm today.',
  'Take your sunglasses with you, and a hat.',
];

let clock: FakeClock;
beforeEach(() => void (clock = new FakeClock().install()));
afterEach(() => clock[Symbol.dispose]());

async function soundOf(text: string, tts: CacheTtsModel): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let resampler: Resampler | undefined;
  for await (const { audio } of tts.synthesize(text)) {
    if (audio === undefined) continue;
    resampler ??= new Resampler(audio.rate, RATE);
    pieces.push(resampler.feed(audio.data));
  }
  return joinBytes(pieces);
}

/** Records sound at the time at which it is played, with silence between. */
class Recorder {
  readonly #start = now();
  readonly #pieces: Uint8Array[] = [];
  #bytes = 0;
  #resampler: Resampler | undefined;
  write({ data, rate }: PcmAudio): void {
    if (this.#resampler?.from !== rate) this.#resampler = new Resampler(rate, RATE);
    const gap = Math.floor(((now() - this.#start) * RATE) / 1000) * 2 - this.#bytes;
    if (gap > 0) this.#add(new Uint8Array(gap));
    this.#add(this.#resampler.feed(data));
  }
  flush(): void {}
  get ms(): number {
    return now() - this.#start;
  }
  wav(): Uint8Array {
    return toWav({ data: joinBytes([...this.#pieces, new Uint8Array(RATE * 4)]), rate: RATE });
  }
  #add(data: Uint8Array): void {
    this.#pieces.push(data);
    this.#bytes += data.length;
  }
}

describe('Real sound', () => {
  it.skipIf(!hasPrograms)(
    'of espeak-ng ends within 100 ms after a person begins to speak (needs espeak-ng and sox)',
    async () => {
      const tts = new CacheTtsModel(CommandTtsModel.espeak({ voice: 'en-us' }));
      const question = await soundOf('How is the weather in Lisbon?', tts);
      for (const sentence of SENTENCES) await soundOf(sentence, tts); // under the fake clock no program can be waited for
      const model = new ScriptedModel([
        { text: SENTENCES.join(' '), chunkSize: 5, stall: true },
        { text: SENTENCES[0] ?? '', chunkSize: 5 },
      ]);
      const agent = new ReActAgent({ name: 'Friday', model, console: false });
      const recorder = new Recorder();
      const sttModel = new ScriptedSttModel(['How is the weather in Lisbon?', 'Stop it, please.']);
      const talk = await new VoicePipeline({ agent, sttModel, ttsModel: tts }).connect({
        player: new SinkPlayer(recorder),
      });
      let firstSoundAt: number | undefined;
      let onset: number | undefined;
      talk.onEvent(({ type }) => {
        if (type === 'audio_delta') firstSoundAt ??= recorder.ms;
      });
      const hear = async (sound: Uint8Array): Promise<void> => {
        for (let at = 0; at < sound.length; at += RATE / 25) {
          const data = sound.subarray(at, at + RATE / 25);
          if (
            onset === undefined &&
            firstSoundAt !== undefined &&
            data.some((byte) => byte > 8 && byte < 248)
          )
            onset = recorder.ms;
          talk.hear({ data, rate: RATE });
          await clock.advance(20);
        }
      };
      const silence = (ms: number): Promise<void> => hear(new Uint8Array((ms * RATE * 2) / 1000));
      await silence(200);
      await hear(question);
      await silence(700);
      for (let i = 0; i < 100 && firstSoundAt === undefined; i++) await silence(20);
      expect(agent.isRunning).toBe(true); // the text is not complete yet
      await silence(1200);
      await hear(question);
      await silence(700);
      await talk.close();
      expect((await agent.memory.getMemory()).slice(1, 3).map(({ role }) => role)).toEqual([
        'assistant',
        'user',
      ]);

      const dir = mkdtempSync(path.join(tmpdir(), 'troupe-sound-'));
      try {
        const file = path.join(dir, 'talk.wav');
        writeFileSync(file, recorder.wav());
        const loudness = (fromMs: number, ms: number): number => {
          const report = execFileSync('sh', [
            '-c',
            'sox "$0" -n trim "$1" "$2" stat 2>&1',
            file,
            String(fromMs / 1000),
            String(ms / 1000),
          ]).toString();
          return Number(/RMS\s+amplitude:\s+([\d.]+)/.exec(report)?.[1] ?? NaN);
        };
        expect(onset).toBeDefined();
        expect(loudness((onset ?? 0) - 400, 400)).toBeGreaterThan(0.01);
        expect(loudness((onset ?? 0) + 100, 1000)).toBe(0);
      } finally {
        rmSync(dir, { recursive: true });
      }
    },
  );
});
