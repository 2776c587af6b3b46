import type { AssistantItem, PromptItem, ToolItem } from '../../../formatter/prompt.ts';
import type { ContentBlock, ToolUseBlock } from '../../../message/blocks.ts';
import { objectOf, stringOf } from '../../../model/http/wire-values.ts';

/**
 * Makes tool calls from programs of the model acceptable: the API refuses a caller that is not in the history, as after a
 * compression. Such calls become plain ones. Gives the same items where all programs are there.
 */
export function withKnownPrograms(items: readonly PromptItem[], metaKey: string): readonly PromptItem[] {
  const called = items.filter((item) => callsOf(item).some((call) => callerOf(call, metaKey) !== ''));
  if (called.length === 0) return items;
  const programs = new Set(
    items
      .flatMap((item) => (item.role === 'assistant' ? item.content : []))
      .map((b) => programOf(b, metaKey)),
  );
  const isLost = (call: ToolUseBlock): boolean => {
    const caller = callerOf(call, metaKey);
    return caller !== '' && !programs.has(caller);
  };
  if (!called.some((item) => callsOf(item).some(isLost))) return items;
  return items.map((item) =>
    (item.role === 'assistant' || item.role === 'tool') && callsOf(item).some(isLost)
      ? plain(item, metaKey)
      : item,
  );
}

function callsOf(item: PromptItem): readonly ToolUseBlock[] {
  if (item.role === 'tool') return item.calls ?? [];
  return item.role === 'assistant' ? item.content.filter((block) => block.type === 'tool_use') : [];
}

function callerOf({ providerMeta }: ToolUseBlock, metaKey: string): string {
  return stringOf(objectOf(objectOf(providerMeta?.[metaKey])['caller'])['caller_id']);
}

/** Id of the call of a program; undefined for other blocks. */
function programOf({ providerMeta, type }: ContentBlock, metaKey: string): string | undefined {
  const item = objectOf(objectOf(providerMeta?.[metaKey])['item']);
  return type === 'provider_tool_use' && item['type'] === 'program' ? stringOf(item['call_id']) : undefined;
}

const variants = new WeakMap<PromptItem, AssistantItem | ToolItem>();

/** An item whose calls have no callers; the same object each time. */
function plain(item: AssistantItem | ToolItem, metaKey: string): AssistantItem | ToolItem {
  let variant = variants.get(item);
  if (variant === undefined) {
    variant =
      item.role === 'assistant'
        ? { ...item, content: item.content.map((one) => withoutCaller(one, metaKey)) }
        : { ...item, ...(item.calls && { calls: item.calls.map((one) => withoutCaller(one, metaKey)) }) };
    variants.set(item, variant);
  }
  return variant;
}

function withoutCaller<Block extends ContentBlock>(block: Block, metaKey: string): Block {
  if (block.type !== 'tool_use' || block.providerMeta === undefined) return block;
  const { caller: _, ...rest } = objectOf(block.providerMeta[metaKey]);
  return { ...block, providerMeta: { ...block.providerMeta, [metaKey]: rest } };
}
