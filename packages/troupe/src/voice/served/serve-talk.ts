import { getLogger } from '../../config/run-config.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { Msg } from '../../message/msg.ts';
import type { SpeechDetector } from '../../realtime/speech-detector.ts';
import { whenAborted } from '../../util/abort.ts';
import { BYTES_PER_SAMPLE, type PcmAudio } from '../../util/audio/pcm.ts';
import { fromBase64, toBase64 } from '../../util/base64.ts';
import { startTimer } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { redactKeys } from '../../util/redaction/key-patterns.ts';
import type { Talk, Talker } from '../talk.ts';
import type { TalkEvent } from '../talk-event.ts';
import { readClientEvent, type ClientEvent } from './client-event.ts';
import { ModelEventWriter } from './model-event.ts';
import { toServerEvent, type ServerEvent } from './server-event.ts';
import { SocketPlayer } from './socket-player.ts';

/** The part of a WebSocket that is used: of the package `ws`, Bun and Deno. */
export interface TalkSocket {
  readonly bufferedAmount: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  /** Stops reading, where the socket can do so. */
  pause?(): void;
  resume?(): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close' | 'error', listener: () => void): void;
}

export interface ServeTalkOptions {
  /** Id of the session in events. @default a new one */
  readonly sessionId?: string | undefined;
  /** Finds the turns of the person here, in place of the model. */
  readonly detector?: SpeechDetector | undefined;
  /** Ends the conversation. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called before each event but those of sound and playback, with the characters of its text or image. An event is refused by throwing; many end the
   * conversation.
   */
  readonly onRequest?: ((size: number) => void) | undefined;
  /** Called with the conversation when it is open. */
  readonly onTalk?: ((talk: Talk) => void) | undefined;
}

/** Bytes that may wait for a slow reader. More sound waits in the player, whose position then stands still. */
const MAX_WAITING = 128 * 1024;
/** Bytes that may wait for the model. Then nothing is read from the client. */
const MAX_MODEL_BYTES = 1024 * 1024;
const LOOK_MS = 20;
/** Events that are not understood until the connection is closed. */
const MAX_INVALID = 20;
/** Texts and decisions that may wait for the agent. */
const MAX_CALLS = 20;
/** Maximum bytes of events in the buffer of a slow reader. */
const MAX_UNREAD = 8 * 1024 * 1024;
/** Time in which a client has to open the conversation. */
const OPEN_MS = 30_000;
/** Close code for a reader beyond `MAX_UNREAD`. */
const TOO_SLOW = 1013;
/** Events that come many times a second. */
const UNCOUNTED: ReadonlySet<string> = new Set([
  'client_audio_append',
  'client_audio_commit',
  'client_playback',
]);
/** Longest sound of one event. */
const MAX_AUDIO_BYTES = 2 * 1024 * 1024;

/**
 * Serves a conversation to a front end over a WebSocket, with the events of AgentScope's realtime agents. `client_session_create` opens the conversation. Sound is sent
 * in real time, and waits for a slow reader. Resolves when the connection has ended and the conversation is closed. Folder `voice/served`: start here.
 *
 * @example
 * ```ts no-run
 * import { WebSocketServer } from 'ws';
 * import { OpenAIRealtimeModel } from 'troupe/openai';
 * import { RealtimeAgent, serveTalk } from 'troupe/realtime';
 *
 * const realtimeModel = new OpenAIRealtimeModel({ modelName: 'gpt-realtime-2.1' });
 * new WebSocketServer({ host: '127.0.0.1', port: 8080 }).on('connection', (socket) => {
 *   void serveTalk(socket, new RealtimeAgent({ name: 'Friday', realtimeModel }));
 * });
 * ```
 */
export function serveTalk(socket: TalkSocket, talker: Talker, options: ServeTalkOptions = {}): Promise<void> {
  return new ServedTalk(socket, talker, options).done;
}

class ServedTalk {
  readonly #socket: TalkSocket;
  readonly #talker: Talker;
  readonly #options: ServeTalkOptions;
  readonly #sessionId: string;
  readonly #writer: ModelEventWriter;
  readonly #player: SocketPlayer;
  readonly #done = Promise.withResolvers<void>();
  /** Response of each item that is played. */
  readonly #responses = new Map<string, string>();
  #lastResponse = '';
  #talk: Talk | undefined;
  /** Settles when the conversation is open, or could not be opened. Never rejects. */
  #opening: Promise<void> | undefined;
  #unlink: () => void = () => {};
  #isOver = false;
  #isPaused = false;
  #invalid = 0;
  /** Calls of the client, one after the other. Never rejects. */
  #calls: Promise<void> = Promise.resolve();
  #waitingCalls = 0;
  /** Ends a call that still waits when the conversation is over. */
  readonly #over = new AbortController();
  readonly #stopTimer: () => void;
  #wakeWriter: () => void = () => {};

  constructor(socket: TalkSocket, talker: Talker, options: ServeTalkOptions) {
    this.#socket = socket;
    this.#talker = talker;
    this.#options = options;
    this.#sessionId = options.sessionId ?? newId();
    this.#writer = new ModelEventWriter(this.#sessionId);
    this.#player = new SocketPlayer((itemId, audio) => this.#sendAudio(itemId, audio));
    this.#player.onEnd(({ itemId, isComplete }) => {
      if (isComplete)
        this.#sendModelEvent({ type: 'audio_done', itemId, responseId: this.#responseOf(itemId) });
    });
    this.#stopTimer = startTimer(OPEN_MS, () => void this.#end(1008), true);
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('close', () => void this.#end());
    socket.addEventListener('error', () => {}); // followed by close
    this.#unlink = whenAborted(options.signal, () => void this.#end(1001));
  }

  /** Resolves when everything is closed. Never rejects. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  // Events of the client

  #receive(data: unknown): void {
    if (this.#isOver) return;
    try {
      this.#take(readClientEvent(typeof data === 'string' ? data : ''));
    } catch (error) {
      this.#fail('invalid_event', error);
      if (++this.#invalid >= MAX_INVALID) void this.#end(1008);
    }
  }

  #take(event: ClientEvent): void {
    if (event.type === 'client_session_create') {
      this.#player.hasReports = event.config?.['reports_playback'] === true;
      return void (this.#opening ??= this.#open());
    }
    if (event.type === 'client_session_end') return void this.#end(1000);
    const talk = this.#talk;
    if (talk === undefined) return; // not open yet
    if (!UNCOUNTED.has(event.type)) this.#options.onRequest?.(sizeOf(event));
    switch (event.type) {
      case 'client_audio_append':
        talk.hear(soundOf(event.audio, event.format.rate));
        this.#waitForModel(talk);
        break;
      case 'client_audio_commit':
        talk.commit();
        break;
      case 'client_text_append':
        this.#call(talk, event.text);
        break;
      case 'client_image_append': {
        const source = { type: 'base64', mediaType: event.format.type, data: event.image } as const;
        this.#run(talk.agent.observe(Msg.user([{ type: 'image', source }])));
        break;
      }
      case 'client_response_create':
        talk.respond();
        break;
      case 'client_response_cancel':
        this.#run(talk.interrupt());
        break;
      case 'client_tool_result': {
        const pending = talk.agent.pendingCalls.find(
          ({ id, call }) => call.id === event.id || id === event.id,
        );
        if (pending === undefined) throw new Error(`No tool call ${event.id} waits for a result.`);
        const decision = { id: pending.id, verdict: 'result', output: event.output } as const;
        this.#call(talk, undefined, [decision]);
        break;
      }
      case 'client_decision': {
        const decision = { id: event.id, verdict: event.verdict };
        this.#call(talk, undefined, [decision]);
        break;
      }
      case 'client_playback':
        this.#player.report(event.item_id, event.played_ms);
        break;
      default:
        break;
    }
  }

  async #open(): Promise<void> {
    this.#stopTimer();
    try {
      const { detector, onTalk } = this.#options;
      const talk = await this.#talker.connect({ player: this.#player, detector });
      this.#talk = talk;
      if (this.#isOver) return; // closed by `#end`
      talk.onEvent((event) => this.#tell(event));
      this.#send({ type: 'server_session_created', session_id: this.#sessionId });
      this.#send(toServerEvent({ type: 'model_session_created', session_id: this.#sessionId }, talk.agent));
      onTalk?.(talk);
    } catch (error) {
      this.#fail('not_connected', error);
      void this.#end(1011);
    }
  }

  /** Calls the agent when the earlier calls are done. @throws TroupeError when too many wait */
  #call(talk: Talk, text: string | undefined, decisions?: readonly PendingDecision[]): void {
    if (this.#waitingCalls >= MAX_CALLS)
      throw new TroupeError(
        'limit_reached',
        `More than ${MAX_CALLS} texts and decisions wait for the agent.`,
      );
    this.#waitingCalls++;
    const call = async (): Promise<void> => {
      this.#waitingCalls--;
      if (this.#isOver) return;
      const { signal } = this.#over;
      await talk.agent.call(text, { onBusy: 'queue', signal, ...(decisions && { decisions }) });
    };
    this.#calls = this.#calls.then(call).catch((error: unknown) => this.#fail('failed', error));
  }

  #run(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#fail('failed', error));
  }

  /** Reads nothing from the client while the model is behind. */
  #waitForModel(talk: Talk): void {
    const socket = this.#socket;
    if (this.#isPaused || socket.pause === undefined || socket.resume === undefined) return;
    if (talk.bufferedBytes < MAX_MODEL_BYTES) return;
    this.#isPaused = true;
    socket.pause();
    const look = (): void => {
      if (!this.#isOver && talk.bufferedBytes > MAX_MODEL_BYTES / 2)
        return void startTimer(LOOK_MS, look, true);
      this.#isPaused = false;
      socket.resume?.();
    };
    startTimer(LOOK_MS, look, true);
  }

  // Events for the client

  #tell(event: TalkEvent): void {
    const { agent } = this.#talker;
    const part = { agent_id: agent.id, agent_name: agent.name };
    switch (event.type) {
      case 'audio_delta':
        this.#remember(event.itemId, event.responseId); // the player sends the sound when it is due
        break;
      case 'audio_done':
        break; // told when the last sound was sent
      case 'response_created':
        this.#lastResponse = event.responseId;
        this.#sendModelEvent(event);
        break;
      case 'tool_result': {
        const { id, name, output } = event.result;
        this.#send({
          type: 'agent_response_tool_result',
          tool_result: { type: 'tool_result', id, name, output },
          ...part,
        });
        break;
      }
      case 'paused':
      case 'resumed':
      case 'reconnecting':
      case 'reconnected':
        this.#send({ type: `agent_${event.type}`, ...part });
        break;
      case 'error':
        this.#sendModelEvent({ ...event, message: redactKeys(event.message) });
        break;
      case 'cut':
        this.#send({ type: 'agent_cut', response_id: event.responseId, heard: event.heard, ...part });
        break;
      case 'approval_needed':
        this.#send({ type: 'agent_approval_needed', pending: event.pending, ...part });
        break;
      case 'closed':
        this.#sendModelEvent(event);
        void this.#end(1011);
        break;
      default:
        this.#sendModelEvent(event);
    }
  }

  #sendModelEvent(event: Parameters<ModelEventWriter['write']>[0]): void {
    const written = this.#writer.write(event);
    if (written !== undefined) this.#send(toServerEvent(written, this.#talker.agent));
  }

  #sendAudio(itemId: string, audio: PcmAudio): void | Promise<void> {
    const { agent } = this.#talker;
    this.#send({
      type: 'agent_response_audio_delta',
      response_id: this.#responseOf(itemId),
      item_id: itemId,
      delta: toBase64(audio.data),
      format: { type: 'audio/pcm', rate: audio.rate },
      agent_id: agent.id,
      agent_name: agent.name,
    });
    if (this.#socket.bufferedAmount > MAX_WAITING) return this.#drained();
  }

  /** Resolves when the reader has caught up, or is gone. */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      let cancel: () => void = () => {};
      const look = (): void => {
        if (this.#isOver || this.#socket.bufferedAmount <= MAX_WAITING / 2) return resolve();
        cancel = startTimer(LOOK_MS, look, true);
      };
      this.#wakeWriter = () => {
        cancel();
        resolve();
      };
      look();
    });
  }

  /** Sound may be due before its response is told: then it is that of the newest response. */
  #responseOf(itemId: string): string {
    return this.#responses.get(itemId) ?? this.#lastResponse;
  }

  #remember(itemId: string, responseId: string): void {
    this.#responses.set(itemId, responseId);
    const [oldest] = this.#responses.keys();
    if (this.#responses.size > 64 && oldest !== undefined) this.#responses.delete(oldest);
  }

  #send(event: ServerEvent): void {
    if (this.#isOver) return;
    if (this.#socket.bufferedAmount > MAX_UNREAD) return void this.#end(TOO_SLOW);
    try {
      this.#socket.send(JSON.stringify(event));
    } catch (error) {
      getLogger().log('warn', `An event could not be sent: ${messageOf(error)}`);
    }
  }

  #fail(code: string, error: unknown): void {
    const { id, name } = this.#talker.agent;
    const isKnown = code === 'invalid_event' || TroupeError.isInstance(error);
    const reason = redactKeys(messageOf(error));
    if (!isKnown) getLogger().log('error', `A conversation failed: ${reason}`);
    const message = isKnown ? reason : 'Something failed. It was logged.';
    this.#send({ type: 'agent_error', error_type: 'error', code, message, agent_id: id, agent_name: name });
  }

  /** @param code code with which the socket is closed; it is closed already without one */
  async #end(code?: number): Promise<void> {
    if (this.#isOver) return;
    this.#stopTimer();
    if (code !== undefined && code !== TOO_SLOW)
      this.#send({ type: 'server_session_ended', session_id: this.#sessionId });
    this.#isOver = true;
    this.#unlink();
    this.#wakeWriter();
    if (code !== undefined) this.#socket.close(code);
    try {
      await this.#opening;
      await this.#talk?.close();
    } catch (error) {
      getLogger().log('warn', `A conversation could not be closed: ${messageOf(error)}`);
    }
    this.#over.abort();
    await this.#calls;
    this.#player.stop();
    this.#done.resolve();
  }
}

/** Characters of the text, the image or the result of an event. */
function sizeOf(event: ClientEvent): number {
  if (event.type === 'client_text_append') return event.text.length;
  if (event.type === 'client_image_append') return event.image.length;
  return event.type === 'client_tool_result' ? JSON.stringify(event.output).length : 0;
}

/** @throws TypeError for sound that is none */
function soundOf(base64: string, rate = 16_000): PcmAudio {
  if (base64.length > (MAX_AUDIO_BYTES * 4) / 3) throw new TypeError('The sound of one event is too long.');
  const bytes = fromBase64(base64);
  return { data: bytes.subarray(0, bytes.length - (bytes.length % BYTES_PER_SAMPLE)), rate };
}
