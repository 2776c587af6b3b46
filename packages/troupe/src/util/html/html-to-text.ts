import { tableHead, tableRow } from './markdown-table.ts';
import { decodeEntities } from './html-entities.ts';

export interface PageText {
  readonly title: string;
  readonly text: string;
}

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(' '));

/** Elements whose content is not text. */
const SKIPPED = wordSet('script style noscript template svg math iframe object canvas select textarea title');
/** Elements that start and end a line. */
const BLOCKS = wordSet(
  'address article aside blockquote body br caption dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 ' +
    'head header hr html legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul',
);
/** Elements with empty lines before and after. */
const PARAGRAPHS = wordSet('blockquote h1 h2 h3 h4 h5 h6 ol p pre table ul');
const TAG = /^<(\/?)([a-z][^\s/>]*)/i;
const SPACES = /[ \t\n\r\f\u00a0]+/g;
const MAX_NAME_CHARS = 32;
const MAX_TAG_CHARS = 4096;
const MAX_LINK_CHARS = 500;
const MAX_TITLE_CHARS = 300;

export interface HtmlToTextOptions {
  /** Whether tables become tables of Markdown. Otherwise, each row is a line. @default false */
  readonly hasMarkdownTables?: boolean | undefined;
}

/**
 * Readable text of a page, in linear time even for broken HTML. Marks headings, list items and links as in
 * Markdown.
 * @param base base address of relative links
 */
export function htmlToText(html: string, base: string, options: HtmlToTextOptions = {}): PageText {
  return new PageReader(html, base, options).read();
}

/** Reads a page once. Each step takes time proportional to the part it reads. */
class PageReader {
  readonly #html: string;
  /** The page in lower case, with unchanged indexes. */
  readonly #lower: string;
  readonly #base: string;
  readonly #page: PageWriter;
  #at = 0;
  #title = '';

  constructor(html: string, base: string, { hasMarkdownTables = false }: HtmlToTextOptions) {
    this.#page = new PageWriter(hasMarkdownTables);
    this.#html = html;
    this.#lower = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
    this.#base = base;
  }

  read(): PageText {
    while (this.#at < this.#html.length) {
      if (this.#html[this.#at] === '<') this.#readMarkup();
      else this.#page.write(decodeEntities(this.#readTo('<')));
    }
    return { title: this.#title, text: this.#page.end() };
  }

  /** Reads markup, or a plain `<`. */
  #readMarkup(): void {
    const start = this.#at;
    const [, slash, name] = TAG.exec(this.#html.slice(start, start + MAX_NAME_CHARS)) ?? [];
    if (this.#html.startsWith('<!--', start)) {
      this.#readTo('-->');
    } else if (/[!?]/.test(this.#html.charAt(start + 1))) {
      this.#readTo('>');
    } else if (name === undefined) {
      this.#page.write('<');
      this.#at++;
    } else {
      this.#at = this.#endOfTag();
      if (slash === '/') this.#page.close(name.toLowerCase());
      else this.#open(name.toLowerCase(), this.#html.slice(start, Math.min(this.#at, start + MAX_TAG_CHARS)));
    }
  }

  #open(name: string, tag: string): void {
    if (SKIPPED.has(name)) {
      const content = this.#readTo(`</${name}`);
      if (name === 'title' && this.#title === '') this.#title = plain(content);
      return;
    }
    this.#page.open(name, tag);
    if (name === 'img') this.#page.write(attribute(tag, 'alt') ?? '');
    if (name === 'a') this.#page.openLink(this.#target(attribute(tag, 'href')));
  }

  /** Absolute address of a link to another page; undefined for others. */
  #target(href = '#'): string | undefined {
    const url = href.startsWith('#') ? null : URL.parse(href, this.#base);
    const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
    return isWeb && url.href.length <= MAX_LINK_CHARS ? url.href : undefined;
  }

  /** Index after the tag that starts here. Ignores `>` in quoted values. */
  #endOfTag(): number {
    let quote = '';
    let isValue = false;
    for (let at = this.#at; at < this.#html.length; at++) {
      const char = this.#html.charAt(at);
      if (quote !== '') quote = char === quote ? '' : quote;
      else if (char === '>') return at + 1;
      else if (isValue && (char === '"' || char === "'")) quote = char;
      if (!/\s/.test(char)) isValue = char === '=';
    }
    return this.#html.length;
  }

  /** Reads up to `mark`, including marks that end with `>`. Reads the rest if there is no mark. */
  #readTo(mark: string): string {
    const start = this.#at;
    const found = this.#lower.indexOf(mark, start);
    const end = mark.endsWith('>') ? found + mark.length : found;
    this.#at = found < 0 ? this.#html.length : end;
    return this.#html.slice(start, this.#at);
  }
}

/** A cell of a table, with the numbers of columns and rows that it takes. */
interface Cell {
  readonly text: string;
  readonly columns: number;
  readonly rows: number;
}

const MAX_SPAN = 50;
/** Characters of one page that cells of several rows or columns add. */
const MAX_REPEATED = 1_000_000;

function spanOf(tag: string, name: 'colspan' | 'rowspan'): number {
  const span = Math.trunc(Number(attribute(tag, name) ?? 1));
  return span >= 1 ? Math.min(MAX_SPAN, span) : 1;
}

/** Writes text in lines. Never reads a finished line again, to stay linear. */
class PageWriter {
  readonly #lines: string[] = [];
  #line: string[] = [];
  #hasWords = false;
  #endsInSpace = true;
  #preDepth = 0;
  /** The open link, and whether it has text. */
  #link: { readonly url: string; hasWords: boolean } | undefined;
  readonly #hasMarkdownTables: boolean;
  /** Open tables of Markdown; only the outermost is written as one. */
  #tableDepth = 0;
  #rowCount = 0;
  #cells: Cell[] = [];
  /** The open cell of a table. */
  #cell: Omit<Cell, 'text'> | undefined;
  /** Characters that cells of several rows or columns have added. */
  #repeated = 0;
  /** Cells of rows above that reach into the next rows, by column. */
  readonly #reaching = new Map<number, { readonly text: string; rows: number }>();

  constructor(hasMarkdownTables: boolean) {
    this.#hasMarkdownTables = hasMarkdownTables;
  }

  open(name: string, tag: string): void {
    if (this.#hasMarkdownTables && this.#openInTable(name, tag)) return;
    if (name === 'td' || name === 'th') {
      if (this.#hasWords) this.#put(' | ');
      return;
    }
    if (!BLOCKS.has(name)) return;
    this.#endLine();
    if (PARAGRAPHS.has(name)) this.#lines.push('');
    if (name === 'pre') this.#preDepth++;
    if (/^h\d$/.test(name)) this.#put(`${'#'.repeat(Number(name[1]))} `);
    if (name === 'li') this.#put('- ');
  }

  close(name: string): void {
    if (name === 'a') this.#closeLink();
    if (this.#tableDepth > 0 && this.#closeInTable(name)) return;
    if (!BLOCKS.has(name)) return;
    this.#endLine();
    if (PARAGRAPHS.has(name)) this.#lines.push('');
    if (name === 'pre') this.#preDepth = Math.max(0, this.#preDepth - 1);
  }

  openLink(url: string | undefined): void {
    this.#closeLink();
    if (url !== undefined) this.#link = { url, hasWords: false };
  }

  write(text: string): void {
    if (this.#preDepth > 0 && this.#tableDepth === 0) {
      const [first = '', ...others] = text.split('\n');
      this.#writeWords(first);
      for (const line of others) {
        this.#endLine(true);
        this.#writeWords(line);
      }
      return;
    }
    const words = text.replace(SPACES, ' ');
    this.#writeWords(this.#endsInSpace && words.startsWith(' ') ? words.slice(1) : words);
  }

  end(): string {
    if (this.#tableDepth > 0) this.#endRow();
    this.#tableDepth = 0;
    this.#endLine();
    return this.#lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
  }

  /** Whether the element is part of a table: a cell is one line, whatever it contains. */
  #openInTable(name: string, tag: string): boolean {
    if (name === 'table') {
      if (this.#tableDepth++ > 0) return true;
      this.#endLine();
      this.#lines.push('');
      this.#rowCount = 0;
      this.#reaching.clear();
      return true;
    }
    if (this.#tableDepth === 0) return false;
    const isOwn = this.#tableDepth === 1;
    if (name === 'tr' && isOwn) this.#endRow();
    else if ((name === 'td' || name === 'th') && isOwn) this.#startCell(tag);
    else if (BLOCKS.has(name)) this.write(' ');
    else return false;
    return true;
  }

  #closeInTable(name: string): boolean {
    if (name === 'table') {
      if (--this.#tableDepth > 0) return true;
      this.#endRow();
      this.#lines.push('');
      return true;
    }
    if (name === 'tr' && this.#tableDepth === 1) this.#endRow();
    else if (BLOCKS.has(name)) this.write(' ');
    else return false;
    return true;
  }

  #startCell(tag: string): void {
    this.#endCell();
    this.#cell = { columns: spanOf(tag, 'colspan'), rows: spanOf(tag, 'rowspan') };
  }

  /** Ends a cell, or the text before the first one. */
  #endCell(): void {
    this.#closeLink();
    const text = this.#line.join('').replace(SPACES, ' ').trim();
    if (this.#cell !== undefined) this.#cells.push({ text, ...this.#cell });
    else if (text !== '') this.#lines.push(text);
    this.#cell = undefined;
    this.#line = [];
    this.#hasWords = false;
    this.#endsInSpace = true;
  }

  #endRow(): void {
    this.#endCell();
    if (this.#cells.length === 0) return;
    const cells = this.#layOut(this.#cells);
    this.#cells = [];
    if (cells.every((cell) => cell === '')) return;
    this.#lines.push(...(this.#rowCount++ === 0 ? tableHead(cells) : [tableRow(cells)]));
  }

  /** Texts of a row: a cell of several rows is in each of them, and one of several columns has empty ones behind it. */
  #layOut(cells: readonly Cell[]): readonly string[] {
    const row: string[] = [];
    const above = this.#takeAbove();
    const fromAbove = (): void => {
      for (let text; (text = above.get(row.length)) !== undefined;) row.push(text);
    };
    for (const { text, columns, rows } of cells) {
      fromAbove();
      this.#repeated += columns * rows === 1 ? 0 : columns * rows * (text.length + 3);
      const isSpread = this.#repeated <= MAX_REPEATED;
      for (let extra = 0; extra < (isSpread ? columns : 1); extra++) {
        const own = extra === 0 ? text : '';
        if (rows > 1 && isSpread) this.#reaching.set(row.length, { text: own, rows: rows - 1 });
        row.push(own);
      }
    }
    fromAbove();
    return row;
  }

  /** Texts of rows above that reach into the next row, by column. Each counts as used in that row, also where a cell of the row is in its place. */
  #takeAbove(): ReadonlyMap<number, string> {
    const texts = new Map<number, string>();
    for (const [column, above] of this.#reaching) {
      texts.set(column, above.text);
      if (--above.rows === 0) this.#reaching.delete(column);
    }
    return texts;
  }

  #writeWords(text: string): void {
    if (text === '') return;
    if (text.trim() === '') return this.#put(text);
    this.#hasWords = true;
    if (this.#link !== undefined && !this.#link.hasWords) {
      this.#link.hasWords = true;
      this.#put(text.startsWith(' ') ? ' [' : '[');
      return this.#put(text.trimStart());
    }
    this.#put(text);
  }

  #put(text: string): void {
    this.#line.push(text);
    this.#endsInSpace = text.endsWith(' ');
  }

  #closeLink(): void {
    if (this.#link?.hasWords === true) this.#put(`](${this.#link.url})`);
    this.#link = undefined;
  }

  /** @param isKept true to keep a line without words */
  #endLine(isKept = false): void {
    this.#closeLink();
    if (this.#hasWords || isKept) this.#lines.push(this.#line.join('').trimEnd());
    this.#line = [];
    this.#hasWords = false;
    this.#endsInSpace = true;
  }
}

/** Decoded value of an attribute. */
function attribute(tag: string, name: string): string | undefined {
  const pattern = new RegExp(`[\\s"'/]${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i');
  const [, quoted, single, bare] = pattern.exec(tag) ?? [];
  const value = quoted ?? single ?? bare;
  return value === undefined ? undefined : decodeEntities(value).trim();
}

function plain(html: string): string {
  return decodeEntities(html).replace(SPACES, ' ').trim().slice(0, MAX_TITLE_CHARS);
}
