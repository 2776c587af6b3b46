/** Rows of tables in Markdown. */

/** One row. White space in cells becomes a space, and `|` is escaped. */
export function tableRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|')).join(' | ')} |`;
}

/** The first row, and the line below it. */
export function tableHead(cells: readonly string[]): readonly [string, string] {
  return [tableRow(cells), `|${' --- |'.repeat(cells.length)}`];
}
