import type { Msg } from './msg.ts';

/** Why a reply ended: in its metadata, as `_end_reason`. */
export type EndReason = 'finished' | 'structured' | 'max_iters' | 'tool_suspended' | 'interrupted' | 'error';

/** A message that says why it is the last one of its reply. */
export function endedBy(reason: EndReason, msg: Msg): Msg {
  return msg.with({ metadata: { ...msg.metadata, _end_reason: reason } });
}
