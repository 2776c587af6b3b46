import { readdir, readFile } from 'node:fs/promises';

/** Identifies a started process and all its descendants. */
export interface ProcessTree {
  /** Process id of the first process, which leads its own process group and session. */
  readonly leader: number;
  /** Unique environment entry, including the NUL at its end. */
  readonly mark: string;
  /** Start time in kernel ticks; 0 if unknown. */
  readonly since: Promise<number>;
  /** True if all processes end with the first one, as in a sandbox. */
  readonly endsTogether: boolean;
  /**
   * Process id of the first process inside a sandbox, once known. The kernel ends all others in the sandbox before that one is
   * dead, however long ago the launcher outside has ended.
   */
  readonly firstInside: () => number | undefined;
}

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly since: number;
  readonly isDead: boolean;
}

/** Maximum rounds. Processes left afterwards start new ones faster than they can be ended. */
const MAX_ROUNDS = 50;
/** Maximum rounds for a sandbox, each of which reads one file. */
const MAX_SANDBOX_ROUNDS = 10_000;

/** Describes a process just started with the mark in its environment. */
export function processTreeOf(
  leader: number,
  mark: string,
  { endsTogether, firstInside }: Pick<ProcessTree, 'endsTogether' | 'firstInside'>,
): ProcessTree {
  const since = readStat(leader).then((stat) => stat?.since ?? 0);
  return { leader, mark, since, endsTogether, firstInside };
}

/**
 * Ends a process and all its descendants. Stops the process group first. Processes outside the group are
 * found by session, parent or the mark in their environment, if the system has /proc; a process that changed
 * all three is not found. In a sandbox, which no process can leave, none is looked for. Resolves when no process is left.
 */
export async function endProcesses(tree: ProcessTree): Promise<void> {
  send(-tree.leader, tree.endsTogether ? 'SIGKILL' : 'SIGSTOP');
  const first = tree.firstInside();
  if (first !== undefined) return untilDead(first, tree);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const members = await findMembers(tree); // collected before any kill, because orphans lose their parent
    for (const pid of [-tree.leader, ...members]) send(pid, 'SIGKILL');
    if (members.length === 0) return;
  }
}

/** The kernel has ended the process with its launcher. No signal is sent: the process id may belong to another process now. */
async function untilDead(pid: number, { since }: ProcessTree): Promise<void> {
  const start = await since;
  for (let round = 0; round < MAX_SANDBOX_ROUNDS; round++) {
    const stat = await readStat(pid);
    if (stat === undefined || stat.isDead || stat.since < start) return;
  }
}

async function findMembers({ leader, mark, since }: ProcessTree): Promise<readonly number[]> {
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

/** Undefined for a process that has ended, or without /proc. */
async function readStat(pid: number): Promise<ProcessStat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  if (text === '') return undefined;
  // Fields after the name, which may contain anything: state, parent, group, session, …, start time as 20th.
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

/** @param pid process id, or negative group id */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}
