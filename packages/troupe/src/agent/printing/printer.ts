import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import { impliedSender, type BlockChange } from '../../message/block-change.ts';
import type { AudioBlock } from '../../message/blocks.ts';
import type { MsgDraft } from '../../message/msg-draft.ts';
import type { Msg } from '../../message/msg.ts';
import type { AudioSink } from '../../tts/audio-sink.ts';
import { abortable } from '../../util/abort.ts';
import { BoundedQueue } from '../../util/async/bounded-queue.ts';
import { readEnv } from '#platform';
import { ConsoleView } from './console-view.ts';
import { PrintLog } from './print-log.ts';
import { SpeechPlayer } from './play-speech.ts';
import type { SpeechOutput } from './speech-output.ts';
import type { TurnControl } from '../turn/turn-control.ts';

/** A printed message. */
export interface PrintedMsg {
  readonly msg: Msg;
  /** Whether the message is complete. A growing message is printed again and again. */
  readonly last: boolean;
  /** The next piece of the message's speech. */
  readonly speech?: AudioBlock | undefined;
}

const SILENCE_VARIABLE = 'TROUPE_DISABLE_CONSOLE_OUTPUT';
const QUEUE_CAPACITY = 100;

/** The console of this program, shared by all agents. */
export const programConsole = new ConsoleView();

/** @throws TroupeError for a wrong option `console` of an agent */
export function checkConsole(option: boolean | ConsoleView = true): void {
  if (typeof option !== 'boolean' && typeof option?.show !== 'function')
    throw new TroupeError('invalid_config', 'console must be true, false or a ConsoleView.');
}

/**
 * Sends printed messages to the console and the stream (only the changes) and to the queue (whole messages). Prints of a call
 * that is over are dropped. Folder `agent/printing`: start here.
 */
export class Printer {
  #usedLog: PrintLog | undefined;
  #console: ConsoleView | undefined;
  #queue: BoundedQueue<PrintedMsg> | undefined;
  /** The last queue made by the printer itself. */
  #ownQueue: BoundedQueue<PrintedMsg> | undefined;
  #hasWarned = false;
  #speech: SpeechOutput | undefined;
  #player = new SpeechPlayer(undefined);

  /** Made by the first print. */
  get #log(): PrintLog {
    return (this.#usedLog ??= new PrintLog());
  }

  get queue(): BoundedQueue<PrintedMsg> | undefined {
    return this.#queue;
  }

  setQueueEnabled(enabled: boolean, queue?: BoundedQueue<PrintedMsg>): void {
    const isOwn = this.#queue !== undefined && this.#queue === this.#ownQueue;
    if (isOwn && (!enabled || queue !== undefined)) this.#queue?.liftCapacity(); // its writers must not wait any longer
    if (!enabled) this.#queue = undefined;
    else this.#queue = queue ?? this.#queue ?? (this.#ownQueue = new BoundedQueue(QUEUE_CAPACITY));
  }

  /** Applies the option `console` of an agent; the environment variable wins. */
  configureConsole(option: boolean | ConsoleView = true): void {
    if (option === false || readEnv(SILENCE_VARIABLE)?.toLowerCase() === 'true') return;
    this.#console = option === true ? programConsole : option;
  }

  /** Speaks printed messages. @param sink where their speech is played, if anywhere */
  setSpeech(speech: SpeechOutput | undefined, sink: AudioSink | undefined): void {
    this.#speech = speech;
    this.#player = new SpeechPlayer(sink);
  }

  setConsole(view: ConsoleView | undefined): void {
    this.#console = view;
  }

  /** Returns a promise only if the agent call has to pause, or if somebody gets the message. */
  print(printed: PrintedMsg, call: TurnControl | undefined, toConsole: boolean): void | Promise<void> {
    const pauses = call?.pause(); // endless printing must not delay an interrupt
    if (pauses) return pauses.then(() => this.#print(printed, call, toConsole));
    const isUnseen = (this.#console === undefined || !toConsole) && call?.outlet.wantsBlocks !== true;
    const isUnspoken = this.#speech === undefined && printed.speech === undefined;
    if (isUnseen && isUnspoken && this.#queue === undefined) return;
    return this.#print(printed, call, toConsole);
  }

  async #print(printed: PrintedMsg, call: TurnControl | undefined, toConsole: boolean): Promise<void> {
    if (call?.state.isOver) return;
    const { msg, last, speech } = printed;
    const console = toConsole ? this.#console : undefined;
    const isSpeechOnly = this.#speech?.isOwn(speech) ?? false;
    if (!isSpeechOnly && (console !== undefined || call?.outlet.wantsBlocks || this.#speech !== undefined)) {
      // Events carry a question as `approval_needed`, and its message in `run_end`: its text is no answer.
      const isQuestion = msg.pending !== undefined && !this.#log.isOpen(msg);
      const stream = isQuestion ? undefined : call;
      const changes = this.#log.changes(msg, last);
      if (stream !== undefined) this.#speech?.take(changes, msg, last, stream);
      for (const change of changes) await show(msg.name, withSender(change, msg, call), console, stream);
    }
    if (speech !== undefined) await this.#player.play(speech, msg, call);
    if (this.#queue !== undefined) await this.#enqueue(printed, call);
  }

  /** Prints the message so far of a draft. Returns a promise only if the agent call has to pause, or if somebody is slow. */
  printDraft(
    draft: MsgDraft,
    call: TurnControl,
    showsOnConsole: (msg: Msg) => boolean,
  ): void | Promise<void> {
    const pauses = call.pause();
    if (pauses || this.#queue !== undefined || this.#console !== undefined || this.#speech !== undefined) {
      const msg = draft.snapshot();
      const print = (): void | Promise<void> => this.print({ msg, last: false }, call, showsOnConsole(msg));
      return pauses ? pauses.then(print) : print();
    }
    if (call.state.isOver || !call.outlet.wantsBlocks) return;
    const changes = this.#log.draftChanges(draft);
    let shown = 0;
    for (const change of changes) {
      const waits = call.emit(withSender(change, draft, call));
      shown++;
      if (waits) return emitRest(changes.slice(shown), draft, call, waits);
    }
  }

  /** Ends messages that were printed in part only. */
  async end(agentName: string, call: TurnControl): Promise<void> {
    for (const change of this.#log.close()) await show(agentName, change, this.#console, call);
    await this.#speech?.end(call);
  }

  async #enqueue(printed: PrintedMsg, call: TurnControl | undefined): Promise<void> {
    const waits = this.#queue?.put(printed);
    if (!waits) return;
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      getLogger().log(
        'warn',
        `The message queue that ${printed.msg.name} prints to is full: it waits until somebody reads.`,
      );
    }
    await (call ? abortable(waits, call.signal).catch(() => {}) : waits);
  }
}

/** Adds the sender of a message to the start of a block, where events do not imply it. */
function withSender(
  change: BlockChange,
  { name, role }: Pick<Msg, 'name' | 'role'>,
  call: TurnControl | undefined,
): BlockChange {
  if (change.type !== 'block_start') return change;
  const implied = impliedSender(change.blockType, call?.place.agentPath ?? []);
  const isImplied = implied.name === name && implied.role === role;
  return isImplied ? change : { ...change, sender: { name, role } };
}

/** Emits changes of a draft one after the other, where the reader of the stream is slow. */
async function emitRest(
  changes: readonly BlockChange[],
  draft: MsgDraft,
  call: TurnControl,
  waits: Promise<void>,
): Promise<void> {
  await waits;
  for (const change of changes) await call.emit(withSender(change, draft, call));
}

async function show(
  name: string,
  change: BlockChange,
  console?: ConsoleView,
  call?: TurnControl,
): Promise<void> {
  console?.show(name, change);
  const waits = call?.emit(change);
  if (waits) await waits;
}
