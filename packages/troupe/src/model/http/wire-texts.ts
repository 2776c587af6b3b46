import { PrefixMemo } from '../../util/prefix-memo.ts';
import type { PromptItem } from '../../formatter/prompt.ts';
import type { JsonValue } from '../../util/json.ts';
import type { ToolSchema } from '../chat-model-base.ts';

/**
 * Caches the JSON text of prompt items, which never change. A long history costs only its new items, and its
 * bytes stay equal, as the prompt caches of providers need.
 */
export class WireTexts {
  readonly #toWire: (item: PromptItem) => readonly JsonValue[];
  readonly #texts = new WeakMap<PromptItem, string>();
  readonly #known = new PrefixMemo<PromptItem, string>();

  /** @param toWire converts an item to messages; must depend on nothing else */
  constructor(toWire: (item: PromptItem) => readonly JsonValue[]) {
    this.#toWire = toWire;
  }

  /** JSON array of the items. Known items only need concatenation. */
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

/** Caches the JSON text of tools. */
export class ToolTexts {
  readonly #toWire: (tool: ToolSchema) => JsonValue;
  readonly #texts = new WeakMap<ToolSchema, string>();

  constructor(toWire: (tool: ToolSchema) => JsonValue) {
    this.#toWire = toWire;
  }

  /** JSON array of the tools in the given order. */
  array(tools: readonly ToolSchema[]): string {
    return `[${tools.map((tool) => this.#textOf(tool)).join(',')}]`;
  }

  #textOf(tool: ToolSchema): string {
    let text = this.#texts.get(tool);
    if (text === undefined) this.#texts.set(tool, (text = JSON.stringify(this.#toWire(tool))));
    return text;
  }
}

/** JSON object of values and ready JSON texts. A value overrides a text with the same key. */
export function jsonBody(
  fields: { readonly [key: string]: JsonValue | undefined },
  texts: Readonly<Record<string, string>>,
): string {
  let body = '';
  const add = (key: string, text: string): void => {
    // String concatenation avoids copying long texts before sending.
    body += `${body === '' ? '' : ','}${JSON.stringify(key)}:${text}`;
  };
  for (const [key, text] of Object.entries(texts)) if (fields[key] === undefined) add(key, text);
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) add(key, JSON.stringify(value));
  return `{${body}}`;
}
