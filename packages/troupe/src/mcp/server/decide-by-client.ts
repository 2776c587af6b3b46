import { checkedAnswer } from '../../approval/answers.ts';
import { messageOf } from '../../errors.ts';
import type { PendingCall, PendingDecision } from '../../message/pending-call.ts';
import type { UserQuestion } from '../../message/user-question.ts';
import type { JsonObject } from '../../util/json.ts';
import { oneLine } from '../../util/text.ts';
import type { McpToolRequest } from './mcp-tool-request.ts';

const MAX_INPUT_CHARS = 1000;
/** Maximum times that a question is put to the person. */
const MAX_ATTEMPTS = 3;

/**
 * Puts pending tool calls to the person at a client, one after the other: an approval as a yes or no, a question as its form. Tool
 * calls whose results come from elsewhere are denied.
 */
export async function decideByClient(
  client: McpToolRequest,
  agentName: string,
  pending: readonly PendingCall[],
): Promise<readonly PendingDecision[]> {
  const decisions: PendingDecision[] = [];
  for (const one of pending) decisions.push(await decide(client, agentName, one));
  return decisions;
}

async function decide(
  client: McpToolRequest,
  agentName: string,
  { id, kind, call, reason, question }: PendingCall,
): Promise<PendingDecision> {
  if (question !== undefined) return answer(client, id, question);
  if (kind === 'external') return { id, verdict: 'deny', reason: 'nobody can give its result here' };
  const input = JSON.stringify(call.input);
  const shown = input.length > MAX_INPUT_CHARS ? `${input.slice(0, MAX_INPUT_CHARS)}… (cut)` : input;
  const why = reason === undefined ? '' : ` (${reason})`;
  const message = oneLine(`May ${agentName} call ${call.name} with ${shown}?${why}`);
  const properties = { allow: { type: 'boolean', title: 'Allow', default: false } };
  const schema: JsonObject = { type: 'object', properties, required: ['allow'] };
  const said = await client.elicit({ message, schema });
  const isAllowed = said.action === 'accept' && said.content['allow'] === true;
  return isAllowed ? { id, verdict: 'allow' } : { id, verdict: 'deny' };
}

/** Puts a question to the person, again after an answer that does not fit. Declined after the last attempt. */
async function answer(client: McpToolRequest, id: string, question: UserQuestion): Promise<PendingDecision> {
  const { message, url } = question;
  if (url !== undefined) {
    const isVisited = client.canElicitUrl && (await client.elicitUrl(message, url)) === 'accept';
    return isVisited ? { id, verdict: 'answer' } : { id, verdict: 'deny' };
  }
  let problem = '';
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const given = await elicited(client, { ...question, message: `${problem}${message}` });
    if (given === undefined) return { id, verdict: 'deny' };
    try {
      return { id, verdict: 'answer', answer: await checkedAnswer(question, given) };
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      problem = `The answer does not fit: ${messageOf(error)}.\n`;
    }
  }
  return { id, verdict: 'deny', reason: 'no answer fitted' };
}

/** The unchecked answer; undefined if the person declines. A question in words or with choices becomes a form with one field. */
async function elicited(
  client: McpToolRequest,
  { message, choices, multiple = false, schema }: UserQuestion,
): Promise<unknown> {
  if (schema !== undefined) {
    const filled = await client.elicit({ message, schema });
    return filled.action === 'accept' ? filled.content : undefined;
  }
  const one: JsonObject = { type: 'string', ...(choices && { enum: choices }) };
  const field = multiple ? { type: 'array', items: one } : one;
  const form: JsonObject = { type: 'object', properties: { answer: field }, required: ['answer'] };
  const said = await client.elicit({ message, schema: form });
  return said.action === 'accept' ? said.content['answer'] : undefined;
}
