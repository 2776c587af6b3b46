import { TroupeError } from '../../errors.ts';
import type { SqlDatabase } from './sql-database.ts';

/** The statements that lead from one version of some tables to the next; the first ones make version 1. */
export type SchemaSteps = readonly (readonly string[])[];

const VERSIONS = 'CREATE TABLE IF NOT EXISTS troupe_schema (name TEXT PRIMARY KEY, version BIGINT NOT NULL)';

/**
 * Brings the tables of a part up to date, whoever else does the same at the same time.
 * @throws TroupeError if they are newer than this program; then nothing was changed.
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
