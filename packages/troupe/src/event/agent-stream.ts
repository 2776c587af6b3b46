import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import { notifyOnReturn } from '../util/async/notify-on-return.ts';
import type { AgentEvent, Emit, EventOf, EventType } from './agent-event.ts';
import { replyStream, type RunListener, type StreamOptions } from './reply-stream.ts';
import { sseBody, SSE_HEADERS } from './sse-body.ts';

/** Options of `toResponse`: those of a `Response`, and the interval of heartbeats. */
export interface SseResponseInit extends ResponseInit {
  /** Milliseconds of silence after which a comment keeps the connection open; `Infinity` for none. @default 15 000 */
  readonly heartbeatMs?: number;
}

/**
 * The events of one run, for one reader: as events, as text, by type, as a web stream or as a response.
 *
 * The run starts with the first read, or when `answer` is asked for. A slow reader slows the agent down. A reader that leaves interrupts
 * the run at once, and leaves when the agent has put its memory in order.
 */
export class AgentStream<Answer extends Msg = Msg> implements AsyncGenerator<AgentEvent, Answer, void> {
  readonly #events: AsyncGenerator<AgentEvent, Answer, void>;
  readonly #result = Promise.withResolvers<Answer>();
  readonly #started = Promise.withResolvers<void>();
  /** The first event, if it was asked for before anybody read. */
  #first: Promise<IteratorResult<AgentEvent, Answer>> | undefined;
  /** Who reads the events: the stream itself, one of its views, or `answer`. */
  #reader: object | undefined;
  #hasStarted = false;

  constructor(run: (listener: RunListener) => Promise<Answer>, options: StreamOptions = {}) {
    // a failed run rejects the reads; `answer` and `started` are optional
    for (const { promise } of [this.#result, this.#started]) promise.catch(() => {});
    const start = (listener: RunListener): Promise<Answer> => {
      this.#hasStarted = true;
      const emit: Emit = (event) => {
        this.#started.resolve();
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
   * The answer, as `call` gives it; rejects as `call` does. If nobody reads the events by the end of the current task, they are
   * dropped. So begin to iterate before, or at the same time.
   */
  get answer(): Promise<Answer> {
    queueMicrotask(() => {
      if (this.#reader === undefined) void this.#drain();
    });
    return this.#result.promise;
  }

  /** The text of this agent's replies, as it is written. Blocks are separated by line breaks, as in `msg.text`. */
  get text(): AsyncIterable<string> {
    return this.#view(async function* (events) {
      let depth: number | undefined;
      let block: string | undefined;
      for await (const event of events) {
        depth ??= event.agentPath.length;
        if (event.type !== 'text_delta' || event.agentPath.length !== depth) continue;
        const at = `${event.index} ${event.msgId}`;
        yield block === undefined || block === at ? event.text : `\n${event.text}`;
        block = at;
      }
    });
  }

  /** The events of some types. */
  filter<Type extends EventType>(...types: readonly Type[]): AsyncIterable<EventOf<Type>> {
    const isWanted = (event: AgentEvent): event is EventOf<Type> => types.some((type) => type === event.type);
    return this.#view(async function* (events) {
      for await (const event of events) if (isWanted(event)) yield event;
    });
  }

  /** The events as a web stream. Canceling it interrupts the run; a run that fails errors it, after `run_end`. */
  toReadableStream(): ReadableStream<AgentEvent> {
    const events = this.#view((all) => all);
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
   * The events as a response of server-sent events: `id` is `seq`, `event` the type, `data` the event as JSON. A client that
   * disconnects interrupts the run. A run that fails ends with `run_end`, and the response ends regularly.
   */
  toResponse({ heartbeatMs, ...init }: SseResponseInit = {}): Response {
    const headers = new Headers(init.headers);
    for (const [name, value] of SSE_HEADERS) if (!headers.has(name)) headers.set(name, value);
    return new Response(
      sseBody(
        this.#view((all) => all),
        heartbeatMs,
      ),
      { ...init, headers },
    );
  }

  next(): Promise<IteratorResult<AgentEvent, Answer>> {
    return this.#claim(this) ?? this.#next();
  }

  return(value?: Answer | PromiseLike<Answer>): Promise<IteratorResult<AgentEvent, Answer>> {
    this.#endUnstarted();
    return this.#events.return(value as Answer);
  }

  throw(error: unknown): Promise<IteratorResult<AgentEvent, Answer>> {
    this.#endUnstarted();
    return this.#events.throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** A reader of its own, which leaves the stream at once when it is left. */
  #view<Item>(
    select: (events: AsyncGenerator<AgentEvent, void, void>) => AsyncGenerator<Item, void, void>,
  ): AsyncGenerator<Item, void, void> {
    const reader = {};
    const next = (): Promise<IteratorResult<AgentEvent, Answer>> => this.#claim(reader) ?? this.#next();
    const end = async (): Promise<void> => void (this.#reader === reader && (await this.return()));
    async function* events(): AsyncGenerator<AgentEvent, void, void> {
      try {
        for (let item = await next(); item.done !== true; item = await next()) yield item.value;
      } finally {
        await end();
      }
    }
    return notifyOnReturn(select(events()), () => {
      this.#reader ??= reader; // left before it was read
      void end();
    });
  }

  /** Rejects if somebody else reads the events already. */
  #claim(reader: object): Promise<never> | undefined {
    this.#reader ??= reader;
    if (this.#reader === reader) return undefined;
    const advice = 'Read it in one way, and begin before `answer` is awaited.';
    return Promise.reject(
      new TroupeError('invalid_input', `A stream has one reader, and this one is read already. ${advice}`),
    );
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
      // `answer` rejects with it
    }
  }

  /** A stream that is left before it has started never starts. */
  #endUnstarted(): void {
    if (this.#hasStarted) return;
    this.#reader ??= this;
    const error = new TroupeError('interrupted', 'The stream was left before the run has started.');
    this.#result.reject(error);
    this.#started.reject(error);
  }
}
