import { programMsg, type Msg } from '../message/msg.ts';
import { escapeTags } from '../util/escape-tags.ts';

/** Hints: texts after the history, each in the prompt of one model call only. */

export const EMPTY_MSG_HINT = 'Your last answer was empty. Answer the user, or call a tool.';
export const CUT_MSG_HINT =
  'Your last answer was cut off at the limit of tokens before it said anything. Answer the user in few words, or call a tool with short arguments.';
export const REASON_AGAIN_HINT =
  'Your last message is not accepted as the answer yet. Think again, and go on.';
export const STRUCTURED_OUTPUT_HINT =
  'The answer is wanted in a set shape. Call generate_response with it now; text alone does not count.';
export const SUMMARY_HINT =
  'You have used up all your steps, and no tool can be called any more. Tell the user what you have found out and what is left to do.';

export function hintMsg(text: string): Msg {
  return programMsg(`<system-hint>${escapeTags(text)}</system-hint>`);
}
