import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';

import { moveAway } from './move-away.ts';
import type { SandboxFolder } from './sandbox-line.ts';
import { leaves, scanFolder, toText, type BytePath, type FolderScan } from './scan-folder.ts';

/** New files of a confined program that were moved away, because other programs run such files by themselves. */
export interface SetAside {
  /** Paths in the working directory. */
  readonly paths: readonly string[];
  /** New folder of the files; undefined without files. */
  readonly folder: string | undefined;
  /** Working directories that could not be checked in full, with reasons. */
  readonly unchecked: readonly string[];
}

/** Maximum files kept read-only in one sandbox, because each needs a mount. */
const MAX_KEPT = 500;
const MAX_ENTRIES_AFTERWARDS = 2_000_000;

/**
 * Folders that one tool call may change, except what other programs run by themselves: existing files of that
 * kind are read-only, and new ones are moved away after the tool call. One tool call at a time changes a folder.
 */
export class WritableFolders {
  readonly folders: readonly SandboxFolder[];
  readonly #before: ReadonlyMap<string, FolderScan>;
  readonly #release: () => void;
  readonly #maxEntries: number;

  private constructor(before: ReadonlyMap<string, FolderScan>, release: () => void, maxEntries: number) {
    this.#maxEntries = maxEntries;
    this.#before = before;
    this.#release = release;
    this.folders = [...before].map(([path, { members, shared }]) => ({
      path,
      kept: [...members.keys(), ...shared].map(toText),
    }));
  }

  /**
   * Waits until no other tool call changes the folders, and looks for files that must stay as they are.
   * @param paths canonical paths, none inside another
   * @param maxEntriesAfterwards files that are looked at after the tool call; folders with more are moved away
   * @returns the reason why the folders can't be changed safely, if there is one
   */
  static async open(
    paths: readonly string[],
    maxEntriesAfterwards = MAX_ENTRIES_AFTERWARDS,
  ): Promise<WritableFolders | string> {
    const home = await homeIn(paths);
    if (home !== undefined) return home;
    const release = await acquire(paths);
    let opened: WritableFolders | string = '';
    try {
      const scans = new Map<string, FolderScan>();
      for (const path of paths) scans.set(path, await scanFolder(path));
      const problem = problemIn(scans);
      opened = problem ?? new WritableFolders(scans, release, maxEntriesAfterwards);
      return opened;
    } finally {
      if (typeof opened === 'string') release();
    }
  }

  /** Moves away what is new and runs later, and new links that lead out of the folders. Frees the folders. */
  async close(): Promise<SetAside> {
    try {
      const paths = [...this.#before.keys()];
      const found: BytePath[] = [];
      const unchecked: string[] = [];
      for (const [path, before] of this.#before) {
        const after = await scanFolder(path, { maxEntries: this.#maxEntries, isAfterwards: true });
        found.push(...[...after.members.keys()].filter((one) => !before.members.has(one)));
        for (const [link, target] of after.links) {
          const isNew = before.links.get(link) !== target;
          if (isNew && (await leaves(link, target, paths))) found.push(link);
        }
        if (after.problem !== undefined) unchecked.push(`${path}: ${after.problem}`);
      }
      const { folder, left } = await moveAway(found);
      unchecked.push(...left.map((path) => `${toText(path)} could not be moved away`));
      const moved = found.filter((path) => !left.includes(path));
      return { paths: moved.map(toText), folder, unchecked };
    } finally {
      this.#release();
    }
  }
}

/** Folders of users, and folders around them. */
const HOMES = /^\/(?:root|(?:home|Users)(?:\/[^/]+)?)$/;

/** Most programs have settings and start files in a home folder, which no list of names covers. */
async function homeIn(paths: readonly string[]): Promise<string | undefined> {
  const own = await realpath(homedir()).catch(() => homedir());
  const home = paths.find((path) => HOMES.test(path) || `${own}/`.startsWith(`${path}/`));
  return home === undefined ? undefined : `${home} is a home folder, with settings of many programs`;
}

function problemIn(scans: ReadonlyMap<string, FolderScan>): string | undefined {
  let kept = 0;
  for (const [path, { members, shared, problem }] of scans) {
    kept += members.size + shared.length;
    if (problem !== undefined) return `${path} can't be checked: ${problem}`;
    const odd = [...members].find(([one, kind]) => kind === 'link' || toText(one).includes('\ufffd'));
    if (odd !== undefined) return `${toText(odd[0])} is a link, or its name is not readable`;
  }
  return kept > MAX_KEPT ? `more than ${MAX_KEPT} files would have to stay read-only` : undefined;
}

const held = new Set<readonly string[]>();
const waiting: (() => void)[] = [];

/** Waits until none of the folders, and no folder around or in them, is held. */
async function acquire(paths: readonly string[]): Promise<() => void> {
  const overlaps = (a: string, b: string): boolean =>
    `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);
  const isHeld = (): boolean =>
    [...held].some((others) => others.some((one) => paths.some((path) => overlaps(one, path))));
  while (isHeld()) await new Promise<void>((resolve) => void waiting.push(resolve));
  held.add(paths);
  return () => {
    held.delete(paths);
    for (const wake of waiting.splice(0)) wake();
  };
}
