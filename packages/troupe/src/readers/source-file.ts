import type { ChunkMetadata } from '../document/chunk.ts';
import { mediaTypeOfBytes, mediaTypeOfName } from '../util/media-type.ts';

/** A file to read. */
export interface SourceFile {
  /** Id of the document, which stays the same when the file changes, such as its path. */
  readonly id: string;
  readonly data: Uint8Array | string;
  /** Name with an extension, from which the type is taken. @default the id */
  readonly name?: string | undefined;
  /** Type of the content. @default by name and content */
  readonly mediaType?: string | undefined;
  /** Metadata of all sections. `source` is the id unless given. */
  readonly metadata?: ChunkMetadata | undefined;
}

/** Kind of file that a reader knows. */
export type DocumentFormat =
  | 'text'
  | 'markdown'
  | 'html'
  | 'csv'
  | 'json'
  | 'jsonl'
  | 'pdf'
  | 'word'
  | 'excel'
  | 'powerpoint'
  | 'image';

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const BY_MEDIA_TYPE: Readonly<Record<string, DocumentFormat>> = {
  'text/plain': 'text',
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'application/json': 'json',
  'application/x-ndjson': 'jsonl',
  'application/jsonl': 'jsonl',
  'application/pdf': 'pdf',
  [`${OFFICE}.wordprocessingml.document`]: 'word',
  [`${OFFICE}.spreadsheetml.sheet`]: 'excel',
  [`${OFFICE}.presentationml.presentation`]: 'powerpoint',
  'image/png': 'image',
  'image/jpeg': 'image',
  'image/gif': 'image',
  'image/webp': 'image',
};
const BY_EXTENSION: Readonly<Record<string, DocumentFormat>> = {
  txt: 'text',
  text: 'text',
  log: 'text',
  md: 'markdown',
  markdown: 'markdown',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  csv: 'csv',
  tsv: 'csv',
  json: 'json',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  pdf: 'pdf',
  docx: 'word',
  xlsx: 'excel',
  pptx: 'powerpoint',
  png: 'image',
  jpg: 'image',
  jpeg: 'image',
  gif: 'image',
  webp: 'image',
};

/** Kind of a file by its type, name or first bytes; undefined if no reader knows it. */
export function kindOfFile({ id, name = id, mediaType, data }: SourceFile): DocumentFormat | undefined {
  if (mediaType !== undefined) return own(BY_MEDIA_TYPE, mediaType.split(';')[0]?.trim().toLowerCase());
  const byName = kindOfName(name);
  if (byName !== undefined || typeof data === 'string') return byName;
  return own(BY_MEDIA_TYPE, mediaTypeOfBytes(data.subarray(0, 64)));
}

export function kindOfName(name: string): DocumentFormat | undefined {
  return own(BY_EXTENSION, /\.(\w+)$/.exec(name)?.[1]?.toLowerCase());
}

/** Media type of an image that models take; undefined for other files. */
export function imageTypeOf({ id, name = id, mediaType }: SourceFile, bytes: Uint8Array): string | undefined {
  const type = mediaTypeOfBytes(bytes.subarray(0, 64)) ?? mediaType ?? mediaTypeOfName(name);
  return type?.startsWith('image/') === true ? type : undefined;
}

function own(kinds: Readonly<Record<string, DocumentFormat>>, key = ''): DocumentFormat | undefined {
  return Object.hasOwn(kinds, key) ? kinds[key] : undefined;
}
