import { getLogger } from '../../config/run-config.ts';
import { setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';
import { withList, type SessionComponents } from './component-state.ts';
import type { ListDraft } from './list-draft.ts';
import { readTexts } from './save-drafts.ts';
import { SessionCorruptError, SessionVersionError } from './session-error.ts';
import { readHead, readItem, type Head, type HeadList } from './session-format.ts';
import { keyName, type CheckedKey } from './session-key.ts';
import type { SessionStore, StoredHead, StoredItem } from './session-store.ts';
import { pathText } from './track.ts';

/** So often a session is read anew because somebody saves it again and again. */
const MAX_READS = 20;

/** Components that a save leaves as they are. */
export interface Others {
  readonly components: JsonObject;
  readonly drafts: readonly ListDraft[];
}

/** Reads what is saved of a session: whole, though others may save it at the same time. */
export class SessionReader {
  readonly #store: SessionStore;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Reads what the newest head names, and again if a save has taken it away meanwhile. */
  async read<T>(key: CheckedKey, body: (head: Head) => Promise<T>): Promise<T | undefined> {
    for (let reads = 1; ; reads++) {
      const stored = await this.#store.readHead(key, 'current');
      if (stored === undefined) return undefined;
      try {
        return await body(readHead(stored.text, stored.place));
      } catch (error) {
        if (!(error instanceof SessionCorruptError) || reads === MAX_READS) throw error;
        const again = await this.#store.readHead(key, 'current');
        if (again?.revision === stored.revision && again.text === stored.text) throw error;
      }
    }
  }

  /** The state of some components, with the places of the items of its lists. */
  async stateOf(
    key: CheckedKey,
    head: Head,
    components: SessionComponents,
  ): Promise<{ head: Head; state: JsonObject; items: ReadonlyMap<string, readonly StoredItem[]> }> {
    const items = new Map<string, readonly StoredItem[]>();
    let state = head.components;
    for (const { path, lane, ranges } of head.lists) {
      if (!Object.hasOwn(components, path[0] ?? '')) continue;
      const found = await this.#store.readItems(key, head.log, lane, ranges);
      const placeOf = (item: StoredItem): string => this.#store.placeOf(key, head.log, lane, item);
      const values = found.map((item) => readItem(item.text, () => placeOf(item)));
      state = withList(state, path, values);
      items.set(pathText(path), found);
    }
    return { head, state, items };
  }

  /** What is saved of components that are not to be replaced, in full. What can't be read is lost, and the logger told. */
  async othersThan(
    key: CheckedKey,
    current: StoredHead | undefined,
    components: SessionComponents,
  ): Promise<Others> {
    const others: { [name: string]: JsonValue } = {};
    const drafts: ListDraft[] = [];
    const orLost = async (what: string, read: () => Promise<void>): Promise<void> => {
      try {
        await read();
      } catch (error) {
        if (!(error instanceof SessionCorruptError || error instanceof SessionVersionError)) throw error;
        getLogger().log('warn', `Session ${keyName(key)} is overwritten without ${what}: ${error.message}`);
      }
    };
    if (current === undefined) return { components: others, drafts };
    await orLost('what else it held', async () => {
      const head = readHead(current.text, current.place);
      for (const [name, state] of Object.entries(head.components)) {
        if (Object.hasOwn(components, name)) continue;
        await orLost(`the component '${name}'`, async () => {
          const lists = head.lists.filter(({ path }) => path[0] === name);
          const read = await Promise.all(lists.map((list) => this.draftOf(key, head, list)));
          drafts.push(...read);
          setOwn(others, name, state);
        });
      }
    });
    return { components: others, drafts };
  }

  /** A list as it is saved, with the texts of its items. */
  async draftOf(key: CheckedKey, { log }: Head, { path, lane, ranges }: HeadList): Promise<ListDraft> {
    const parts = await readTexts(this.#store, key, log, lane, ranges);
    return { path, start: undefined, parts, items: undefined };
  }
}
