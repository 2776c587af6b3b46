import { constants } from 'node:fs';
import * as nodeFiles from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';

import { TroupeError } from '../../errors.ts';
import {
  SessionConflictError,
  SessionCorruptError,
  SessionError,
} from '../../session/format/session-error.ts';
import { compareInfos, type CheckedKey } from '../../session/format/session-key.ts';
import type {
  Commit,
  ListQuery,
  LogRange,
  SessionInfo,
  SessionStore,
  StoredHead,
  StoredItem,
} from '../../session/format/session-store.ts';
import { now } from '../../util/clock.ts';
import { KeyFile } from '../key-file/key-file.ts';
import { idOfFolder, folderOfId } from './folder-name.ts';
import {
  appendLines,
  isMissing,
  isThere,
  makeFolder,
  openSafely,
  readRange,
  syncFolder,
  type Files,
} from './durable-file.ts';
import { KEPT_NAMES, SessionFolder } from './session-folder.ts';

/** Points of a save at which a test can end the process. */
export type CrashPoint =
  | 'before log'
  | 'after log'
  | 'after draft'
  | 'after link'
  | 'after sync'
  | 'before prune'
  | 'after prune';

export interface JsonStoreSeams {
  readonly files?: Files;
  readonly reached?: (point: CrashPoint) => void;
}

/** Time until the folder of a deleted session is removed. */
const MAX_DELETED_AGE_MS = 24 * 3_600_000;
const MAX_READS = 20;
const KEY_NAME = 'approval-key';

/**
 * Session store with a folder for each session: `<revision>.json` is a head, `<revision>-<id>.jsonl` list 0
 * of a log, and `<revision>-<id>.<n>.jsonl` list n.
 *
 * Logs are appended to. A head appears by a link that fails if its revision exists, so that one of two
 * processes gets a conflict. Leftovers in the log, of the loser or of a killed process, belong to no head.
 * Heads older than the newest two are emptied. A log or temporary file is removed once no writer can need it: when the
 * revision it was made for exists, and neither of the newest two heads refers to it.
 *
 * A deletion is also a revision, so that a concurrent save gets a conflict; a new session with the same name
 * continues counting. The folder is removed a day later, with the next `list`. Folder `stores/json`: start here.
 */
export class JsonStore implements SessionStore {
  readonly minGarbage = 64 * 1024;
  readonly #dir: string;
  readonly #files: Files;
  readonly #reached: (point: CrashPoint) => void;
  readonly #keyFile: KeyFile;

  constructor(dir: string, { files = nodeFiles, reached = () => {} }: JsonStoreSeams = {}) {
    if (typeof dir !== 'string' || dir === '' || dir.includes('\0')) {
      throw new TroupeError('invalid_config', 'JsonSession needs the path of a directory.');
    }
    this.#dir = resolve(dir);
    this.#files = files;
    this.#reached = reached;
    this.#keyFile = new KeyFile(files, join(this.#dir, KEY_NAME));
  }

  /** Key in a private file of the directory. */
  async approvalKey(purpose: 'read' | 'make'): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (purpose === 'make') await makeFolder(this.#files, this.#dir);
    return this.#keyFile.get(purpose);
  }

  async readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined> {
    for (let reads = 1; ; reads++) {
      const folder = await this.#look(key);
      const revision = folder?.revisions[which === 'current' ? 0 : 1];
      if (folder === undefined || revision === undefined) return undefined;
      if (which === 'current') await folder.sweepTemporaryFiles();
      try {
        const text = await folder.readHead(revision);
        return text === undefined
          ? undefined
          : { revision, text, location: `file '${folder.headPath(revision)}'` };
      } catch (error) {
        if (!isMissing(error) || reads === MAX_READS) throw error; // pruned between listing and reading
      }
    }
  }

  async lastRevision(key: CheckedKey): Promise<number> {
    return (await this.#look(key))?.newest ?? 0;
  }

  async readItems(
    key: CheckedKey,
    log: string,
    listNumber: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]> {
    if (ranges.length === 0) return [];
    const path = this.#logPath(key, log, listNumber);
    let file: FileHandle;
    try {
      file = await openSafely(this.#files, path, constants.O_RDONLY);
    } catch (error) {
      if (isMissing(error)) throw new SessionCorruptError(`file '${path}'`, 'is missing', { cause: error });
      throw error;
    }
    try {
      const { size } = await file.stat();
      const items: StoredItem[] = [];
      const end = ranges.reduce((most, { to }) => Math.max(most, to), 0);
      if (end > size) {
        const place = `file '${path}', byte ${size},`;
        throw new SessionCorruptError(place, `is where it ends, before byte ${end}`);
      }
      for (const range of ranges) {
        for (const item of itemsIn(await readRange(file, range.from, range.to), range, path))
          items.push(item);
      }
      return items;
    } finally {
      await file.close();
    }
  }

  async commit(key: CheckedKey, commit: Commit): Promise<void> {
    const { base, revision, log } = commit;
    if (base === undefined) await this.#make(key);
    const folder = await this.#look(key);
    if (folder === undefined || !(await this.#isBase(folder, commit))) throw new SessionConflictError(key);
    const isNewLog = log.startsWith(`${revision}-`);
    try {
      this.#reached('before log');
      const positions: (readonly number[])[] = [];
      for (const { listNumber, items } of commit.parts) {
        const making = isNewLog ? 'must be new' : listNumber === 0 ? 'must exist' : 'may be new';
        positions.push(await appendLines(this.#files, this.#logPath(key, log, listNumber), items, making));
      }
      this.#reached('after log');
      await folder.publish(revision, commit.head(positions), commit.savedAt, `${log}.jsonl`);
    } catch (error) {
      const isLost = isMissing(error) || isThere(error);
      if (isLost && isNewLog) {
        for (const { listNumber } of commit.parts)
          // Removed by a later sweep.
          await this.#files.rm(this.#logPath(key, log, listNumber), { force: true }).catch(() => {});
      }
      throw isLost ? new SessionConflictError(key) : error;
    }
    this.#reached('after link');
    await folder.sync();
    this.#reached('after sync');
    const after = await this.#look(key);
    if (after === undefined || after.newest > revision + KEPT_NAMES - 2 || after.hasGapAfter(revision)) {
      // This process was stopped so long that others made this revision, went past and removed its name.
      await this.#files.rm(folder.headPath(revision), { force: true });
      throw new SessionConflictError(key);
    }
    if (after.newest > revision) return; // another process has continued from this revision
    this.#reached('before prune');
    await after.prune(base !== undefined && base.log === undefined ? undefined : [log, base?.log ?? log]);
    this.#reached('after prune');
  }

  async list({ user, limit, after }: ListQuery): Promise<readonly SessionInfo[]> {
    const users = user === undefined ? ['', ...(await this.#idsIn(join(this.#dir, 'users')))] : [user];
    const infos: SessionInfo[] = [];
    for (const one of users) {
      for (const session of await this.#idsIn(this.#parentOf(one))) {
        const info = await this.#infoOf({ user: one, session } as CheckedKey);
        if (info !== undefined && (after === undefined || compareInfos(info, after) > 0)) infos.push(info);
      }
    }
    return infos.sort(compareInfos).slice(0, limit);
  }

  async delete(key: CheckedKey, revision?: number): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const folder = await this.#look(key);
      if (folder === undefined || folder.newest === 0) return false;
      if (await folder.isDeleted()) {
        await folder.wipe(); // left by a killed deletion
        return false;
      }
      if (revision !== undefined && folder.newest !== revision) return false;
      try {
        await folder.publishDeletion();
      } catch (error) {
        if (!(isThere(error) || isMissing(error)) || tries === MAX_READS) throw error;
        continue; // another process was faster
      }
      await folder.sync();
      const after = await this.#look(key);
      if (after?.newest === folder.newest + 1) await after.wipe();
      return true;
    }
  }

  locationOf(key: CheckedKey, log: string, listNumber: number, { from }: StoredItem): string {
    return `file '${this.#logPath(key, log, listNumber)}', byte ${from},`;
  }

  async close(): Promise<void> {}

  /** Tells whether the newest revision is the base of a commit. */
  async #isBase(folder: SessionFolder, { base, revision }: Commit): Promise<boolean> {
    const [newest] = folder.revisions;
    if (base !== undefined) {
      if (newest !== base.revision) return false;
      if (base.log === undefined) return true;
      try {
        const text = await folder.readHead(base.revision);
        return text !== undefined && text.includes(`"log":${JSON.stringify(base.log)}`);
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    }
    if (newest === undefined) return revision === 1;
    return newest === revision - 1 && (await folder.isDeleted());
  }

  async #infoOf(key: CheckedKey): Promise<SessionInfo | undefined> {
    const folder = await this.#look(key);
    if (folder === undefined || folder.newest === 0) return undefined;
    try {
      const { mtimeMs } = await this.#files.lstat(folder.headPath(folder.newest));
      if (await folder.isDeleted()) {
        if (mtimeMs < now() - MAX_DELETED_AGE_MS) await folder.remove();
        return undefined;
      }
      const { user, session } = key;
      return { session, ...(user !== '' && { user }), revision: folder.newest, savedAt: Math.round(mtimeMs) };
    } catch (error) {
      if (isMissing(error)) return this.#infoOf(key); // a newer head exists
      throw error;
    }
  }

  async #idsIn(dir: string): Promise<string[]> {
    try {
      const entries = await this.#files.readdir(dir, { withFileTypes: true });
      return entries.flatMap((entry) => (entry.isDirectory() ? (idOfFolder(entry.name) ?? []) : []));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async #look(key: CheckedKey): Promise<SessionFolder | undefined> {
    const path = this.#pathOf(key);
    try {
      await this.#assertInside(path);
      return await SessionFolder.look(this.#files, path, () => this.#reached('after draft'));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Creates the folders of a session, none behind a link, and waits until the disk has their names. */
  async #make(key: CheckedKey): Promise<void> {
    await makeFolder(this.#files, this.#dir);
    let path = this.#dir;
    for (const name of relative(this.#dir, this.#pathOf(key)).split(sep)) {
      const parent = path;
      path = join(parent, name);
      try {
        await this.#files.mkdir(path, { mode: 0o700 });
      } catch (error) {
        if (!isThere(error)) throw error;
      }
      await this.#assertInside(path);
      // Even if present: its maker may have been killed before the sync.
      await syncFolder(this.#files, parent);
    }
  }

  /** Refuses a link instead of a folder, which would lead out of the directory. */
  async #assertInside(path: string): Promise<void> {
    const root = await this.#files.realpath(this.#dir);
    const real = await this.#files.realpath(path);
    if (real !== join(root, path.slice(this.#dir.length))) {
      throw new SessionError(`'${path}' is a link, or behind a link. Sessions need real folders.`);
    }
  }

  #parentOf(user: string): string {
    return user === '' ? join(this.#dir, 'sessions') : join(this.#dir, 'users', folderOfId(user));
  }

  #pathOf({ user, session }: CheckedKey): string {
    return join(this.#parentOf(user), folderOfId(session));
  }

  #logPath(key: CheckedKey, log: string, listNumber: number): string {
    return join(this.#pathOf(key), listNumber === 0 ? `${log}.jsonl` : `${log}.${listNumber}.jsonl`);
  }
}

function itemsIn(bytes: Buffer, { from, count }: LogRange, path: string): StoredItem[] {
  const items: StoredItem[] = [];
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf('\n', start);
    const end = newline === -1 ? bytes.length : newline + 1;
    items.push({ text: bytes.toString('utf8', start, end - 1), from: from + start, to: from + end });
    start = end;
  }
  if (items.length === count) return items;
  throw new SessionCorruptError(
    `file '${path}', byte ${from},`,
    `has ${items.length} items instead of ${count}`,
  );
}
