import { constants } from 'node:fs';
import * as nodeFiles from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { TroupeError } from '../../errors.ts';
import { compareInfos } from '../../session/list-order.ts';
import { SessionConflictError, SessionCorruptError, SessionError } from '../../session/session-error.ts';
import type { CheckedKey } from '../../session/session-key.ts';
import type {
  Commit,
  ListQuery,
  LogRange,
  SessionInfo,
  SessionStore,
  StoredHead,
  StoredItem,
} from '../../session/session-store.ts';
import { now } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { idOfFolder, folderOfId } from './folder-name.ts';
import {
  appendLines,
  isMissing,
  openSafely,
  readRange,
  syncFolder,
  writeNew,
  type Files,
} from './durable-file.ts';

/** The moments of a save at which a test may end the process. */
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

/** What lies in the folder of a session. */
interface Folder {
  readonly path: string;
  /** Newest first. */
  readonly revisions: readonly number[];
  readonly names: readonly string[];
}

const HEAD_NAME = /^([1-9]\d{0,14})\.json$/;
/** A file that was made for a revision: a log, or the draft of a head. */
const MADE_FOR = /^([1-9]\d{0,14})-[A-Za-z0-9_-]+\.(?:jsonl|draft)$/;
/** A folder that was deleted; one that is still there belonged to a process that was killed. */
const TRASH = /^trash-[A-Za-z0-9_-]+$/;
const MAX_DRAFT_AGE_MS = 3_600_000;
/** So many revisions keep their names, emptied: who comes late with one of them finds that it exists. */
const KEPT_NAMES = 32;
const MAX_READS = 20;

/**
 * Keeps each session in a folder: `<revision>.json` is a head, `<revision>-<id>.jsonl` a log.
 *
 * A log is appended to, and a head appears by a link that fails if its revision exists, so of two processes one gets a
 * conflict. What the loser, or a process that was killed, has left in the log is named by no head. Older heads than
 * the newest two are emptied. A log or a draft is removed once no writer can come to need it: when the revision that it
 * was made for exists, and neither of the newest two heads names it.
 */
export class JsonStore implements SessionStore {
  readonly minGarbage = 64 * 1024;
  readonly #dir: string;
  readonly #files: Files;
  readonly #reached: (point: CrashPoint) => void;

  constructor(dir: string, { files = nodeFiles, reached = () => {} }: JsonStoreSeams = {}) {
    if (typeof dir !== 'string' || dir === '' || dir.includes('\0')) {
      throw new TroupeError('invalid_config', 'JsonSession needs the path of a directory.');
    }
    this.#dir = resolve(dir);
    this.#files = files;
    this.#reached = reached;
  }

  async readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined> {
    for (let reads = 1; ; reads++) {
      const folder = await this.#look(key);
      const revision = folder?.revisions[which === 'current' ? 0 : 1];
      if (folder === undefined || revision === undefined) return undefined;
      if (which === 'current') await this.#sweepDrafts(folder);
      const place = join(folder.path, `${revision}.json`);
      try {
        return { revision, text: await this.#readText(place), place: `file '${place}'` };
      } catch (error) {
        if (!isMissing(error) || reads === MAX_READS) throw error; // pruned between the two looks
      }
    }
  }

  async readItems(key: CheckedKey, log: string, ranges: readonly LogRange[]): Promise<readonly StoredItem[]> {
    if (ranges.length === 0) return [];
    const path = this.#logPath(key, log);
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
      for (const range of ranges) {
        if (range.to > size) {
          throw new SessionCorruptError(
            `file '${path}', byte ${size},`,
            `is where it ends, before byte ${range.to}`,
          );
        }
        items.push(...itemsIn(await readRange(file, range.from, range.to), range, path));
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
    if (folder === undefined || folder.revisions[0] !== base?.revision) throw new SessionConflictError(key);
    if (base?.log !== undefined && !folder.names.includes(`${base.log}.jsonl`)) {
      throw new SessionConflictError(key); // it was deleted, and another has the same name
    }
    const draft = join(folder.path, `${revision}-${newId()}.draft`);
    try {
      this.#reached('before log');
      const isNewLog = log.startsWith(`${revision}-`);
      const positions = await appendLines(this.#files, this.#logPath(key, log), commit.items, isNewLog);
      this.#reached('after log');
      await writeNew(this.#files, draft, commit.head(positions), commit.savedAt);
      this.#reached('after draft');
      await this.#files.link(draft, join(folder.path, `${revision}.json`)); // fails if there is one
    } catch (error) {
      await this.#files.rm(draft, { force: true }).catch(() => {}); // it is swept later
      if (isMissing(error) || isThere(error)) throw new SessionConflictError(key);
      throw error;
    }
    this.#reached('after link');
    await syncFolder(this.#files, folder.path);
    this.#reached('after sync');
    const after = await this.#look(key);
    const newest = after?.revisions[0];
    if (after === undefined || newest === undefined || newest > revision + KEPT_NAMES - 2) {
      // Stopped for so long that others have made this revision, gone past it and removed its name.
      await this.#files.rm(join(folder.path, `${revision}.json`), { force: true });
      throw new SessionConflictError(key);
    }
    if (newest > revision) return; // somebody went on from here already
    this.#reached('before prune');
    await this.#prune(
      after,
      base !== undefined && base.log === undefined ? undefined : [log, base?.log ?? log],
    );
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
    const folder = await this.#look(key);
    if (folder === undefined) return false;
    if (revision !== undefined && folder.revisions[0] !== revision) return false;
    try {
      // Whoever is saving now fails, or is deleted too.
      await this.#files.rename(folder.path, join(this.#dir, `trash-${newId()}`));
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
    await syncFolder(this.#files, this.#parentOf(key.user));
    for (const name of await this.#files.readdir(this.#dir)) {
      if (TRASH.test(name)) await this.#files.rm(join(this.#dir, name), { recursive: true, force: true });
    }
    return folder.revisions.length > 0;
  }

  placeOf(key: CheckedKey, log: string, { from }: StoredItem): string {
    return `file '${this.#logPath(key, log)}', byte ${from},`;
  }

  async close(): Promise<void> {}

  /** Removes what neither a reader nor a writer can come to need. @param logs those that the newest two heads name, if known */
  async #prune({ path, revisions, names }: Folder, logs: readonly string[] | undefined): Promise<void> {
    const [newest = 0] = revisions;
    const isUseless = (name: string): boolean => {
      const madeFor = MADE_FOR.exec(name)?.[1];
      if (madeFor === undefined || Number(madeFor) > newest) return false;
      return (
        name.endsWith('.draft') || (logs !== undefined && !logs.includes(name.slice(0, -'.jsonl'.length)))
      );
    };
    const useless = names.filter(isUseless);
    const old = revisions
      .filter((revision) => revision <= newest - KEPT_NAMES)
      .map((revision) => `${revision}.json`);
    try {
      const [, , third] = revisions;
      if (third !== undefined) await this.#empty(join(path, `${third}.json`));
      for (const name of [...useless, ...old]) await this.#files.rm(join(path, name), { force: true });
    } catch {
      // The state is saved all the same, and the next save tries again.
    }
  }

  async #empty(path: string): Promise<void> {
    const file = await openSafely(this.#files, path, constants.O_WRONLY | constants.O_TRUNC);
    await file.close();
  }

  /** Removes drafts that nobody can be writing any more. */
  async #sweepDrafts({ path, names }: Folder): Promise<void> {
    for (const name of names.filter((one) => one.endsWith('.draft') && MADE_FOR.test(one))) {
      const draft = join(path, name);
      try {
        const { mtimeMs } = await this.#files.lstat(draft);
        if (mtimeMs < now() - MAX_DRAFT_AGE_MS) await this.#files.rm(draft, { force: true });
      } catch {
        // Somebody else has removed it.
      }
    }
  }

  async #readText(path: string): Promise<string> {
    const file = await openSafely(this.#files, path, constants.O_RDONLY);
    try {
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  }

  async #infoOf(key: CheckedKey): Promise<SessionInfo | undefined> {
    const folder = await this.#look(key);
    const revision = folder?.revisions[0];
    if (folder === undefined || revision === undefined) return undefined;
    try {
      const { mtimeMs } = await this.#files.lstat(join(folder.path, `${revision}.json`));
      const { user, session } = key;
      return { session, ...(user !== '' && { user }), revision, savedAt: Math.round(mtimeMs) };
    } catch (error) {
      if (isMissing(error)) return this.#infoOf(key); // there is a newer one
      throw error;
    }
  }

  async #idsIn(dir: string): Promise<string[]> {
    try {
      return (await this.#files.readdir(dir)).flatMap((name) => idOfFolder(name) ?? []);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async #look(key: CheckedKey): Promise<Folder | undefined> {
    const path = this.#pathOf(key);
    try {
      await this.#assertInside(path);
      const names = await this.#files.readdir(path);
      const revisions = names.flatMap((name) => Number(HEAD_NAME.exec(name)?.[1] ?? NaN) || []);
      return { path, names, revisions: revisions.sort((a, b) => b - a) };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #make(key: CheckedKey): Promise<void> {
    const path = this.#pathOf(key);
    await this.#files.mkdir(path, { recursive: true, mode: 0o700 });
    await this.#assertInside(path);
    await syncFolder(this.#files, this.#parentOf(key.user));
  }

  /** A link in the place of a folder would lead out of the directory. */
  async #assertInside(path: string): Promise<void> {
    const root = await this.#files.realpath(this.#dir);
    const real = await this.#files.realpath(path);
    if (real !== join(root, path.slice(this.#dir.length))) {
      throw new SessionError(`'${path}' is a link, or behind one. Sessions are kept in real folders only.`);
    }
  }

  #parentOf(user: string): string {
    return user === '' ? join(this.#dir, 'sessions') : join(this.#dir, 'users', folderOfId(user));
  }

  #pathOf({ user, session }: CheckedKey): string {
    return join(this.#parentOf(user), folderOfId(session));
  }

  #logPath(key: CheckedKey, log: string): string {
    return join(this.#pathOf(key), `${log}.jsonl`);
  }
}

function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
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
