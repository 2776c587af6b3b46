import type { Section, SourceDocument } from '../document/chunk.ts';
import { markdownSections } from '../document/markdown-sections.ts';
import { TroupeError } from '../errors.ts';
import { toBase64 } from '../util/base64.ts';
import { htmlToText } from '../util/html/html-to-text.ts';
import { parseJson, type JsonValue } from '../util/json.ts';
import { csvRows } from './csv-rows.ts';
import { textOfBytes } from './text-of-bytes.ts';
import { jsonOfLine, jsonSections } from './json-sections.ts';
import { pageSections } from './page-sections.ts';
import { checkPdfStreams } from './pdf-streams.ts';
import {
  overLimit,
  settleLimits,
  unreadableFile,
  type SettledLimits,
  type ReadDocumentOptions,
} from './read-options.ts';
import { runParser } from './run-parser.ts';
import { slideSections } from './slide-sections.ts';
import { imageTypeOf, kindOfFile, type DocumentFormat, type SourceFile } from './source-file.ts';
import { tableSections } from './table-sections.ts';
import { unzip, zipStored } from './zip-file.ts';

/** Sections of a document, and its title. */
interface ReadContent {
  readonly sections: readonly Section[];
  readonly title?: string | undefined;
}

/** A file with checked limits, for one reader. */
interface ReadJob {
  readonly file: SourceFile;
  readonly bytes: Uint8Array;
  readonly limits: SettledLimits;
  readonly tables: 'markdown' | 'json';
  readonly includeImages: boolean;
  readonly signal: AbortSignal | undefined;
}

const READERS: Readonly<Record<DocumentFormat, (job: ReadJob) => ReadContent | Promise<ReadContent>>> = {
  text: ({ bytes }) => ({ sections: textSection(textOfBytes(bytes)) }),
  markdown: ({ bytes }) => readMarkdown(textOfBytes(bytes)),
  html: readHtml,
  csv: ({ bytes, tables, limits: { maxChars } }) => ({
    sections: tableSections(csvRows(textOfBytes(bytes)), tables, {}, { maxChars }),
  }),
  json: ({ bytes }) => ({ sections: jsonSections(jsonOf(textOfBytes(bytes))) }),
  jsonl: ({ bytes }) => ({
    sections: jsonSections(textOfBytes(bytes).split(/\r?\n/).filter(Boolean).map(jsonOfLine)),
  }),
  pdf: readPdf,
  word: readWord,
  excel: readExcel,
  powerpoint: readPowerPoint,
  image: readImage,
};

/**
 * Reads a file into a document: text, Markdown, HTML, CSV, JSON, JSON lines, PDF (package `unpdf`), Word
 * (`mammoth`), Excel (`read-excel-file`), PowerPoint and images. Headings, pages, slides, sheets and rows become
 * metadata of the sections. Folder `readers`: start here.
 *
 * @throws TroupeError for an unknown type, a broken file, or one that goes beyond the limits
 */
export async function readDocument(
  file: SourceFile,
  options: ReadDocumentOptions = {},
): Promise<SourceDocument> {
  const { tables = 'markdown', includeImages = false, signal } = options;
  const limits = settleLimits(options.limits);
  if (typeof file.data !== 'string' && !ArrayBuffer.isView(file.data))
    throw new TroupeError(
      'invalid_input',
      'A file to read has { id, data }, with its bytes or text as data: readFile gives them. readFolder reads files by their paths.',
    );
  const kind = kindOfFile(file);
  if (kind === undefined)
    throw new TroupeError(
      'invalid_input',
      `No reader knows the type of '${file.name ?? file.id}'. Give its mediaType, or convert it.`,
    );
  const bytes = typeof file.data === 'string' ? new TextEncoder().encode(file.data) : file.data;
  if (bytes.length > limits.maxBytes) throw overLimit(`'${file.id}' has ${bytes.length} bytes`, 'maxBytes');
  signal?.throwIfAborted();
  const { sections, title } = await READERS[kind]({ file, bytes, limits, tables, includeImages, signal });
  const chars = sections.reduce(
    (sum, { content }) => sum + (content.type === 'text' ? content.text.length : 0),
    0,
  );
  if (chars > limits.maxChars) throw overLimit(`'${file.id}' has ${chars} characters of text`, 'maxChars');
  const metadata = {
    source: file.id,
    ...(title !== undefined && title !== '' && { title }),
    ...file.metadata,
  };
  return { id: file.id, sections, metadata };
}

function textSection(text: string): readonly Section[] {
  return text.trim() === '' ? [] : [{ content: { type: 'text', text } }];
}

function readMarkdown(text: string): ReadContent {
  const sections = markdownSections(text);
  const heading = sections.find(({ metadata }) => metadata?.['heading'] !== undefined)?.metadata?.['heading'];
  return { sections, ...(typeof heading === 'string' && { title: heading.split(' > ')[0] }) };
}

function readHtml({ bytes }: ReadJob): ReadContent {
  const { title, text } = htmlToText(textOfBytes(bytes), 'about:blank', { hasMarkdownTables: true });
  const content = readMarkdown(text);
  return title === '' ? content : { ...content, title };
}

function jsonOf(text: string): JsonValue {
  try {
    return parseJson(text, 'the file');
  } catch (cause) {
    throw unreadableFile('The file is not JSON.', cause);
  }
}

async function readPdf({ bytes, limits, signal }: ReadJob): Promise<ReadContent> {
  await checkPdfStreams(bytes, limits);
  const { pages, title } = await runParser('pdf', Uint8Array.from(bytes), limits, { signal });
  return { sections: pageSections(pages), title };
}

/** Entries of an Office file that are read: without images, films and sounds unless they are wanted. */
function wantedEntries(includeImages: boolean): (name: string) => boolean {
  return (name) => includeImages || !/^\w+\/media\//.test(name);
}

async function readWord({ bytes, limits, includeImages, signal }: ReadJob): Promise<ReadContent> {
  const safe = zipStored(await unzip(bytes, limits, wantedEntries(includeImages)));
  const { html, images } = await runParser('word', safe, limits, { includeImages, signal });
  const { text } = htmlToText(html, 'about:blank', { hasMarkdownTables: true });
  const { sections, title } = readMarkdown(text);
  const pictures = images.flatMap((image): readonly Section[] => {
    const [mediaType = '', data = ''] = image.split(',');
    if (!/^image\/(?:png|jpeg|gif|webp)$/.test(mediaType)) return [];
    return [{ content: { type: 'image', source: { type: 'base64', mediaType, data } } }];
  });
  return { sections: [...sections, ...pictures], title };
}

async function readExcel({ bytes, limits, tables, signal }: ReadJob): Promise<ReadContent> {
  const safe = zipStored(await unzip(bytes, limits, wantedEntries(false)));
  const { sheets } = await runParser('excel', safe, limits, { signal });
  return {
    sections: sheets.flatMap(({ sheet, data }) =>
      tableSections(
        data.map((row) => row.map(String)),
        tables,
        { sheet },
        limits,
      ),
    ),
  };
}

async function readPowerPoint({ bytes, limits, tables, includeImages }: ReadJob): Promise<ReadContent> {
  const sections = slideSections(await unzip(bytes, limits, wantedEntries(includeImages)), {
    tables,
    includeImages,
    ...limits,
  });
  const title = sections[0]?.metadata?.['heading'];
  return { sections, ...(typeof title === 'string' && { title }) };
}

function readImage({ file, bytes }: ReadJob): ReadContent {
  const mediaType = imageTypeOf(file, bytes);
  if (mediaType === undefined) throw unreadableFile(`'${file.id}' is no image that models take.`);
  return {
    sections: [{ content: { type: 'image', source: { type: 'base64', mediaType, data: toBase64(bytes) } } }],
  };
}
