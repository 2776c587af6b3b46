import { forkRunConfig, getLogger } from '../config/run-config.ts';
import { AgentBusyError, AgentClosedError, messageOf, TroupeError, type InterruptSource } from '../errors.ts';
import type { AgentEvent, EventBody, EventOf, EventType } from '../event/agent-event.ts';
import { toEventError } from '../event/event-error.ts';
import { AgentStream } from '../event/agent-stream.ts';
import type { RunListener, StreamOptions } from '../event/reply-stream.ts';
import type { StepRunner } from '../event/step.ts';
import { HookedModule, type hookTypes } from '../hooks/hooked-module.ts';
import type { AudioBlock } from '../message/blocks.ts';
import { isUnhooked } from '../hooks/run-hooks.ts';
import { isInterruptReply } from '../message/end-reason.ts';
import type { MsgDraft } from '../message/msg-draft.ts';
import { Msg, type MsgInput, type StructuredMsg } from '../message/msg.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { AudioSink } from '../tts/audio-sink.ts';
import type { SpeakableFilter } from '../tts/speech-text.ts';
import type { TtsModelBase } from '../tts/tts-model-base.ts';
import { traced } from '../tracing/instrumentation.ts';
import type { SpanOutcome, TracedOperation } from '../tracing/traced-operation.ts';
import { checkNumber, MAX_TIMER_MS } from '../util/check-number.ts';
import { waitBriefly } from '../util/async/grace.ts';
import type { BoundedQueue } from '../util/async/bounded-queue.ts';
import { newId } from '../util/ids.ts';
import type { AnySchema, SchemaOutput } from '../util/schema.ts';
import { AgentCall, type AgentParts } from './agent-call.ts';
import { AGENT_HOOK_POINTS, CALL_HOOK_TYPES, PRINT, type AgentHooks } from './agent-hooks.ts';
import type { ConsoleView } from './printing/console-view.ts';
import { checkConsole, Printer, programConsole, type PrintedMsg } from './printing/printer.ts';
import { SpeechOutput } from './printing/speech-output.ts';
import { EventListeners, type ListenOptions } from './event-listeners.ts';
import { isProgramObserved, tellObservers } from './program-observers.ts';
import { CallQueue, type OnBusy } from './call-queue.ts';
import type { Interrupt } from './interrupt.ts';
import { Subscribers, type Observer } from './subscribers.ts';
import type { CallPlace } from './turn/call-place.ts';
import { currentControl, currentControlOf, isInsideCallOf } from './turn/current-turn.ts';
import { TurnControl } from './turn/turn-control.ts';
import type { Turn } from './turn/turn.ts';

export interface AgentOptions {
  /** Name of the agent in messages, events and paths. */
  readonly name: string;
  /** Behaviour of a call while the agent answers another one. @default 'reject' */
  readonly onBusy?: OnBusy | undefined;
  /** Text of the default answer to an interrupt. */
  readonly interruptReply?: string | undefined;
  /**
   * Time limit of `handleInterrupt`. After it, or after a second interrupt, the call gives the default answer.
   * @default Infinity
   */
  readonly interruptTimeoutMs?: number | undefined;
  /**
   * Maximum time that a call waits for agents in a hub to take in its answer, and for this agent to take in what it was told before.
   * An agent that takes longer is reported as an error. @default 60 000
   */
  readonly observeTimeoutMs?: number | undefined;
  /**
   * Whether printed messages are shown on the console, or the view to show them with. `TROUPE_DISABLE_CONSOLE_OUTPUT=true` hides them
   * for all agents. @default true
   */
  readonly console?: boolean | ConsoleView | undefined;
  /** Speaks the agent's messages while they grow. @default none */
  readonly ttsModel?: TtsModelBase | undefined;
  /** Where speech is played, besides the events and the queue. @default nowhere */
  readonly speaker?: AudioSink | undefined;
  /** Makes the filter of a spoken text. @default leaves out code, tables and marks of Markdown */
  readonly speakable?: (() => SpeakableFilter) | undefined;
}

/** Relation of an agent call to the agent call around it. */
export type CallLifetime = 'nested' | 'background' | 'detached';

export interface CallOptions {
  /** Aborts the call, which then rejects with the reason of the signal. Unlike an abort, an interrupt is answered. */
  readonly signal?: AbortSignal | undefined;
  /** Behaviour while the agent answers another call. @default `onBusy` of the agent */
  readonly onBusy?: OnBusy | undefined;
  /** Schema of the structured output, for agents with structured output. */
  readonly structuredModel?: AnySchema | undefined;
  /** Decisions about pending tool calls, which then go on. */
  readonly decisions?: readonly PendingDecision[] | undefined;
  /** New input while tool calls are pending: fail, or close those tool calls. @default `onPending` of the agent */
  readonly onPending?: 'refuse' | 'close' | undefined;
  /**
   * The same messages were given before, to a call that failed or was cut off by the end of the process. If they are in memory, a
   * `ReActAgent` goes on with that call: with its unfinished tool calls, or by giving its answer again. @default false
   */
  readonly isRetry?: boolean | undefined;
  /**
   * Relation to the agent call around this one. `'nested'`: same run, and stops with the outer call. `'background'`: same run, path
   * and costs, but own steps, and goes on when the outer call stops. `'detached'`: a run of its own. @default 'nested'
   */
  readonly lifetime?: CallLifetime | undefined;
  /** Runs the steps of this call and of nested agent calls. */
  readonly runStep?: StepRunner | undefined;
}

/** Maximum depth of nested agent calls. */
const MAX_DEPTH = 64;
/** Maximum number of agent calls in one run. */
const MAX_CALLS_IN_RUN = 10_000;
const OBSERVE_TIMEOUT_MS = 60_000;
/** Where work ignored an interrupt, and how such work hears the next one. */
const LEFT_BEHIND = {
  reply:
    'its reply or in a hook around it, which was left behind without effect. Pass the signal to what waits, or wait by turn.step()',
  handleInterrupt:
    'its handleInterrupt, which was left behind without effect. Pass interrupt.signal to what waits',
} as const;
const INTERRUPT_REPLY = 'I noticed that you have interrupted me. What can I do for you?';

/**
 * The base of all agents. A subclass writes `reply`, and may write `observe`, `handleInterrupt` and `print`. Hooks, interrupts,
 * events and broadcasts need no code in the subclass.
 *
 * An agent answers one call at a time. An interrupt settles the call at once, from any await, with the answer of
 * `handleInterrupt`; an abort from outside rejects the call. Either way the agent is free for the next call. Folder `agent`: start here.
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
  /** Made when first used: a program may hold many agents that are not called. */
  #usedParts: BaseParts | undefined;

  constructor(options: AgentOptions) {
    super();
    if (typeof options?.name !== 'string' || options.name === '') {
      throw new TroupeError(
        'invalid_config',
        "An agent needs a name: new ReActAgent({ name: 'assistant', … }), or super({ name: 'assistant' }) in a class of your own.",
      );
    }
    const { interruptTimeoutMs = Infinity } = options;
    if (interruptTimeoutMs !== Infinity)
      checkNumber('interruptTimeoutMs', interruptTimeoutMs, { least: 0, most: MAX_TIMER_MS });
    checkNumber('observeTimeoutMs', options.observeTimeoutMs ?? OBSERVE_TIMEOUT_MS, {
      least: 0,
      most: MAX_TIMER_MS,
    });
    this.name = options.name;
    this.#options = Object.isFrozen(options) ? options : { ...options }; // read later too, when the program may have changed its own object
    checkConsole(options.console);
    checkSpeech(options.ttsModel);
  }

  /** Answers the messages. `turn` has the signal, the events and the steps of the call. */
  abstract reply(msgs: readonly Msg[], turn: Turn): Promise<Msg>;

  /** Takes messages in without answering. */
  async observe(_msgs: MsgInput): Promise<void> {}

  /**
   * Answers an interrupted call, and may take its time, e.g. to call a model. After a second interrupt, an abort or
   * `interruptTimeoutMs`, the call gives the default answer instead.
   */
  async handleInterrupt(_msgs: readonly Msg[], _interrupt: Interrupt): Promise<Msg> {
    const msg = this.interruptReply();
    const shown = this.print(msg).catch((error: unknown) => getLogger().log('warn', messageOf(error)));
    await waitBriefly(shown, currentControl()?.stop.graceOver);
    return msg;
  }

  /** Calls the agent. Resolves to the answer, also after an interrupt. Rejects when the call fails or is aborted. */
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

  /** Pending tool calls, which wait for decisions. */
  get pendingCalls(): readonly PendingCall[] {
    return [];
  }

  /**
   * Whether the agent would refuse new input now, because tool calls are pending.
   * @param onPending the option of the agent call
   */
  refusesInput(_onPending?: CallOptions['onPending']): boolean {
    return false;
  }

  /** Option `observeTimeoutMs` of the agent. */
  get observeTimeoutMs(): number {
    return this.#options.observeTimeoutMs ?? OBSERVE_TIMEOUT_MS;
  }

  /** Whether a call is being answered. */
  get isRunning(): boolean {
    return this.#usedParts?.queue.current !== undefined;
  }

  /** Number of replies that ignored an interrupt and still run, without effect. */
  get abandonedReplies(): number {
    return this.#usedParts?.abandoned ?? 0;
  }

  /**
   * Interrupts the current call, with a message if given. Resolves when the agent is free. Too late for an interrupt, speech of
   * the answer is ended; otherwise the waits for everything after the answer are.
   * @returns false if there was nothing to interrupt: no call, a call whose answer and its hooks were complete in time, or a call
   * whose earlier interrupt is being handled (which this one ends)
   */
  async interrupt(input?: MsgInput): Promise<boolean> {
    return this.#interrupt('user', Msg.list(input));
  }

  /** Hands messages to the running reply, which reads them at its next step. @returns false if no reply is running */
  steer(input: MsgInput): boolean {
    return this.#parts.queue.current?.inbox.steer(Msg.list(input)) ?? false;
  }

  /** Has messages answered after the running reply, in the same call. @returns false if no reply is running */
  followUp(input: MsgInput): boolean {
    return this.#parts.queue.current?.inbox.followUp(Msg.list(input)) ?? false;
  }

  /**
   * Shows a message on the console, the stream and the queue. A growing message is printed again and again, and only its new part is shown.
   * @param last whether the message is complete
   * @param speech the next piece of the message's speech, which goes to the events, the queue and the `speaker`
   */
  async print(msg: Msg, last = true, speech?: AudioBlock): Promise<void> {
    const call = currentControlOf(this.id) ?? this.#parts.queue.current;
    const printed = speech === undefined ? { msg, last } : { msg, last, speech };
    const waits = this.#parts.printer.print(printed, call, this.showsOnConsole(msg));
    if (waits) await waits;
  }

  /** Prints the message so far of a draft, as `print` does. Returns a promise only if somebody is slow, or if `print` has hooks or is overridden. */
  protected printDraft(draft: MsgDraft, control: TurnControl): void | Promise<void> {
    if (!isUnhooked(this, PRINT, OWN_PRINT)) return this.print(draft.snapshot(), false);
    return this.#parts.printer.printDraft(draft, control, (msg) => this.showsOnConsole(msg));
  }

  /** Also puts printed messages into a queue. A full queue makes the agent wait. */
  setMsgQueueEnabled(enabled: boolean, queue?: BoundedQueue<PrintedMsg>): void {
    this.#parts.printer.setQueueEnabled(enabled, queue);
  }

  get msgQueue(): BoundedQueue<PrintedMsg> | undefined {
    return this.#parts.printer.queue;
  }

  /** Turns console output on or off, as the option `console` does at the start. */
  setConsoleOutputEnabled(enabled: boolean, view: ConsoleView = programConsole): void {
    this.#parts.printer.setConsole(enabled ? view : undefined);
  }

  /**
   * Sets the observers of the agent's answers in a hub. The agent does not observe itself.
   * @param name name of the hub, for people
   */
  resetSubscribers(hub: string, observers: readonly Observer[], name?: string): void {
    this.#parts.subscribers.reset(
      hub,
      observers.filter((observer) => observer !== this),
      name,
    );
  }

  /** Ids of the hubs in which the agent takes part. */
  get hubs(): readonly string[] {
    return this.#parts.subscribers.hubs;
  }

  /** Name of a hub in which the agent takes part. @default its id */
  hubName(hub: string): string {
    return this.#parts.subscribers.nameOf(hub);
  }

  removeSubscribers(hub: string): void {
    if (!this.#parts.subscribers.remove(hub))
      getLogger().log('warn', `${this.name} has no subscribers in the hub '${hub}'.`);
  }

  /**
   * Calls the listener for each event of a type, or for all events (`'*'`), of `call()` as well as of `stream()`. No run waits for a
   * listener, is failed by one, or stops with one. The returned function removes the listener.
   *
   * @example
   * ```ts
   * import { ReActAgent } from 'troupe';
   * import { ScriptedModel } from 'troupe/testing';
   *
   * const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(['Hello.']) });
   * const stopListening = agent.on('reply_end', ({ status }) => console.log(status));
   * await agent.call('Hi.'); // finished
   * stopListening();
   * ```
   */
  on<Type extends EventType>(
    type: Type,
    listener: (event: EventOf<Type>) => unknown,
    options?: ListenOptions,
  ): () => void;
  on(type: '*', listener: (event: AgentEvent) => unknown, options?: ListenOptions): () => void;
  on(type: EventType | '*', listener: (event: never) => unknown, options?: ListenOptions): () => void {
    return this.#parts.listeners.add(type, listener, options);
  }

  /** Calls the listener each time a call has settled and the agent is free, or pending tool calls were closed. The returned function removes the listener. */
  onSettled(listener: () => void): () => void {
    const entry = (): void => {
      try {
        listener();
      } catch (error) {
        getLogger().log('warn', `A listener of ${this.name} threw: ${messageOf(error)}`);
      }
    };
    this.#parts.settledListeners.add(entry);
    return () => void this.#parts.settledListeners.delete(entry);
  }

  /**
   * Adds a listener that each call waits for before it tells its outcome: before the caller gets the answer, a question or an error, and
   * before the stream has `approval_needed` and `run_end`. A listener that rejects is reported as an `error` event. An interrupted call
   * waits for one second at most; a second interrupt ends the wait. Called again when observers have heard an answer only after the call.
   * The returned function removes the listener.
   */
  onOutcome(listener: () => Promise<void>): () => void {
    const entry = async (): Promise<void> => listener(); // throwing counts as rejecting
    this.#parts.outcomeListeners.add(entry);
    return () => void this.#parts.outcomeListeners.delete(entry);
  }

  /**
   * Adds a listener that is awaited before a tool with a `sideEffect` runs, of this agent or of an agent that it calls, and can save its
   * start. If the listener rejects, the tool does not run. The returned function removes the listener.
   */
  onCheckpoint(listener: () => Promise<void>): () => void {
    const entry = async (): Promise<void> => listener(); // throwing counts as rejecting
    this.#parts.checkpointListeners.add(entry);
    return () => void this.#parts.checkpointListeners.delete(entry);
  }

  /** Interrupts the current call, waits for its end, and refuses further calls. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#parts.isClosed = true;
    await this.#interrupt('dispose', []);
    this.setMsgQueueEnabled(false);
  }

  /** The default answer to an interrupt. */
  protected interruptReply(): Msg {
    const text = this.#options.interruptReply ?? INTERRUPT_REPLY;
    const metadata = { _is_interrupted: true };
    return Msg.assistant(text, { name: this.name, metadata, endReason: 'interrupted' });
  }

  /**
   * Whether `reply` may refuse a call because of pending tool calls. Events then begin when the reply has accepted the call, or with
   * the first one of the reply.
   */
  protected get mayRefuse(): boolean {
    return false;
  }

  /** Gets messages that came in while the answer became a question for an approval. */
  protected postpone(_msgs: readonly Msg[]): void {}

  /** Whether a message belongs on the console, if output is enabled. */
  protected showsOnConsole(_msg: Msg): boolean {
    return true;
  }

  /** Sends events from outside of agent calls to the listeners, after the listeners of `onOutcome`, such as a save. */
  protected async emitOutside(events: readonly EventBody[]): Promise<void> {
    const control = new TurnControl({
      agentId: this.id,
      agentName: this.name,
      observers: this.#parts.listeners,
      outcomeListeners: this.#parts.outcomeListeners,
    });
    const failed = (error: unknown): void => void control.emit({ type: 'error', error: toEventError(error) });
    await control.savePoints.beforeOutcome()?.catch(failed);
    for (const event of events) void control.emit(event);
    control.end();
    this.#notifySettled();
  }

  protected override assertStateCanLoad(): void {
    if (this.isRunning) throw new AgentBusyError(this.name, 'Load its state when it is idle.');
  }

  #call(input: MsgInput, options: CallOptions, listener?: RunListener): Promise<Msg> {
    const { lifetime = 'nested' } = options;
    const outer = lifetime === 'detached' ? undefined : currentControl();
    const outlivesParent = lifetime === 'background';
    const parent = outer?.state.isOver && !outer.signal.aborted && !outlivesParent ? undefined : outer;
    const { signal, runStep, structuredModel, decisions, onPending, isRetry } = options;
    const control = new TurnControl({
      agentId: this.id,
      agentName: this.name,
      parent,
      outlivesParent,
      listener,
      observers: this.#parts.listeners,
      signal,
      runStep,
      structuredModel,
      decisions,
      onPending,
      retriedIds: isRetry ? Msg.list(input).map(({ id }) => id) : [],
      outcomeListeners: this.#parts.outcomeListeners,
      checkpointListeners: this.#parts.checkpointListeners,
    });
    const call = this.#run(input, control, options.onBusy ?? this.#options.onBusy ?? 'reject');
    if (!outlivesParent) parent?.place.adopt(call);
    return call;
  }

  async #run(input: MsgInput, control: TurnControl, onBusy: OnBusy): Promise<Msg> {
    try {
      const msgs = Msg.list(input);
      this.#assertOpen();
      assertNotTooDeep(control.place);
      const waits = this.#parts.queue.enter(control, this.name, onBusy);
      if (waits) await waits;
      try {
        this.#assertOpen();
        return await control.run(() =>
          forkRunConfig(() => {
            if (isProgramObserved()) this.#tellCall(control, msgs);
            return traced(
              () => operationOf(this, control, msgs),
              () => new AgentCall(this, control, this.#callParts()).answer(msgs),
              { outcomeOf },
            );
          }),
        );
      } finally {
        this.#parts.queue.leave();
        this.#notifySettled();
      }
    } finally {
      control.end();
    }
  }

  #tellCall(control: TurnControl, msgs: readonly Msg[]): void {
    const { agentId, runId, agentPath, outerToolCallId: toolCallId } = control.place;
    const call = { agent: this, agentId, runId, replyId: control.reply.id, agentPath, msgs, toolCallId };
    tellObservers((observer) => observer.onCall(call));
  }

  #assertOpen(): void {
    if (this.#usedParts?.isClosed) throw new AgentClosedError(this.name);
  }

  async #interrupt(source: InterruptSource, msgs: readonly Msg[]): Promise<boolean> {
    const current = this.#usedParts?.queue.current;
    if (current === undefined) return false;
    const isAccepted = current.interruptOrEndWaits(source, msgs);
    if (!isInsideCallOf(this.id)) await this.#parts.queue.whenLeft();
    return isAccepted && current.state.interrupt !== undefined; // a late interrupt may find the answer complete
  }

  #notifySettled(): void {
    for (const listener of this.#parts.settledListeners) listener();
  }

  #leaveBehind(work: Promise<unknown>, what: 'reply' | 'handleInterrupt'): void {
    getLogger().log('warn', `${this.name} ignored an interrupt in ${LEFT_BEHIND[what]}.`);
    this.#parts.abandoned++;
    const settled = (): void => void this.#parts.abandoned--;
    work.then(settled, settled);
  }

  get #parts(): BaseParts {
    return (this.#usedParts ??= new BaseParts(this, this.#newPrinter()));
  }

  /** The parts of the agent, as its calls use them. */
  #callParts(): AgentParts {
    return {
      printer: this.#parts.printer,
      subscribers: this.#parts.subscribers,
      interruptTimeoutMs: this.#options.interruptTimeoutMs ?? Infinity,
      interruptReply: () => this.interruptReply(),
      mayRefuse: () => this.mayRefuse,
      postpone: (msgs) => this.postpone(msgs),
      leaveBehind: (work, what) => this.#leaveBehind(work, what),
    };
  }

  #newPrinter(): Printer {
    const { console, ttsModel, speaker, speakable } = this.#options;
    const printer = new Printer();
    printer.configureConsole(console);
    if (ttsModel === undefined && speaker === undefined) return printer;
    const speech =
      ttsModel &&
      new SpeechOutput({ ttsModel, speakable }, (msg, last, audio) => this.print(msg, last, audio));
    printer.setSpeech(speech, speaker);
    return printer;
  }
}

/** Queue of calls, printer, listeners and subscribers of an agent, made when first used. */
class BaseParts {
  readonly queue = new CallQueue();
  readonly printer: Printer;
  readonly listeners: EventListeners;
  readonly subscribers = new Subscribers();
  readonly settledListeners = new Set<() => void>();
  readonly outcomeListeners = new Set<() => Promise<void>>();
  readonly checkpointListeners = new Set<() => Promise<void>>();
  /** Replies that ignored an interrupt and still run. */
  abandoned = 0;
  isClosed = false;

  constructor(agent: AgentBase, printer: Printer) {
    this.listeners = new EventListeners(agent);
    this.printer = printer;
  }
}

function checkSpeech(ttsModel: TtsModelBase | undefined): void {
  if (ttsModel !== undefined && typeof ttsModel?.synthesize !== 'function')
    throw new TroupeError('invalid_config', 'ttsModel must be a TtsModelBase, such as one of troupe/openai.');
}

/** Description of an agent call for its span. */
function operationOf({ id, name }: AgentBase, control: TurnControl, input: readonly Msg[]): TracedOperation {
  const { runId, agentPath } = control.place;
  return { type: 'agent', id, name, runId, replyId: control.reply.id, agentPath, input };
}

/** Outcome of an agent call for its span. The usage is on the spans of the model calls, where it is counted once. */
function outcomeOf(answer: Msg): SpanOutcome {
  if (isInterruptReply(answer)) return { status: 'interrupted', answer };
  return { status: answer.pending === undefined ? 'ok' : 'suspended', answer };
}

/** @throws TroupeError if agents call each other endlessly */
function assertNotTooDeep({ agentPath, agentCallsInRun }: CallPlace): void {
  const path = `${agentPath.slice(0, 3).join(' > ')} > …`;
  if (agentPath.length > MAX_DEPTH)
    throw new TroupeError('too_deep', `Agents called each other more than ${MAX_DEPTH} deep: ${path}.`);
  if (agentCallsInRun > MAX_CALLS_IN_RUN)
    throw new TroupeError(
      'too_deep',
      `Agents called each other more than ${MAX_CALLS_IN_RUN} times: ${path}.`,
    );
}

/** The method of the class itself, also where somebody replaces it later. */
const OWN_PRINT: unknown = Reflect.get(AgentBase.prototype, 'print');
