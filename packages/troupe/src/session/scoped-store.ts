import { TroupeError } from '../errors.ts';
import { SessionError } from './format/session-error.ts';
import { isStoredId, type CheckedKey } from './format/session-key.ts';
import type {
  Commit,
  ListQuery,
  LogRange,
  SessionInfo,
  SessionStore,
  StoredHead,
  StoredItem,
} from './format/session-store.ts';

const PAGE = 1000;
/** End of a prefix. Ids inside a scope are stored without it, so that no scope reaches into another. */
const MARK = '@';
const ESCAPED_MARK = '=40';

/**
 * Sessions of a store with ids that start with a prefix, addressed by the rest of the id. Does not close the
 * store.
 */
export class ScopedStore implements SessionStore {
  readonly #store: SessionStore;
  readonly #prefix: string;
  /** Signals that end all access when aborted. */
  readonly #endSignals: readonly AbortSignal[];

  /**
   * @param prefix ends with `@`
   * @param until signal that ends all access
   * @throws TroupeError for an invalid prefix
   */
  constructor(store: SessionStore, prefix: string, until?: AbortSignal) {
    if (!prefix.endsWith(MARK))
      throw new TroupeError('invalid_id', `A scope of sessions must end with '${MARK}'.`);
    const isScoped = store instanceof ScopedStore;
    this.#store = isScoped ? store.#store : store;
    this.#prefix = isScoped ? store.#prefix + prefix : prefix;
    this.#endSignals = [...(isScoped ? store.#endSignals : []), ...(until === undefined ? [] : [until])];
  }

  get minGarbage(): number {
    return this.#store.minGarbage;
  }

  get scope(): string {
    return this.#prefix;
  }

  get isPrivate(): boolean {
    return this.#store.isPrivate ?? false;
  }

  async approvalKey(purpose: 'read' | 'make'): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#store.approvalKey?.(purpose);
  }

  async readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined> {
    return this.#store.readHead(this.#fullKey(key), which);
  }

  async lastRevision(key: CheckedKey): Promise<number> {
    return (await this.#store.lastRevision?.(this.#fullKey(key))) ?? 0;
  }

  async readItems(
    key: CheckedKey,
    log: string,
    listNumber: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]> {
    return this.#store.readItems(this.#fullKey(key), log, listNumber, ranges);
  }

  async commit(key: CheckedKey, commit: Commit): Promise<void> {
    return this.#store.commit(this.#fullKey(key), commit);
  }

  /** Reads the store's list until enough sessions of this scope are found. */
  async list(query: ListQuery): Promise<readonly SessionInfo[]> {
    this.#assertOpen();
    const found: SessionInfo[] = [];
    let after = query.after && { ...query.after, session: this.#prefix + withoutMarks(query.after.session) };
    for (;;) {
      const page = await this.#store.list({ ...query, limit: PAGE, after });
      for (const info of page) {
        const session = info.session.slice(this.#prefix.length);
        if (info.session.startsWith(this.#prefix) && !session.includes(MARK))
          found.push({ ...info, session: withMarks(session) });
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE || found.length >= query.limit)
        return found.slice(0, query.limit);
      after = { savedAt: last.savedAt, user: last.user ?? '', session: last.session };
    }
  }

  async delete(key: CheckedKey, revision?: number): Promise<boolean> {
    return this.#store.delete(this.#fullKey(key), revision);
  }

  locationOf(key: CheckedKey, log: string, listNumber: number, item: StoredItem): string {
    return this.#store.locationOf(this.#fullKey(key), log, listNumber, item);
  }

  async close(): Promise<void> {}

  #fullKey({ user, session }: CheckedKey): CheckedKey {
    this.#assertOpen();
    const full = this.#prefix + withoutMarks(session);
    if (isStoredId(full)) return { user, session: full };
    throw new TroupeError('invalid_id', 'The prefix of a scope is not safe in a session id, or too long.');
  }

  #assertOpen(): void {
    if (this.#endSignals.some(({ aborted }) => aborted))
      throw new SessionError('Access to these sessions was granted for a limited time, which is over.');
  }
}

function withoutMarks(stored: string): string {
  return stored.replaceAll(MARK, ESCAPED_MARK);
}

/** Undoes `withoutMarks`. An id that begins with the mark is stored escaped anyway. */
function withMarks(stored: string): string {
  return stored.slice(0, 1) + stored.slice(1).replaceAll(ESCAPED_MARK, MARK);
}
