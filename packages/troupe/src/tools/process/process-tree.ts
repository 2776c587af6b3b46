import { readdir, readFile } from 'node:fs/promises';

/** How a process that was started here, and all that it started, are found again. */
export interface ProcessFamily {
  /** The first one. It leads a group and a session of its own. */
  readonly leader: number;
  /** A whole entry of the environment, with the NUL at its end, that nobody else has. */
  readonly mark: string;
  /** When it began, in the kernel's ticks; 0 if that is not known. */
  readonly since: Promise<number>;
  /** Whether all of them end when the first one does, as in a sandbox. */
  readonly endsAsOne: boolean;
}

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly since: number;
  readonly isDead: boolean;
}

/** One that goes on after so many rounds makes new ones faster than they can be ended. */
const MAX_ROUNDS = 50;

/** What is known of a process that was just started, and carries the mark in its environment. */
export function familyOf(leader: number, mark: string, endsAsOne: boolean): ProcessFamily {
  return { leader, mark, since: readStat(leader).then((stat) => stat?.since ?? 0), endsAsOne };
}

/**
 * Ends a process and everything that it started. Its group stops at once. Those that left the group are found by their session, their
 * parent, or the mark in their environment, where the system has a /proc; one that has got rid of all three is not. Returns when none
 * that can be found is left.
 */
export async function endProcesses(family: ProcessFamily): Promise<void> {
  send(-family.leader, family.endsAsOne ? 'SIGKILL' : 'SIGSTOP');
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const members = await findMembers(family); // before any is ended: then they would lose their parents
    for (const pid of [-family.leader, ...members]) send(pid, 'SIGKILL');
    if (members.length === 0) return;
  }
}

async function findMembers({ leader, mark, since }: ProcessFamily): Promise<readonly number[]> {
  const [all, start] = [await readAllStats(), await since];
  const stats = all.filter((stat) => stat.since >= start && !stat.isDead);
  const members = new Set<number>();
  for (const { pid, group, session } of stats) {
    if ([pid, group, session].includes(leader) || (await carries(pid, mark))) members.add(pid);
  }
  for (let before = -1; before < members.size;) {
    before = members.size;
    for (const { pid, parent } of stats) if (members.has(parent)) members.add(pid);
  }
  return [...members];
}

async function readAllStats(): Promise<readonly ProcessStat[]> {
  const names = await readdir('/proc').catch(() => []);
  const stats = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .map(readStat),
  );
  return stats.filter((stat) => stat !== undefined);
}

/** Undefined for a process that is gone, and where there is no /proc. */
async function readStat(pid: number): Promise<ProcessStat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  if (text === '') return undefined;
  // Behind the name, which may hold anything: state, parent, group, session, …, and the start as the 20th.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [parent = 0, group = 0, session = 0] = fields.slice(1, 4).map(Number);
  return { pid, parent, group, session, since: Number(fields[19]), isDead: /[ZX]/.test(fields[0] ?? '') };
}

async function carries(pid: number, mark: string): Promise<boolean> {
  return readFile(`/proc/${pid}/environ`, 'latin1').then(
    (environment) => environment.includes(mark),
    () => false,
  );
}

/** @param pid that of a process, or minus that of a group */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone already.
  }
}
