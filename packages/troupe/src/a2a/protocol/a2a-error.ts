import { TroupeError } from '../../errors.ts';
import type { Msg } from '../../message/msg.ts';

/**
 * Kind of failure. The remote agent ended its task: `failed`, `rejected`, `canceled`. The request failed:
 * `unreachable`, `timed_out`, `refused` by the server, `bad_answer` or `too_large`. Nothing was sent:
 * `bad_card`, `unsafe_url`.
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
  /** Task of the request, if one was created. */
  readonly taskId?: string | undefined;
  /** Answer of the remote agent so far. */
  readonly reply?: Msg | undefined;
  /** Protocol name of the server's reason for refusing, such as `TASK_NOT_FOUND`. */
  readonly reason?: string | undefined;
}

/**
 * Thrown when a remote agent gives no answer. Contains no text of the server or the network, which may repeat
 * sent data.
 */
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
