/** Entry `troupe/readers`: files into documents for a knowledge base. */

export { readDocument } from './read-document.ts';
export { readFolder, type ReadFolderOptions } from './read-folder.ts';
export type { ReadLimits, ReadDocumentOptions } from './read-options.ts';
export { readRecords, type ReadRecordsOptions } from './read-records.ts';
export type { SourceFile } from './source-file.ts';
