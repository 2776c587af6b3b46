/** Start of a line that may belong to the block before a blank line: indented text, list items, quotes, table rows, definitions. */
const CONTINUES = /^(?:\s|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$)|>|\||\[[^\]]*\]:)/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Settled blocks of a Markdown text, and the rest that may still change. */
export interface SplitText {
  readonly blocks: readonly string[];
  /** Length of all blocks. */
  readonly end: number;
}

export const NOTHING_SPLIT: SplitText = { blocks: [], end: 0 };

/**
 * Settles further blocks of a growing text. A block ends at a blank line outside of a fence if the next line can not continue the block. Settled
 * text is never read again, so a long answer costs the same at its end as at its beginning.
 */
export function splitBlocks(text: string, before: SplitText): SplitText {
  const blocks = [...before.blocks];
  let start = before.end;
  let fence: string | undefined;
  let isBlank = false;
  let line = start;
  while (line < text.length) {
    const newline = text.indexOf('\n', line);
    if (newline === -1) break; // a line without its end may still change
    const content = text.slice(line, newline);
    if (fence !== undefined) {
      if (isClosing(content, fence)) fence = undefined;
    } else if (content.trim() === '') {
      isBlank = true;
    } else {
      if (isBlank && line > start && !CONTINUES.test(content)) {
        blocks.push(text.slice(start, line));
        start = line;
      }
      isBlank = false;
      fence = FENCE.exec(content)?.[1];
    }
    line = newline + 1;
  }
  return start === before.end ? before : { blocks, end: start };
}

function isClosing(line: string, fence: string): boolean {
  const found = FENCE.exec(line)?.[1];
  return (
    found !== undefined && found[0] === fence[0] && found.length >= fence.length && line.trim() === found
  );
}
