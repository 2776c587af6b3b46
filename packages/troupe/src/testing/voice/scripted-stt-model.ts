import { SttModelBase, type SpokenSound, type TranscriptDelta } from '../../stt/stt-model-base.ts';
import { durationOf } from '../../util/audio/pcm.ts';

/** Speech recognition for tests, without a network: hears the texts of a script, one for each sound. `heardMs` has the lengths of the sounds. */
export class ScriptedSttModel extends SttModelBase {
  readonly heardMs: number[] = [];
  readonly #script: (string | Error)[];

  /** @param script texts, or errors that are thrown */
  constructor(script: readonly (string | Error)[]) {
    super('scripted-stt');
    this.#script = [...script];
  }

  override async *transcribe(sound: SpokenSound): AsyncGenerator<TranscriptDelta, void, void> {
    let ms = 0;
    for await (const piece of 'data' in sound ? [sound] : sound) ms += durationOf(piece);
    this.heardMs.push(ms);
    const text = this.#script.shift() ?? '';
    if (text instanceof Error) throw text;
    if (text !== '') yield { text };
  }
}
