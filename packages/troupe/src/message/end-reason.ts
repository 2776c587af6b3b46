import type { JsonObject } from '../util/json.ts';

/** Reason for the end of a reply. `stopped`: a hook stopped the agent. */
export type EndReason =
  | 'finished'
  | 'structured'
  | 'max_iters'
  | 'tool_suspended'
  | 'stopped'
  | 'interrupted'
  | 'error'
  /** The answer was cut off at the limit of tokens. */
  | 'length';

export const END_REASONS: readonly EndReason[] = [
  'finished',
  'structured',
  'max_iters',
  'tool_suspended',
  'stopped',
  'interrupted',
  'error',
  'length',
];

/** True if a message answers an interrupt. A program's own `handleInterrupt` may set `_is_interrupted` in the metadata only. */
export function isInterruptReply({
  endReason,
  metadata,
}: {
  readonly endReason?: EndReason | undefined;
  readonly metadata: JsonObject;
}): boolean {
  return endReason === undefined ? metadata['_is_interrupted'] === true : endReason === 'interrupted';
}
