import type { TextBlock, ToolResultBlock } from '../message/blocks.ts';
import { isMedia } from './prompt-media.ts';
import type { MediaBlock, ToolItem } from './prompt.ts';

/** Tool result for providers that accept only text. */
export interface PlainOutput {
  readonly text: string;
  /** Media to show elsewhere. */
  readonly media: readonly MediaBlock[];
}

/** Text of a tool result, with a line for each medium. */
export function plainOutput({ output }: ToolResultBlock): PlainOutput {
  if (typeof output === 'string') return { text: output, media: [] };
  const media = output.filter((block) => isMedia(block));
  const lines = output.map((block) =>
    block.type === 'text' ? block.text : `The ${block.type} is shown below.`,
  );
  return { text: lines.length === 1 ? (lines[0] ?? '') : lines.map((line) => `- ${line}`).join('\n'), media };
}

/**
 * Content of a user message with the media of tool results. The message must follow all results of the same
 * exchange, which providers want together.
 */
export function shownMedia({ results }: ToolItem): readonly (TextBlock | MediaBlock)[] {
  const content: (TextBlock | MediaBlock)[] = [];
  for (const result of results) {
    const { media } = plainOutput(result);
    if (media.length === 0) continue;
    content.push({ type: 'text', text: `<system-info>The tool '${result.name}' returned:` }, ...media);
    content.push({ type: 'text', text: '</system-info>' });
  }
  return content;
}
