import { checkNumber } from '../../util/check-number.ts';

/** What each process may use. `Infinity` is no limit. */
export interface ProcessLimits {
  /** Bytes of address space. @default 4 GiB */
  readonly memoryBytes?: number;
  /**
   * How many processes there may be at the same time: those of the sandbox, and without one all of the same user. The
   * system doesn't hold root's programs to it, in a sandbox neither. @default 256 in a sandbox, else no limit
   */
  readonly processes?: number;
  /** The size of a file that is written. @default 1 GiB */
  readonly fileBytes?: number;
  /** @default the time limit of the call is all there is */
  readonly cpuSeconds?: number;
  /** @default 1024 */
  readonly openFiles?: number;
}

const GIB = 1024 ** 3;

/** @throws TroupeError that names the limit which is no number. */
export function checkLimits(limits: ProcessLimits): void {
  for (const [name, value] of Object.entries(limits))
    checkNumber(`limits.${name}`, value as number, { least: 1 });
}

/**
 * The arguments that run a program within limits: the shell's own `ulimit`, then the program in its place. A limit that the
 * system doesn't know, or holds lower already, is left as it is.
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
    ...limit(['-u', '-p'], processes), // bash and dash disagree
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
