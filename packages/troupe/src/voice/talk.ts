import type { AgentBase } from '../agent/agent-base.ts';
import type { Usage } from '../message/usage.ts';
import type { SpeechDetector } from '../realtime/speech-detector.ts';
import type { AudioPlayer } from '../tts/audio-player.ts';
import type { PcmAudio } from '../util/audio/pcm.ts';
import type { TalkListener } from './talk-event.ts';

/** An open conversation with an agent. Text and decisions go to the agent: `talk.agent.call(…)`. */
export interface Talk extends AsyncDisposable {
  readonly agent: AgentBase;
  readonly isClosed: boolean;
  /** Tokens and costs of all responses so far. */
  readonly usage: Usage | undefined;
  /** Bytes of the person's sound that are not sent to the model yet. */
  readonly bufferedBytes: number;
  /** Takes sound of the person, at any rate. */
  hear(audio: PcmAudio): void;
  /** Ends a turn of the person, where the model does not find its end by itself. */
  commit(): void;
  /** Asks for a response, such as a greeting. */
  respond(instructions?: string): void;
  /** Ends what the agent says and does now. */
  interrupt(): Promise<void>;
  /** Calls the listener for each event. The returned function removes it. */
  onEvent(listener: TalkListener): () => void;
  /** Ends the conversation. What was heard stays in memory. */
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Loudspeaker of this conversation alone, whose position says how much was heard. */
  readonly player: AudioPlayer;
  /** Finds the turns of the person here, in place of the model. */
  readonly detector?: SpeechDetector | undefined;
  /** Name of the one who speaks now, asked when a turn begins. @default `userName` of the agent */
  readonly speakerName?: (() => string) | undefined;
}

/** Anything that a person can talk with: a `RealtimeAgent`, or a `VoicePipeline` with any agent. */
export interface Talker {
  readonly agent: AgentBase;
  /** Opens a conversation. An earlier one is closed. */
  connect(options: ConnectOptions): Promise<Talk>;
}
