import type { Prompt, PromptItem } from '../../formatter/prompt.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import { ToolTexts, WireTexts } from '../../model/http/wire-texts.ts';
import type { JsonObject } from '../../util/json.ts';
import { toMessages, toTool, userMessage, withoutThinking } from './anthropic-to-wire.ts';

/** Inserted if the first message is not a user message. Its position never changes. */
const OPENING = JSON.stringify(userMessage('(The conversation begins.)'));
/** Closing user message. Claude would continue, or reject, a prompt whose last message is the assistant's. */
const CLOSING = JSON.stringify(userMessage('(Go on.)'));

/** The JSON of a prompt and its tools. Items and tools are turned into JSON only once. */
export class PromptTexts {
  readonly #messages = new WireTexts(toMessages);
  readonly #plainMessages = new WireTexts((item) => toMessages(withoutThinking(item)));
  readonly #tools = new ToolTexts(toTool);
  readonly #lastTool: ToolTexts;
  readonly #mark: JsonObject;

  /** @param cacheControl marks what stays the same from call to call: the tools and the system prompt */
  constructor(cacheControl?: JsonObject) {
    const mark: JsonObject = cacheControl === undefined ? {} : { cache_control: cacheControl };
    this.#mark = mark;
    this.#lastTool = new ToolTexts((tool) => ({ ...toTool(tool), ...mark }));
  }

  /** The fields `system`, `messages` and `tools` of a body. */
  write(
    { items }: Prompt,
    tools: readonly ToolSchema[],
    keepsThinking: boolean,
  ): Readonly<Record<string, string>> {
    const found = items.findIndex(({ role }) => role !== 'system');
    const start = found === -1 ? items.length : found;
    return {
      ...(tools.length > 0 && { tools: this.#toolsText(tools) }),
      ...(start > 0 && { system: this.#systemText(items.slice(0, start)) }),
      messages: this.#messagesText(items.slice(start), keepsThinking),
    };
  }

  #toolsText(tools: readonly ToolSchema[]): string {
    const last = this.#lastTool.array(tools.slice(-1));
    return tools.length === 1
      ? last
      : `${this.#tools.array(tools.slice(0, -1)).slice(0, -1)},${last.slice(1)}`;
  }

  #systemText(items: readonly PromptItem[]): string {
    const texts = items.flatMap((item) => (item.role === 'system' ? [item.text] : []));
    return JSON.stringify(
      texts.map((text, i) => ({ type: 'text', text, ...(i === texts.length - 1 && this.#mark) })),
    );
  }

  #messagesText(items: readonly PromptItem[], keepsThinking: boolean): string {
    const texts = keepsThinking ? this.#messages : this.#plainMessages;
    const needsOpening = items[0]?.role === 'assistant';
    const needsClosing = items.length === 0 || items.at(-1)?.role === 'assistant';
    const all = [needsOpening ? OPENING : '', texts.array(items).slice(1, -1), needsClosing ? CLOSING : ''];
    return `[${all.filter((text) => text !== '').join(',')}]`;
  }
}
