import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import { partsOf } from './msg-parts.ts';
import type { AssistantItem, Prompt, PromptItem, ToolItem } from './prompt.ts';

/** Calls that wait for their results, and what came up meanwhile. */
interface OpenCalls {
  readonly item: AssistantItem;
  readonly calls: readonly ToolUseBlock[];
  /** The ids as the history has them; those of the calls may be new. */
  readonly ids: readonly string[];
  readonly results: (ToolResultBlock | undefined)[];
  readonly later: PromptItem[];
  missing: number;
}

/**
 * Puts messages in an order that every provider accepts, whatever the history
 * looks like: the results of a call come right behind it, each once. What has to
 * be added, moved, renamed or left out for that is reported.
 *
 * Goes over the messages once. Items that belong to the same messages are the same objects every time.
 */
export class PromptBuilder {
  readonly #items: PromptItem[] = [];
  readonly #repairs: string[] = [];
  readonly #ids = new Set<string>();
  /** The next number to try for an id that is used again. */
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

  /** Adds what is no message of the history. It must hold no calls. */
  addItem(item: PromptItem): void {
    (this.#open?.later ?? this.#items).push(item);
  }

  /** Whether all calls so far have their results, so that more can be added after `finish`. */
  get isSettled(): boolean {
    return this.#open === undefined;
  }

  /** The prompt so far, with the repairs since the last time. */
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

  /** The id, or a new one if it was used before. */
  #claim(id: string): string {
    let own = id;
    for (let n = this.#uses.get(id) ?? 2; this.#ids.has(own); n++) {
      own = `${id.slice(0, 64 - String(n).length - 1)}_${n}`;
      this.#uses.set(id, n + 1);
    }
    if (own !== id) this.#repairs.push(`the call id '${id}' was used again: it became '${own}'`);
    this.#ids.add(own);
    return own;
  }

  #addResult(result: ToolResultBlock): void {
    const open = this.#open;
    const i = open?.ids.findIndex((id, i) => id === result.id && open.results[i] === undefined) ?? -1;
    const call = open?.calls[i];
    if (open === undefined || call === undefined) {
      this.#repairs.push(`left out a result of '${result.name}' that no call is waiting for`);
      return;
    }
    if (open.later.length > 0) this.#repairs.push(`moved the result of '${result.name}' up to its call`);
    open.results[i] = fitting(result, call);
    open.missing--;
    if (open.missing === 0) this.#closeCalls();
  }

  /** Writes the calls with their results. A call that has none gets one that says so. */
  #closeCalls(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const results = open.calls.map((call, i) => {
      const result = open.results[i];
      if (result === undefined) this.#repairs.push(`the call of '${call.name}' had no result: one was added`);
      return result ?? noResult(call);
    });
    this.#items.push(open.item, toolItem(open.item, results), ...open.later);
  }
}

const NO_RESULT = 'There is no result: the call was interrupted.';

const renamedItems = new WeakMap<AssistantItem, AssistantItem>();
const renamedResults = new WeakMap<ToolResultBlock, ToolResultBlock>();
const missingResults = new WeakMap<ToolUseBlock, ToolResultBlock>();
const toolItems = new WeakMap<AssistantItem, ToolItem>();

/** The item with other ids for its calls: the same object as the last time, if the ids are the same too. */
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

/** The result under the id and the name of its call. */
function fitting(result: ToolResultBlock, { id, name }: ToolUseBlock): ToolResultBlock {
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

function toolItem(calls: AssistantItem, results: readonly ToolResultBlock[]): ToolItem {
  const before = toolItems.get(calls);
  if (before?.results.every((result, i) => result === results[i])) return before;
  const item: ToolItem = { role: 'tool', results };
  toolItems.set(calls, item);
  return item;
}

function nameOf(msg: Msg): string {
  return `'${msg.name.slice(0, 64)}'`;
}
