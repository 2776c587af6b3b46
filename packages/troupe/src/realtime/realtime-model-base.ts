import type { ToolResultBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/tool-schema.ts';
import type { PcmAudio } from '../util/audio/pcm.ts';
import type { RealtimeEvent } from './realtime-event.ts';
import type { RealtimePricing } from './realtime-usage.ts';

/** Abilities of a realtime model, and the steps that the model takes by itself. */
export interface RealtimeCapabilities {
  /** Cuts a spoken item to the part that was heard. Otherwise the whole item counts as heard for the model. */
  readonly truncate: boolean;
  readonly tools: boolean;
  readonly images: boolean;
  /** Can change instructions and tools of an open connection. */
  readonly update: boolean;
  /** Responds to the end of a person's turn by itself. Otherwise `respond` asks for each response. */
  readonly respondsToSpeech: boolean;
  /** Responds by itself to tool results. */
  readonly respondsToToolResults: boolean;
  /** Writes down what a person says while the person still speaks. */
  readonly liveTranscript: boolean;
}

/** State that a new connection starts with. */
export interface RealtimeSetup {
  readonly instructions: string;
  readonly tools: readonly ToolSchema[];
  /** The conversation so far. Spoken messages are restored as text. */
  readonly history: readonly Msg[];
  /** Name of the agent: its messages in the history are those of the model. */
  readonly agentName: string;
  /** Finder of the end of a person's turn: the model, or the caller by `commit`. */
  readonly turns: 'model' | 'caller';
  /** Handle of the connection before, if the vendor gave one. */
  readonly handle?: string | undefined;
}

/** An open connection to a realtime model. Calls never throw; what fails is an `error` or `closed` event. */
export interface RealtimeConnection {
  /** Adds sound of the person, at the rate of the model. */
  sendAudio(audio: PcmAudio): void;
  /** With turns of the caller: the person begins to speak. */
  beginTurn(): void;
  /** With turns of the caller: the sound so far is one turn. */
  commit(): void;
  /** Adds a message: text and images. Sound in it is left out. */
  sendMsg(msg: Msg): void;
  sendToolResult(result: ToolResultBlock): void;
  /** Asks for a response. @param instructions for this response only, where the vendor has such */
  respond(instructions?: string): void;
  /** Ends a response early. Harmless after its end. */
  cancel(responseId: string): void;
  /** Cuts an item to what was heard; 0 removes it. Does nothing without the capability. */
  truncate(itemId: string, ms: number): void;
  /** Removes a turn of the person that was no speech. */
  discard(itemId: string): void;
  update(setup: Pick<RealtimeSetup, 'instructions' | 'tools'>): void;
  /** Bytes that are not sent yet. */
  readonly bufferedBytes: number;
  /** Closes the connection at once. No event follows. */
  close(): void;
}

export interface RealtimeConnectOptions {
  /** Gets every event, in order. Must not throw. */
  readonly onEvent: (event: RealtimeEvent) => void;
  /** Ends the attempt to connect. Has no effect on an open connection. */
  readonly signal: AbortSignal;
}

/**
 * Port to a model that listens and speaks over one connection. An adapter translates the vendor's wire to `RealtimeEvent` and back;
 * whose turn it is, what was heard and what is stored is decided above it. Folder `realtime`: start here.
 */
export abstract class RealtimeModelBase {
  abstract readonly capabilities: RealtimeCapabilities;
  /** Rate of the sound that the model takes. */
  abstract readonly inputRate: number;
  readonly vendorName: string | undefined = undefined;
  readonly host: string | undefined = undefined;
  readonly pricing: RealtimePricing | undefined = undefined;

  constructor(readonly modelName: string) {}

  /**
   * Opens a connection. Resolves when the model is ready to listen.
   * @throws ModelError
   */
  abstract connect(setup: RealtimeSetup, options: RealtimeConnectOptions): Promise<RealtimeConnection>;
}
