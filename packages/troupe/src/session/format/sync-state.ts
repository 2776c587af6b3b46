import type { StateModule } from '../../state/state-module.ts';
import type { SessionComponents } from './component-state.ts';
import type { SavedList } from './list-to-save.ts';
import { keyText, type CheckedKey } from './session-key.ts';
import type { Head } from './session-format.ts';
import type { Commit } from './session-store.ts';

/** Saved or loaded state: its head, and its lists by path. */
export interface SavedState {
  readonly head: Head;
  readonly lists: ReadonlyMap<string, SavedList>;
}

/**
 * Last known saved state of components: where they were last loaded from or saved to. Components loaded
 * together share one sync state.
 */
export interface SyncState {
  /** Base of the next save. */
  base: Commit['base'];
  /** Saved state; undefined if nothing is saved, or if the next save replaces everything. */
  lastSaved: SavedState | undefined;
  /** Failed save that may have happened because its response was lost, with the text of its head. */
  uncertain: (SavedState & { readonly text: string }) | undefined;
}

export function newSyncState(base: Commit['base'], lastSaved?: SavedState): SyncState {
  return { base, lastSaved, uncertain: undefined };
}

export function advance(syncState: SyncState, { head, lists }: SavedState): void {
  syncState.base = { revision: head.revision, log: head.log };
  syncState.lastSaved = { head, lists };
  syncState.uncertain = undefined;
}

export function pathText(path: readonly string[]): string {
  return path.join('\0');
}

/** Session that a component was last loaded from or saved to. */
interface Binding {
  readonly key: string;
  readonly user: string;
  readonly syncState: SyncState;
  /** Names under which the component was loaded or saved. */
  readonly names: ReadonlySet<string>;
  readonly wasLoaded: boolean;
}

/**
 * Sync states by component object, so that two agents in one program don't share them. A component belongs to
 * one session at a time; of earlier sessions only the keys are known.
 */
export class SyncStateTable {
  readonly #bindings = new WeakMap<StateModule, Binding>();
  readonly #former = new WeakMap<StateModule, Set<string>>();

  of(module: StateModule, key: CheckedKey): SyncState | undefined {
    const binding = this.#bindings.get(module);
    return binding?.key === keyText(key) ? binding.syncState : undefined;
  }

  /** Tells whether a component was loaded from, or saved to, this session under this name. */
  isKnown(module: StateModule, key: CheckedKey, name: string): boolean {
    const binding = this.#bindings.get(module);
    return binding?.key === keyText(key) && binding.names.has(name);
  }

  /**
   * True for a component of another session: loaded from the other session, saved to it later than to this one, or saved for
   * another user.
   */
  isElsewhere(module: StateModule, key: CheckedKey): boolean {
    const binding = this.#bindings.get(module);
    if (binding?.key === keyText(key)) return false;
    const isOfOther = binding !== undefined && binding.user !== '' && binding.user !== key.user;
    return isOfOther || binding?.wasLoaded === true || this.#former.get(module)?.has(keyText(key)) === true;
  }

  wasLoaded(components: SessionComponents, key: CheckedKey, syncState: SyncState): void {
    const entries = Object.entries(components);
    for (const [, module] of entries) {
      const names = new Set(entries.flatMap(([name, one]) => (one === module ? name : [])));
      this.#bind(module, { key: keyText(key), user: key.user, syncState, names, wasLoaded: true });
    }
  }

  wasSaved(components: SessionComponents, key: CheckedKey, syncState: SyncState): void {
    for (const [name, module] of Object.entries(components)) {
      const binding = this.#bindings.get(module);
      const old = binding?.key === keyText(key) ? binding : undefined;
      this.#bind(module, {
        key: keyText(key),
        user: key.user,
        syncState,
        names: new Set([...(old?.names ?? []), name]),
        wasLoaded: old?.wasLoaded ?? false,
      });
    }
  }

  forget(modules: readonly StateModule[], key: CheckedKey): void {
    for (const module of modules) {
      if (this.of(module, key) !== undefined) this.#bindings.delete(module);
      this.#former.get(module)?.delete(keyText(key));
    }
  }

  #bind(module: StateModule, binding: Binding): void {
    const old = this.#bindings.get(module);
    if (old !== undefined && old.key !== binding.key) {
      const former = this.#former.get(module) ?? new Set();
      former.delete(binding.key);
      this.#former.set(module, former.add(old.key));
    }
    this.#bindings.set(module, binding);
  }
}
