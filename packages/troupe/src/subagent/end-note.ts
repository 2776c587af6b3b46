import type { ToolOutputBlock } from '../message/blocks.ts';
import { isInterruptReply, type EndReason } from '../message/end-reason.ts';
import type { Msg } from '../message/msg.ts';

/** Note for the host's model on an answer that was cut off, stopped or given up. */
export interface EndNote {
  readonly reason: EndReason;
  readonly text: string;
}

const CAUSES: Readonly<Partial<Record<EndReason, string>>> = {
  length: 'was cut off at the limit of tokens. Ask for a shorter answer, or for the rest of it',
  stopped: 'was given when a hook stopped the agent: the task may not be done',
  interrupted: 'was given when the agent was interrupted: the task may not be done',
  max_iters: 'was given because the agent ran out of steps: the task may not be done',
  error: 'tells of a failure: the task is not done',
};

/** The note on an answer that was cut, stopped or given up; undefined for a plain answer. */
export function endNote(agentName: string, answer: Msg): EndNote | undefined {
  const reason = isInterruptReply(answer) ? 'interrupted' : answer.endReason;
  const cause = reason === undefined ? undefined : CAUSES[reason];
  if (reason === undefined || cause === undefined) return undefined;
  return { reason, text: `[This answer of ${agentName} ${cause}.]` };
}

/** Content with a note behind it. */
export function withNote(
  content: string | readonly ToolOutputBlock[],
  note: EndNote | undefined,
): string | readonly ToolOutputBlock[] {
  if (note === undefined) return content;
  if (typeof content === 'string') return `${content}\n\n${note.text}`;
  return [...content, { type: 'text', text: note.text }];
}
