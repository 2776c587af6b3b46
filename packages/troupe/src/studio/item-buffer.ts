import type { AgentEvent } from '../event/agent-event.ts';
import type { ProgramItem } from './program-protocol.ts';

export interface ItemBufferOptions {
  /** Maximum number of items. @default 10000 */
  readonly maxItems?: number | undefined;
  /** Maximum number of characters, estimated. @default 16 Mi */
  readonly maxChars?: number | undefined;
}

/** An item and its estimated number of characters. */
interface Sized {
  item: ProgramItem;
  chars: number;
}

/** Characters of an item besides its text. */
const BASE_CHARS = 300;
/** Share of the space for items that nobody can do without, such as ends and questions. */
const RESERVE = 0.25;

/**
 * Items on their way to the Studio, in order, within limits of number and size. Deltas of the same block that follow each other become
 * one. A full buffer takes no more deltas, chunks and prompts, and when the reserve is used up nothing at all; dropped items are counted.
 */
export class ItemBuffer {
  readonly #maxItems: number;
  readonly #maxChars: number;
  #items: Sized[] = [];
  #chars = 0;
  #dropped = 0;

  constructor({ maxItems = 10_000, maxChars = 16 * 1024 * 1024 }: ItemBufferOptions = {}) {
    this.#maxItems = maxItems;
    this.#maxChars = maxChars;
  }

  get size(): number {
    return this.#items.length;
  }

  get chars(): number {
    return this.#chars;
  }

  /** Number of items that were dropped since `takeDropped`. */
  get dropped(): number {
    return this.#dropped;
  }

  /** @param chars estimated number of characters besides those of deltas, such as of a prompt */
  add(item: ProgramItem, chars = 0): void {
    const text = item.kind === 'event' ? deltaText(item.event)?.length : undefined;
    const needed = BASE_CHARS + chars + (text ?? 0);
    const share = isDispensable(item) ? 1 - RESERVE : 1;
    if (this.#items.length >= this.#maxItems * share || this.#chars + needed > this.#maxChars * share) {
      this.#dropped++;
      return;
    }
    const last = this.#items.at(-1);
    const joined = last && joinedDelta(last.item, item);
    if (last !== undefined && joined !== undefined) {
      last.item = joined;
      last.chars += text ?? 0;
      this.#chars += text ?? 0;
      return;
    }
    this.#items.push({ item, chars: needed });
    this.#chars += needed;
  }

  /** Takes items from the front, up to a number of characters, and at least one. */
  take(maxChars: number): ProgramItem[] {
    let count = 0;
    let chars = 0;
    for (const { chars: next } of this.#items) {
      if (count > 0 && chars + next > maxChars) break;
      count++;
      chars += next;
    }
    this.#chars -= chars;
    return this.#items.splice(0, count).map(({ item }) => item);
  }

  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

function isDispensable(item: ProgramItem): boolean {
  if (item.kind === 'prompt' || item.kind === 'inside') return true;
  return item.kind === 'event' && (deltaText(item.event) !== undefined || item.event.type === 'tool_chunk');
}

function deltaText(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'text_delta':
      return event.text;
    case 'thinking_delta':
      return event.thinking;
    case 'tool_input_delta':
      return event.json;
    default:
      return undefined;
  }
}

/** One item for two deltas of the same block; undefined for other items. */
function joinedDelta(before: ProgramItem, after: ProgramItem): ProgramItem | undefined {
  if (before.kind !== 'event' || after.kind !== 'event' || before.runId !== after.runId) return undefined;
  const event = joinedEvent(before.event, after.event);
  return event && { ...after, event };
}

/** Joins deltas of the same block, with the number of the later one. @returns undefined for other events */
export function joinedEvent(first: AgentEvent, second: AgentEvent): AgentEvent | undefined {
  if (first.runId !== second.runId) return undefined;
  if (!('msgId' in first && 'msgId' in second && 'index' in first && 'index' in second)) return undefined;
  if (first.msgId !== second.msgId || first.index !== second.index) return undefined;
  if (first.type === 'text_delta' && second.type === 'text_delta')
    return { ...second, text: first.text + second.text };
  if (first.type === 'thinking_delta' && second.type === 'thinking_delta')
    return { ...second, thinking: first.thinking + second.thinking };
  if (first.type === 'tool_input_delta' && second.type === 'tool_input_delta')
    return { ...second, json: first.json + second.json };
  return undefined;
}
