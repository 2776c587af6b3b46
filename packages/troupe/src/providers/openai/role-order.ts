import type { AssistantItem, PromptItem, SystemItem, UserItem } from '../../formatter/prompt.ts';
import type { ChatVendor } from './vendors.ts';

/** Inserted where a vendor expects the assistant between two messages. */
const NOTED: AssistantItem = {
  role: 'assistant',
  name: 'assistant',
  content: [{ type: 'text', text: '(Noted.)' }],
};
/** Inserted where a vendor expects the user between two messages. */
const GO_ON: UserItem = { role: 'user', name: 'user', content: [{ type: 'text', text: '(Go on.)' }] };

/**
 * Inserts messages where a vendor rejects the order of roles. What is inserted depends only on the item
 * before, so that the bytes of a growing history stay the same.
 */
export function inRoleOrder(items: readonly PromptItem[], vendor: ChatVendor): readonly PromptItem[] {
  if (vendor.roleOrder === 'any') return items;
  const ordered: PromptItem[] = [];
  let last: PromptItem | undefined;
  for (const given of items) {
    if (given.role === 'assistant' && !given.content.some(isSent)) continue;
    const isLate = given.role === 'system' && last !== undefined && last.role !== 'system';
    const item = isLate && vendor.roleOrder === 'alternating' ? asUser(given) : given;
    const between = missing(last, item, vendor.roleOrder);
    if (between !== undefined) ordered.push(between);
    ordered.push(item);
    last = item;
  }
  // A conversation must end with a question.
  if (vendor.roleOrder === 'alternating' && last?.role === 'assistant') ordered.push(GO_ON);
  return ordered;
}

/** Whether the wire has a field for a block, so that its message is not left out. */
function isSent({ type }: AssistantItem['content'][number]): boolean {
  return type === 'text' || type === 'tool_use';
}

function missing(
  last: PromptItem | undefined,
  item: PromptItem,
  order: Exclude<ChatVendor['roleOrder'], 'any'>,
): PromptItem | undefined {
  if (order === 'assistant_after_tool') {
    return last?.role === 'tool' && item.role !== 'assistant' ? NOTED : undefined;
  }
  if (item.role === 'assistant') {
    const isFirst = last === undefined || last.role === 'system';
    return isFirst || last.role === 'assistant' ? GO_ON : undefined;
  }
  return last?.role === 'user' || last?.role === 'tool' ? NOTED : undefined;
}

const asUsers = new WeakMap<SystemItem, UserItem>();

/** A system message as a message of the user, the same each time, so that its wire form is cached. */
function asUser(item: SystemItem): UserItem {
  let user = asUsers.get(item);
  if (user === undefined) {
    user = { role: 'user', name: 'user', content: [{ type: 'text', text: item.text }] };
    asUsers.set(item, user);
  }
  return user;
}
