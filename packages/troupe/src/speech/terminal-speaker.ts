import { spawn, type ChildProcess } from 'node:child_process';
import type { AudioSink } from '../tts/audio-sink.ts';
import type { PcmAudio } from '../util/audio/pcm.ts';
import { Resampler } from '../util/audio/resampler.ts';
import { findProgram } from './find-program.ts';

/** Rate of the sound that players get. */
const RATE = 24_000;

/** Players that take samples from standard input. */
const PLAYERS: Readonly<Record<string, readonly string[]>> = {
  'pw-play': ['--raw', `--rate=${RATE}`, '--channels=1', '--format=s16', '-'],
  aplay: ['-q', '-t', 'raw', '-f', 'S16_LE', '-r', String(RATE), '-c', '1', '-'],
  ffplay: ['-loglevel', 'quiet', '-nodisp', '-autoexit', '-f', 's16le', '-ar', String(RATE), '-i', '-'],
  play: ['-q', '-t', 'raw', '-r', String(RATE), '-e', 'signed', '-b', '16', '-c', '1', '-'],
};

export interface TerminalSpeakerOptions {
  /** Player with its arguments, which takes 16-bit samples of 24 kHz from standard input. @default the first installed of pw-play, aplay, ffplay and play (sox) */
  readonly player?: readonly [command: string, ...args: string[]] | undefined;
}

/**
 * Plays sound by a player that is installed. Without one, sound is dropped (`isAvailable` is false): that is no error. The program
 * lives until the sound that was written is played.
 */
export class TerminalSpeaker implements AudioSink {
  readonly #player: readonly string[] | undefined;
  #child: ChildProcess | undefined;
  #resampler: Resampler | undefined;

  constructor({ player }: TerminalSpeakerOptions = {}) {
    const found = player === undefined ? findProgram(Object.keys(PLAYERS)) : undefined;
    this.#player = player ?? (found === undefined ? undefined : [found, ...(PLAYERS[found] ?? [])]);
  }

  /** Whether there is a player. */
  get isAvailable(): boolean {
    return this.#player !== undefined;
  }

  write({ data, rate }: PcmAudio): void | Promise<void> {
    const stdin = this.#start()?.stdin;
    if (!stdin) return;
    if (this.#resampler?.from !== rate) this.#resampler = new Resampler(rate, RATE);
    if (stdin.write(this.#resampler.feed(data))) return;
    return new Promise((resolve) => {
      stdin.once('drain', resolve);
      stdin.once('close', resolve);
    });
  }

  flush(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
    this.#resampler = undefined;
  }

  /** Resolves when everything is played, or the player is gone. */
  async drain(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    await new Promise<void>((resolve) => {
      child.once('close', () => resolve());
      child.stdin?.end(this.#resampler?.end());
    });
    this.#resampler = undefined;
  }

  #start(): ChildProcess | undefined {
    const [command, ...args] = this.#player ?? [];
    if (this.#child !== undefined || command === undefined) return this.#child;
    const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'ignore'] });
    const forget = (): void => {
      if (this.#child === child) this.#child = undefined;
    };
    child.once('error', forget).once('close', forget);
    child.stdin.on('error', () => {}); // the player has ended
    return (this.#child = child);
  }
}
