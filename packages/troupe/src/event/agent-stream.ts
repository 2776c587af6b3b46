import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import { notifyOnReturn } from '../util/async/stoppable.ts';
import { withReadyItems } from '../util/async/ready-items.ts';
import { assertEventType, type AgentEvent, type Emit, type EventOf, type EventType } from './agent-event.ts';
import { replyStream, type ReplyEvents, type RunListener, type StreamOptions } from './reply-stream.ts';
import { sseBody, SSE_HEADERS } from './sse-body.ts';

/** Options of `toResponse`: options of a `Response`, and the interval of heartbeats. */
export interface SseResponseInit extends ResponseInit {
  /** Milliseconds of silence after which a comment keeps the connection open; `Infinity` for none. @default 15 000 */
  readonly heartbeatMs?: number;
}

/**
 * The events of one run, for one reader: as events, as text, by type, as a web stream or as a response.
 *
 * The run starts with the first read, or with the first use of `answer`. A slow reader slows the agent down. Leaving the stream
 * interrupts the run at once; the loop ends after the agent has repaired its memory.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: false });
 * for await (const event of agent.stream('Hello!')) if (event.type === 'run_end') console.log(event.status);
 * for await (const text of agent.stream('Hello!').text) console.log(text);
 * const answer = await agent.stream('Hello!').answer;
 * console.log(answer.text);
 * ```
 */
export class AgentStream<Answer extends Msg = Msg> implements AsyncGenerator<AgentEvent, Answer, void> {
  readonly #events: ReplyEvents<Answer>;
  readonly #result = Promise.withResolvers<Answer>();
  readonly #started = Promise.withResolvers<void>();
  /** The first event, if requested by `started` before a read. */
  #first: Promise<IteratorResult<AgentEvent, Answer>> | undefined;
  /** Reader of the events: the stream itself, one of its views, or `answer`. */
  #reader: object | undefined;
  #hasStarted = false;
  /** Aborted when the last event was read, or the stream was left. */
  #left: AbortSignal | undefined;

  constructor(run: (listener: RunListener) => Promise<Answer>, options: StreamOptions = {}) {
    // a failed run rejects the reads; `answer` and `started` are optional
    for (const { promise } of [this.#result, this.#started]) promise.catch(() => {});
    const start = (listener: RunListener): Promise<Answer> => {
      this.#hasStarted = true;
      this.#left = listener.left;
      let isStarted = false;
      const emit: Emit = (event) => {
        if (!isStarted) this.#started.resolve();
        isStarted = true;
        return listener.emit(event);
      };
      const reply = run({ ...listener, emit });
      reply.then(this.#result.resolve, this.#result.reject);
      reply.then(() => this.#started.resolve(), this.#started.reject);
      return reply;
    };
    this.#events = replyStream(start, options);
  }

  /**
   * Starts the run, and resolves when it has its first event, which stays to be read. Rejects if the call is refused: `error.isRefusal`
   * of a `TroupeError`. So a server can still choose the status of its response.
   */
  get started(): Promise<void> {
    if (!this.#hasStarted) {
      this.#first = this.#events.next();
      this.#first.catch(() => {}); // rejects the first read
    }
    return this.#started.promise;
  }

  /**
   * The answer; resolves and rejects like `call`. Without a reader at the end of the current task, all events are dropped: start
   * to iterate before `answer` is awaited, or at the same time.
   */
  get answer(): Promise<Answer> {
    queueMicrotask(() => {
      if (this.#reader === undefined) void this.#drain();
    });
    return this.#result.promise;
  }

  /** The text of this agent's replies while the model writes. Blocks are separated by line breaks, as in `msg.text`. */
  get text(): AsyncIterable<string> {
    let depth: number | undefined;
    let block: string | undefined;
    return this.#view((event) => {
      depth ??= event.agentPath.length;
      if (event.type !== 'text_delta' || event.agentPath.length !== depth) return undefined;
      const isNext = block !== undefined && block !== `${event.index} ${event.msgId}`;
      block = `${event.index} ${event.msgId}`;
      return isNext ? `\n${event.text}` : event.text;
    });
  }

  /** The events of the given types. @throws TroupeError for an unknown type */
  filter<Type extends EventType>(...types: readonly Type[]): AsyncIterable<EventOf<Type>> {
    for (const type of types) assertEventType(type);
    const isWanted = (event: AgentEvent): event is EventOf<Type> => types.some((type) => type === event.type);
    return this.#view((event) => (isWanted(event) ? event : undefined));
  }

  /**
   * The events as a web stream, which is the reader from now on. Canceling the web stream interrupts the run; a failing run errors the
   * web stream after `run_end`. @throws TroupeError if the stream has another reader
   */
  toReadableStream(): ReadableStream<AgentEvent> {
    const events = this.#onlyView();
    return new ReadableStream<AgentEvent>(
      {
        pull: async (controller) => {
          const { done, value } = await events.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
        cancel: async () => void (await events.return()),
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * The events as a response of server-sent events, which is the reader from now on: `id` is `seq`, `event` the type, `data` the event
   * as JSON. A disconnecting client interrupts the run. A failing run ends with `run_end`, and the response ends regularly.
   * @throws TroupeError if the stream has another reader
   */
  toResponse({ heartbeatMs, ...init }: SseResponseInit = {}): Response {
    const headers = new Headers(init.headers);
    for (const [name, value] of SSE_HEADERS) if (!headers.has(name)) headers.set(name, value);
    return new Response(sseBody(this.#onlyView(), heartbeatMs), { ...init, headers });
  }

  next(): Promise<IteratorResult<AgentEvent, Answer>> {
    return this.#nextOf(this);
  }

  return(value?: Answer | PromiseLike<Answer>): Promise<IteratorResult<AgentEvent, Answer>> {
    this.#endUnstarted();
    return this.#events.return(value as Answer);
  }

  throw(error: unknown): Promise<IteratorResult<AgentEvent, Answer>> {
    this.#endUnstarted();
    return this.#events.throw(error);
  }

  /** @throws TroupeError after the stream was read or left: there is nothing more to read */
  [Symbol.asyncIterator](): this {
    if (this.#left?.aborted === true) throw secondReader('This stream was read to its end, or left.');
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** A reader of all events, which claims the stream at once. @throws TroupeError if the stream has another reader */
  #onlyView(): AsyncGenerator<AgentEvent, void, void> {
    const reader = {};
    if (!this.#claim(reader)) throw secondReader(HAS_READER);
    return this.#view((event) => event, reader);
  }

  /**
   * A reader of the stream, which claims it with its first read. Leaving the reader leaves the stream at once.
   * @param select the item for an event; undefined leaves the event out
   */
  #view<Item>(
    select: (event: AgentEvent) => Item | undefined,
    reader: object = {},
  ): AsyncGenerator<Item, void, void> {
    const next = (): Promise<IteratorResult<AgentEvent, Answer>> => this.#nextOf(reader);
    const end = async (): Promise<void> => void (this.#reader === reader && (await this.return()));
    async function* items(): AsyncGenerator<Item, void, void> {
      try {
        for (let read = await next(); read.done !== true; read = await next()) {
          const item = select(read.value);
          if (item !== undefined) yield item;
        }
      } finally {
        await end();
      }
    }
    const all = notifyOnReturn(items(), () => {
      this.#reader ??= reader; // the reader was left before its first read
      void end();
    });
    return withReadyItems(all, () => {
      if (this.#reader !== reader || this.#first !== undefined) return undefined;
      for (let event = this.#events.takeNow(); event !== undefined; event = this.#events.takeNow()) {
        const item = select(event);
        if (item !== undefined) return item;
      }
      return undefined;
    });
  }

  /** Makes `reader` the only reader. @returns false if the stream has another reader */
  #claim(reader: object): boolean {
    this.#reader ??= reader;
    return this.#reader === reader;
  }

  #nextOf(reader: object): Promise<IteratorResult<AgentEvent, Answer>> {
    return this.#claim(reader) ? this.#next() : Promise.reject(secondReader(HAS_READER));
  }

  #next(): Promise<IteratorResult<AgentEvent, Answer>> {
    const first = this.#first;
    this.#first = undefined;
    return first ?? this.#events.next();
  }

  async #drain(): Promise<void> {
    this.#reader = this.#result;
    try {
      while ((await this.#next()).done !== true);
    } catch {
      // `answer` rejects with the same error
    }
  }

  /** Leaving the stream before the run has started: the run never starts. */
  #endUnstarted(): void {
    if (this.#hasStarted) return;
    this.#reader ??= this;
    const error = new TroupeError('interrupted', 'The stream was left before the run has started.');
    this.#result.reject(error);
    this.#started.reject(error);
  }
}

const HAS_READER = 'A stream has one reader, and this stream has one already.';

function secondReader(problem: string): TroupeError {
  const advice =
    'Read the stream in one way, once, and start before `answer` is awaited. To read the events twice, keep them in a list, or use agent.on().';
  return new TroupeError('invalid_input', `${problem} ${advice}`);
}
