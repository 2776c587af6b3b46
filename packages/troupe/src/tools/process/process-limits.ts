import { checkNumber } from '../../util/check-number.ts';

/** Resource limits of each process. `Infinity` disables a limit. */
export interface ProcessLimits {
  /** Bytes of address space. @default 4 GiB */
  readonly memoryBytes?: number;
  /**
   * Number of processes at once: in the sandbox, or of the same user without a sandbox. Not enforced for
   * root, not even in a sandbox. @default 256 in a sandbox, otherwise no limit
   */
  readonly processes?: number;
  /** Maximum bytes of a written file. @default 1 GiB */
  readonly fileBytes?: number;
  /** CPU time in seconds. @default only the time limit of the tool call */
  readonly cpuSeconds?: number;
  /** @default 1024 */
  readonly openFiles?: number;
}

const GIB = 1024 ** 3;

/** @throws TroupeError that names the invalid limit. */
export function checkLimits(limits: ProcessLimits): void {
  for (const [name, value] of Object.entries(limits))
    checkNumber(`limits.${name}`, value as number, { least: 1 });
}

/**
 * Arguments that run a program under the shell's `ulimit`. Unsupported limits, and limits above the current
 * ones, are ignored.
 */
export function limitedArgv(
  limits: ProcessLimits,
  isSandboxed: boolean,
  argv: readonly string[],
): readonly string[] {
  const { memoryBytes = 4 * GIB, processes = isSandboxed ? 256 : Infinity, fileBytes = GIB } = limits;
  const { cpuSeconds = Infinity, openFiles = 1024 } = limits;
  const script = [
    ...limit(['-v'], memoryBytes / 1024),
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
