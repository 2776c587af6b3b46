import type { PendingCall } from '../message/pending-call.ts';
import { escapeTags } from '../util/escape-tags.ts';

/** Result of a tool call that a model makes while another one waits for a decision. */
export const UNAVAILABLE_WHILE_PENDING =
  'Error: not run, because an earlier tool call waits for the decision of the user. Call it again after that.';

/** Longest arguments that are read out. */
const MAX_INPUT_CHARS = 500;

/** Instructions for the response that asks the person about a tool call. */
export function questionAbout({ call, reason }: PendingCall): string {
  const input = escapeTags(JSON.stringify(call.input).slice(0, MAX_INPUT_CHARS));
  const why = reason === undefined ? '' : ` The reason for asking: ${escapeTags(reason)}`;
  return `Ask the user in one short sentence whether the tool "${call.name}" may be run with the arguments ${input}, to be answered by yes or no.${why} Say nothing else, and call no tool.`;
}

/** Question that an agent asks aloud about a tool call. */
export function spokenQuestion({ call, reason }: PendingCall): string {
  const input = JSON.stringify(call.input).slice(0, MAX_INPUT_CHARS);
  const why = reason === undefined ? '' : ` ${reason}`;
  return `May I run ${call.name} with the arguments ${input}?${why} Please say yes or no.`;
}
