import type { Usage } from '../message/usage.ts';
import type { PcmAudio } from '../util/audio/pcm.ts';
import type { TalkListener } from './talk-event.ts';

/** An open conversation with a realtime agent. */
export interface Talk extends AsyncDisposable {
  readonly isClosed: boolean;
  /** Tokens and costs of all responses so far. */
  readonly usage: Usage | undefined;
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
