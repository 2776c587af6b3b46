import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ReActAgent } from '../react/react-agent.ts';
import { ScriptedModel, ToneTtsModel } from '../testing/index.ts';
import type { SpeechDelta, TtsModelBase } from '../tts/tts-model-base.ts';
import { durationOf, samplesOf, type PcmAudio } from '../util/audio/pcm.ts';
import { fromWav } from '../util/audio/wav.ts';
import { CacheTtsModel, CommandSttModel, CommandTtsModel, TerminalSpeaker, WavFile } from './index.ts';

const hasEspeak = spawnSync('espeak-ng', ['--version']).status === 0;
const folder = mkdtempSync(path.join(tmpdir(), 'troupe-speech-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function soundOf(model: TtsModelBase, text: string): Promise<PcmAudio> {
  const pieces: number[] = [];
  let rate = 0;
  for await (const { audio } of model.synthesize(text)) {
    if (audio === undefined) continue;
    pieces.push(...audio.data);
    rate = audio.rate;
  }
  return { data: Uint8Array.from(pieces), rate };
}

const loudness = ({ data }: PcmAudio): number =>
  Math.max(...samplesOf(data).map((sample) => Math.abs(sample)));

/** A program that writes its standard input and its arguments, as samples, to its standard output. */
const ECHO = 'process.stdin.pipe(process.stdout)';

describe('CommandTtsModel', () => {
  it('gives the text to the program as its input, and no shell reads it', async () => {
    const model = new CommandTtsModel({
      command: process.execPath,
      args: ['-e', ECHO],
      output: { rate: 8000 },
    });
    const text = '$(touch x); `id` --version\n"quoted"';
    const { data, rate } = await soundOf(model, text);
    expect(Buffer.from(data).toString()).toBe(text.slice(0, text.length - (text.length % 2)));
    expect(rate).toBe(8000);
  });

  it('names the program and its words when it fails, or is missing', async () => {
    const failing = new CommandTtsModel({
      command: process.execPath,
      args: ['-e', 'console.error("no voice"); process.exit(3)'],
    });
    await expect(soundOf(failing, 'Hello.')).rejects.toThrow('could not speak: no voice.');
    const missing = new CommandTtsModel({ command: 'no-such-speaker' });
    await expect(soundOf(missing, 'Hello.')).rejects.toThrow(
      'no-such-speaker could not speak: it is not installed.',
    );
    const page = new CommandTtsModel({
      command: process.execPath,
      args: ['-e', 'console.log("<html>not found")'],
    });
    await expect(soundOf(page, 'Hello.')).rejects.toThrow('is not a WAV file');
  });

  it('ends the program when the reader leaves or the signal is aborted', async () => {
    const args = ['-e', 'setInterval(() => process.stdout.write(Buffer.alloc(64)), 1)'];
    const model = new CommandTtsModel({ command: process.execPath, args, output: { rate: 8000 } });
    for await (const _delta of model.synthesize('endless')) break;
    const caller = new AbortController();
    const speech = model.synthesize('endless', { signal: caller.signal });
    await speech.next();
    caller.abort(new Error('enough'));
    const rest = async (): Promise<void> => {
      for await (const _delta of speech);
    };
    await expect(rest()).rejects.toThrow('enough');
  });

  it.skipIf(!hasEspeak)('speaks with espeak-ng (skipped where it is not installed)', async () => {
    const sound = await soundOf(CommandTtsModel.espeak(), 'The weather is sunny in Lisbon today.');
    expect(durationOf(sound)).toBeGreaterThan(1000);
    expect(loudness(sound)).toBeGreaterThan(2000);
  });
});

describe('WavFile', () => {
  it('is a whole file after each write, at one rate', () => {
    const file = path.join(folder, 'two-rates.wav');
    using wav = new WavFile(file, { rate: 16_000 });
    wav.write({ data: new Uint8Array(16_000), rate: 8000 });
    expect(fromWav(readFileSync(file)).rate).toBe(16_000);
    wav.write({ data: new Uint8Array(48_000), rate: 24_000 });
    wav.close();
    const sound = fromWav(readFileSync(file));
    expect(Math.abs(durationOf(sound) - 2000)).toBeLessThan(10);
  });

  it.skipIf(!hasEspeak)(
    'has the answer of an agent, spoken offline (skipped where espeak-ng is not installed)',
    async () => {
      const file = path.join(folder, 'answer.wav');
      using wav = new WavFile(file);
      const model = new ScriptedModel([
        { text: 'It is sunny. Take your sunglasses with you.', chunkSize: 4 },
      ]);
      const ttsModel = CommandTtsModel.espeak();
      const agent = new ReActAgent({ name: 'Friday', model, ttsModel, speaker: wav, console: false });
      const order: string[] = [];
      for await (const { type } of agent.stream('How is the weather?')) order.push(type);
      const sound = fromWav(readFileSync(file));
      expect(durationOf(sound)).toBeGreaterThan(1500);
      expect(loudness(sound)).toBeGreaterThan(2000);
      expect(order.at(-1)).toBe('run_end');
    },
  );
});

describe('TerminalSpeaker', () => {
  const player = (file: string): [string, ...string[]] => [
    process.execPath,
    '-e',
    `process.stdin.pipe(require("fs").createWriteStream(${JSON.stringify(file)}))`,
  ];

  it('gives sound of any rate to the player as samples of 24 kHz', async () => {
    const file = path.join(folder, 'played.raw');
    const speaker = new TerminalSpeaker({ player: player(file) });
    await speaker.write({ data: new Uint8Array(32_000), rate: 16_000 });
    await speaker.drain();
    const bytes = readFileSync(file).length;
    expect(Math.abs(bytes - 48_000)).toBeLessThan(200);
  });

  it('drops sound without a player, and after a player that is gone', async () => {
    const speaker = new TerminalSpeaker({ player: ['no-such-player'] });
    await speaker.write({ data: new Uint8Array(200_000), rate: 24_000 });
    speaker.flush();
    await speaker.drain();
  });
});

describe('CacheTtsModel', () => {
  const piecesOf = async (model: TtsModelBase, text: string): Promise<SpeechDelta[]> => {
    const pieces: SpeechDelta[] = [];
    for await (const delta of model.synthesize(text)) pieces.push(delta);
    return pieces;
  };

  it('asks the model once for a text, and keeps the sound that was used last', async () => {
    const tone = new ToneTtsModel({ rate: 8000 }); // 160 bytes for each character
    const cache = new CacheTtsModel(tone, { maxBytes: 400 });
    const first = await piecesOf(cache, 'a');
    await piecesOf(cache, 'b');
    expect(await piecesOf(cache, 'a')).toEqual(first);
    await piecesOf(cache, 'c'); // b was used longest ago
    await piecesOf(cache, 'a');
    await piecesOf(cache, 'b');
    expect(tone.texts).toEqual(['a', 'b', 'c', 'b']);
  });

  it('keeps no speech that was cut off', async () => {
    const tone = new ToneTtsModel();
    const cache = new CacheTtsModel(tone);
    for await (const _delta of cache.synthesize('a')) break;
    await piecesOf(cache, 'a');
    await piecesOf(cache, 'a');
    expect(tone.texts).toEqual(['a', 'a']);
  });
});

describe('CommandSttModel', () => {
  const sound: PcmAudio = { data: new Uint8Array(3200), rate: 16_000 };
  const READ = 'process.stdout.write(String(require("fs").readFileSync(process.argv[1] ?? 0).length))';

  it('gives the program a WAV file, by its path or as its input, and removes the file', async () => {
    const byInput = new CommandSttModel({ command: process.execPath, args: ['-e', READ] });
    expect(await byInput.toTranscript(sound)).toEqual({ text: '3244' });
    const byPath = new CommandSttModel({
      command: process.execPath,
      args: ['-e', `${READ};process.stdout.write(" " + process.argv[1])`, '{file}'],
      rate: 8000,
    });
    const { text } = await byPath.toTranscript(sound);
    const [bytes, file = ''] = text.split(' ');
    expect([bytes, existsSync(file)]).toEqual(['1644', false]);
  });

  it('names the program and its words when it fails, and ends it on an abort', async () => {
    const args = ['-e', 'console.error("no model"); process.exit(3)'];
    const failing = new CommandSttModel({ command: process.execPath, args });
    await expect(failing.toTranscript(sound)).rejects.toThrow('could not write down the sound: no model.');
    const endless = new CommandSttModel({
      command: process.execPath,
      args: ['-e', 'setInterval(() => process.stdout.write("word "), 1)'],
    });
    for await (const _delta of endless.transcribe(sound)) break;
    const caller = new AbortController();
    const transcript = endless.transcribe(sound, { signal: caller.signal })[Symbol.asyncIterator]();
    await transcript.next();
    caller.abort(new Error('enough'));
    const rest = async (): Promise<void> => {
      while (!(await transcript.next()).done);
    };
    await expect(rest()).rejects.toThrow('enough');
  });
});
