import type { SourceDocument } from '../document/chunk.ts';
import { checkNumber } from '../util/check-number.ts';
import { CsvRows, delimiterOf } from './csv-rows.ts';
import { jsonOfLine, jsonSections } from './json-sections.ts';
import { overLimit, settleLimits, type ReadDocumentOptions } from './read-options.ts';
import { tableSections } from './table-sections.ts';

export interface ReadRecordsOptions extends ReadDocumentOptions {
  /** Id of the whole; each document has it with the number of its part. */
  readonly id: string;
  readonly format: 'csv' | 'jsonl';
  /** Records of one document. @default 500 */
  readonly recordsPerDocument?: number | undefined;
}

/**
 * Documents of a stream of CSV or JSON lines of any size, such as a file of `createReadStream`: one for each 500
 * records, with ids such as `log.csv#3`. Keeps one document in memory. A record has at most `maxChars`.
 */
export async function* readRecords(
  stream: AsyncIterable<Uint8Array | string>,
  { id, format, recordsPerDocument = 500, tables = 'markdown', limits, signal }: ReadRecordsOptions,
): AsyncGenerator<SourceDocument> {
  checkNumber('recordsPerDocument', recordsPerDocument, { least: 1, whole: true });
  const { maxChars } = settleLimits(limits);
  const texts = decoded(stream);
  let part = 0;
  const document = (sections: SourceDocument['sections']): SourceDocument => ({
    id: `${id}#${++part}`,
    sections,
    metadata: { source: id },
  });
  if (format === 'jsonl') {
    for await (const lines of groups(linesOf(texts, maxChars), recordsPerDocument)) {
      signal?.throwIfAborted();
      const records = lines.map(jsonOfLine);
      yield document(jsonSections(records));
    }
    return;
  }
  let [head, firstRow]: [readonly string[] | undefined, number] = [undefined, 2];
  for await (const rows of groups(rowsOf(texts, maxChars), recordsPerDocument)) {
    signal?.throwIfAborted();
    const [first, ...others] = rows;
    const records = head === undefined ? others : rows;
    head ??= first ?? [];
    if (records.length === 0 && part > 0) continue;
    // The names of the columns are the first row of each part; its records are counted through the whole file.
    yield document(tableSections([head, ...records], tables, {}, { firstRow: firstRow - 1, maxChars }));
    firstRow += records.length;
  }
}

async function* decoded(stream: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of stream)
    yield typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true });
  yield decoder.decode();
}

async function* rowsOf(texts: AsyncIterable<string>, maxChars: number): AsyncGenerator<readonly string[]> {
  let rows: CsvRows | undefined;
  let waiting = '';
  let unfinished = 0;
  for await (const text of texts) {
    waiting += text;
    if (waiting.length > maxChars + text.length) throw overLimit('A record never ends', 'maxChars');
    if (rows === undefined && waiting.length < 10_000 && !waiting.includes('\n')) continue;
    rows ??= new CsvRows(delimiterOf(waiting));
    unfinished += waiting.length;
    for (const row of rows.read(waiting)) {
      unfinished = 0;
      yield row;
    }
    waiting = '';
    if (unfinished > maxChars) throw overLimit('A record never ends', 'maxChars');
  }
  rows ??= new CsvRows(delimiterOf(waiting));
  yield* rows.read(waiting);
  yield* rows.end();
}

async function* linesOf(texts: AsyncIterable<string>, maxChars: number): AsyncGenerator<string> {
  let pieces: string[] = [];
  let size = 0;
  for await (const text of texts) {
    const [first = '', ...others] = text.split(/\r?\n/);
    pieces.push(first);
    size += first.length;
    if (size > maxChars) throw overLimit('A record never ends', 'maxChars');
    for (const line of others) {
      const whole = pieces.join('');
      if (whole.trim() !== '') yield whole;
      pieces = [line];
      size = line.length;
    }
  }
  const rest = pieces.join('');
  if (rest.trim() !== '') yield rest;
}

async function* groups<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
