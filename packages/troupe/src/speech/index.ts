/** Speech on this machine. Folder `speech`: start here. */
export { CommandSttModel, type CommandSttOptions } from './command-stt-model.ts';
export { CommandTtsModel, type CommandTtsOptions } from './command-tts-model.ts';
export { TerminalSpeaker, type TerminalSpeakerOptions } from './terminal-speaker.ts';
export { WavFile, type WavFileOptions } from './wav-file.ts';
export { CacheTtsModel, type CacheTtsOptions } from '../tts/cache-tts-model.ts';
export { MarkdownSpeech, SentenceSplitter, type SpeakableFilter } from '../tts/speech-text.ts';
export { TtsModelBase, type SpeechDelta, type SynthesizeOptions } from '../tts/tts-model-base.ts';
export {
  SttModelBase,
  type SpokenSound,
  type TranscribeOptions,
  type Transcript,
  type TranscriptDelta,
} from '../stt/stt-model-base.ts';
export { TranscribeModel } from '../stt/transcribe-model.ts';
export type { AudioPlayer, PlayedItem } from '../tts/audio-player.ts';
export type { AudioSink } from '../tts/audio-sink.ts';
export { SinkPlayer } from '../tts/sink-player.ts';
export { durationOf, type PcmAudio } from '../util/audio/pcm.ts';
export { Resampler, resample } from '../util/audio/resampler.ts';
export { fromWav, toWav } from '../util/audio/wav.ts';
