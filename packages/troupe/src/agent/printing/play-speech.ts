import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { AudioBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import type { AudioSink } from '../../tts/audio-sink.ts';
import { abortable, whenAborted } from '../../util/abort.ts';
import { toPcm } from '../../util/audio/wav.ts';
import type { TurnControl } from '../turn/turn-control.ts';

/** Sends speech to the stream and to a sink. An interrupt drops what the sink has not played. A sink that fails is a warning. */
export class SpeechPlayer {
  readonly #sink: AudioSink | undefined;
  /** The call whose stop drops the sound. */
  #call: TurnControl | undefined;

  constructor(sink: AudioSink | undefined) {
    this.#sink = sink;
  }

  /** @param speech the next piece of the speech of `msg` */
  async play({ source }: AudioBlock, msg: Msg, call: TurnControl | undefined): Promise<void> {
    if (source.type !== 'base64') return; // an address: only the queue has it
    const { data, mediaType } = source;
    const at = { msgId: msg.id, index: spokenIndex(msg) };
    await call?.emit({ type: 'audio_delta', ...at, data, mediaType, isSpeech: true });
    const sink = this.#sink;
    if (sink === undefined || call?.signal.aborted) return;
    this.#flushWhenStopped(sink, call);
    try {
      const audio = toPcm(data, mediaType);
      const waits = audio && sink.write(audio);
      if (waits) await (call ? abortable(waits, call.signal) : waits);
    } catch (error) {
      if (!call?.signal.aborted)
        getLogger().log('warn', `The speech of ${msg.name} could not be played: ${messageOf(error)}`);
    }
  }

  #flushWhenStopped(sink: AudioSink, call: TurnControl | undefined): void {
    if (call === undefined || call === this.#call) return;
    this.#call = call;
    whenAborted(call.signal, () => {
      try {
        sink.flush();
      } catch (error) {
        getLogger().log('warn', `Speech could not be stopped: ${messageOf(error)}`);
      }
    });
  }
}

/** Index of the last text block of a message: the block that is spoken. */
function spokenIndex(msg: Msg): number {
  return Math.max(
    0,
    msg.getContentBlocks().findLastIndex(({ type }) => type === 'text'),
  );
}
