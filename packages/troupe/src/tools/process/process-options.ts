import type { ProcessLimits } from './process-limits.ts';
import type { SystemUser } from './run-process.ts';

export interface ProcessToolOptions {
  /**
   * Working directory; in a sandbox also the only visible and writable folder outside the system. Read-only for
   * what nobody was asked about, except in the mode `accept_edits`.
   * @default the working directory of this process
   */
  readonly cwd?: string;
  /** Added to the inherited variables: PATH, HOME, language and time zone. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Sandbox by bubblewrap: `auto` uses it if available and adds a note to results otherwise, `require`
   * refuses to run without it, `none` never uses it. @default 'auto'
   */
  readonly isolation?: 'auto' | 'require' | 'none';
  /** Network access inside the sandbox, except for what nobody was asked about. @default false */
  readonly allowNetwork?: boolean;
  /** Additional files and folders readable inside the sandbox. */
  readonly readPaths?: readonly string[];
  /** Limits of each process. */
  readonly limits?: ProcessLimits;
  /** System user that runs the programs. Requires this process to run as root. */
  readonly runAs?: SystemUser;
  /** Time limit of a tool call without `timeout`. @default 300 000, or `maxTimeoutMs` if less */
  readonly timeoutMs?: number;
  /** Largest `timeout` that a tool call may ask for. @default 300 000, or `timeoutMs` if more */
  readonly maxTimeoutMs?: number;
  /** Bytes kept of stdout and of stderr: beginning and end. @default 40 000 */
  readonly maxOutputBytes?: number;
  /** Path of bubblewrap, or its name in the folders of the system such as /usr/bin. @default 'bwrap' */
  readonly bwrap?: string;
}

export interface ProcessCommand {
  readonly argv: readonly string[];
  /** Command line of the model, if it is one. */
  readonly line?: string;
  /** Additional environment of this program. */
  readonly env?: Readonly<Record<string, string>>;
  readonly readPaths?: readonly string[];
  readonly timeoutSeconds: number;
  /** Noun for error texts, such as `command` or `code`. */
  readonly what: string;
}
