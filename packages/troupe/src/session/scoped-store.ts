import { TroupeError } from '../errors.ts';
import { SessionError } from './format/session-error.ts';
import { toSessionId, type CheckedKey } from './format/session-key.ts';
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
/** Ends the parts of a prefix. No id inside of a scope holds it, so no scope reaches into another one. */
const MARK = '@';

/** The sessions of a store whose ids begin with a prefix, by what follows it. It leaves the store open. */
export class ScopedStore implements SessionStore {
  readonly #store: SessionStore;
  readonly #prefix: string;
  /** Once one of them is aborted, nothing can be done any more. */
  readonly #ends: readonly AbortSignal[];

  /** @param prefix ends with `@` @param until once it is aborted, nothing can be done any more @throws TroupeError if the prefix does not. */
  constructor(store: SessionStore, prefix: string, until?: AbortSignal) {
    if (!prefix.endsWith(MARK))
      throw new TroupeError('invalid_id', `A scope of sessions ends with '${MARK}'.`);
    const isScoped = store instanceof ScopedStore;
    this.#store = isScoped ? store.#store : store;
    this.#prefix = isScoped ? store.#prefix + prefix : prefix;
    this.#ends = [...(isScoped ? store.#ends : []), ...(until === undefined ? [] : [until])];
  }

  get minGarbage(): number {
    return this.#store.minGarbage;
  }

  async readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined> {
    return this.#store.readHead(this.#whole(key), which);
  }

  async lastRevision(key: CheckedKey): Promise<number> {
    return (await this.#store.lastRevision?.(this.#whole(key))) ?? 0;
  }

  async readItems(
    key: CheckedKey,
    log: string,
    lane: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]> {
    return this.#store.readItems(this.#whole(key), log, lane, ranges);
  }

  async commit(key: CheckedKey, commit: Commit): Promise<void> {
    return this.#store.commit(this.#whole(key), commit);
  }

  /** Looks through the list of the store until there are enough that belong here. */
  async list(query: ListQuery): Promise<readonly SessionInfo[]> {
    this.#assertOpen();
    const found: SessionInfo[] = [];
    let after = query.after && { ...query.after, session: this.#prefix + query.after.session };
    for (;;) {
      const page = await this.#store.list({ ...query, limit: PAGE, after });
      for (const info of page) {
        const session = info.session.slice(this.#prefix.length);
        if (info.session.startsWith(this.#prefix) && !session.includes(MARK))
          found.push({ ...info, session });
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE || found.length >= query.limit)
        return found.slice(0, query.limit);
      after = { savedAt: last.savedAt, user: last.user ?? '', session: last.session };
    }
  }

  async delete(key: CheckedKey, revision?: number): Promise<boolean> {
    return this.#store.delete(this.#whole(key), revision);
  }

  placeOf(key: CheckedKey, log: string, lane: number, item: StoredItem): string {
    return this.#store.placeOf(this.#whole(key), log, lane, item);
  }

  async close(): Promise<void> {}

  #whole({ user, session }: CheckedKey): CheckedKey {
    this.#assertOpen();
    if (session.includes(MARK))
      throw new TroupeError('invalid_id', `A session id has no '${MARK}' here: that tells scopes apart.`);
    return { user, session: toSessionId(this.#prefix + session) };
  }
  #assertOpen(): void {
    if (this.#ends.some(({ aborted }) => aborted))
      throw new SessionError('These sessions were lent for a time that is over.');
  }
}
