import type { Dirent } from 'node:fs';
import { opendir, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

import { readLocalFile } from '#local-file';

import { TroupeError } from '../errors.ts';

const MAX_ENTRIES = 1000;
const MAX_DEPTH = 8;

/**
 * Files of a skill. Reads and lists nothing outside of the folder, not even through links, and executes
 * nothing. Ignores files and folders with a leading dot.
 */
export class SkillFolder {
  /** The real path. */
  readonly dir: string;
  readonly #maxBytes: number;

  constructor(dir: string, maxBytes: number) {
    this.dir = dir;
    this.#maxBytes = maxBytes;
  }

  /** @throws TroupeError if the folder can't be opened. */
  static async open(dir: string, maxBytes: number): Promise<SkillFolder> {
    try {
      const real = await realpath(dir);
      await (await opendir(real)).close();
      return new SkillFolder(real, maxBytes);
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
      throw new TroupeError(
        'invalid_skill',
        `The skill folder '${dir.slice(0, 200)}' can't be opened${code}.`,
        {
          cause,
        },
      );
    }
  }

  /** @returns undefined for missing, too large, binary, hidden or outside files */
  async readText(path: string, signal?: AbortSignal): Promise<string | undefined> {
    if (isHidden(path)) return undefined;
    try {
      const real = await realpath(join(this.dir, path));
      if (isHidden(relative(this.dir, real))) return undefined; // link to a hidden file or out of the folder
      const options = { allowedDirs: [this.dir], maxBytes: this.#maxBytes, signal };
      const bytes = await readLocalFile(real, options);
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      signal?.throwIfAborted();
      return undefined;
    }
  }

  /** Sorted paths of the files, without links; limited to 1000 entries. */
  async list(): Promise<readonly string[]> {
    const found: string[] = [];
    let visited = 0;
    const walk = async (dir: string, depth: number): Promise<void> => {
      try {
        if (depth > MAX_DEPTH || (await realpath(dir)) !== dir) return;
        const entries: Dirent[] = [];
        for await (const entry of await opendir(dir)) {
          if (++visited > MAX_ENTRIES) break;
          if (!isHidden(entry.name)) entries.push(entry);
        }
        if ((await realpath(dir)) !== dir) return; // replaced by a link meanwhile
        for (const entry of entries) {
          const path = join(dir, entry.name);
          if (entry.isDirectory()) await walk(path, depth + 1);
          else if (entry.isFile()) found.push(relative(this.dir, path).split(sep).join('/'));
        }
      } catch {
        // Skips folders that can't be read.
      }
    };
    await walk(this.dir, 0);
    return found.sort();
  }
}

/** True if a segment starts with a dot, including `..`. */
function isHidden(path: string): boolean {
  return path.split(/[/\\]/).some((part) => part.startsWith('.') && part !== '.');
}
