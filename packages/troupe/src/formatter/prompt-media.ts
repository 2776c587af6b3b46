import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { TextBlock, ToolResultBlock } from '../message/blocks.ts';
import type { ModelCapabilities } from '../model/chat-model-base.ts';
import { MediaError, type MediaLoader } from './media-loader.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import type { MediaBlock, Prompt, PromptItem } from './prompt.ts';

export interface MediaNeeds {
  readonly loader: MediaLoader;
  readonly capabilities: ModelCapabilities;
  /** Tells whether the provider downloads a medium by URL itself. */
  readonly takesUrl: (block: MediaBlock) => boolean;
}

export const CAPABILITY_FOR: Record<MediaBlock['type'], 'vision' | 'audio' | 'video' | 'files'> = {
  image: 'vision',
  audio: 'audio',
  video: 'video',
  file: 'files',
};

/**
 * Adapts the media of a prompt to a model: unsupported media become a line of text, needed bytes are loaded.
 * Processes each item once.
 */
export class PromptMedia {
  readonly #needs: MediaNeeds;
  readonly #done = new WeakMap<PromptItem, PromptItem>();
  /** Number of items with media. */
  readonly #mediaItems = new PrefixMemo<PromptItem, number>();

  constructor(needs: MediaNeeds) {
    this.#needs = needs;
  }

  /** Prompt with prepared media; the same object if there are none. */
  async prepare(prompt: Prompt, signal: AbortSignal | undefined): Promise<Prompt> {
    const count = this.#mediaItems.workOn(
      prompt.items,
      () => 0,
      (count, item) => count + (hasMedia(item) ? 1 : 0),
    );
    if (count === 0) return prompt;
    return { ...prompt, items: await Promise.all(prompt.items.map((item) => this.#item(item, signal))) };
  }

  async #item(item: PromptItem, signal: AbortSignal | undefined): Promise<PromptItem> {
    if (!hasMedia(item)) return item;
    const done = this.#done.get(item) ?? (await this.#prepareItem(item, signal));
    this.#done.set(item, done);
    return done;
  }

  async #prepareItem(item: PromptItem, signal: AbortSignal | undefined): Promise<PromptItem> {
    if (item.role === 'tool') {
      return {
        ...item,
        results: await Promise.all(item.results.map((result) => this.#result(result, signal))),
      };
    }
    return item.role === 'user' ? { ...item, content: await this.#blocks(item.content, signal) } : item;
  }

  async #result(result: ToolResultBlock, signal: AbortSignal | undefined): Promise<ToolResultBlock> {
    if (typeof result.output === 'string') return result;
    return { ...result, output: await this.#blocks(result.output, signal) };
  }

  #blocks<B extends { readonly type: string }>(
    blocks: readonly B[],
    signal: AbortSignal | undefined,
  ): Promise<(B | MediaBlock | TextBlock)[]> {
    return Promise.all(blocks.map(async (block) => (isMedia(block) ? this.#block(block, signal) : block)));
  }

  async #block(block: MediaBlock, signal: AbortSignal | undefined): Promise<MediaBlock | TextBlock> {
    const { capabilities, takesUrl, loader } = this.#needs;
    if (!capabilities[CAPABILITY_FOR[block.type]]) return note(block, "this model can't take it");
    if (block.source.type === 'url' && isWebUrl(block.source.url) && takesUrl(block)) return block;
    try {
      return { ...block, source: { type: 'base64', ...(await loader.load(block, { signal })) } };
    } catch (error) {
      signal?.throwIfAborted();
      const problem = error instanceof MediaError ? error.problem : messageOf(error);
      return note(block, problem, messageOf(error));
    }
  }
}

/** Text instead of a medium that is left out. The log also has the advice for the developer. */
function note({ type }: MediaBlock, why: string, logged = `${why}.`): TextBlock {
  const what = type === 'image' || type === 'audio' ? `An ${type}` : `A ${type}`;
  getLogger().log('warn', `${what} was left out of a prompt: ${logged}`);
  return { type: 'text', text: `[${what} was left out here: ${why.replace(/\.$/, '')}.]` };
}

function isWebUrl(url: string): boolean {
  return /^https?:/i.test(url) && URL.canParse(url);
}

function hasMedia(item: PromptItem): boolean {
  if (item.role === 'user') return item.content.some(isMedia);
  if (item.role !== 'tool') return false;
  return item.results.some(({ output }) => typeof output !== 'string' && output.some(isMedia));
}

export function isMedia(block: { readonly type: string }): block is MediaBlock {
  return Object.hasOwn(CAPABILITY_FOR, block.type);
}
