import { TroupeError } from '../../errors.ts';
import type { Msg } from '../../message/msg.ts';

/**
 * What went wrong. How the remote agent ended its task: `failed`, `rejected`, `canceled`. On the way there:
 * `unreachable`, `timed_out`, `refused` by the server, `bad_answer` or `too_large` from it. Before anything
 * was sent: `bad_card`, `unsafe_url`.
 */
export type A2AFailure =
  | 'bad_answer'
  | 'bad_card'
  | 'canceled'
  | 'failed'
  | 'refused'
  | 'rejected'
  | 'timed_out'
  | 'too_large'
  | 'unreachable'
  | 'unsafe_url';

export interface A2AErrorDetails {
  /** The task that it was about, if one was made. */
  readonly taskId?: string | undefined;
  /** What the remote agent said until then. */
  readonly reply?: Msg | undefined;
  /** Why the server refused, by the protocol's name for it, such as `TASK_NOT_FOUND`. */
  readonly reason?: string | undefined;
}

/** A remote agent gave no answer. What a server or the network said is not repeated here: it may hold what we sent. */
export class A2AError extends TroupeError {
  override readonly name = 'A2AError';
  readonly taskId: string | undefined;
  readonly reply: Msg | undefined;
  readonly reason: string | undefined;

  constructor(
    readonly failure: A2AFailure,
    message: string,
    { taskId, reply, reason }: A2AErrorDetails = {},
  ) {
    super('a2a_failed', message);
    this.taskId = taskId;
    this.reply = reply;
    this.reason = reason;
  }

  static override isInstance(value: unknown): value is A2AError {
    return TroupeError.isInstance(value) && value.code === 'a2a_failed';
  }
}
