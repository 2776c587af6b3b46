import { setOwn, type JsonValue } from '../../util/json.ts';
import type { ComponentMacs, SignedParts } from './component-macs.ts';
import type { ComponentState, SessionComponents } from './component-state.ts';
import { listToSave, type SavedList } from './list-to-save.ts';
import { saveLists } from './save-lists.ts';
import { SessionConflictError } from './session-error.ts';
import { logOf, type Head } from './session-format.ts';
import type { CheckedKey, NamedKey } from './session-key.ts';
import { copyMac, type Others, type SessionReader } from './session-reader.ts';
import type { SessionStore } from './session-store.ts';
import { advance, newSyncState, pathText, type SyncState, type SyncStateTable } from './sync-state.ts';

/** Saves the state of components, so that nothing unseen is overwritten, and notes where each component was saved. */
export class SessionWriter {
  readonly #store: SessionStore;
  readonly #reader: SessionReader;
  readonly #syncStates: SyncStateTable;
  readonly #macs: ComponentMacs;

  constructor(store: SessionStore, reader: SessionReader, syncStates: SyncStateTable, macs: ComponentMacs) {
    this.#store = store;
    this.#reader = reader;
    this.#syncStates = syncStates;
    this.#macs = macs;
  }

  /**
   * Saves components, from the revision that they were last loaded from or saved to.
   * @throws SessionConflictError if another program has saved meanwhile
   */
  async save(key: NamedKey, components: SessionComponents, state: ComponentState): Promise<Head> {
    const syncStates = await this.#syncStatesOf(key, components);
    const { rest, lists, hasGrants } = state.stateParts();
    const saved = new Map(syncStates.flatMap(({ lastSaved }) => [...(lastSaved?.lists ?? [])]));
    const listsToSave = lists.map((list) => listToSave(list, saved.get(pathText(list.path))));
    const others = othersThan(components, syncStates[0], saved);
    const whole = await this.#signed(
      key,
      { components: { ...rest, ...state.aliases }, lists },
      others,
      hasGrants,
    );
    const remember = (): void => {
      for (const [name, module] of Object.entries(components))
        this.#syncStates.wasSaved({ [name]: module }, key, this.#syncStates.of(module, key) ?? syncStates[0]);
    };
    try {
      const head = await saveLists(this.#store, key, syncStates, whole, [
        ...listsToSave,
        ...others.listsToSave,
      ]);
      remember();
      return head;
    } catch (error) {
      if (syncStates[0].uncertain !== undefined) remember();
      throw error;
    }
  }

  /** Replaces components, even if saved by others. Other components stay if they are readable. */
  async overwrite(key: NamedKey, components: SessionComponents, state: ComponentState): Promise<Head> {
    const current = await this.#store.readHead(key, 'current');
    const base = current && { revision: current.revision, log: logOf(current) };
    const others = await this.#reader.othersThan(key, current, components);
    const { rest, lists, hasGrants } = state.stateParts();
    const listsToSave = lists.map((list) => listToSave(list, undefined));
    const syncState = newSyncState(base);
    const whole = await this.#signed(
      key,
      { components: { ...rest, ...state.aliases }, lists },
      others,
      hasGrants,
    );
    try {
      const head = await saveLists(this.#store, key, [syncState], whole, [
        ...listsToSave,
        ...others.listsToSave,
      ]);
      this.#syncStates.wasSaved(components, key, syncState);
      return head;
    } catch (error) {
      for (const [name, module] of syncState.uncertain === undefined ? [] : Object.entries(components)) {
        const old = this.#syncStates.of(module, key);
        const uncertain = { ...newSyncState(old?.base, old?.lastSaved), uncertain: syncState.uncertain };
        this.#syncStates.wasSaved({ [name]: module }, key, uncertain);
      }
      throw error;
    }
  }

  /**
   * Sync states to continue from, all at the same revision; only one if the components were loaded together.
   */
  async #syncStatesOf(
    key: CheckedKey,
    components: SessionComponents,
  ): Promise<readonly [SyncState, ...SyncState[]]> {
    const syncStates = new Set<SyncState>();
    for (const [name, module] of Object.entries(components)) {
      if (this.#syncStates.isElsewhere(module, key)) {
        throw new SessionConflictError(key, `is not what '${name}' was last loaded from or saved to`);
      }
      const syncState = this.#syncStates.of(module, key);
      if (syncState !== undefined) syncStates.add(syncState);
    }
    for (const syncState of syncStates) await this.#resolveUncertain(key, syncState);
    const [first = newSyncState(undefined), ...others] = syncStates;
    if (others.some(({ base }) => base?.revision !== first.base?.revision || base?.log !== first.base?.log)) {
      throw new SessionConflictError(key, 'has components loaded from different revisions');
    }
    for (const [name, module] of Object.entries(components)) {
      const isThere = Object.hasOwn(first.lastSaved?.head.components ?? {}, name);
      if (isThere && !this.#syncStates.isKnown(module, key, name)) {
        throw new SessionConflictError(
          key,
          `has a saved component '${name}', but the given one was not loaded from it`,
        );
      }
    }
    return [first, ...others];
  }

  /** The components of a save, with codes if they allow anything; others keep the code that they were saved with. */
  async #signed(
    key: CheckedKey,
    own: SignedParts,
    others: Others,
    hasGrants: boolean,
  ): Promise<Pick<Head, 'components' | 'macs'>> {
    const macs = hasGrants ? await this.#macs.sign(key, own) : {};
    return { components: { ...others.components, ...own.components }, macs: { ...others.macs, ...macs } };
  }

  /** Checks whether a save with an unknown outcome has happened. */
  async #resolveUncertain(key: CheckedKey, syncState: SyncState): Promise<void> {
    if (syncState.uncertain === undefined) return;
    const current = await this.#store.readHead(key, 'current');
    if (current?.text === syncState.uncertain.text) advance(syncState, syncState.uncertain);
    syncState.uncertain = undefined;
  }
}

/** Saved state of components that are not part of this save. */
function othersThan(
  components: SessionComponents,
  { lastSaved }: SyncState,
  saved: ReadonlyMap<string, SavedList>,
): Others {
  const others: { [name: string]: JsonValue } = {};
  const macs: { [name: string]: JsonValue } = {};
  for (const [name, state] of Object.entries(lastSaved?.head.components ?? {})) {
    if (lastSaved === undefined || Object.hasOwn(components, name)) continue;
    setOwn(others, name, state);
    copyMac(lastSaved.head, name, macs);
  }
  const lists =
    lastSaved?.head.lists.filter(({ path: [name = ''] }) => !Object.hasOwn(components, name)) ?? [];
  return {
    components: others,
    macs,
    listsToSave: lists.map(({ path, ranges }) => {
      const list = saved.get(pathText(path));
      return { path, start: list, parts: list === undefined ? ranges : [], items: list?.items };
    }),
  };
}
