import { constants } from 'node:fs';
import { join } from 'node:path';

import { now } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { isMissing, openSafely, syncFolder, writeNew, type Files } from './durable-file.ts';

const HEAD_NAME = /^([1-9]\d{0,14})\.json$/;
/** Name of a file made for a revision: a log, or a temporary file for a head. */
const MADE_FOR = /^([1-9]\d{0,14})-[A-Za-z0-9_-]+(?:\.[1-9]\d*)?\.(?:jsonl|draft)$/;
/** End of a log's file name: the number of a list other than 0, and the extension. */
const LOG_ENDING = /(?:\.\d+)?\.jsonl$/;
/** Content of a head after the session was deleted. */
const DELETED = 'deleted\n';
const MAX_TEMPORARY_AGE_MS = 3_600_000;
/** Number of older revisions that keep an empty file, so that a late writer finds its revision taken. */
export const KEPT_NAMES = 32;

/** The files in the folder of a session, listed once, with the operations on the folder. */
export class SessionFolder {
  readonly path: string;
  readonly names: readonly string[];
  /** Newest first. */
  readonly revisions: readonly number[];
  readonly #files: Files;
  readonly #onWritten: () => void;

  private constructor(files: Files, path: string, names: readonly string[], onWritten: () => void) {
    this.#files = files;
    this.#onWritten = onWritten;
    this.path = path;
    this.names = names;
    const revisions = names.flatMap((name) => Number(HEAD_NAME.exec(name)?.[1] ?? NaN) || []);
    this.revisions = revisions.sort((a, b) => b - a);
  }

  /** @param onWritten called when the content to publish is written */
  static async look(files: Files, path: string, onWritten: () => void): Promise<SessionFolder> {
    return new SessionFolder(files, path, await files.readdir(path), onWritten);
  }

  /** Newest revision; 0 for an empty folder. */
  get newest(): number {
    return this.revisions[0] ?? 0;
  }

  /** Path of a revision's head. */
  headPath(revision: number): string {
    return join(this.path, `${revision}.json`);
  }

  /** Text of a head. @returns undefined if the head marks a deleted session. */
  async readHead(revision: number): Promise<string | undefined> {
    const file = await openSafely(this.#files, this.headPath(revision), constants.O_RDONLY);
    try {
      const text = await file.readFile('utf8');
      return text === DELETED ? undefined : text;
    } finally {
      await file.close();
    }
  }

  /** Tells whether the newest revision is a deletion. */
  async isDeleted(): Promise<boolean> {
    try {
      const { size } = await this.#files.lstat(this.headPath(this.newest));
      return size === DELETED.length && (await this.readHead(this.newest)) === undefined;
    } catch (error) {
      if (isMissing(error)) return false; // a newer head exists
      throw error;
    }
  }

  /** Tells whether there are later revisions without the next one. */
  hasGapAfter(revision: number): boolean {
    return revision < this.newest && !this.revisions.includes(revision + 1);
  }

  /** Publishes a complete file under a revision's name, unless taken. @param log a file required beside */
  async publish(revision: number, text: string, time: number, log?: string): Promise<void> {
    const temporary = join(this.path, `${revision}-${newId()}.draft`);
    try {
      await writeNew(this.#files, temporary, text, time);
      this.#onWritten();
      // If the folder was removed and created again since the log was written, either this finds no log, or
      // the temporary file is gone too.
      if (log !== undefined) await this.#files.lstat(join(this.path, log));
      await this.#files.link(temporary, this.headPath(revision)); // fails if the revision exists
    } catch (error) {
      await this.#files.rm(temporary, { force: true }).catch(() => {}); // removed by a later sweep
      throw error;
    }
  }

  /** Publishes a deletion as the next revision, unless taken. */
  publishDeletion(): Promise<void> {
    return this.publish(this.newest + 1, DELETED, now());
  }

  /** Waits until the disk has the folder's names. */
  sync(): Promise<void> {
    return syncFolder(this.#files, this.path);
  }

  /**
   * Removes files that neither readers nor writers can need. @param logs logs of the newest two heads, if
   * known
   */
  async prune(logs: readonly string[] | undefined): Promise<void> {
    const { newest, names, revisions, path } = this;
    const isUseless = (name: string): boolean => {
      const madeFor = MADE_FOR.exec(name)?.[1];
      if (madeFor === undefined || Number(madeFor) > newest) return false;
      return name.endsWith('.draft') || (logs !== undefined && !logs.includes(name.replace(LOG_ENDING, '')));
    };
    const useless = names.filter(isUseless);
    const old = revisions
      .filter((revision) => revision <= newest - KEPT_NAMES)
      .map((revision) => `${revision}.json`);
    try {
      const [, , third] = revisions;
      if (third !== undefined) await this.#empty(this.headPath(third));
      for (const name of [...useless, ...old]) await this.#files.rm(join(path, name), { force: true });
    } catch {
      // The state is saved; the next save tries again.
    }
  }

  /** Removes abandoned temporary files. */
  async sweepTemporaryFiles(): Promise<void> {
    for (const name of this.names.filter((one) => one.endsWith('.draft') && MADE_FOR.test(one))) {
      const temporary = join(this.path, name);
      try {
        const { mtimeMs } = await this.#files.lstat(temporary);
        if (mtimeMs < now() - MAX_TEMPORARY_AGE_MS) await this.#files.rm(temporary, { force: true });
      } catch {
        // Another process removed the temporary file.
      }
    }
  }

  /** Removes the content of a deleted session. The revision names stay, for late writers. */
  async wipe(): Promise<void> {
    const [newest = 0, ...others] = this.revisions;
    for (const revision of others) await this.#empty(this.headPath(revision));
    for (const name of this.names.filter((one) => Number(MADE_FOR.exec(one)?.[1]) <= newest))
      await this.#files.rm(join(this.path, name), { force: true });
  }

  /** Removes the folder of a session deleted long ago, unless a new session begins there. */
  async remove(): Promise<void> {
    const last = `${this.newest}.json`;
    const ours = this.names.filter((name) => name !== last && (HEAD_NAME.test(name) || MADE_FOR.test(name)));
    try {
      for (const name of [...ours, last]) await this.#files.rm(join(this.path, name), { force: true });
      await this.#files.rmdir(this.path);
    } catch {
      // The folder is in use again, or the next list tries again.
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
}
