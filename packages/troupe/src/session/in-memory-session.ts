import { positionsFrom } from './format/positions.ts';
import { SessionConflictError, SessionCorruptError } from './format/session-error.ts';
import { compareInfos, keyText, type CheckedKey } from './format/session-key.ts';
import { Session, type SessionOptions } from './session.ts';
import type {
  Commit,
  ListQuery,
  LogRange,
  SessionInfo,
  SessionStore,
  StoredHead,
  StoredItem,
} from './format/session-store.ts';

interface Saved {
  readonly info: SessionInfo;
  readonly log: string;
  readonly text: string;
}

interface Entry {
  readonly current: Saved;
  readonly previous: Saved | undefined;
  /** Logs of the two heads. */
  readonly logs: ReadonlyMap<string, Map<number, string[]>>;
}

/**
 * Sessions in memory, lost at the end of the program.
 *
 * @example
 * ```ts
 * import { InMemoryMemory, InMemorySession } from 'troupe';
 *
 * const session = new InMemorySession();
 * await session.save({ user: 'ann', session: 'chat' }, { memory: new InMemoryMemory() });
 * console.log(await session.exists({ user: 'ann', session: 'chat' })); // true
 * ```
 */
export class InMemorySession extends Session {
  constructor(options: SessionOptions = {}) {
    super(new InMemoryStore(), options);
  }
}

/** Session store in memory, also for tests. */
export class InMemoryStore implements SessionStore {
  readonly minGarbage = 256;
  readonly isPrivate = true;
  readonly #entries = new Map<string, Entry>();

  async readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined> {
    const saved = this.#entries.get(keyText(key))?.[which];
    return (
      saved && {
        revision: saved.info.revision,
        text: saved.text,
        location: `revision ${saved.info.revision}`,
      }
    );
  }

  async readItems(
    key: CheckedKey,
    log: string,
    listNumber: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]> {
    const texts = this.#entries.get(keyText(key))?.logs.get(log)?.get(listNumber) ?? [];
    return ranges.flatMap(({ from, to }) =>
      Array.from({ length: to - from }, (_, i) => {
        const text = texts[from + i];
        if (text === undefined) throw new SessionCorruptError(`log ${log}`, `ends before item ${from + i}`);
        return { text, from: from + i, to: from + i + 1 };
      }),
    );
  }

  async commit(key: CheckedKey, commit: Commit): Promise<void> {
    const { base, revision, savedAt, log, parts } = commit;
    const entry = this.#entries.get(keyText(key));
    const current = entry?.current;
    const isBase = base?.revision === current?.info.revision && (base?.log ?? current?.log) === current?.log;
    if (!isBase) throw new SessionConflictError(key);
    const lists = entry?.logs.get(log) ?? new Map<number, string[]>();
    const head = commit.head(
      parts.map(({ listNumber, items }) => positionsFrom(lists.get(listNumber)?.length ?? 0, items)),
    );
    for (const { listNumber, items } of parts) {
      const texts = lists.get(listNumber) ?? [];
      for (const item of items) texts.push(item);
      lists.set(listNumber, texts);
    }
    const info = { session: key.session, ...(key.user !== '' && { user: key.user }), revision, savedAt };
    const previousLog = current && entry.logs.get(current.log);
    this.#entries.set(keyText(key), {
      current: { info, log, text: head },
      previous: current,
      logs: new Map([...(previousLog ? [[current.log, previousLog] as const] : []), [log, lists]]),
    });
  }

  async list({ user, limit, after }: ListQuery): Promise<readonly SessionInfo[]> {
    const infos = Array.from(this.#entries.values(), ({ current }) => current.info);
    return infos
      .filter((info) => user === undefined || (info.user ?? '') === user)
      .filter((info) => after === undefined || compareInfos(info, after) > 0)
      .sort(compareInfos)
      .slice(0, limit);
  }

  async delete(key: CheckedKey, revision?: number): Promise<boolean> {
    const current = this.#entries.get(keyText(key))?.current;
    if (revision !== undefined && current?.info.revision !== revision) return false;
    return this.#entries.delete(keyText(key));
  }

  locationOf(_key: CheckedKey, log: string, listNumber: number, { from }: StoredItem): string {
    return `item ${from} of log ${log}, list ${listNumber},`;
  }

  async close(): Promise<void> {}
}
