import type { ProviderToolResultBlock, TextBlock, ToolResultBlock } from '../message/blocks.ts';
import { escapeTags } from '../util/escape-tags.ts';
import { isMediaCaption } from './media-caption.ts';
import { isMedia } from './prompt-media.ts';
import type { MediaBlock, ToolItem } from './prompt.ts';

/** Text of a tool result for providers that accept only text, with a line for each medium. */
export function plainOutput({ output }: ToolResultBlock | ProviderToolResultBlock): string {
  if (typeof output === 'string') return output;
  const lines = output.map((block) =>
    block.type === 'text' ? block.text : `The ${block.type} is shown below.`,
  );
  return lines.length === 1 ? (lines[0] ?? '') : lines.map((line) => `- ${line}`).join('\n');
}

/**
 * Content of a user message with the media of tool results, each with its caption. The message must follow
 * all results of the same exchange, which providers want together.
 */
export function shownMedia({ results }: ToolItem): readonly (TextBlock | MediaBlock)[] {
  const content: (TextBlock | MediaBlock)[] = [];
  for (const { name, output } of results) {
    if (typeof output === 'string') continue;
    const shown = output.flatMap((block, i) => {
      const before = output[i - 1];
      if (!isMedia(block)) return [];
      return isMediaCaption(before) ? [before, block] : [block];
    });
    if (shown.length === 0) continue;
    content.push({ type: 'text', text: `<system-info>The tool '${escapeTags(name)}' returned:` }, ...shown);
    content.push({ type: 'text', text: '</system-info>' });
  }
  return content;
}
