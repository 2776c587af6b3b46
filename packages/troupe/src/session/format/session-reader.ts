import { getLogger } from '../../config/run-config.ts';
import { setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';
import { aliasPath, valueAt, withList, type SessionComponents } from './component-state.ts';
import type { ListToSave } from './list-to-save.ts';
import { readTexts } from './save-lists.ts';
import { SessionCorruptError, SessionVersionError } from './session-error.ts';
import { readHead, readItem, type Head, type HeadList } from './session-format.ts';
import { keyName, type CheckedKey } from './session-key.ts';
import type { SessionStore, StoredHead, StoredItem } from './session-store.ts';
import { pathText } from './sync-state.ts';

/** Maximum reads of a session that others save again and again. */
const MAX_READS = 20;

/** Components that a save leaves unchanged. */
export interface Others {
  readonly components: JsonObject;
  /** Their message authentication codes, as saved. */
  readonly macs: JsonObject;
  readonly listsToSave: readonly ListToSave[];
}

/** Reads saved sessions consistently, also while others save. */
export class SessionReader {
  readonly #store: SessionStore;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /**
   * Reads the data of the newest head, or of the head with a revision that is still stored; repeats if a save has removed that data
   * meanwhile.
   */
  async read<T>(
    key: CheckedKey,
    body: (head: Head) => Promise<T>,
    revision?: number,
  ): Promise<T | undefined> {
    for (let reads = 1; ; reads++) {
      const stored = await this.#headOf(key, revision);
      if (stored === undefined) return undefined;
      try {
        return await body(readHead(stored.text, stored.location));
      } catch (error) {
        if (!(error instanceof SessionCorruptError) || reads === MAX_READS) throw error;
        const again = await this.#headOf(key, revision);
        if (again?.revision === stored.revision && again.text === stored.text) throw error;
      }
    }
  }

  async #headOf(key: CheckedKey, revision: number | undefined): Promise<StoredHead | undefined> {
    const current = await this.#store.readHead(key, 'current');
    if (revision === undefined || current?.revision === revision) return current;
    const previous = await this.#store.readHead(key, 'previous');
    return previous?.revision === revision ? previous : undefined;
  }

  /** State of some components, with the log positions of list items. */
  async stateOf(
    key: CheckedKey,
    head: Head,
    components: SessionComponents,
  ): Promise<{ head: Head; state: JsonObject; items: ReadonlyMap<string, readonly StoredItem[]> }> {
    const items = new Map<string, readonly StoredItem[]>();
    let state = head.components;
    const aliases = Object.keys(components).flatMap((name) => {
      const path = aliasPath(head.components[name]);
      return path === undefined ? [] : [{ name, path }];
    });
    for (const { name, path } of aliases) state = { ...state, [name]: valueAt(head.components, path) };
    for (const { path: savedPath, listNumber, ranges } of head.lists) {
      const paths = aliases
        .filter(({ path }) => path.every((name, i) => savedPath[i] === name))
        .map(({ name, path }) => [name, ...savedPath.slice(path.length)]);
      if (Object.hasOwn(components, savedPath[0] ?? '')) paths.push([...savedPath]);
      if (paths.length === 0) continue;
      const found = await this.#store.readItems(key, head.log, listNumber, ranges);
      const locationOf = (item: StoredItem): string =>
        this.#store.locationOf(key, head.log, listNumber, item);
      const values = found.map((item) => readItem(item.text, () => locationOf(item)));
      for (const path of paths) {
        state = withList(state, path, values);
        items.set(pathText(path), found);
      }
    }
    return { head, state, items };
  }

  /** Full saved state of components that are not replaced. Unreadable parts are dropped and logged. */
  async othersThan(
    key: CheckedKey,
    current: StoredHead | undefined,
    components: SessionComponents,
  ): Promise<Others> {
    const others: { [name: string]: JsonValue } = {};
    const macs: { [name: string]: JsonValue } = {};
    const listsToSave: ListToSave[] = [];
    const orLost = async (what: string, read: () => Promise<void>): Promise<void> => {
      try {
        await read();
      } catch (error) {
        if (!(error instanceof SessionCorruptError || error instanceof SessionVersionError)) throw error;
        getLogger().log('warn', `Session ${keyName(key)} is overwritten without ${what}: ${error.message}`);
      }
    };
    if (current === undefined) return { components: others, macs, listsToSave };
    await orLost('its other components', async () => {
      const head = readHead(current.text, current.location);
      for (const [name, state] of Object.entries(head.components)) {
        if (Object.hasOwn(components, name)) continue;
        await orLost(`the component '${name}'`, async () => {
          const lists = head.lists.filter(({ path }) => path[0] === name);
          const read = await Promise.all(lists.map((list) => this.readForSave(key, head, list)));
          listsToSave.push(...read);
          setOwn(others, name, state);
          copyMac(head, name, macs);
        });
      }
    });
    return { components: others, macs, listsToSave };
  }

  /** Saved list with the texts of its items. */
  async readForSave(
    key: CheckedKey,
    { log }: Head,
    { path, listNumber, ranges }: HeadList,
  ): Promise<ListToSave> {
    const parts = await readTexts(this.#store, key, log, listNumber, ranges);
    return { path, start: undefined, parts, items: undefined };
  }
}

/** Keeps the code of a component whose state stays as it was saved. */
export function copyMac({ macs = {} }: Head, name: string, to: { [name: string]: JsonValue }): void {
  const mac = Object.hasOwn(macs, name) ? macs[name] : undefined;
  if (mac !== undefined) setOwn(to, name, mac);
}
