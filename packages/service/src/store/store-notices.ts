/** Kind of a change: events of a run, a message or an interrupt for a run, a run that waits, or the lock of this process. */
export type NoticeKind = 'events' | 'control' | 'work' | 'lock';

/** Gets notices of other processes. Without `id`: anything may have changed, such as after a lost connection. */
export type NoticeListener = (kind: NoticeKind, id?: string) => void;

/**
 * Tells the processes that share a database what has changed in it. A notice may be lost, so every process looks into the database by
 * itself too, and less often.
 */
export interface StoreNotices {
  /**
   * Number of a lock that the database frees as soon as the connection of this process ends, so that other processes learn of its death
   * at once. Undefined while it is not held. A notice of the kind `lock` follows each change.
   */
  readonly lock?: number | undefined;
  /** Tells the other processes, soon, after the change was committed. */
  send(kind: NoticeKind, id?: string): void;
  /** Listens until `close`. */
  listen(listener: NoticeListener): void;
  close(): Promise<void>;
}
