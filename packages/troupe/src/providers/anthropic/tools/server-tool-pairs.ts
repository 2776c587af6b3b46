import { providerToolText } from '../../../formatter/provider-parts.ts';
import type { AssistantItem, PromptItem } from '../../../formatter/prompt.ts';
import { isProviderTool, type ContentBlock } from '../../../message/blocks.ts';
import { objectOf, stringOf } from '../../../model/http/wire-values.ts';
import { ANTHROPIC_KEY, callerOf, referencedTools, standsAlone, wireServerBlock } from './server-tools.ts';

type Block = AssistantItem['content'][number];

/** Server tools in a prompt, as far as the API accepts them. */
export interface ServerToolPlan {
  readonly items: readonly PromptItem[];
  /** Whether code of a server tool waits for the tool results at the end, in its container. */
  readonly hasWaitingCode: boolean;
}

/**
 * Makes server tools in a history acceptable. The API refuses a server call without its result, a result without its call, a
 * call from code that is not in the history, and a found tool that is not among the tools. Such blocks become text. A call
 * without a result is accepted where Claude goes on with it: in a paused turn, and when tool results follow.
 */
export function planServerTools(
  items: readonly PromptItem[],
  toolNames: ReadonlySet<string>,
): ServerToolPlan {
  const answers = items.filter((item) => item.role === 'assistant' && hasMarks(item)) as AssistantItem[];
  if (answers.length === 0) return { items, hasWaitingCode: false };
  const blocks = answers.flatMap(({ content }) => content);
  const results = new Set(
    blocks.flatMap((block) => (isRaw(block, 'provider_tool_result') ? [block.id] : [])),
  );
  const waiting = waitingCalls(items);
  const kept = new Set<string>();
  for (const block of blocks) {
    if (!isRaw(block, 'provider_tool_use')) continue;
    const isAnswered = results.has(block.id) || waiting.has(block.id);
    const caller = callerOf(block);
    if (isAnswered && (caller === '' || kept.has(caller))) kept.add(block.id);
  }
  const isKept = (block: ContentBlock): boolean => {
    if (!isProviderTool(block)) return true;
    if (standsAlone(block)) return true;
    const raw = wireServerBlock(block);
    if (raw === undefined || !kept.has(block.id)) return false;
    return referencedTools(raw).every((name) => toolNames.has(name));
  };
  // A search goes back only with all the tools found.
  for (const block of blocks)
    if (isRaw(block, 'provider_tool_result') && !isKept(block)) kept.delete(block.id);
  const planned = items.map((item) =>
    item.role === 'assistant' && hasMarks(item) ? adapted(item, isKept, kept) : item,
  );
  return { items: planned, hasWaitingCode: waitingCode(items).some((id) => kept.has(id)) };
}

/** Whether a message is the last of a turn that Claude wants to continue. */
export function isPaused(item: PromptItem | undefined): boolean {
  return (
    item?.role === 'assistant' && objectOf(item.providerMeta?.[ANTHROPIC_KEY])['stop_reason'] === 'pause_turn'
  );
}

/** Id of the container in which the last code ran, and until when it lasts. */
export function lastContainer(items: readonly PromptItem[]): { id: string; expiresAt: string } | undefined {
  for (const item of items.toReversed()) {
    if (item.role !== 'assistant') continue;
    const container = objectOf(objectOf(item.providerMeta?.[ANTHROPIC_KEY])['container']);
    const id = stringOf(container['id']);
    if (id !== '') return { id, expiresAt: stringOf(container['expires_at']) };
  }
  return undefined;
}

/** The answer with which Claude goes on now: one whose tool results are sent, or a paused one. */
function openAnswer(items: readonly PromptItem[]): AssistantItem | undefined {
  const last = items.at(-1);
  const answer = last?.role === 'tool' ? items.at(-2) : isPaused(last) ? last : undefined;
  return answer?.role === 'assistant' ? answer : undefined;
}

/**
 * Ids of server calls without a result with which Claude goes on now. Beside tool calls of the program, a server call is run
 * only when their results are there.
 */
function waitingCalls(items: readonly PromptItem[]): ReadonlySet<string> {
  const answer = openAnswer(items);
  const own = answer?.content.flatMap((block) =>
    block.type === 'provider_tool_use' ? [block.id, callerOf(block)] : [],
  );
  return new Set([...(own ?? []), ...waitingCode(items)]);
}

/** Ids of server calls whose code waits for tool results, in its container. */
function waitingCode(items: readonly PromptItem[]): readonly string[] {
  const calls = openAnswer(items)?.content.filter((block) => block.type === 'tool_use') ?? [];
  return calls.map(callerOf).filter((id) => id !== '');
}

const marks = new WeakMap<AssistantItem, boolean>();

/** Whether an item has server tools, or tool calls from code. */
function hasMarks(item: AssistantItem): boolean {
  let has = marks.get(item);
  if (has === undefined) {
    has = item.content.some(
      (block) => isProviderTool(block) || (block.type === 'tool_use' && callerOf(block) !== ''),
    );
    marks.set(item, has);
  }
  return has;
}

function isRaw<Type extends 'provider_tool_use' | 'provider_tool_result'>(
  block: Block,
  type: Type,
): block is Extract<Block, { type: Type }> {
  return block.type === type && wireServerBlock(block) !== undefined;
}

const variants = new WeakMap<AssistantItem, Map<string, AssistantItem>>();

/** An item with text in place of blocks that the API would refuse; the same object for the same choice. */
function adapted(
  item: AssistantItem,
  isKept: (block: ContentBlock) => boolean,
  calls: ReadonlySet<string>,
): AssistantItem {
  const choice = item.content.map((block) => {
    if (block.type === 'tool_use') return callerOf(block) === '' || calls.has(callerOf(block));
    return isKept(block);
  });
  if (choice.every(Boolean)) return item;
  const key = choice.map(Number).join('');
  const known = variants.get(item) ?? new Map<string, AssistantItem>();
  variants.set(item, known);
  let variant = known.get(key);
  if (variant === undefined) {
    variant = { ...item, content: item.content.map((block, i) => (choice[i] ? block : plain(block))) };
    known.set(key, variant);
  }
  return variant;
}

function plain(block: Block): Block {
  if (isProviderTool(block)) return providerToolText(block);
  if (block.type !== 'tool_use') return block;
  const { providerMeta: _, ...call } = block;
  return call;
}
