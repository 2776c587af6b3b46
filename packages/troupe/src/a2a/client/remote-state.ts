import { TaskState } from '@a2a-js/sdk';

/** The states in which nothing more comes by itself. In two of them the task goes on when it is given what it needs. */
export type SettledState =
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'
  | 'input_required'
  | 'auth_required';

/** Where a remote task stands. A state that we don't know is one of work. */
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
