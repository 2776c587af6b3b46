import { checkNumber } from '../../util/check-number.ts';

/** Resource limits of each process. `Infinity` disables a limit. */
export interface ProcessLimits {
  /** Bytes of address space of a process. @default no limit; 4 GiB of data in a sandbox, of address space without one */
  readonly memoryBytes?: number;
  /**
   * Number of processes at once: in the sandbox, or of the same user without a sandbox. Not enforced for
   * root, not even in a sandbox. @default 256 in a sandbox, 128 for what nobody was asked about, otherwise no limit
   */
  readonly processes?: number;
  /** Maximum bytes of a written file. @default 1 GiB; 128 MiB for what nobody was asked about */
  readonly fileBytes?: number;
  /** CPU time in seconds. @default only the time limit of the tool call; 60 for what nobody was asked about */
  readonly cpuSeconds?: number;
  /** @default 1024 */
  readonly openFiles?: number;
  /** Bytes of `/tmp` in a sandbox, which is in memory. @default 256 MiB; 64 MiB for what nobody was asked about */
  readonly tmpBytes?: number;
}

/** Where a program runs. `confined`: in a sandbox, for what nobody was asked about. */
export type ProcessPlace = 'outside' | 'sandbox' | 'confined';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const DEFAULTS: Readonly<Record<ProcessPlace, Required<Omit<ProcessLimits, 'memoryBytes'>>>> = {
  outside: { processes: Infinity, fileBytes: GIB, cpuSeconds: Infinity, openFiles: 1024, tmpBytes: 0 },
  sandbox: { processes: 256, fileBytes: GIB, cpuSeconds: Infinity, openFiles: 1024, tmpBytes: 256 * MIB },
  confined: { processes: 128, fileBytes: 128 * MIB, cpuSeconds: 60, openFiles: 1024, tmpBytes: 64 * MIB },
};

/** @throws TroupeError that names the invalid limit. */
export function checkLimits(limits: ProcessLimits): void {
  for (const [name, value] of Object.entries(limits))
    checkNumber(`limits.${name}`, value as number, { least: 1 });
}

/** Size of `/tmp` in a sandbox. */
export function tmpBytesOf(limits: ProcessLimits, place: ProcessPlace): number {
  return Math.min(limits.tmpBytes ?? DEFAULTS[place].tmpBytes, 64 * GIB);
}

/**
 * Arguments that run a program under the shell's `ulimit`. Unsupported limits, and limits above the current
 * ones, are ignored.
 */
export function limitedArgv(
  limits: ProcessLimits,
  place: ProcessPlace,
  argv: readonly string[],
): readonly string[] {
  const { processes, fileBytes, cpuSeconds, openFiles } = { ...DEFAULTS[place], ...limits };
  // A limit of address space breaks WebAssembly, which reserves more than it uses.
  const { memoryBytes = place === 'outside' ? 4 * GIB : Infinity } = limits;
  const script = [
    ...limit(['-c'], 0),
    ...limit(['-v'], memoryBytes / 1024),
    ...limit(['-d'], (limits.memoryBytes ?? 4 * GIB) / 1024),
    ...limit(['-u', '-p'], processes), // bash and dash use different flags
    ...limit(['-f'], fileBytes / 512),
    ...limit(['-t'], cpuSeconds),
    ...limit(['-n'], openFiles),
    'exec "$@"',
  ];
  return ['/bin/sh', '-c', script.join('; '), 'sh', ...argv];
}

function limit(flags: readonly string[], value: number): readonly string[] {
  if (value === Infinity) return [];
  return [flags.map((flag) => `ulimit ${flag} ${Math.ceil(value)} 2>/dev/null`).join(' || ')];
}
