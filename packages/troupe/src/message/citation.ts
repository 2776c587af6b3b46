import { InvalidMsgError } from '../errors.ts';
import { describe, isJsonObject } from '../util/json.ts';

/**
 * A source of a text: a web page, or a place in a document. `start` and `end` are the range of the text that rests on the
 * source, in UTF-16 units as `slice` counts them; without them, the source is one of the whole block.
 */
export interface Citation {
  readonly start?: number;
  readonly end?: number;
  readonly url?: string;
  readonly title?: string;
  /** Words of the source. */
  readonly quote?: string;
  /** Number of the document among the documents of the request, from 0. */
  readonly document?: number;
  /** Id of the provider for a file. */
  readonly fileId?: string;
  readonly filename?: string;
  /** First and last page, from 1. */
  readonly pages?: readonly [first: number, last: number];
}

const TEXTS = ['url', 'title', 'quote', 'fileId', 'filename'] as const;
const NUMBERS = ['start', 'end', 'document'] as const;

/** Checks the citations of a block. Further keys are allowed and kept. @throws InvalidMsgError with the path */
export function checkCitations(value: unknown, path: string): void {
  if (value === undefined) return;
  if (!Array.isArray(value)) fail(path, 'a list', value);
  value.forEach((citation: unknown, i) => {
    const at = `${path}[${i}]`;
    if (!isJsonObject(citation)) return fail(at, 'an object', citation);
    for (const key of TEXTS)
      if (!isOptional(citation[key], 'string')) fail(`${at}.${key}`, 'a string', citation[key]);
    for (const key of NUMBERS)
      if (!isOptional(citation[key], 'number')) fail(`${at}.${key}`, 'a number', citation[key]);
    const { pages = [1, 1] } = citation;
    const isRange =
      Array.isArray(pages) && pages.length === 2 && pages.every((page) => typeof page === 'number');
    if (!isRange) fail(`${at}.pages`, 'two numbers', pages);
  });
}

/** Name of a source for people: its title, file or address. */
export function sourceName({ title, filename, url, fileId, document }: Citation): string {
  return (
    title || filename || url || fileId || (document === undefined ? 'a source' : `document ${document + 1}`)
  );
}

/** The sources of citations as lines for people and models, each source once. */
export function sourceLines(citations: readonly Citation[]): readonly string[] {
  const lines = new Set<string>();
  for (const citation of citations) {
    const { url = '', pages } = citation;
    const name = sourceName(citation);
    const page =
      pages === undefined ? '' : pages[0] === pages[1] ? `, page ${pages[0]}` : `, pages ${pages.join('–')}`;
    lines.add(`${name}${page}${url === '' || url === name ? '' : ` <${url}>`}`);
  }
  return Array.from(lines, (line, i) => `[${i + 1}] ${line.replace(/\s+/g, ' ')}`);
}

function isOptional(value: unknown, type: 'string' | 'number'): boolean {
  return value === undefined || typeof value === type;
}

function fail(path: string, expected: string, actual: unknown): never {
  throw new InvalidMsgError(`${path} must be ${expected}, not ${describe(actual)}.`);
}
