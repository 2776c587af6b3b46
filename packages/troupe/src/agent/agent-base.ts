import { forkRunConfig, getLogger } from '../config/run-config.ts';
import { AgentBusyError, AgentClosedError, messageOf, TroupeError, type InterruptSource } from '../errors.ts';
import { AgentStream } from '../event/agent-stream.ts';
import type { RunListener, StreamOptions } from '../event/reply-stream.ts';
import type { StepRunner } from '../event/step.ts';
import { HookedModule, type hookTypes } from '../hooks/hooked-module.ts';
import { Msg, type MsgInput, type StructuredMsg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { waitBriefly } from '../util/async/grace.ts';
import type { BoundedQueue } from '../util/async/bounded-queue.ts';
import { newId } from '../util/ids.ts';
import type { AnySchema, SchemaOutput } from '../util/schema.ts';
import { AgentCall, type AgentParts } from './agent-call.ts';
import { AGENT_HOOK_POINTS, CALL_HOOK_TYPES, type AgentHooks } from './agent-hooks.ts';
import type { ConsoleView } from './console-view.ts';
import { Printer, programConsole, type PrintedMsg } from './printer.ts';
import { CallQueue, type OnBusy } from './call-queue.ts';
import type { Interrupt } from './interrupt.ts';
import { Subscribers, type Observer } from './subscribers.ts';
import { currentControl, currentControlOf, isInsideCallOf } from './current-turn.ts';
import { TurnControl } from './turn-control.ts';
import type { Turn } from './turn.ts';

export interface AgentOptions {
  /** How others call the agent. */
  readonly name: string;
  /** What a call does while another runs. @default 'reject' */
  readonly onBusy?: OnBusy | undefined;
  /** What the agent says when it was interrupted. */
  readonly interruptReply?: string | undefined;
  /**
   * Whether printed messages are shown on the console, or the view to show them with. `TROUPE_DISABLE_CONSOLE_OUTPUT=true` hides them
   * for all agents. @default true
   */
  readonly console?: boolean | ConsoleView | undefined;
}

/** How an agent call is tied to the agent call around it. */
export type CallLifetime = 'nested' | 'background' | 'detached';

export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. An interrupt is something else: it is answered. */
  readonly signal?: AbortSignal | undefined;
  /** What is done while another call runs. @default as the agent was set up */
  readonly onBusy?: OnBusy | undefined;
  /** The shape that the answer's `metadata` should have, for agents that can do that. */
  readonly structuredModel?: AnySchema | undefined;
  /** What is decided about the agent's pending calls, which then go on. */
  readonly decisions?: readonly PendingDecision[] | undefined;
  /** What is done when there is something new while calls are pending: fail, or end those. @default as the agent was set up */
  readonly onPending?: 'refuse' | 'close' | undefined;
  /**
   * How an agent call is tied to the agent call around it. `'nested'`: same run, and stops with it. `'background'`: same run, path and
   * costs, but its own steps, and does not stop with it. `'detached'`: a run of its own. @default 'nested'
   */
  readonly lifetime?: CallLifetime | undefined;
  /** Runs the steps of this call and of the calls made in it. */
  readonly runStep?: StepRunner | undefined;
}

/** Maximum depth of nested agent calls. */
const MAX_DEPTH = 64;
/** Maximum number of agent calls in one run. */
const MAX_CALLS_IN_RUN = 10_000;
const INTERRUPT_REPLY = 'I noticed that you have interrupted me. What can I do for you?';

/**
 * The base of all agents. A subclass writes `reply`, and may write `observe`,
 * `handleInterrupt` and `print`; hooks, interrupts, events and broadcasts are
 * there by themselves.
 *
 * An agent answers one call at a time. An interrupt settles the call at once,
 * from wherever it waits, with what `handleInterrupt` says; a foreign abort
 * rejects it. Either way the agent is free for the next call.
 *
 * @example
 * ```ts
 * import { AgentBase, Msg } from 'troupe';
 *
 * class Echo extends AgentBase {
 *   async reply(msgs: readonly Msg[]): Promise<Msg> {
 *     const answer = Msg.assistant(msgs.map((msg) => msg.text).join(' '), { name: this.name });
 *     await this.print(answer);
 *     return answer;
 *   }
 * }
 * await new Echo({ name: 'echo' }).call('Hello!'); // prints "echo: Hello!"
 * ```
 */
export abstract class AgentBase extends HookedModule implements Observer, AsyncDisposable {
  static override readonly hookPoints = AGENT_HOOK_POINTS;
  static override readonly otherHookTypes = CALL_HOOK_TYPES;

  declare readonly [hookTypes]?: AgentHooks<this>;
  readonly id: string = newId();
  name: string;
  readonly #options: AgentOptions;
  readonly #queue = new CallQueue();
  readonly #printer = new Printer();
  readonly #subscribers = new Subscribers();
  readonly #parts: AgentParts = {
    printer: this.#printer,
    subscribers: this.#subscribers,
    interruptReply: () => this.interruptReply(),
    postpone: (msgs) => this.postpone(msgs),
    leaveBehind: (work, what) => this.#leaveBehind(work, what),
  };
  readonly #settledListeners = new Set<() => void>();
  #abandoned = 0;
  #isClosed = false;

  constructor(options: AgentOptions) {
    super();
    if (typeof options?.name !== 'string' || options.name === '') {
      throw new TroupeError('invalid_config', `An agent needs a name: super({ name: 'assistant' }).`);
    }
    this.name = options.name;
    this.#options = options;
    this.#printer.configureConsole(options.console);
  }

  /** Answers the messages. What the agent does besides is in `turn`: its signal, its events, its steps. */
  abstract reply(msgs: readonly Msg[], turn: Turn): Promise<Msg>;

  /** Takes messages in without answering. */
  async observe(_msgs: MsgInput): Promise<void> {}

  /** What an interrupted call answers. After a second, or a second interrupt, the default answer is given instead. */
  async handleInterrupt(_msgs: readonly Msg[], _interrupt: Interrupt): Promise<Msg> {
    const msg = this.interruptReply();
    await waitBriefly(this.print(msg)).catch((error: unknown) => getLogger().log('warn', messageOf(error)));
    return msg;
  }

  /** Calls the agent: the answer, also when it was interrupted. Rejects when it fails or is aborted. */
  call<const S extends AnySchema>(
    input: MsgInput,
    options: CallOptions & { readonly structuredModel: S },
  ): Promise<StructuredMsg<SchemaOutput<S>>>;
  call(input?: MsgInput, options?: CallOptions): Promise<Msg>;
  call(input?: MsgInput, options: CallOptions = {}): Promise<Msg> {
    return this.#call(input, options);
  }

  /**
   * The same agent call as a stream: of events, of text, as a web stream or as a response. `stream.answer` is the answer. A reader that
   * leaves interrupts the call. Nothing happens before the first read, or before `answer` is asked for.
   */
  stream<const S extends AnySchema>(
    input: MsgInput,
    options: CallOptions & StreamOptions & { readonly structuredModel: S },
  ): AgentStream<StructuredMsg<SchemaOutput<S>>>;
  stream(input?: MsgInput, options?: CallOptions & StreamOptions): AgentStream;
  stream(input?: MsgInput, options: CallOptions & StreamOptions = {}): AgentStream {
    const msgs = Msg.list(input);
    return new AgentStream((listener) => this.#call(msgs, options, listener), options);
  }

  /** Whether a call is being answered. */
  get isRunning(): boolean {
    return this.#queue.current !== undefined;
  }

  /** How many replies ignored an interrupt and are still running, with no effect any more. */
  get abandonedReplies(): number {
    return this.#abandoned;
  }

  /**
   * Stops the call that runs now, with a message to go with it. Resolves when the agent is free.
   * @returns false if there was nothing to stop: no call, or its answer was already there.
   */
  async interrupt(input?: MsgInput): Promise<boolean> {
    return this.#interrupt('user', Msg.list(input));
  }

  /** Hands messages to the running reply, which reads them at its next step. Returns false if none is running. */
  steer(input: MsgInput): boolean {
    return this.#queue.current?.steer(Msg.list(input)) ?? false;
  }

  /** Has messages answered after the running reply, in the same call. Returns false if none is running. */
  followUp(input: MsgInput): boolean {
    return this.#queue.current?.followUp(Msg.list(input)) ?? false;
  }

  /**
   * Shows a message, or what is new of one that grows: to the console, the stream and the queue.
   * @param last whether the message is complete
   */
  async print(msg: Msg, last = true): Promise<void> {
    await this.#printer.print({ msg, last }, this.#callHere(), this.showsOnConsole(msg));
  }

  /** Everything printed goes to a queue as well, while it is enabled. A full queue makes the agent wait. */
  setMsgQueueEnabled(enabled: boolean, queue?: BoundedQueue<PrintedMsg>): void {
    this.#printer.setQueueEnabled(enabled, queue);
  }

  get msgQueue(): BoundedQueue<PrintedMsg> | undefined {
    return this.#printer.queue;
  }

  /** Turns console output on or off, as the option `console` does at the start. */
  setConsoleOutputEnabled(enabled: boolean, view: ConsoleView = programConsole): void {
    this.#printer.setConsole(enabled ? view : undefined);
  }

  /** Sets who hears what the agent says in a hub; the agent itself never does. */
  resetSubscribers(hub: string, observers: readonly Observer[]): void {
    this.#subscribers.reset(
      hub,
      observers.filter((observer) => observer !== this),
    );
  }

  removeSubscribers(hub: string): void {
    if (!this.#subscribers.remove(hub))
      getLogger().log('warn', `${this.name} has no subscribers in the hub '${hub}'.`);
  }

  /** Is told each time a call has ended, in whatever way, and the agent is free. The returned function ends that. */
  onSettled(listener: () => void): () => void {
    const entry = (): void => {
      try {
        listener();
      } catch (error) {
        getLogger().log('warn', `A listener of ${this.name} threw: ${messageOf(error)}`);
      }
    };
    this.#settledListeners.add(entry);
    return () => void this.#settledListeners.delete(entry);
  }

  /** Interrupts what runs, waits for it, and takes no more calls. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#interrupt('dispose', []);
    this.setMsgQueueEnabled(false);
  }

  /** The message with which an interrupted call is answered by default. */
  protected interruptReply(): Msg {
    const text = this.#options.interruptReply ?? INTERRUPT_REPLY;
    const metadata = { _is_interrupted: true };
    return Msg.assistant(text, { name: this.name, metadata, endReason: 'interrupted' });
  }

  /** Keeps what was said to it while its answer is to wait for somebody. */
  protected postpone(_msgs: readonly Msg[]): void {}

  /** Whether a message belongs on the console, provided that output to it is enabled. */
  protected showsOnConsole(_msg: Msg): boolean {
    return true;
  }

  protected override assertStateCanLoad(): void {
    if (this.isRunning) throw new AgentBusyError(this.name, 'Load its state when it is idle.');
  }

  #call(input: MsgInput, options: CallOptions, listener?: RunListener): Promise<Msg> {
    const { lifetime = 'nested' } = options;
    const outer = lifetime === 'detached' ? undefined : currentControl();
    const outlivesParent = lifetime === 'background';
    const parent = outer?.isOver && !outer.signal.aborted && !outlivesParent ? undefined : outer;
    const { signal, runStep, structuredModel, decisions, onPending } = options;
    const control = new TurnControl({
      agentId: this.id,
      agentName: this.name,
      parent,
      outlivesParent,
      listener,
      signal,
      runStep,
      structuredModel,
      decisions,
      onPending,
    });
    const call = this.#run(input, control, options.onBusy ?? this.#options.onBusy ?? 'reject');
    if (!outlivesParent) parent?.adopt(call);
    return call;
  }

  async #run(input: MsgInput, control: TurnControl, onBusy: OnBusy): Promise<Msg> {
    try {
      const msgs = Msg.list(input);
      this.#assertOpen();
      assertNotTooDeep(control);
      const waits = this.#queue.enter(control, this.name, onBusy);
      if (waits) await waits;
      try {
        this.#assertOpen();
        return await control.run(() =>
          forkRunConfig(() => new AgentCall(this, control, this.#parts).answer(msgs)),
        );
      } finally {
        this.#queue.leave();
        for (const listener of this.#settledListeners) listener();
      }
    } finally {
      control.end();
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new AgentClosedError(this.name);
  }

  async #interrupt(source: InterruptSource, msgs: readonly Msg[]): Promise<boolean> {
    const current = this.#queue.current;
    if (current === undefined) return false;
    const isAccepted = current.interrupt(source, msgs);
    if (!isAccepted) current.hurry();
    if (!isInsideCallOf(this.id)) await this.#queue.whenLeft();
    return isAccepted;
  }

  #leaveBehind(work: Promise<unknown>, what: 'reply' | 'handleInterrupt'): void {
    getLogger().log('warn', `${this.name} ignored an interrupt in its ${what}, which was left behind.`);
    this.#abandoned++;
    const settled = (): void => void this.#abandoned--;
    work.then(settled, settled);
  }

  /** The call of this agent that the calling code belongs to; it may be over. */
  #callHere(): TurnControl | undefined {
    return currentControlOf(this.id) ?? this.#queue.current;
  }
}

/** @throws TroupeError if agents call each other endlessly */
function assertNotTooDeep({ agentPath, agentCallsInRun }: TurnControl): void {
  const path = `${agentPath.slice(0, 3).join(' > ')} > …`;
  if (agentPath.length > MAX_DEPTH)
    throw new TroupeError('too_deep', `Agents called each other more than ${MAX_DEPTH} deep: ${path}.`);
  if (agentCallsInRun > MAX_CALLS_IN_RUN)
    throw new TroupeError(
      'too_deep',
      `Agents called each other more than ${MAX_CALLS_IN_RUN} times: ${path}.`,
    );
}
