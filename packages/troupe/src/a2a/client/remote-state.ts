import { TaskState } from '@a2a-js/sdk';

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

const STATES: Partial<Record<TaskState, SettledState>> = {
  [TaskState.TASK_STATE_COMPLETED]: 'completed',
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_CANCELED]: 'canceled',
  [TaskState.TASK_STATE_REJECTED]: 'rejected',
  [TaskState.TASK_STATE_INPUT_REQUIRED]: 'input_required',
  [TaskState.TASK_STATE_AUTH_REQUIRED]: 'auth_required',
};

export function remoteStateOf(state: TaskState | undefined): RemoteState {
  return (state === undefined ? undefined : STATES[state]) ?? 'working';
}
