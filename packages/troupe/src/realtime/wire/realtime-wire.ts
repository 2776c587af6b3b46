import type { ToolResultBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import type { JsonObject } from '../../util/json.ts';
import type { PcmAudio } from '../../util/audio/pcm.ts';
import type { RealtimeEvent } from '../realtime-event.ts';
import type { RealtimeSetup } from '../realtime-model-base.ts';

type Frames = readonly JsonObject[];

/**
 * Translation of one connection to the frames of a vendor and back. Knows nothing of sockets. Reading must bear with unknown, missing and null
 * fields: an event that is not understood is no event. Folder `realtime/wire`: start here.
 */
export interface RealtimeWire {
  /** Whether the model has accepted the setup, and listens. */
  readonly isReady: boolean;
  /** Frames to send when the socket is open. */
  start(setup: RealtimeSetup): Frames;
  /** Events of a frame. */
  read(frame: JsonObject): Iterable<RealtimeEvent>;
  audio(audio: PcmAudio): Frames;
  beginTurn(): Frames;
  commit(): Frames;
  msg(msg: Msg): Frames;
  toolResult(result: ToolResultBlock): Frames;
  respond(instructions?: string): Frames;
  cancel(responseId: string): Frames;
  truncate(itemId: string, ms: number): Frames;
  discard(itemId: string): Frames;
  update(setup: Pick<RealtimeSetup, 'instructions' | 'tools'>): Frames;
}
