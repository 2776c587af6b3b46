import type { Msg } from './msg.ts';

/** Why a reply ended. */
export type EndReason =
  | 'finished'
  | 'structured'
  | 'max_iters'
  | 'tool_suspended'
  | 'interrupted'
  | 'error'
  /** The answer was cut off at the limit of tokens. */
  | 'length';

export const END_REASONS: readonly EndReason[] = [
  'finished',
  'structured',
  'max_iters',
  'tool_suspended',
  'interrupted',
  'error',
  'length',
];

/** Whether a message answers an interrupt. A `handleInterrupt` of the program's own may say so by `_is_interrupted` alone. */
export function isInterruptReply({ endReason, metadata }: Msg): boolean {
  return endReason === undefined ? metadata['_is_interrupted'] === true : endReason === 'interrupted';
}
