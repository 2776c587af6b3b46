/**
 * A program that synchronises documents into a SQLite file: `knowledge-writer.ts <file> <version> <n>`. Right before its n-th
 * statement it kills itself. If there are fewer, or n is 0, it ends, and writes the numbers
 * of embedded chunks and of statements.
 */
import { DatabaseSync } from 'node:sqlite';

import { SqliteVectorStore } from '../../src/stores/sqlite/sqlite-vector-store.ts';
import { countingKnowledge, versionOf } from './synced-documents.ts';

const [file = '', version = '', n = '0'] = process.argv.slice(2);

let statements = 0;
const prepare = DatabaseSync.prototype.prepare;
DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
  const statement = prepare.call(this, sql);
  const all = statement.all.bind(statement);
  statement.all = (...params: never[]) => {
    if (++statements === Number(n)) process.kill(process.pid, 'SIGKILL');
    return all(...params);
  };
  return statement;
};

await using store = new SqliteVectorStore(file);
const { embeddedChunks } = await countingKnowledge(store).sync(versionOf(version === 'new' ? 'new' : 'old'), {
  removeMissing: true,
});
process.stdout.write(`${embeddedChunks} ${statements}`);
