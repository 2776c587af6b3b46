import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { TroupeError } from '../errors.ts';
import { ModelError } from '../model/model-error.ts';
import {
  SttModelBase,
  wholeSound,
  type SpokenSound,
  type TranscribeOptions,
  type TranscriptDelta,
} from '../stt/stt-model-base.ts';
import { stoppable } from '../util/async/stoppable.ts';
import { resample } from '../util/audio/resampler.ts';
import { toWav } from '../util/audio/wav.ts';

export interface CommandSttOptions {
  /** Program that writes the text of a WAV file to its standard output. */
  readonly command: string;
  /** Arguments; `{file}` becomes the path of a WAV file. Without it, the file is the standard input. */
  readonly args?: readonly string[] | undefined;
  /** Rate of the WAV file. @default 16 000 */
  readonly rate?: number | undefined;
}

const FILE = '{file}';
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_TEXT = 1_000_000;
/** Characters of a program's error output that an error shows. */
const MAX_ERROR_TEXT = 500;

/**
 * Speech recognition by a program on this machine, such as `whisper-cli`: offline, and without a key. No shell is involved.
 *
 * @example
 * ```ts no-run
 * import { CommandSttModel } from 'troupe/speech';
 *
 * const whisper = new CommandSttModel({ command: 'whisper-cli', args: ['-m', 'ggml-base.bin', '-nt', '-np', '-f', '{file}'] });
 * console.log(whisper.modelName);
 * ```
 */
export class CommandSttModel extends SttModelBase {
  readonly #options: CommandSttOptions;

  constructor(options: CommandSttOptions) {
    super(options.command);
    if (typeof options.command !== 'string' || options.command === '')
      throw new TroupeError('invalid_config', 'command must name a program, such as whisper-cli.');
    this.#options = options;
  }

  override transcribe(
    sound: SpokenSound,
    { signal }: TranscribeOptions = {},
  ): AsyncGenerator<TranscriptDelta, void, void> {
    return stoppable((stopped) => this.#transcribe(sound, stopped), signal);
  }

  async *#transcribe(sound: SpokenSound, signal: AbortSignal): AsyncGenerator<TranscriptDelta, void, void> {
    const { args = [], rate = 16_000 } = this.#options;
    const wav = toWav(resample(await wholeSound(sound, MAX_BYTES, signal), rate));
    signal.throwIfAborted();
    if (!args.some((arg) => arg.includes(FILE))) return yield* this.#run(args, wav, signal);
    const dir = mkdtempSync(path.join(tmpdir(), 'troupe-stt-'));
    try {
      const file = path.join(dir, 'sound.wav');
      writeFileSync(file, wav, { mode: 0o600 });
      yield* this.#run(
        args.map((arg) => arg.replaceAll(FILE, file)),
        new Uint8Array(),
        signal,
      );
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }

  async *#run(
    args: readonly string[],
    input: Uint8Array,
    signal: AbortSignal,
  ): AsyncGenerator<TranscriptDelta, void, void> {
    const { command } = this.#options;
    const child = spawn(command, args, { stdio: 'pipe', signal, killSignal: 'SIGKILL' });
    let problem = '';
    child.stderr.setEncoding('utf8').on('data', (line: string) => {
      if (problem.length < MAX_ERROR_TEXT) problem += line;
    });
    child.stdin.on('error', () => {}); // a program that ends early says why on its own
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    ended.catch(() => {}); // thrown below, after the text
    try {
      child.stdin.end(input);
      let length = 0;
      for await (const text of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
        if ((length += text.length) > MAX_TEXT) throw new Error('it wrote too much text');
        yield { text };
      }
      const status = await ended;
      if (status !== 0) throw new Error(problem.trim().slice(0, MAX_ERROR_TEXT) || `it ended with ${status}`);
    } catch (error) {
      signal.throwIfAborted();
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      const reason = isMissing
        ? 'it is not installed'
        : error instanceof Error
          ? error.message
          : String(error);
      const message = `${command} could not write down the sound: ${reason}.`;
      throw new ModelError(message, { kind: 'bad_request', vendor: command, cause: error });
    } finally {
      child.kill('SIGKILL');
    }
  }
}
