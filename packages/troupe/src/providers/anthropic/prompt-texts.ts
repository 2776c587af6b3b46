import type { Prompt, PromptItem } from '../../formatter/prompt.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import { ToolTexts, WireTexts } from '../../model/http/wire-texts.ts';
import type { JsonObject } from '../../util/json.ts';
import { toMessages, toTool, userMessage, withoutThinking } from './anthropic-to-wire.ts';
import { toolUseFields, type AnthropicTool, type AnthropicToolUse } from './tools/anthropic-tools.ts';
import { isPaused } from './tools/server-tool-pairs.ts';

/** Inserted if the first message is not a user message. Its position never changes. */
const OPENING = JSON.stringify(userMessage('(The conversation begins.)'));
/** Closing user message. Claude would continue, or reject, a prompt whose last message is the assistant's. */
const CLOSING = JSON.stringify(userMessage('(Go on.)'));

export interface PromptTextsOptions {
  /** Marks what stays the same from call to call: the tools and the system prompt. */
  readonly cacheControl?: JsonObject | undefined;
  readonly providerTools?: readonly AnthropicTool[] | undefined;
  /** Uses that Claude may make of the program's own tools, by tool name. */
  readonly toolUse?: Readonly<Record<string, AnthropicToolUse>> | undefined;
}

/** The JSON of a prompt and its tools. Items and tools are turned into JSON only once. */
export class PromptTexts {
  readonly #messages = new WireTexts(toMessages);
  readonly #plainMessages = new WireTexts((item) => toMessages(withoutThinking(item)));
  readonly #tools: ToolTexts;
  readonly #lastTool: ToolTexts;
  readonly #mark: JsonObject;

  readonly #providerTools: string;

  constructor({ cacheControl, providerTools = [], toolUse = {} }: PromptTextsOptions = {}) {
    const mark: JsonObject = cacheControl === undefined ? {} : { cache_control: cacheControl };
    const toOwn = (tool: ToolSchema): JsonObject => ({
      ...toTool(tool),
      ...toolUseFields(toolUse[tool.name]),
    });
    this.#mark = mark;
    this.#tools = new ToolTexts(toOwn);
    // A tool that is loaded later can't be cached.
    this.#lastTool = new ToolTexts((tool) => ({
      ...toOwn(tool),
      ...(!toolUse[tool.name]?.deferLoading && mark),
    }));
    this.#providerTools = JSON.stringify(providerTools.map(({ tool }) => tool));
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
      ...((tools.length > 0 || this.#providerTools !== '[]') && { tools: this.#toolsText(tools) }),
      ...(start > 0 && { system: this.#systemText(items.slice(0, start)) }),
      messages: this.#messagesText(items.slice(start), keepsThinking),
    };
  }

  /** Tools of the provider first, so that the mark of the cache is behind all tools. */
  #toolsText(tools: readonly ToolSchema[]): string {
    const lists = [
      this.#providerTools,
      this.#tools.array(tools.slice(0, -1)),
      this.#lastTool.array(tools.slice(-1)),
    ];
    return `[${lists
      .map((list) => list.slice(1, -1))
      .filter((list) => list !== '')
      .join(',')}]`;
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
    const last = items.at(-1);
    const needsClosing = last === undefined || (last.role === 'assistant' && !isPaused(last));
    const all = [needsOpening ? OPENING : '', texts.array(items).slice(1, -1), needsClosing ? CLOSING : ''];
    return `[${all.filter((text) => text !== '').join(',')}]`;
  }
}
