import type { Part } from '@a2a-js/sdk';

import { answerFromText } from '../../approval/answer-from-text.ts';
import type { PendingCall, PendingDecision } from '../../message/pending-call.ts';
import type { UserAnswer } from '../../message/user-question.ts';
import { isJsonObject } from '../../util/json.ts';

/**
 * Takes the answer to a question out of a message: a data part, or words. Only if exactly one question is pending; words never
 * decide about approvals, nor say that a person has been to a page. The agent refuses an answer that does not fit.
 */
export async function splitAnswer(
  parts: readonly Part[],
  pending: readonly PendingCall[],
): Promise<{ readonly parts: readonly Part[]; readonly decisions: readonly PendingDecision[] }> {
  const [asked, ...others] = pending.filter(({ question }) => question !== undefined);
  const isAnswerable = asked?.question !== undefined && asked.question.url === undefined;
  if (!isAnswerable || others.length > 0) return { parts, decisions: [] };
  const decided = (answer: UserAnswer | undefined, used: (part: Part) => boolean) => ({
    parts: parts.filter((part) => !used(part)),
    decisions: [{ id: asked.id, verdict: 'answer' as const, answer }],
  });
  for (const part of parts) {
    const data: unknown = part.content?.$case === 'data' ? part.content.value : undefined;
    if (isJsonObject(data) || Array.isArray(data))
      return decided(data as UserAnswer, (one) => one === part || isText(one));
  }
  const text = parts.flatMap(({ content }) => (content?.$case === 'text' ? content.value : [])).join('\n');
  if (text.trim() === '') return { parts, decisions: [] };
  try {
    return decided(await answerFromText(asked.question, text), isText);
  } catch {
    return decided(text, isText);
  }
}

function isText({ content }: Part): boolean {
  return content?.$case === 'text';
}
