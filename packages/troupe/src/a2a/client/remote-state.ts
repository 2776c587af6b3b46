import type { TaskState } from '@a2a-js/sdk';

import { A2AError } from '../protocol/a2a-error.ts';
import { a2aSdk } from '../protocol/sdk.ts';

/** States without further updates. `input_required` and `auth_required` continue with the requested input. */
export type SettledState =
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'
  | 'input_required'
  | 'auth_required';

/** State of a remote task. */
export type RemoteState = 'working' | SettledState;

/** @throws A2AError if the protocol has no such state */
export function remoteStateOf(state: TaskState | undefined): RemoteState {
  const { TaskState } = a2aSdk;
  switch (state) {
    case TaskState.TASK_STATE_COMPLETED:
      return 'completed';
    case TaskState.TASK_STATE_FAILED:
      return 'failed';
    case TaskState.TASK_STATE_CANCELED:
      return 'canceled';
    case TaskState.TASK_STATE_REJECTED:
      return 'rejected';
    case TaskState.TASK_STATE_INPUT_REQUIRED:
      return 'input_required';
    case TaskState.TASK_STATE_AUTH_REQUIRED:
      return 'auth_required';
    case TaskState.UNRECOGNIZED:
      throw new A2AError('bad_answer', 'The remote agent named a state that tasks do not have.');
    default:
      return 'working'; // also where protocol 0.3 says "unknown"
  }
}
