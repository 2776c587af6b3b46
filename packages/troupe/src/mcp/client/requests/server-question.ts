import type { ElicitRequest } from '@modelcontextprotocol/client';

import {
  QUESTION_LIMITS,
  toUserQuestion,
  type UserAnswer,
  type UserQuestion,
} from '../../../message/user-question.ts';
import { isJsonObject } from '../../../util/json.ts';
import { cutText, oneLine, withoutControls } from '../../../util/text.ts';

/** Answer to a question of a server. `content` is the filled-in form; fields without a value get their defaults. */
export type McpAnswer =
  | { readonly action: 'accept'; readonly content?: UserAnswer | undefined }
  | { readonly action: 'decline' | 'cancel' };

/** Answers a question of a server. The signal is aborted when the server no longer waits. */
export type McpQuestionHandler = (
  question: UserQuestion,
  options: { readonly signal: AbortSignal },
) => McpAnswer | Promise<McpAnswer>;

const MAX_URL_CHARS = 2000;
const THIS_MACHINE = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Reads a question of a server, which is untrusted: the text names the server, a form is flat and small, and a page has an
 * address with https, or on this machine. Nothing is opened.
 * @throws TypeError that says what is not allowed
 */
export function toServerQuestion(server: string, params: ElicitRequest['params']): UserQuestion {
  const message = `${oneLine(server)} asks: ${plainLines(params.message)}`;
  if (params.mode === 'url')
    return toUserQuestion({ message, url: checkedPage(params.url) }, QUESTION_LIMITS);
  const { requestedSchema: schema } = params;
  // a form without fields asks for a yes or no
  const isEmpty = isJsonObject(schema.properties) && Object.keys(schema.properties).length === 0;
  return toUserQuestion(isEmpty ? { message, choices: [YES] } : { message, schema }, QUESTION_LIMITS);
}

/** Choice in place of a form without fields. */
const YES = 'Yes';

/** Question whether a server may use the model. The person sees the conversation, cut to what can be read. */
export function samplingQuestion(server: string, conversation: string): UserQuestion {
  const start = `${oneLine(server)} wants to use your model for this conversation`;
  const text = plainLines(conversation);
  const isCut = start.length + text.length + 2 > QUESTION_LIMITS.maxChars;
  const whole = `${start}${isCut ? `, of which only the beginning of ${text.length} characters is shown` : ''}:\n`;
  const message = whole + cutText(text, QUESTION_LIMITS.maxChars - whole.length);
  return toUserQuestion({ message, choices: [ALLOW, DENY] }, QUESTION_LIMITS);
}

/** Text of a server without characters that control a terminal or turn the reading order around. */
function plainLines(text: string): string {
  return withoutControls(text).split('\n').map(oneLine).join('\n');
}

/** Choices about the use of the model. */
export const ALLOW = 'Allow';
const DENY = 'Deny';

/** The address in the form that browsers use, with a host in plain letters. */
function checkedPage(given: string): string {
  const url = given.length > MAX_URL_CHARS ? null : URL.parse(given);
  if (url === null) throw new TypeError('the address of the page is not readable');
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && THIS_MACHINE.test(url.hostname));
  if (!isSafe) throw new TypeError('the page must have an address with https');
  if (url.username !== '' || url.password !== '')
    throw new TypeError('the address of the page must not hold a user name or password');
  return url.href;
}
