import { TroupeError } from '../../errors.ts';
import type { SqlDatabase } from './sql-database.ts';

/** Statements from one version of the tables to the next; the first make version 1. */
export type SchemaSteps = readonly (readonly string[])[];

const VERSIONS = 'CREATE TABLE IF NOT EXISTS troupe_schema (name TEXT PRIMARY KEY, version BIGINT NOT NULL)';

/**
 * Updates tables to the newest version, safely with concurrent callers. @throws TroupeError, without any
 * change, if the tables are newer than this program.
 */
export async function prepareSchema(db: SqlDatabase, name: string, steps: SchemaSteps): Promise<void> {
  await db.exclusive(async (tx) => {
    await tx.query(VERSIONS);
    const [row] = await tx.query('SELECT version FROM troupe_schema WHERE name = ?', [name]);
    const version = Number(row?.['version'] ?? 0);
    if (version > steps.length) {
      throw new TroupeError(
        'store_failed',
        `The tables of ${name} have version ${version}; this program knows versions up to ${steps.length}. Update it.`,
      );
    }
    if (version === steps.length) return;
    for (const statement of steps.slice(version).flat()) await tx.query(statement);
    await tx.query(
      'INSERT INTO troupe_schema (name, version) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version',
      [name, steps.length],
    );
  });
}
