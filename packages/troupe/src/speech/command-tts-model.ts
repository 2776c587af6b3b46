import { spawn } from 'node:child_process';
import { TroupeError } from '../errors.ts';
import { ModelError } from '../model/model-error.ts';
import { TtsModelBase, type SpeechDelta, type SynthesizeOptions } from '../tts/tts-model-base.ts';
import { stoppable } from '../util/async/stoppable.ts';
import { WholeSamples, type PcmAudio } from '../util/audio/pcm.ts';
import { WavReader } from '../util/audio/wav.ts';
import { findProgram } from './find-program.ts';

export interface CommandTtsOptions {
  /** Program that reads text from its standard input and writes sound to its standard output. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Format of the sound: a WAV file, or samples of a rate without a header. @default 'wav' */
  readonly output?: 'wav' | { readonly rate: number } | undefined;
}

/** Characters of a program's error output that an error shows. */
const MAX_ERROR_TEXT = 500;

/**
 * Speech of a program on this machine, such as `espeak-ng` or `piper`: offline, and without a key. No shell is involved, and the
 * text is standard input, so no text can be read as an option or a command.
 *
 * @example
 * ```ts no-run
 * import { CommandTtsModel } from 'troupe/speech';
 *
 * const espeak = CommandTtsModel.espeak({ voice: 'en-us' });
 * const piper = new CommandTtsModel({
 *   command: 'piper',
 *   args: ['--model', 'en_US-amy-medium.onnx', '--output-raw'],
 *   output: { rate: 22_050 },
 * });
 * console.log(espeak.modelName, piper.modelName);
 * ```
 */
export class CommandTtsModel extends TtsModelBase {
  readonly #options: CommandTtsOptions;

  constructor(options: CommandTtsOptions) {
    super(options.command);
    if (typeof options.command !== 'string' || options.command === '')
      throw new TroupeError('invalid_config', 'command must name a program, such as espeak-ng.');
    this.#options = options;
  }

  /** Speech of `espeak-ng`. @throws TroupeError if it is not installed */
  static espeak({ voice = 'en' }: { readonly voice?: string | undefined } = {}): CommandTtsModel {
    const command = findProgram(['espeak-ng', 'espeak']);
    if (command === undefined)
      throw new TroupeError(
        'invalid_config',
        'espeak-ng is not installed: apt-get install espeak-ng, or brew install espeak-ng.',
      );
    return new CommandTtsModel({ command, args: ['-v', voice, '--stdin', '--stdout'] });
  }

  override get cacheKey(): string {
    return JSON.stringify([this.#options.command, this.#options.args]);
  }

  override synthesize(
    text: string | AsyncIterable<string>,
    { signal }: SynthesizeOptions = {},
  ): AsyncGenerator<SpeechDelta, void, void> {
    return stoppable((stopped) => this.#speak(text, stopped), signal);
  }

  async *#speak(
    text: string | AsyncIterable<string>,
    signal: AbortSignal,
  ): AsyncGenerator<SpeechDelta, void, void> {
    if (typeof text !== 'string') {
      for await (const part of text) yield* this.#speak(part, signal);
      return;
    }
    const { command, args = [], output = 'wav' } = this.#options;
    const read = output === 'wav' ? wavReader() : rawReader(output.rate);
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
    ended.catch(() => {}); // thrown below, after the sound
    try {
      child.stdin.end(text);
      for await (const bytes of child.stdout) {
        const audio = read(bytes as Buffer);
        if (audio !== undefined) yield { audio };
      }
      const status = await ended;
      if (status !== 0) throw new Error(problem.trim().slice(0, MAX_ERROR_TEXT) || `it ended with ${status}`);
    } catch (error) {
      signal.throwIfAborted();
      throw failure(command, error);
    } finally {
      child.kill('SIGKILL');
    }
  }
}

function wavReader(): (bytes: Uint8Array) => PcmAudio | undefined {
  const reader = new WavReader();
  return (bytes) => reader.feed(bytes);
}

function rawReader(rate: number): (bytes: Uint8Array) => PcmAudio | undefined {
  const samples = new WholeSamples();
  return (bytes) => {
    const data = samples.feed(bytes);
    return data.length === 0 ? undefined : { data, rate };
  };
}

function failure(command: string, cause: unknown): ModelError {
  const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
  const reason = isMissing ? 'it is not installed' : cause instanceof Error ? cause.message : String(cause);
  return new ModelError(`${command} could not speak: ${reason}.`, {
    kind: 'bad_request',
    vendor: command,
    cause,
  });
}
