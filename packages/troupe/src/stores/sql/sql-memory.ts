import {
  NO_CONVERSATION,
  StoredMemory,
  type ConversationId,
  type ConversationReading,
  type ConversationStore,
  type ConversationVersion,
  type NewRow,
  type RowChange,
} from '../../memory/stored-memory.ts';
import { textKey } from '../../memory/text-key.ts';
import { newId } from '../../util/ids.ts';
import { prepareSchema, type SchemaSteps } from './schema.ts';
import type { SqlDatabase, SqlQueries, SqlRow, SqlValue } from './sql-database.ts';

/**
 * Tables of conversations. Messages refer to a conversation's birth, which is unique even when an id is used
 * again.
 */
const SCHEMA: SchemaSteps = [
  [
    `CREATE TABLE troupe_conversation (
      user_id TEXT NOT NULL, session_id TEXT NOT NULL, birth TEXT NOT NULL, epoch BIGINT NOT NULL,
      next_seq BIGINT NOT NULL, summary TEXT NOT NULL, PRIMARY KEY (user_id, session_id))`,
    `CREATE TABLE troupe_message (
      birth TEXT NOT NULL, seq BIGINT NOT NULL, id TEXT NOT NULL, marks TEXT NOT NULL, msg TEXT NOT NULL,
      PRIMARY KEY (birth, seq), UNIQUE (birth, id))`,
  ],
];

const HEAD = 'c.birth, c.epoch, c.next_seq, c.summary';
/** Reads the head of a conversation and its messages in one statement, hence from one state. */
const READ_NEW = `SELECT ${HEAD}, m.seq, m.marks, m.msg
  FROM troupe_conversation c LEFT JOIN troupe_message m
    ON m.birth = c.birth AND c.birth = ? AND c.epoch = ? AND m.seq >= ?
  WHERE c.user_id = ? AND c.session_id = ? ORDER BY m.seq`;
const READ_ALL = `SELECT ${HEAD}, m.seq, m.marks, CASE WHEN c.birth <> ? OR m.seq >= ? THEN m.msg END AS msg
  FROM troupe_conversation c LEFT JOIN troupe_message m ON m.birth = c.birth
  WHERE c.user_id = ? AND c.session_id = ? ORDER BY m.seq`;

/** Locks a conversation by an update without effect, until the transaction ends. */
const LOCK = `UPDATE troupe_conversation SET epoch = epoch
  WHERE user_id = ? AND session_id = ? RETURNING birth, epoch, next_seq`;
const LOCK_OR_MAKE = `INSERT INTO troupe_conversation (user_id, session_id, birth, epoch, next_seq, summary)
  VALUES (?, ?, ?, 0, 0, '""') ON CONFLICT (user_id, session_id)
  DO UPDATE SET epoch = troupe_conversation.epoch RETURNING birth, epoch, next_seq`;

const SET_SUMMARY = `INSERT INTO troupe_conversation (user_id, session_id, birth, epoch, next_seq, summary)
  VALUES (?, ?, ?, 0, 0, ?) ON CONFLICT (user_id, session_id) DO UPDATE SET summary = excluded.summary`;

/** Maximum values in one statement. */
const CHUNK = 500;

/** Memory in a SQL database, equal for all supported databases. */
export class SqlMemory extends StoredMemory {
  /** @param options.isOwn whether the database is closed with the memory */
  constructor(
    database: SqlDatabase,
    id: ConversationId,
    { isOwn = false }: { readonly isOwn?: boolean } = {},
  ) {
    super(id, new SqlConversation(database, id, isOwn));
  }
}

class SqlConversation implements ConversationStore {
  readonly #database: SqlDatabase;
  readonly #isOwn: boolean;
  readonly #id: ConversationId;
  #ready: Promise<readonly [user: string, session: string]> | undefined;

  constructor(database: SqlDatabase, id: ConversationId, isOwn: boolean) {
    this.#database = database;
    this.#isOwn = isOwn;
    this.#id = id;
  }

  async read({ birth, epoch, next }: ConversationVersion): Promise<ConversationReading> {
    const key = await this.#open();
    if (birth !== '') {
      const reading = toReading(await this.#database.query(READ_NEW, [birth, epoch, next, ...key]), false);
      if (reading.version.birth === birth && reading.version.epoch === epoch) return reading;
    }
    return toReading(await this.#database.query(READ_ALL, [birth, next, ...key]), true);
  }

  append(rows: readonly NewRow[]): Promise<{ before: ConversationVersion; added: readonly number[] }> {
    return this.#write(async (tx, key) => {
      const before = toVersion((await tx.query(LOCK_OR_MAKE, [...key, newId()]))[0]);
      const taken = new Set<SqlValue | undefined>();
      for (const some of chunks(rows.map(({ id }) => id))) {
        const sql = `SELECT id FROM troupe_message WHERE birth = ? AND id IN (${placeholders(some)})`;
        for (const row of await tx.query(sql, [before.birth, ...some])) taken.add(row['id']);
      }
      const added: number[] = [];
      const values: SqlValue[][] = [];
      for (const [i, { id, marks, msg }] of rows.entries()) {
        if (taken.has(id)) continue;
        taken.add(id);
        values.push([before.birth, before.next + added.length, id, marks, msg]);
        added.push(i);
      }
      for (const some of chunks(values)) {
        const sql = `INSERT INTO troupe_message (birth, seq, id, marks, msg) VALUES ${some.map(() => '(?, ?, ?, ?, ?)').join(', ')}`;
        await tx.query(sql, some.flat());
      }
      const sql = 'UPDATE troupe_conversation SET next_seq = ? WHERE user_id = ? AND session_id = ?';
      if (added.length > 0) await tx.query(sql, [before.next + added.length, ...key]);
      return { before, added };
    });
  }

  deleteIds(ids: readonly string[]): Promise<{ before: ConversationVersion; deleted: readonly number[] }> {
    return this.#write(async (tx, key) => {
      const before = toVersion((await tx.query(LOCK, key))[0]);
      const deleted: number[] = [];
      for (const some of chunks(ids)) {
        const sql = `DELETE FROM troupe_message WHERE birth = ? AND id IN (${placeholders(some)}) RETURNING seq`;
        for (const row of await tx.query(sql, [before.birth, ...some])) deleted.push(Number(row['seq']));
      }
      const sql = 'UPDATE troupe_conversation SET epoch = epoch + 1 WHERE user_id = ? AND session_id = ?';
      if (deleted.length > 0) await tx.query(sql, key);
      return { before, deleted };
    });
  }

  change({ birth, epoch }: ConversationVersion, { deleted, marked }: RowChange): Promise<boolean> {
    return this.#write(async (tx, key) => {
      const changed = await tx.query(
        `UPDATE troupe_conversation SET epoch = epoch + 1
          WHERE user_id = ? AND session_id = ? AND birth = ? AND epoch = ? RETURNING epoch`,
        [...key, birth, epoch],
      );
      if (changed.length === 0) return false;
      for (const some of chunks(deleted.map(({ seq }) => seq))) {
        const sql = `DELETE FROM troupe_message WHERE birth = ? AND seq IN (${placeholders(some)})`;
        await tx.query(sql, [birth, ...some]);
      }
      for (const [marks, seqs] of marked) {
        for (const some of chunks(seqs)) {
          const sql = `UPDATE troupe_message SET marks = ? WHERE birth = ? AND seq IN (${placeholders(some)})`;
          await tx.query(sql, [marks, birth, ...some]);
        }
      }
      return true;
    });
  }

  clear(): Promise<void> {
    return this.#write(async (tx, key) => {
      const { birth } = toVersion((await tx.query(LOCK, key))[0]);
      await tx.query('DELETE FROM troupe_message WHERE birth = ?', [birth]);
      await tx.query('DELETE FROM troupe_conversation WHERE user_id = ? AND session_id = ?', key);
    });
  }

  async setSummary(summary: string): Promise<void> {
    const key = await this.#open();
    await this.#database.query(SET_SUMMARY, [...key, newId(), summary]);
  }

  async close(): Promise<void> {
    if (this.#isOwn) await this.#database.close();
  }

  async #write<T>(body: (tx: SqlQueries, key: readonly [string, string]) => Promise<T>): Promise<T> {
    const key = await this.#open();
    return this.#database.transaction((tx) => body(tx, key));
  }

  /** Makes the tables before the first use. After a failure the next use tries again. */
  #open(): Promise<readonly [user: string, session: string]> {
    this.#ready ??= this.#prepare().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #prepare(): Promise<readonly [user: string, session: string]> {
    await prepareSchema(this.#database, 'memory', SCHEMA);
    return [await textKey(this.#id.userId ?? 'default'), await textKey(this.#id.sessionId)];
  }
}

function toVersion(row: SqlRow | undefined): ConversationVersion {
  if (row === undefined) return NO_CONVERSATION;
  return { birth: String(row['birth']), epoch: Number(row['epoch']), next: Number(row['next_seq']) };
}

function toReading(rows: readonly SqlRow[], isWhole: boolean): ConversationReading {
  const [first] = rows;
  return {
    version: toVersion(first),
    summary: String(first?.['summary'] ?? '""'),
    rows: rows.flatMap(({ seq, marks, msg }) => {
      if (seq === null) return []; // a conversation without messages
      return [{ seq: Number(seq), marks: String(marks), msg: msg == null ? null : String(msg) }];
    }),
    isWhole,
  };
}

function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

function* chunks<T>(values: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < values.length; i += CHUNK) yield values.slice(i, i + CHUNK);
}
