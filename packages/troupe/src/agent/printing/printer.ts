import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import { impliedSender, type BlockChange } from '../../message/block-change.ts';
import type { Msg } from '../../message/msg.ts';
import { abortable } from '../../util/abort.ts';
import { BoundedQueue } from '../../util/async/bounded-queue.ts';
import { readEnv } from '#platform';
import { ConsoleView } from './console-view.ts';
import { PrintLog } from './print-log.ts';
import type { TurnControl } from '../turn/turn-control.ts';

/** A printed message. */
export interface PrintedMsg {
  readonly msg: Msg;
  /** Whether the message is complete. A growing message is printed again and again. */
  readonly last: boolean;
}

const SILENCE_VARIABLE = 'TROUPE_DISABLE_CONSOLE_OUTPUT';
const QUEUE_CAPACITY = 100;

/** The console of this program, shared by all agents. */
export const programConsole = new ConsoleView();

/**
 * Sends printed messages to the console and the stream (only the changes) and to the queue (whole messages). Prints of a call
 * that is over are dropped. Folder `agent/printing`: start here.
 */
export class Printer {
  readonly #log = new PrintLog();
  #console: ConsoleView | undefined =
    readEnv(SILENCE_VARIABLE)?.toLowerCase() === 'true' ? undefined : programConsole;
  #queue: BoundedQueue<PrintedMsg> | undefined;
  /** The last queue made by the printer itself. */
  #ownQueue: BoundedQueue<PrintedMsg> | undefined;
  #hasWarned = false;

  get queue(): BoundedQueue<PrintedMsg> | undefined {
    return this.#queue;
  }

  setQueueEnabled(enabled: boolean, queue?: BoundedQueue<PrintedMsg>): void {
    const isOwn = this.#queue !== undefined && this.#queue === this.#ownQueue;
    if (isOwn && (!enabled || queue !== undefined)) this.#queue?.liftCapacity(); // its writers must not wait any longer
    if (!enabled) this.#queue = undefined;
    else this.#queue = queue ?? this.#queue ?? (this.#ownQueue = new BoundedQueue(QUEUE_CAPACITY));
  }

  /** Applies the option `console` of an agent; the environment variable wins. @throws TroupeError */
  configureConsole(option: boolean | ConsoleView = true): void {
    if (typeof option !== 'boolean' && typeof option?.show !== 'function')
      throw new TroupeError('invalid_config', 'console must be true, false or a ConsoleView.');
    if (this.#console === undefined || option === true) return;
    this.#console = option === false ? undefined : option;
  }

  setConsole(view: ConsoleView | undefined): void {
    this.#console = view;
  }

  async print({ msg, last }: PrintedMsg, call: TurnControl | undefined, toConsole: boolean): Promise<void> {
    const pauses = call?.pause(); // endless printing must not delay an interrupt
    if (pauses) await pauses;
    if (call?.state.isOver) return;
    const console = toConsole ? this.#console : undefined;
    if (console !== undefined || call?.outlet.wantsBlocks) {
      // Events carry a question as `approval_needed`, and its message in `run_end`: its text is no answer.
      const isQuestion = msg.pending !== undefined && !this.#log.isOpen(msg);
      const stream = isQuestion ? undefined : call;
      for (const change of this.#log.changes(msg, last))
        await show(msg.name, withSender(change, msg, call), console, stream);
    }
    if (this.#queue !== undefined) await this.#enqueue({ msg, last }, call);
  }

  /** Ends messages that were printed in part only. */
  async end(agentName: string, call: TurnControl): Promise<void> {
    for (const change of this.#log.close()) await show(agentName, change, this.#console, call);
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
function withSender(change: BlockChange, { name, role }: Msg, call: TurnControl | undefined): BlockChange {
  if (change.type !== 'block_start') return change;
  const implied = impliedSender(change.blockType, call?.agentPath ?? []);
  const isImplied = implied.name === name && implied.role === role;
  return isImplied ? change : { ...change, sender: { name, role } };
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
