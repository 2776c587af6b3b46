import { Msg } from '../message/msg.ts';

/** What the loop tells the model besides the conversation. A hint lives for one model call. */

export const SAY_SOMETHING = 'Your last answer was empty. Answer the user, or call a tool.';
export const FILL_IN_THE_FORM =
  'The answer is wanted in a set shape. Call generate_response with it now; text alone does not count.';
export const SUM_UP =
  'You have used up all your steps, and no tool can be called any more. Tell the user what you have found out and what is left to do.';

export function hintMsg(text: string): Msg {
  return Msg.user(`<system-hint>${text}</system-hint>`);
}
