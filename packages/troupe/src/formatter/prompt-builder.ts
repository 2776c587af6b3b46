import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import { partsOf } from './msg-parts.ts';
import type { AssistantItem, Prompt, PromptItem, ToolItem } from './prompt.ts';

/** Tool calls with missing results, and the items after the tool calls. */
interface OpenCalls {
  readonly item: AssistantItem;
  readonly calls: readonly ToolUseBlock[];
  /** Ids in the history; the tool calls may have new ids. */
  readonly ids: readonly string[];
  readonly results: (ToolResultBlock | undefined)[];
  readonly later: PromptItem[];
  missing: number;
}

/**
 * Orders messages so that every provider accepts them, for any history: the results of tool calls follow
 * directly, each once. Reports everything that was added, moved, renamed or left out.
 *
 * Processes each message once. Unchanged messages give the same item objects every time.
 */
export class PromptBuilder {
  readonly #items: PromptItem[] = [];
  readonly #repairs: string[] = [];
  readonly #ids = new Set<string>();
  /** Next suffix to try for a repeated id. */
  readonly #uses = new Map<string, number>();
  #open: OpenCalls | undefined;

  add(msg: Msg): this {
    const { results, calls, item } = partsOf(msg);
    for (const result of results) this.#addResult(result);
    if (calls.length > 0 && item?.role === 'assistant') this.#startCalls(item, calls);
    else if (item !== undefined) this.addItem(item);
    else if (results.length === 0) this.#repairs.push(`left out an empty message of ${nameOf(msg)}`);
    return this;
  }

  /** Adds an item without a message. Must not contain tool calls. */
  addItem(item: PromptItem): void {
    (this.#open?.later ?? this.#items).push(item);
  }

  /** True if all tool calls have results, so that messages can be added after `finish`. */
  get isSettled(): boolean {
    return this.#open === undefined;
  }

  /** Prompt so far, with the repairs since the last call. */
  finish(): Prompt {
    this.#closeCalls();
    return { items: [...this.#items], repairs: this.#repairs.splice(0) };
  }

  #startCalls(item: AssistantItem, calls: readonly ToolUseBlock[]): void {
    this.#closeCalls();
    const ids = calls.map((call) => call.id);
    const newIds = ids.map((id) => this.#claim(id));
    const isSame = newIds.every((id, i) => id === ids[i]);
    const own = isSame ? item : renamed(item, newIds);
    this.#open = {
      item: own,
      calls: isSame ? calls : own.content.filter((block) => block.type === 'tool_use'),
      ids,
      results: ids.map(() => undefined),
      later: [],
      missing: ids.length,
    };
  }

  /** Reserves an id; returns a new id if it is already used. */
  #claim(id: string): string {
    let own = id;
    for (let n = this.#uses.get(id) ?? 2; this.#ids.has(own); n++) {
      own = `${id.slice(0, 64 - String(n).length - 1)}_${n}`;
      this.#uses.set(id, n + 1);
    }
    if (own !== id) this.#repairs.push(`the repeated call id '${id}' became '${own}'`);
    this.#ids.add(own);
    return own;
  }

  #addResult(result: ToolResultBlock): void {
    const open = this.#open;
    const i = open?.ids.findIndex((id, i) => id === result.id && open.results[i] === undefined) ?? -1;
    const call = open?.calls[i];
    if (open === undefined || call === undefined) {
      this.#repairs.push(`left out a result of '${result.name}' without a tool call`);
      return;
    }
    if (open.later.length > 0) this.#repairs.push(`moved the result of '${result.name}' up to its tool call`);
    open.results[i] = matched(result, call);
    open.missing--;
    if (open.missing === 0) this.#closeCalls();
  }

  /** Adds the open tool calls with their results. A missing result is replaced by a note. */
  #closeCalls(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const results = open.calls.map((call, i) => {
      const result = open.results[i];
      if (result === undefined)
        this.#repairs.push(`added the missing result of the tool call '${call.name}'`);
      return result ?? noResult(call);
    });
    this.#items.push(open.item, toolItem(open, results), ...open.later);
  }
}

const NO_RESULT = 'There is no result: the tool call was interrupted.';

const renamedItems = new WeakMap<AssistantItem, AssistantItem>();
const renamedResults = new WeakMap<ToolResultBlock, ToolResultBlock>();
const missingResults = new WeakMap<ToolUseBlock, ToolResultBlock>();
const toolItems = new WeakMap<AssistantItem, ToolItem>();

/** Item with new ids for its tool calls; the same object as before if the ids are equal. */
function renamed(item: AssistantItem, ids: readonly string[]): AssistantItem {
  const before = renamedItems.get(item);
  const hasSameIds = before?.content
    .filter((block) => block.type === 'tool_use')
    .every((call, i) => call.id === ids[i]);
  if (before !== undefined && hasSameIds) return before;
  let i = 0;
  const content = item.content.map((block) =>
    block.type === 'tool_use' ? { ...block, id: ids[i++] ?? block.id } : block,
  );
  const own: AssistantItem = { ...item, content };
  renamedItems.set(item, own);
  return own;
}

/** Result with the id and name of its tool call. */
function matched(result: ToolResultBlock, { id, name }: ToolUseBlock): ToolResultBlock {
  if (result.id === id && result.name === name) return result;
  const before = renamedResults.get(result);
  if (before?.id === id && before.name === name) return before;
  const own: ToolResultBlock = { ...result, id, name };
  renamedResults.set(result, own);
  return own;
}

function noResult(call: ToolUseBlock): ToolResultBlock {
  let result = missingResults.get(call);
  if (result === undefined) {
    result = { type: 'tool_result', id: call.id, name: call.name, output: NO_RESULT, status: 'interrupted' };
    missingResults.set(call, result);
  }
  return result;
}

function toolItem({ item: answer, calls }: OpenCalls, results: readonly ToolResultBlock[]): ToolItem {
  const before = toolItems.get(answer);
  if (before?.results.every((result, i) => result === results[i])) return before;
  const isMarked = calls.some(({ providerMeta }) => providerMeta !== undefined);
  const item: ToolItem = { role: 'tool', ...(isMarked && { calls }), results };
  toolItems.set(answer, item);
  return item;
}

function nameOf(msg: Msg): string {
  return `'${msg.name.slice(0, 64)}'`;
}
