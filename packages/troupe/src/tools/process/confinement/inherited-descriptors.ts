import type { ChildProcess, StdioOptions } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

type Stdio = Exclude<StdioOptions, string>[number];

const CLOSES_ON_EXEC = 0o2000000;
/** Larger numbers are refused, because each needs an entry in the list of descriptors. */
const MAX_DESCRIPTOR = 65_535;

/**
 * Starts a child process. Descriptors that this process inherited and would pass on are replaced by closed sockets: an open folder
 * among them would be a way out of a sandbox, and so would a device, whose permissions root can change by its descriptor.
 * @throws Error if a descriptor can't be replaced
 */
export function withoutInherited<T extends ChildProcess>(
  stdio: readonly Stdio[],
  start: (stdio: Stdio[]) => T,
): T {
  const inherited = inheritedDescriptors().filter((fd) => fd >= stdio.length);
  if (inherited.length === 0) return start([...stdio]);
  const last = Math.max(...inherited);
  if (last > MAX_DESCRIPTOR) throw new Error(`The descriptor ${last} of this process can't be closed.`);
  const all: Stdio[] = Array.from({ length: last + 1 }, (_, fd) => stdio[fd] ?? 'ignore');
  for (const fd of inherited) all[fd] = 'pipe';
  const child = start(all);
  for (const fd of inherited) child.stdio[fd]?.destroy();
  return child;
}

/** Open descriptors of this process that a started program would get. */
function inheritedDescriptors(): readonly number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => {
      try {
        const [, flags = ''] =
          /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
        return (parseInt(flags, 8) & CLOSES_ON_EXEC) === 0;
      } catch {
        return false; // the descriptor of this listing
      }
    });
}
