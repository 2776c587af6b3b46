/** Failures of requests. */

import type { FieldProblem } from 'troupe/studio';

/** Body of every failed request. `message` is for people. */
export interface ApiError {
  readonly code: ApiErrorCode;
  readonly message: string;
  /** Problems of single fields, such as fields of an answer with other types than its schema. */
  readonly problems?: readonly FieldProblem[];
}

export type ApiErrorCode =
  | 'unauthorized' // no cookie, or the Studio was restarted: log in again
  | 'forbidden' // foreign Host or Origin
  | 'not_found'
  | 'invalid' // the body does not fit
  | 'too_large'
  | 'gone' // no longer waiting, or the program has left
  | 'decided' // another window decided before
  | 'changed' // the arguments differ from the arguments that were shown
  | 'busy' // the agent answers another call
  | 'unsupported' // the run can not do this, such as a branch of a run of another program
  | 'timeout' // the program did not answer in time
  | 'failed'; // the program answered with an error
