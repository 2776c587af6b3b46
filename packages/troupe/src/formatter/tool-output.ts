import type { TextBlock, ToolResultBlock } from '../message/blocks.ts';
import { isMedia } from './prompt-media.ts';
import type { MediaBlock, ToolItem } from './prompt.ts';

/** A tool's result for providers that take nothing but text there. */
export interface PlainOutput {
  readonly text: string;
  /** The media that have to be shown elsewhere. */
  readonly media: readonly MediaBlock[];
}

/** The text of a result, with a line for each medium that says where it is to be found. */
export function plainOutput({ output }: ToolResultBlock): PlainOutput {
  if (typeof output === 'string') return { text: output, media: [] };
  const media = output.filter((block) => isMedia(block));
  const lines = output.map((block) =>
    block.type === 'text' ? block.text : `The ${block.type} is shown below.`,
  );
  return { text: lines.length === 1 ? (lines[0] ?? '') : lines.map((line) => `- ${line}`).join('\n'), media };
}

/**
 * What a user message holds that shows the media of tool results, behind all results
 * of the calls that were made together: nothing may stand between those.
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
