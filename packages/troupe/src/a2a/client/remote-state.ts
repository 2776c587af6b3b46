import type { TaskState } from '@a2a-js/sdk';

import { a2aSdk } from '../protocol/sdk.ts';

/** States without further updates. `input_required` and `auth_required` continue with the requested input. */
export type SettledState =
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'
  | 'input_required'
  | 'auth_required';

/** State of a remote task. Unknown states count as working. */
export type RemoteState = 'working' | SettledState;

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
    default:
      return 'working';
  }
}
