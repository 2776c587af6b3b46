import { PrefixMemo } from '../../formatter/prefix-memo.ts';
import type { PromptItem } from '../../formatter/prompt.ts';
import type { JsonValue } from '../../util/json.ts';
import type { ToolSchema } from '../chat-model-base.ts';

/**
 * The JSON of prompt items, each made only once: an item never changes. So a long
 * history costs no more than what is new, and its bytes are the same every time,
 * which is what the caches of providers go by.
 */
export class WireTexts {
  readonly #toWire: (item: PromptItem) => readonly JsonValue[];
  readonly #texts = new WeakMap<PromptItem, string>();
  readonly #known = new PrefixMemo<PromptItem, string>();
  #made = 0;

  /** @param toWire the messages that an item becomes; it may depend on nothing but the item */
  constructor(toWire: (item: PromptItem) => readonly JsonValue[]) {
    this.#toWire = toWire;
  }

  /** How many items were turned into JSON so far. */
  get made(): number {
    return this.#made;
  }

  /** The items as a JSON array. Of items that were asked for before, only the text is put together. */
  array(items: readonly PromptItem[]): string {
    const { work: known, length } = this.#known.take(items) ?? { work: '', length: 0 };
    let text = known;
    for (let i = length; i < items.length; i++) {
      const own = this.#textOf(items[i] as PromptItem);
      if (own !== '') text += text === '' ? own : `,${own}`;
    }
    this.#known.put(items, text);
    return `[${text}]`;
  }

  #textOf(item: PromptItem): string {
    let text = this.#texts.get(item);
    if (text === undefined) {
      text = this.#toWire(item)
        .map((message) => JSON.stringify(message))
        .join(',');
      this.#made++;
      this.#texts.set(item, text);
    }
    return text;
  }
}

/** The JSON of tools, each made only once. */
export class ToolTexts {
  readonly #toWire: (tool: ToolSchema) => JsonValue;
  readonly #texts = new WeakMap<ToolSchema, string>();

  constructor(toWire: (tool: ToolSchema) => JsonValue) {
    this.#toWire = toWire;
  }

  /** The tools as a JSON array, in the order in which they are given. */
  array(tools: readonly ToolSchema[]): string {
    return `[${tools.map((tool) => this.#textOf(tool)).join(',')}]`;
  }

  #textOf(tool: ToolSchema): string {
    let text = this.#texts.get(tool);
    if (text === undefined) this.#texts.set(tool, (text = JSON.stringify(this.#toWire(tool))));
    return text;
  }
}

/** A JSON object of values, and of texts that are JSON already. */
export function jsonBody(
  fields: { readonly [key: string]: JsonValue | undefined },
  texts: Readonly<Record<string, string>>,
): string {
  const parts = Object.entries(texts).map(([key, text]) => `${JSON.stringify(key)}:${text}`);
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined && !Object.hasOwn(texts, key))
      parts.push(`${JSON.stringify(key)}:${JSON.stringify(value)}`);
  }
  return `{${parts.join(',')}}`;
}
