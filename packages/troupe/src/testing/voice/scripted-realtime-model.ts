import type { ToolResultBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import type { RealtimeEvent } from '../../realtime/realtime-event.ts';
import {
  RealtimeModelBase,
  type RealtimeCapabilities,
  type RealtimeConnection,
  type RealtimeConnectOptions,
  type RealtimeSetup,
} from '../../realtime/realtime-model-base.ts';
import type { PcmAudio } from '../../util/audio/pcm.ts';
import type { JsonObject } from '../../util/json.ts';

/** One response of a scripted realtime model. */
export interface ScriptedResponse {
  /** Words that are spoken. */
  readonly text?: string | undefined;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input?: JsonObject }[];
  /** Sound of one character. @default 50 */
  readonly msPerCharacter?: number | undefined;
  /** Words without sound. @default false */
  readonly isSilent?: boolean | undefined;
  /** The response stays open after its sound: no `response_done`. @default false */
  readonly isOpen?: boolean | undefined;
}

/** One thing that was sent to the model. */
export type SentToModel =
  | { readonly type: 'msg'; readonly msg: Msg }
  | { readonly type: 'result'; readonly result: ToolResultBlock }
  | { readonly type: 'respond'; readonly instructions?: string }
  | { readonly type: 'cancel'; readonly responseId: string }
  | { readonly type: 'truncate'; readonly itemId: string; readonly ms: number }
  | { readonly type: 'discard'; readonly itemId: string }
  | { readonly type: 'update'; readonly instructions: string; readonly tools: readonly string[] }
  | { readonly type: 'commit' | 'begin_turn' };

const CAPABILITIES: RealtimeCapabilities = {
  truncate: true,
  tools: true,
  images: true,
  update: true,
  respondsToSpeech: false,
  respondsToToolResults: false,
  liveTranscript: true,
};
const RATE = 24_000;
const INPUT_RATE = 16_000;

/** Realtime model for tests, without a network: gives the responses of a script, one for each `respond`. Folder `testing/voice`: start here. */
export class ScriptedRealtimeModel extends RealtimeModelBase {
  override readonly capabilities: RealtimeCapabilities;
  override readonly inputRate = INPUT_RATE;
  override readonly vendorName = 'Scripted';
  /** All connections so far. */
  readonly connections: ScriptedConnection[] = [];
  readonly #script: ScriptedResponse[];
  #count = 0;

  constructor(script: readonly ScriptedResponse[] = [], capabilities: Partial<RealtimeCapabilities> = {}) {
    super('scripted-realtime');
    this.#script = [...script];
    this.capabilities = { ...CAPABILITIES, ...capabilities };
  }

  /** The newest connection. @throws Error if there is none */
  get connection(): ScriptedConnection {
    const connection = this.connections.at(-1);
    if (connection === undefined) throw new Error('Nobody has connected.');
    return connection;
  }

  override async connect(
    setup: RealtimeSetup,
    { onEvent }: RealtimeConnectOptions,
  ): Promise<RealtimeConnection> {
    const connection = new ScriptedConnection(setup, onEvent, this.capabilities, () => ({
      number: ++this.#count,
      response: this.#script.shift() ?? { text: 'The script is over.' },
    }));
    this.connections.push(connection);
    return connection;
  }
}

/** A connection to a scripted model, with what was sent, and the person who speaks. */
export class ScriptedConnection implements RealtimeConnection {
  readonly setup: RealtimeSetup;
  readonly sent: SentToModel[] = [];
  readonly bufferedBytes = 0;
  /** Milliseconds of the person's sound. */
  heardMs = 0;
  isClosed = false;
  readonly #onEvent: (event: RealtimeEvent) => void;
  readonly #capabilities: RealtimeCapabilities;
  readonly #next: () => { readonly number: number; readonly response: ScriptedResponse };
  #active: string | undefined;
  #turns = 0;

  constructor(
    setup: RealtimeSetup,
    onEvent: (event: RealtimeEvent) => void,
    capabilities: RealtimeCapabilities,
    next: () => { readonly number: number; readonly response: ScriptedResponse },
  ) {
    this.setup = setup;
    this.#onEvent = onEvent;
    this.#capabilities = capabilities;
    this.#next = next;
  }

  /** Sends an event as the model does. */
  emit(event: RealtimeEvent): void {
    if (!this.isClosed) this.#onEvent(event);
  }

  /** Begins to speak as the person. @returns the id of the turn */
  beginSpeech(): string {
    const itemId = `said_${++this.#turns}`;
    this.emit({ type: 'speech_started', itemId });
    return itemId;
  }

  /** Says words as the person, and ends the turn. */
  say(text: string, itemId = this.beginSpeech()): void {
    if (this.#capabilities.liveTranscript && text !== '')
      this.emit({ type: 'input_transcript_delta', itemId, text });
    this.emit({ type: 'speech_stopped', itemId });
    if (this.#capabilities.respondsToSpeech) void this.#speak();
    this.emit({ type: 'input_transcript_done', itemId, text });
  }

  /** Ends the connection as a network does. */
  lose(canReconnect = true): void {
    this.emit({ type: 'closed', message: 'The connection was lost.', canReconnect });
    this.isClosed = true;
  }

  sendAudio({ data }: PcmAudio): void {
    this.heardMs += data.length / 2 / (INPUT_RATE / 1000);
  }

  beginTurn(): void {
    this.sent.push({ type: 'begin_turn' });
  }

  commit(): void {
    this.sent.push({ type: 'commit' });
  }

  sendMsg(msg: Msg): void {
    this.sent.push({ type: 'msg', msg });
  }

  sendToolResult(result: ToolResultBlock): void {
    this.sent.push({ type: 'result', result });
    if (this.#capabilities.respondsToToolResults) void this.#speak();
  }

  respond(instructions?: string): void {
    this.sent.push(instructions === undefined ? { type: 'respond' } : { type: 'respond', instructions });
    void this.#speak();
  }

  cancel(responseId: string): void {
    this.sent.push({ type: 'cancel', responseId });
    if (this.#active !== responseId) return;
    this.#active = undefined;
    this.emit({ type: 'response_done', responseId, status: 'cancelled', usage: USAGE });
  }

  truncate(itemId: string, ms: number): void {
    this.sent.push({ type: 'truncate', itemId, ms });
  }

  discard(itemId: string): void {
    this.sent.push({ type: 'discard', itemId });
  }

  update({ instructions, tools }: Pick<RealtimeSetup, 'instructions' | 'tools'>): void {
    this.sent.push({ type: 'update', instructions, tools: tools.map(({ name }) => name) });
  }

  close(): void {
    this.isClosed = true;
  }

  /** Gives the next response of the script, word by word: its sound comes much faster than it is played. */
  async #speak(): Promise<void> {
    const { number, response } = this.#next();
    const { text = '', calls = [], msPerCharacter = 50, isSilent = false, isOpen = false } = response;
    const responseId = `resp_${number}`;
    const itemId = `item_${number}`;
    this.#active = responseId;
    const tell = async (event: RealtimeEvent): Promise<void> => {
      await undefined;
      if (this.#active === responseId) this.emit(event);
    };
    await tell({ type: 'response_created', responseId });
    for (const word of text.match(/\S+\s*|\s+/g) ?? []) {
      await tell({ type: 'transcript_delta', responseId, itemId, text: word, isSilent });
      const data = new Uint8Array(Math.round((word.length * msPerCharacter * RATE) / 1000) * 2);
      if (!isSilent) await tell({ type: 'audio_delta', responseId, itemId, audio: { data, rate: RATE } });
    }
    if (text !== '' && !isSilent) await tell({ type: 'audio_done', responseId, itemId });
    for (const { id, name, input = {} } of calls)
      await tell({ type: 'tool_call', responseId, call: { id, name, json: JSON.stringify(input) } });
    if (isOpen) return;
    await tell({ type: 'response_done', responseId, status: 'completed', usage: USAGE });
    if (this.#active === responseId) this.#active = undefined;
  }
}

const USAGE = { inputTokens: 10, outputTokens: 20, inputAudioTokens: 8, outputAudioTokens: 15 };
