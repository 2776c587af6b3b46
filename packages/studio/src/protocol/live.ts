/** The live connection of a tab. */

import type { StudioRun } from './studio-run.ts';
import type { RunEntry } from './tape.ts';
import type { Waiting } from './waiting.ts';

/**
 * `GET api/live` (upgrade to WebSocket): one for each tab. The server checks Host, Origin and cookie before the upgrade. Frames are JSON
 * texts of `LiveRequest` and `LiveMessage`. A reader that is too slow is closed with the code 4008 and resumes by `after`. Code 4001: log in
 * again. Code 4013: the server ends.
 */
export type LiveRequest =
  /** Sends the list of runs as it changes. */
  | { readonly type: 'watch_runs' }
  /** Sends entries of a run with numbers greater than `after`, first the stored ones, then the new ones. */
  | { readonly type: 'watch_run'; readonly runId: string; readonly after: number }
  | { readonly type: 'unwatch_run'; readonly runId: string }
  | { readonly type: 'ping' };

export type LiveMessage =
  | { readonly type: 'hello'; readonly protocol: number; readonly startedAt: string }
  /** A run is new or has changed. Sent to watchers of runs, at most a few times in a second for each run. */
  | { readonly type: 'run'; readonly run: StudioRun }
  | { readonly type: 'runs_deleted'; readonly ids: readonly string[] }
  /** Entries in ascending order, without gaps, from `after + 1` on. */
  | { readonly type: 'entries'; readonly runId: string; readonly entries: readonly RunEntry[] }
  /** The stored entries were sent; what follows is new. */
  | { readonly type: 'caught_up'; readonly runId: string; readonly lastSeq: number }
  /** Entries `from` to `to` were asked for and are no longer kept. */
  | { readonly type: 'gap'; readonly runId: string; readonly from: number; readonly to: number }
  /** Everything that waits, in all runs: sent at the start and with each change, for *Now* and the title. */
  | { readonly type: 'waiting'; readonly waiting: readonly Waiting[] }
  /** A problem of the Studio itself, such as a full disk; undefined: over. */
  | { readonly type: 'problem'; readonly problem?: string }
  | { readonly type: 'pong' };
