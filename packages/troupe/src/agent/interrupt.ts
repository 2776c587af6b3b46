import type { InterruptSource } from '../errors.ts';
import type { Msg } from '../message/msg.ts';

/** Argument of `handleInterrupt`. */
export interface Interrupt {
  readonly source: InterruptSource;
  /** Messages passed to `interrupt`. */
  readonly msgs: readonly Msg[];
  /** Unread steering and follow-ups. */
  readonly unread: readonly Msg[];
  /** Aborted when nobody waits for the answer any longer. `handleInterrupt` should do nothing more then. */
  readonly signal: AbortSignal;
}
