import { FileSystemBase, FileSystemError, parsePath } from 'troupe/filesystem';
import type {
  FileContent,
  FileEntry,
  FileInfo,
  FileSystemErrorKind,
  LogicalPath,
  ReadOptions,
  WriteOptions,
} from 'troupe/filesystem';

import type { ServiceDatabase, SqlQueries, SqlRow } from '../store/database.ts';

export interface SessionFileLimits {
  /** Maximum bytes of one file of a session. @default 8 MiB */
  readonly fileBytes?: number | undefined;
  /** Maximum bytes of all files of a session. @default 64 MiB */
  readonly sessionFileBytes?: number | undefined;
}

/** The session that files belong to. */
export interface FileOwner {
  readonly user: string;
  readonly session: string;
}

const MIB = 1024 * 1024;
export const MAX_FILE_BYTES = 8 * MIB;
const MAX_SESSION_BYTES = 64 * MIB;
const OF_SESSION = 'user_id = ? AND session_id = ?';
const OF_PATH = `${OF_SESSION} AND path = ?`;
const ROOTS = ['/userinput', '/workspace', '/internal'];

/**
 * The files of one session, in the database of the service, so that every process sees them. Writes to one session wait for each other;
 * a write to a deleted session fails. Every statement carries the user. Folder `files`: start here.
 */
export class SessionFiles extends FileSystemBase {
  readonly #db: ServiceDatabase;
  readonly #owner: readonly [user: string, session: string];
  readonly #fileBytes: number;
  readonly #sessionBytes: number;

  constructor(db: ServiceDatabase, { user, session }: FileOwner, limits: SessionFileLimits = {}) {
    super();
    this.#db = db;
    this.#owner = [user, session];
    this.#fileBytes = limits.fileBytes ?? MAX_FILE_BYTES;
    this.#sessionBytes = limits.sessionFileBytes ?? MAX_SESSION_BYTES;
  }

  override async stat(path: LogicalPath): Promise<FileInfo | undefined> {
    return this.#find(this.#db, path);
  }

  override async list(folder: LogicalPath, maxEntries: number): Promise<readonly FileEntry[]> {
    const found = await this.#find(this.#db, folder);
    if (found === undefined) throw failure('not_found', folder, 'is not there.');
    if (found.kind !== 'directory') throw failure('not_a_directory', folder, 'is a file, not a folder.');
    if (folder === '/') return ROOTS.map((root) => ({ path: parsePath(root), kind: 'directory' }));
    const rows = await this.#db.query(
      `SELECT path, kind FROM service_files WHERE ${OF_SESSION} AND folder = ? ORDER BY path LIMIT ?`,
      [...this.#owner, folder, maxEntries + 1],
    );
    if (rows.length > maxEntries) throw failure('too_large', folder, `has more than ${maxEntries} entries.`);
    return rows.map(toEntry);
  }

  /** Files in the folders that people use, by their paths. @param after path of the last file of the page before */
  async all(limit: number, after = ''): Promise<readonly FileInfo[]> {
    const rows = await this.#db.query(
      `SELECT path, kind, size, updated_at FROM service_files
       WHERE ${OF_SESSION} AND kind = 'file' AND (path LIKE '/userinput/%' OR path LIKE '/workspace/%') AND path > ?
       ORDER BY path LIMIT ?`,
      [...this.#owner, after, limit],
    );
    return rows.map(toInfo);
  }

  override async read(
    path: LogicalPath,
    { offset = 0, maxBytes, wholeOnly }: ReadOptions,
  ): Promise<FileContent> {
    const sql = `SELECT kind, version, data FROM service_files WHERE ${OF_PATH}`;
    const [row] = await this.#db.query(sql, [...this.#owner, path]);
    if (row === undefined && (await this.#find(this.#db, path)) === undefined)
      throw failure('not_found', path, 'is not there.');
    if (row?.['kind'] !== 'file') throw failure('not_a_file', path, 'is a folder, not a file.');
    const bytes = new Uint8Array(Buffer.from(String(row['data']), 'base64'));
    const length = wholeOnly === true && bytes.length - offset > maxBytes ? 0 : maxBytes;
    const version = String(row['version']);
    return { bytes: bytes.slice(offset, offset + length), size: bytes.length, version };
  }

  override async write(path: LogicalPath, bytes: Uint8Array, { expected }: WriteOptions = {}): Promise<void> {
    const size = bytes.length;
    if (size > this.#fileBytes)
      throw failure('too_large', path, `does not fit: a file may have ${this.#fileBytes} bytes.`);
    const data = Buffer.from(bytes).toString('base64');
    await this.#change(path, async (tx) => {
      const old = await this.#find(tx, path);
      if (old?.kind === 'directory') throw failure('not_a_file', path, 'is a folder, not a file.');
      if (expected === null && old !== undefined) throw failure('conflict', path, 'exists already.');
      if (typeof expected === 'string' && old === undefined)
        throw failure('not_found', path, 'is not there.');
      if (typeof expected === 'string' && old?.version !== expected)
        throw failure('conflict', path, 'has changed meanwhile. Read it again.');
      const [sum] = await tx.query(`SELECT SUM(size) AS size FROM service_files WHERE ${OF_SESSION}`, [
        ...this.#owner,
      ]);
      if (Number(sum?.['size'] ?? 0) - (old?.size ?? 0) + size > this.#sessionBytes)
        throw failure(
          'too_large',
          path,
          `does not fit: all files of a session may have ${this.#sessionBytes} bytes.`,
        );
      await this.#makeFolder(tx, folderOf(path));
      await tx.query(
        `INSERT INTO service_files (user_id, session_id, path, folder, kind, size, version, updated_at, data)
         VALUES (?, ?, ?, ?, 'file', ?, ?, ?, ?)
         ON CONFLICT (user_id, session_id, path) DO UPDATE SET size = excluded.size, version = excluded.version,
           updated_at = excluded.updated_at, data = excluded.data`,
        [...this.#owner, path, folderOf(path), size, crypto.randomUUID(), Date.now(), data],
      );
    });
  }

  override async delete(path: LogicalPath): Promise<void> {
    await this.#change(path, async (tx) => {
      if (path === '/' || ROOTS.includes(path)) throw failure('not_a_file', path, 'is never deleted.');
      const old = await this.#find(tx, path);
      if (old === undefined) throw failure('not_found', path, 'is not there.');
      const inside = `SELECT path FROM service_files WHERE ${OF_SESSION} AND folder = ? LIMIT 1`;
      if ((await tx.query(inside, [...this.#owner, path])).length > 0)
        throw failure('conflict', path, 'is not empty. Delete what is in it first.');
      await tx.query(`DELETE FROM service_files WHERE ${OF_PATH}`, [...this.#owner, path]);
    });
  }

  /** Changes files while the session is locked. @throws FileSystemError if it was deleted */
  #change(path: LogicalPath, change: (tx: SqlQueries) => Promise<void>): Promise<void> {
    return this.#db.transaction(async (tx) => {
      const locked = await tx.query(
        'UPDATE service_sessions SET is_deleted = 0 WHERE user_id = ? AND id = ? AND is_deleted = 0 RETURNING id',
        this.#owner,
      );
      if (locked.length === 0) throw failure('not_found', path, 'has no session any more.');
      await change(tx);
    });
  }

  async #find(
    db: SqlQueries,
    path: LogicalPath,
  ): Promise<(FileInfo & { readonly version?: string }) | undefined> {
    if (path === '/' || ROOTS.includes(path)) return { path, kind: 'directory' };
    const sql = `SELECT path, kind, size, updated_at, version FROM service_files WHERE ${OF_PATH}`;
    const [row] = await db.query(sql, [...this.#owner, path]);
    if (row === undefined) return undefined;
    const info = toInfo(row);
    return info.kind === 'file' && db !== this.#db ? { ...info, version: String(row['version']) } : info;
  }

  async #makeFolder(tx: SqlQueries, folder: LogicalPath): Promise<void> {
    if (ROOTS.includes(folder)) return;
    if (folder === '/') throw failure('not_found', folder, 'holds no files.');
    const found = await this.#find(tx, folder);
    if (found?.kind === 'file') throw failure('not_a_directory', folder, 'is a file, not a folder.');
    if (found !== undefined) return;
    await this.#makeFolder(tx, folderOf(folder));
    await tx.query(
      `INSERT INTO service_files (user_id, session_id, path, folder, kind, size, version, updated_at, data)
       VALUES (?, ?, ?, ?, 'directory', 0, '', ?, '')`,
      [...this.#owner, folder, folderOf(folder), Date.now()],
    );
  }
}

/** Copies all files of a session to a new one of the same user. */
export async function copyFiles(
  db: SqlQueries,
  user: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  await db.query(
    `INSERT INTO service_files (user_id, session_id, path, folder, kind, size, version, updated_at, data)
     SELECT user_id, ?, path, folder, kind, size, version, updated_at, data FROM service_files WHERE ${OF_SESSION}`,
    [to, user, from],
  );
}

function folderOf(path: LogicalPath): LogicalPath {
  return parsePath(path.slice(0, path.lastIndexOf('/')) || '/');
}

function toEntry(row: SqlRow): FileEntry {
  return { path: parsePath(String(row['path'])), kind: row['kind'] === 'file' ? 'file' : 'directory' };
}

function toInfo(row: SqlRow): FileInfo {
  const entry = toEntry(row);
  if (entry.kind !== 'file') return entry;
  const updatedAt = new Date(Number(row['updated_at'])).toISOString();
  return { ...entry, size: Number(row['size']), updatedAt };
}

function failure(kind: FileSystemErrorKind, path: string, problem: string): FileSystemError {
  return new FileSystemError(kind, path, `'${path}' ${problem}`);
}
