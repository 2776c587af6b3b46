import { PrefixMemo } from '../../util/prefix-memo.ts';
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

  /** @param toWire the messages that an item becomes; it may depend on nothing but the item */
  constructor(toWire: (item: PromptItem) => readonly JsonValue[]) {
    this.#toWire = toWire;
  }

  /** The items as a JSON array. Of items that were asked for before, only the text is put together. */
  array(items: readonly PromptItem[]): string {
    const text = this.#known.workOn(
      items,
      () => '',
      (text, item) => {
        const own = this.#textOf(item);
        return text === '' || own === '' ? text + own : `${text},${own}`;
      },
    );
    return `[${text}]`;
  }

  #textOf(item: PromptItem): string {
    let text = this.#texts.get(item);
    if (text === undefined) {
      text = this.#toWire(item)
        .map((message) => JSON.stringify(message))
        .join(',');
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

/** A JSON object of values, and of texts that are JSON already. A value wins over a text of the same name. */
export function jsonBody(
  fields: { readonly [key: string]: JsonValue | undefined },
  texts: Readonly<Record<string, string>>,
): string {
  let body = '';
  const add = (key: string, text: string): void => {
    body += `${body === '' ? '' : ','}${JSON.stringify(key)}:${text}`; // not joined: a long text is copied only when it is sent
  };
  for (const [key, text] of Object.entries(texts)) if (fields[key] === undefined) add(key, text);
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) add(key, JSON.stringify(value));
  return `{${body}}`;
}
