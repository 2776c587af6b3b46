import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import { ModelError } from '../model/model-error.ts';
import type { RealtimeEvent } from '../realtime/realtime-event.ts';
import type {
  RealtimeConnection,
  RealtimeModelBase,
  RealtimeSetup,
} from '../realtime/realtime-model-base.ts';
import { durationOf, type PcmAudio } from '../util/audio/pcm.ts';
import { Resampler } from '../util/audio/resampler.ts';
import { MAX_TIMER_MS } from '../util/check-number.ts';
import { startTimer } from '../util/clock.ts';

/** Waits before the attempts to connect again. */
const RECONNECT_MS = [0, 500, 2000, 5000];
/** Longest sound kept between two connections. */
const MAX_HELD_MS = 5000;
/** Bytes that may wait to be sent; later sound is dropped. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
/** Time after a cancel in which the end of the response must come. */
const CANCEL_MS = 1000;
/** Time before the end of a connection at which it is replaced, also while somebody speaks. */
const LATEST_RENEWAL_MS = 3000;
/** Time before the end of a connection from which on it is replaced as soon as nobody speaks. */
const EARLIEST_RENEWAL_MS = 120_000;

/** Receiver of a requested response. */
export interface ResponseTaker {
  created(responseId: string): void;
  failed(error: unknown): void;
}

export interface RealtimeLinkOptions {
  readonly model: RealtimeModelBase;
  /** The state of the conversation, for each new connection. */
  readonly setup: () => Promise<RealtimeSetup>;
  /** Gets every event. @param taker the receiver of a requested response that begins */
  readonly onEvent: (event: RealtimeEvent, taker?: ResponseTaker) => void;
  readonly onReconnecting: () => void;
  readonly onReconnected: () => void;
  /** Called once when the connection is lost for good. */
  readonly onLost: (error: Error) => void;
  /** Whether neither side speaks, so that a connection can be replaced unnoticed. */
  readonly isIdle: () => boolean;
}

/**
 * The connection of one conversation. Asks for one response at a time, and replaces a connection that ends or is about to end by a new one
 * with the same conversation.
 */
export class RealtimeLink {
  readonly #options: RealtimeLinkOptions;
  readonly #connecting = new AbortController();
  #connection: RealtimeConnection | undefined;
  #handle: string | undefined;
  #isClosed = false;
  /** Counts connections: events of an earlier one have no effect. */
  #generation = 0;
  /** Response that is being made. */
  #activeId: string | undefined;
  /** Response that was asked for and has not begun. */
  #asked: ResponseTaker | undefined;
  readonly #toAsk: { readonly taker: ResponseTaker; readonly instructions: string | undefined }[] = [];
  #resampler: Resampler | undefined;
  #held: PcmAudio[] = [];
  #heldMs = 0;
  #cancelTimer: (() => void) | undefined;
  #renewalTimer: (() => void) | undefined;
  #isExpiring = false;

  constructor(options: RealtimeLinkOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#connection !== undefined;
  }

  /** Bytes that are not sent yet. */
  get bufferedBytes(): number {
    return this.#connection?.bufferedBytes ?? 0;
  }

  /** Whether a response is being made, or asked for. */
  get isResponding(): boolean {
    return this.#activeId !== undefined || this.#asked !== undefined || this.#toAsk.length > 0;
  }

  /** @throws ModelError */
  async open(): Promise<void> {
    await this.#connect();
  }

  /** Sends sound of the person, at any rate. */
  sendAudio(audio: PcmAudio): void {
    const { inputRate } = this.#options.model;
    let { data } = audio;
    if (audio.rate !== inputRate) {
      if (this.#resampler?.from !== audio.rate) this.#resampler = new Resampler(audio.rate, inputRate);
      data = this.#resampler.feed(data);
    }
    if (data.length === 0 || this.#isClosed) return;
    const sound = { data, rate: inputRate };
    if (this.#connection === undefined) return this.#hold(sound);
    if (this.#connection.bufferedBytes < MAX_BUFFERED_BYTES) this.#connection.sendAudio(sound);
  }

  /** Uses the connection, if there is one. What is sent otherwise is in the history of the next one. */
  use(send: (connection: RealtimeConnection) => void): void {
    if (this.#connection !== undefined) send(this.#connection);
  }

  /** Asks for a response, after the one that is being made. */
  ask(taker: ResponseTaker, instructions?: string): void {
    this.#toAsk.push({ taker, instructions });
    this.#askNext();
  }

  /** Expects a response that the model begins by itself. */
  expect(taker: ResponseTaker): void {
    if (this.#asked === undefined) this.#asked = taker;
    else this.ask(taker);
  }

  /** Has the model end a response. Its `response_done` follows in any case. */
  cancel(responseId: string): void {
    if (this.#activeId !== responseId) return;
    this.use((connection) => connection.cancel(responseId));
    this.#cancelTimer ??= startTimer(CANCEL_MS, () => {
      this.#cancelTimer = undefined;
      this.#take({ type: 'response_done', responseId, status: 'cancelled' });
    });
  }

  /** Replaces an expiring connection if nobody speaks. */
  renewIfIdle(): void {
    if (this.#isExpiring && this.#options.isIdle() && !this.isResponding) this.#renew();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connecting.abort(new Error('The conversation was closed.'));
    this.#drop();
    const error = new Error('The conversation was closed.');
    for (const { taker } of this.#toAsk.splice(0)) taker.failed(error);
    this.#asked?.failed(error);
    this.#asked = undefined;
  }

  #askNext(): void {
    if (this.#activeId !== undefined || this.#asked !== undefined || this.#connection === undefined) return;
    const next = this.#toAsk.shift();
    if (next === undefined) return;
    this.#asked = next.taker;
    this.#connection.respond(next.instructions);
  }

  #take(event: RealtimeEvent): void {
    if (event.type === 'response_created') {
      const taker = this.#asked;
      this.#asked = undefined;
      this.#activeId = event.responseId;
      this.#options.onEvent(event, taker);
    } else if (event.type === 'response_done') {
      if (this.#activeId === event.responseId) this.#endActive();
      this.#options.onEvent(event);
      this.#askNext();
      this.renewIfIdle();
    } else if (event.type === 'closed') {
      this.#lose(event);
    } else if (event.type === 'resumable') {
      this.#handle = event.handle;
    } else {
      this.#options.onEvent(event);
      if (event.type === 'expiring') this.#expire(event.ms);
      else if (event.type === 'error') this.#failAsked(event.message);
    }
  }

  #endActive(): void {
    this.#activeId = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** A request that fails before its response begins is the request for that response. */
  #failAsked(message: string): void {
    const taker = this.#asked;
    if (taker === undefined || this.#activeId !== undefined) return;
    this.#asked = undefined;
    const { vendorName, modelName, host } = this.#options.model;
    taker.failed(
      new ModelError(message, { kind: 'bad_request', vendor: vendorName, model: modelName, host }),
    );
    this.#askNext();
  }

  #expire(ms: number): void {
    this.#renewalTimer?.();
    const expire = (): void => {
      this.#isExpiring = true;
      const left = Math.min(ms, EARLIEST_RENEWAL_MS) - LATEST_RENEWAL_MS;
      this.#renewalTimer = startTimer(Math.max(0, left), () => this.#renew(), true);
      this.renewIfIdle();
    };
    if (ms <= EARLIEST_RENEWAL_MS) return expire();
    this.#renewalTimer = startTimer(Math.min(ms - EARLIEST_RENEWAL_MS, MAX_TIMER_MS), expire, true);
  }

  #renew(): void {
    if (this.#connection === undefined) return;
    this.#drop();
    this.#endResponse('The connection had to be renewed.');
    void this.#reconnect();
  }

  #lose({ message, canReconnect }: Extract<RealtimeEvent, { type: 'closed' }>): void {
    this.#drop();
    this.#endResponse(message);
    if (this.#isClosed) return;
    const { vendorName, modelName, host } = this.#options.model;
    const error = new ModelError(message, { kind: 'network', vendor: vendorName, model: modelName, host });
    if (canReconnect) void this.#reconnect();
    else this.#giveUp(error);
  }

  /** Ends the response that is being made with its connection. A response that was asked for is asked for again. */
  #endResponse(message: string): void {
    const responseId = this.#activeId;
    const asked = this.#asked;
    this.#endActive();
    this.#asked = undefined;
    if (asked !== undefined) this.#toAsk.unshift({ taker: asked, instructions: undefined });
    if (responseId !== undefined)
      this.#options.onEvent({ type: 'response_done', responseId, status: 'cancelled', message });
  }

  async #reconnect(): Promise<void> {
    this.#options.onReconnecting();
    for (const [attempt, ms] of RECONNECT_MS.entries()) {
      if (ms > 0) await this.#wait(ms);
      if (this.#isClosed) return;
      try {
        await this.#connect();
        if (!this.#isClosed) this.#options.onReconnected();
        return this.#askNext();
      } catch (error) {
        if (this.#isClosed) return;
        this.#handle = undefined; // perhaps it is too old
        const isLast = attempt === RECONNECT_MS.length - 1;
        const isHopeless = ModelError.isInstance(error) && !error.isRetryable;
        if (isLast || isHopeless) return this.#giveUp(error);
        getLogger().log('warn', `The connection could not be opened again: ${messageOf(error)}`);
      }
    }
  }

  async #connect(): Promise<void> {
    const generation = ++this.#generation;
    const setup = await this.#options.setup();
    let early: RealtimeEvent[] | undefined = [];
    const connection = await this.#options.model.connect(
      { ...setup, handle: this.#handle },
      {
        signal: this.#connecting.signal,
        onEvent: (event) => {
          if (this.#isClosed || generation !== this.#generation) return;
          if (early === undefined) this.#take(event);
          else early.push(event);
        },
      },
    );
    if (this.#isClosed || generation !== this.#generation) return connection.close();
    this.#connection = connection;
    const events = early;
    early = undefined;
    for (const event of events) this.#take(event);
    for (const sound of this.#held) this.#connection?.sendAudio(sound);
    this.#held = [];
    this.#heldMs = 0;
  }

  #hold(sound: PcmAudio): void {
    this.#held.push(sound);
    this.#heldMs += durationOf(sound);
    while (this.#heldMs > MAX_HELD_MS) {
      const oldest = this.#held.shift();
      this.#heldMs -= oldest === undefined ? this.#heldMs : durationOf(oldest);
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#connecting;
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = startTimer(ms, end);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
  }

  #giveUp(cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(messageOf(cause));
    this.#isClosed = true;
    for (const { taker } of this.#toAsk.splice(0)) taker.failed(error);
    this.#options.onLost(error);
  }

  /** Leaves the connection. Its later events have no effect. */
  #drop(): void {
    this.#generation++;
    this.#connection?.close();
    this.#connection = undefined;
    this.#isExpiring = false;
    this.#renewalTimer?.();
    this.#renewalTimer = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}
