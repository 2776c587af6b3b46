import type { Msg } from './msg.ts';

/** Why a reply ended. `stopped`: a hook stopped the agent. */
export type EndReason =
  | 'finished'
  | 'structured'
  | 'max_iters'
  | 'tool_suspended'
  | 'stopped'
  | 'interrupted'
  | 'error';

export const END_REASONS: readonly EndReason[] = [
  'finished',
  'structured',
  'max_iters',
  'tool_suspended',
  'stopped',
  'interrupted',
  'error',
];

/** Whether a message answers an interrupt. A `handleInterrupt` of the program's own may say so by `_is_interrupted` alone. */
export function isInterruptReply({ endReason, metadata }: Msg): boolean {
  return endReason === undefined ? metadata['_is_interrupted'] === true : endReason === 'interrupted';
}
