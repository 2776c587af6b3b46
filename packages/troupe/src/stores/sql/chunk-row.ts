import type { Chunk } from '../../document/chunk.ts';
import { parseJson } from '../../util/json.ts';
import type { SqlRow, SqlValue } from './sql-database.ts';

/** Chunk of a row whose content and metadata are JSON as text. */
export function toChunk(row: SqlRow): Chunk {
  return {
    id: String(row['id']),
    documentId: String(row['document_id']),
    index: Number(row['place']),
    content: fromJson(row['content']) as Chunk['content'],
    metadata: fromJson(row['metadata']) as Chunk['metadata'],
  };
}

function fromJson(value: SqlValue | undefined): unknown {
  return parseJson(String(value));
}
