import type { InterruptSource } from '../errors.ts';
import type { Msg } from '../message/msg.ts';

/** An interrupt, as `handleInterrupt` gets it. */
export interface Interrupt {
  readonly source: InterruptSource;
  /** Messages that came with the interrupt. */
  readonly msgs: readonly Msg[];
  /** Steering and follow-ups that nobody read. */
  readonly unread: readonly Msg[];
  /** Aborted when nobody waits for the answer any longer. `handleInterrupt` should do nothing more then. */
  readonly signal: AbortSignal;
}
