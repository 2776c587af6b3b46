import { constants } from 'node:fs';
import * as nodeFiles from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';

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
  isThere,
  makeFolder,
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
const MADE_FOR = /^([1-9]\d{0,14})-[A-Za-z0-9_-]+(?:\.[1-9]\d*)?\.(?:jsonl|draft)$/;
/** What follows the name of a log: the number of a lane other than 0, and the ending. */
const LANE_ENDING = /(?:\.\d+)?\.jsonl$/;
/** What stands in the place of a head when the session was deleted. */
const DELETED = 'deleted\n';
const MAX_DRAFT_AGE_MS = 3_600_000;
/** For so long a deleted session is remembered by the names in its folder. */
const MAX_DELETED_AGE_MS = 24 * 3_600_000;
/** So many revisions keep their names, emptied: who comes late with one of them finds that it exists. */
const KEPT_NAMES = 32;
const MAX_READS = 20;

/**
 * Keeps each session in a folder: `<revision>.json` is a head, `<revision>-<id>.jsonl` a log, and
 * `<revision>-<id>.<n>.jsonl` another lane of it.
 *
 * A log is appended to, and a head appears by a link that fails if its revision exists, so of two processes one gets a
 * conflict. What the loser, or a process that was killed, has left in the log is named by no head. Older heads than
 * the newest two are emptied. A log or a draft is removed once no writer can come to need it: when the revision that it
 * was made for exists, and neither of the newest two heads names it.
 *
 * A deletion is a revision too, so that whoever is saving meanwhile gets a conflict; a new session of the same name counts
 * on from there. The folder goes a day later, with the next list.
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
        const text = await this.#readText(place);
        return text === DELETED ? undefined : { revision, text, place: `file '${place}'` };
      } catch (error) {
        if (!isMissing(error) || reads === MAX_READS) throw error; // pruned between the two looks
      }
    }
  }

  async lastRevision(key: CheckedKey): Promise<number> {
    return (await this.#look(key))?.revisions[0] ?? 0;
  }

  async readItems(
    key: CheckedKey,
    log: string,
    lane: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]> {
    if (ranges.length === 0) return [];
    const path = this.#logPath(key, log, lane);
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
      for (const { lane, items } of commit.parts) {
        const making = isNewLog ? 'must be new' : lane === 0 ? 'must exist' : 'may be new';
        positions.push(await appendLines(this.#files, this.#logPath(key, log, lane), items, making));
      }
      this.#reached('after log');
      await this.#publish(folder, revision, commit.head(positions), commit.savedAt, `${log}.jsonl`);
    } catch (error) {
      const isLost = isMissing(error) || isThere(error);
      if (isLost && isNewLog) {
        for (const { lane } of commit.parts)
          await this.#files.rm(this.#logPath(key, log, lane), { force: true }).catch(() => {}); // swept later
      }
      throw isLost ? new SessionConflictError(key) : error;
    }
    this.#reached('after link');
    await syncFolder(this.#files, folder.path);
    this.#reached('after sync');
    const after = await this.#look(key);
    const newest = after?.revisions[0] ?? Infinity;
    if (after === undefined || newest > revision + KEPT_NAMES - 2 || hasGap(after, revision)) {
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
    for (let tries = 1; ; tries++) {
      const folder = await this.#look(key);
      const newest = folder?.revisions[0];
      if (folder === undefined || newest === undefined) return false;
      if (await this.#isDeleted(folder)) {
        await this.#wipe(folder); // of a deletion that was killed
        return false;
      }
      if (revision !== undefined && newest !== revision) return false;
      try {
        await this.#publish(folder, newest + 1, DELETED, now());
      } catch (error) {
        if (!(isThere(error) || isMissing(error)) || tries === MAX_READS) throw error;
        continue; // somebody was faster
      }
      await syncFolder(this.#files, folder.path);
      const after = await this.#look(key);
      if (after?.revisions[0] === newest + 1) await this.#wipe(after);
      return true;
    }
  }

  placeOf(key: CheckedKey, log: string, lane: number, { from }: StoredItem): string {
    return `file '${this.#logPath(key, log, lane)}', byte ${from},`;
  }

  async close(): Promise<void> {}

  /** Whether a commit goes on from what is there. */
  async #isBase(folder: Folder, { base, revision }: Commit): Promise<boolean> {
    const [newest] = folder.revisions;
    if (base !== undefined) {
      if (newest !== base.revision) return false;
      if (base.log === undefined) return true;
      try {
        const text = await this.#readText(join(folder.path, `${newest}.json`));
        return text.includes(`"log":${JSON.stringify(base.log)}`);
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    }
    if (newest === undefined) return revision === 1;
    return newest === revision - 1 && (await this.#isDeleted(folder));
  }

  /** Makes a file appear whole under the name of a revision, unless there is one. @param log a file that has to be beside it */
  async #publish(folder: Folder, revision: number, text: string, time: number, log?: string): Promise<void> {
    const draft = join(folder.path, `${revision}-${newId()}.draft`);
    try {
      await writeNew(this.#files, draft, text, time);
      this.#reached('after draft');
      // If the folder was removed and made anew since the log was written, then before the draft was, or the draft is gone too.
      if (log !== undefined) await this.#files.lstat(join(folder.path, log));
      await this.#files.link(draft, join(folder.path, `${revision}.json`)); // fails if there is one
    } catch (error) {
      await this.#files.rm(draft, { force: true }).catch(() => {}); // it is swept later
      throw error;
    }
  }

  /** Whether the newest revision is a deletion. */
  async #isDeleted({ path, revisions: [newest = 0] }: Folder): Promise<boolean> {
    const head = join(path, `${newest}.json`);
    try {
      const { size } = await this.#files.lstat(head);
      return size === DELETED.length && (await this.#readText(head)) === DELETED;
    } catch (error) {
      if (isMissing(error)) return false; // there is a newer one
      throw error;
    }
  }

  /** Removes what was in a deleted session. The names of its revisions stay, for those who come late. */
  async #wipe({ path, names, revisions: [newest = 0, ...others] }: Folder): Promise<void> {
    for (const revision of others) await this.#empty(join(path, `${revision}.json`));
    for (const name of names.filter((one) => Number(MADE_FOR.exec(one)?.[1]) <= newest))
      await this.#files.rm(join(path, name), { force: true });
  }

  /** Removes the folder of a session that was deleted long ago, unless somebody is making a new one in it. */
  async #sweepFolder({ path, names, revisions: [newest = 0] }: Folder): Promise<void> {
    const last = `${newest}.json`;
    const ours = names.filter((name) => name !== last && (HEAD_NAME.test(name) || MADE_FOR.test(name)));
    try {
      for (const name of [...ours, last]) await this.#files.rm(join(path, name), { force: true });
      await this.#files.rmdir(path);
    } catch {
      // It is in use again, or the next list tries again.
    }
  }

  /** Removes what neither a reader nor a writer can come to need. @param logs those that the newest two heads name, if known */
  async #prune({ path, revisions, names }: Folder, logs: readonly string[] | undefined): Promise<void> {
    const [newest = 0] = revisions;
    const isUseless = (name: string): boolean => {
      const madeFor = MADE_FOR.exec(name)?.[1];
      if (madeFor === undefined || Number(madeFor) > newest) return false;
      return name.endsWith('.draft') || (logs !== undefined && !logs.includes(name.replace(LANE_ENDING, '')));
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
    try {
      const file = await openSafely(this.#files, path, constants.O_WRONLY | constants.O_TRUNC);
      await file.close();
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
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
      if (await this.#isDeleted(folder)) {
        if (mtimeMs < now() - MAX_DELETED_AGE_MS) await this.#sweepFolder(folder);
        return undefined;
      }
      const { user, session } = key;
      return { session, ...(user !== '' && { user }), revision, savedAt: Math.round(mtimeMs) };
    } catch (error) {
      if (isMissing(error)) return this.#infoOf(key); // there is a newer one
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

  /** Makes the folders of a session, none of them behind a link, and waits until the disk has their names. */
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
      await syncFolder(this.#files, parent); // also if it was there: who made it may have been killed before this
    }
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

  #logPath(key: CheckedKey, log: string, lane: number): string {
    return join(this.#pathOf(key), lane === 0 ? `${log}.jsonl` : `${log}.${lane}.jsonl`);
  }
}

/** Whether there are later revisions that don't go on from this one. */
function hasGap({ revisions }: Folder, revision: number): boolean {
  return revision < (revisions[0] ?? 0) && !revisions.includes(revision + 1);
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
