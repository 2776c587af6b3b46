import type { ToolOutputBlock } from '../../message/blocks.ts';
import type { ToolOutput } from '../tool/tool-output.ts';

type Output = ToolOutput['output'];

/** An output with more text than a model gets. */
export interface CutOutput {
  /** The beginning of the text, with a note about its length; media stay. */
  readonly shown: Output;
  /** The whole text. */
  readonly whole: string;
}

/** Cuts the text of an output; undefined for a short one. @param reference where the whole text is kept */
export function cutOutput(output: Output, maxChars: number, reference?: string): CutOutput | undefined {
  const size = sizeOf(output);
  if (size <= maxChars) return undefined;
  const where = reference === undefined ? '' : ` All of it is kept as '${reference}'.`;
  const note = `<system-info>The output has ${size} characters. Only the first ${maxChars} are shown.${where}</system-info>`;
  if (typeof output === 'string') return { shown: `${headOf(output, maxChars)}\n${note}`, whole: output };
  return { shown: cutBlocks(output, maxChars, note), whole: output.map(textOf).filter(Boolean).join('\n') };
}

function cutBlocks(blocks: readonly ToolOutputBlock[], maxChars: number, note: string): ToolOutputBlock[] {
  const shown: ToolOutputBlock[] = [];
  let charsLeft = maxChars;
  for (const block of blocks) {
    const { length } = textOf(block);
    if (length <= charsLeft) {
      shown.push(block);
      charsLeft -= length;
    } else if (charsLeft > 0 && block.type === 'text') {
      shown.push({ ...block, text: headOf(block.text, charsLeft) });
      charsLeft = 0;
    }
  }
  return [...shown, { type: 'text', text: note }];
}

/** The beginning of a text, without half a character at its end. */
function headOf(text: string, length: number): string {
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length;
  // `join` copies the characters: a slice would keep the whole text in memory.
  return [text.slice(0, end), '…'].join('');
}

function sizeOf(output: Output): number {
  if (typeof output === 'string') return output.length;
  return output.reduce((sum, block) => sum + textOf(block).length, 0);
}

function textOf(block: ToolOutputBlock): string {
  return block.type === 'text' ? block.text : '';
}
