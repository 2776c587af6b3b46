import type { AssistantItem, PromptItem, SystemItem, UserItem } from '../../formatter/prompt.ts';
import type { GeminiDialect } from './gemini-dialect.ts';
import { isSent } from './gemini-to-wire.ts';

/** Prompt in the order that Gemini requires. */
export interface GeminiPrompt {
  /** System items at the beginning of the conversation. */
  readonly system: readonly SystemItem[];
  readonly items: readonly PromptItem[];
}

const OPENING: UserItem = userItem('Please begin.');
const CLOSING: UserItem = userItem('Please go on.');

/**
 * Orders a prompt for Gemini, which requires a conversation to begin and end with a user, and tool calls to
 * follow a user message or tool results: consecutive answers are merged. Added items stand only at the ends,
 * so that the contents in between stay unchanged.
 */
export function arrange(items: readonly PromptItem[], { takesSystem }: GeminiDialect): GeminiPrompt {
  const end = takesSystem ? items.findIndex((item) => item.role !== 'system') : 0;
  const system = items.slice(0, end === -1 ? items.length : end).filter((item) => item.role === 'system');
  const turns = joinAnswers(items.slice(system.length));
  if (turns.at(-1)?.role === 'assistant') turns.push(CLOSING);
  if (turns[0] === undefined || turns[0].role === 'assistant') turns.unshift(OPENING);
  return { system, items: turns };
}

function joinAnswers(items: readonly PromptItem[]): PromptItem[] {
  const joined: PromptItem[] = [];
  for (const item of items) {
    if (item.role !== 'assistant') joined.push(item);
    else if (item.content.some(isSent)) {
      const before = joined.at(-1);
      if (before?.role === 'assistant') joined.splice(-1, 1, join(before, item));
      else joined.push(item);
    }
  }
  return joined;
}

const joins = new WeakMap<AssistantItem, { readonly next: AssistantItem; readonly item: AssistantItem }>();

/** Joins two answers. Returns the same object each time, so that JSON is created once. */
function join(first: AssistantItem, next: AssistantItem): AssistantItem {
  const known = joins.get(first);
  if (known?.next === next) return known.item;
  const item: AssistantItem = { ...next, content: [...first.content, ...next.content] };
  joins.set(first, { next, item });
  return item;
}

function userItem(text: string): UserItem {
  return { role: 'user', name: 'user', content: [{ type: 'text', text }] };
}
