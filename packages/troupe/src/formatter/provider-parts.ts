import {
  isProviderTool,
  type ContentBlock,
  type ProviderToolBlock,
  type TextBlock,
} from '../message/blocks.ts';
import { sourceLines } from '../message/citation.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import { cutText } from '../util/text.ts';
import type { AssistantItem, Prompt, PromptItem } from './prompt.ts';
import { plainOutput } from './tool-output.ts';

/** Tells whether a model's API takes back a provider's call, its result, or the citations of a text, as they are. */
export type TakesBack = (block: ContentBlock) => boolean;

/** Characters of a result that another model reads. */
const MAX_RESULT = 4000;

/**
 * Turns what a provider has added to its answers into text for another provider: calls and results of the provider's own
 * tools become a line, citations a list of sources. Processes each item once.
 */
export class ProviderParts {
  readonly #takesBack: TakesBack;
  readonly #done = new WeakMap<AssistantItem, AssistantItem>();
  /** Number of items with such parts. */
  readonly #count = new PrefixMemo<PromptItem, number>();

  constructor(takesBack: TakesBack) {
    this.#takesBack = takesBack;
  }

  /** Prompt without parts that the model's API would reject; the same object if there are none. */
  prepare(prompt: Prompt): Prompt {
    const count = this.#count.workOn(
      prompt.items,
      () => 0,
      (count, item) => count + (this.#isForeign(item) ? 1 : 0),
    );
    return count === 0 ? prompt : { ...prompt, items: prompt.items.map((item) => this.#item(item)) };
  }

  #isForeign(item: PromptItem): boolean {
    return item.role === 'assistant' && item.content.some((block) => this.#mustChange(block));
  }

  #mustChange(block: ContentBlock): boolean {
    const isPart = isProviderTool(block) || (block.type === 'text' && block.citations !== undefined);
    return isPart && !this.#takesBack(block);
  }

  #item(item: PromptItem): PromptItem {
    if (item.role !== 'assistant' || !this.#isForeign(item)) return item;
    let done = this.#done.get(item);
    if (done === undefined) {
      done = { ...item, content: item.content.map((block) => this.#block(block)) };
      this.#done.set(item, done);
    }
    return done;
  }

  #block(block: AssistantItem['content'][number]): AssistantItem['content'][number] {
    if (!this.#mustChange(block)) return block;
    if (isProviderTool(block)) return providerToolText(block);
    return block.type === 'text' ? withSources(block) : block;
  }
}

/** A call or a result of a provider's tool as a text, for everybody but the provider. */
export function providerToolText(block: ProviderToolBlock): TextBlock {
  const { name, executedBy } = block;
  if (block.type === 'provider_tool_use') {
    const input = cutText(JSON.stringify(block.input).toWellFormed(), MAX_RESULT);
    return { type: 'text', text: `[${name}, run by ${executedBy}: ${input}]`.toWellFormed() };
  }
  const failed = block.status === 'ok' ? '' : ' (failed)';
  const output = cutText(plainOutput(block), MAX_RESULT);
  return { type: 'text', text: `[Result of ${name}${failed}: ${output}]`.toWellFormed() };
}

/** A text with its sources as a list behind it. Its own metadata stays. */
function withSources({ citations = [], ...block }: TextBlock): TextBlock {
  const lines = sourceLines(citations);
  return lines.length === 0
    ? block
    : { ...block, text: `${block.text}\n\nSources:\n${lines.join('\n').toWellFormed()}` };
}
