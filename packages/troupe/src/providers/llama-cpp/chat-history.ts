import type { AssistantItem, PromptItem, ToolItem } from '../../formatter/prompt.ts';
import { plainOutput } from '../../formatter/tool-output.ts';
import { callText, sayText } from './envelope.ts';
import type { AnswerPlan } from './answer-plan.ts';
import type { ChatTurn } from './llama-library.ts';

/**
 * The prompt as turns of a chat: instructions, and then user and model by turns, as the
 * templates of most models want it. Results of tools come as turns of the user.
 */
export function toChatHistory(
  items: readonly PromptItem[],
  { instructions, isEnveloped }: Pick<AnswerPlan, 'instructions' | 'isEnveloped'>,
): ChatTurn[] {
  const firstTurn = items.findIndex((item) => item.role !== 'system');
  const start = firstTurn === -1 ? items.length : firstTurn;
  const system = items.slice(0, start).map((item) => (item.role === 'system' ? item.text : ''));
  const turns: Turn[] = [];
  for (const item of items.slice(start)) {
    const speaker = item.role === 'assistant' ? 'model' : 'user';
    const text = textOf(item, isEnveloped);
    const last = turns.at(-1);
    if (text === '') continue;
    if (last?.speaker === speaker) last.texts.push(text);
    else turns.push({ speaker, texts: [text] });
  }
  if (turns.at(-1)?.speaker === 'model') turns.push({ speaker: 'user', texts: ['Go on.'] });
  const instructionText = [...system, instructions].filter((text) => text !== '').join('\n\n');
  return [
    ...(instructionText === '' ? [] : [{ type: 'system', text: instructionText } as const]),
    ...turns.map(({ speaker, texts }): ChatTurn => {
      return speaker === 'user'
        ? { type: 'user', text: texts.join('\n\n') }
        : { type: 'model', response: [texts.join('\n')] };
    }),
  ];
}

interface Turn {
  readonly speaker: 'user' | 'model';
  readonly texts: string[];
}

function textOf(item: PromptItem, isEnveloped: boolean): string {
  switch (item.role) {
    case 'system':
      return item.text;
    case 'user':
      return textBlocks(item.content).join('\n');
    case 'assistant':
      return answerText(item, isEnveloped);
    case 'tool':
      return resultsText(item);
  }
}

/** Writes an earlier answer in the model's own output format. */
function answerText({ content }: AssistantItem, isEnveloped: boolean): string {
  const answer = textBlocks(content).join('\n');
  const calls = content.filter((block) => block.type === 'tool_use');
  const parts = calls.map(({ name, input }) => callText(name, input));
  if (answer !== '') parts.unshift(isEnveloped ? sayText(answer) : answer);
  return parts.join('\n');
}

function resultsText({ results }: ToolItem): string {
  return results
    .map((result) => {
      const text = plainOutput(result);
      return result.status === 'ok'
        ? `Result of ${result.name}: ${text}`
        : `${result.name} did not work (${result.status}): ${text}`;
    })
    .join('\n');
}

function textBlocks(blocks: readonly { readonly type: string; readonly text?: string }[]): string[] {
  return blocks.flatMap((block) => (block.type === 'text' && block.text !== undefined ? [block.text] : []));
}
