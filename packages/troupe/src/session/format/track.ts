import type { StateModule } from '../../state/state-module.ts';
import type { SessionComponents } from './component-state.ts';
import type { SavedList } from './list-draft.ts';
import { keyText, type CheckedKey } from './session-key.ts';
import type { Head } from './session-format.ts';
import type { Commit } from './session-store.ts';

/** What was saved or loaded: the head, and its lists by their paths. */
export interface Snapshot {
  readonly head: Head;
  readonly lists: ReadonlyMap<string, SavedList>;
}

/**
 * What components know of a session since they were last loaded from it or saved to it. Those that
 * were loaded together share a track, and move on together.
 */
export interface Track {
  /** What the next save goes on from. */
  base: Commit['base'];
  /** What is saved there; undefined if it is nothing, or is going to be replaced. */
  snapshot: Snapshot | undefined;
  /** A save that failed and may have happened all the same, because its answer was lost; with the text of its head. */
  unsure: (Snapshot & { readonly text: string }) | undefined;
}

export function newTrack(base: Commit['base'], snapshot?: Snapshot): Track {
  return { base, snapshot, unsure: undefined };
}

export function moveTo(track: Track, { head, lists }: Snapshot): void {
  track.base = { revision: head.revision, log: head.log };
  track.snapshot = { head, lists };
  track.unsure = undefined;
}

export function pathText(path: readonly string[]): string {
  return path.join('\0');
}

/** The session that a component belongs to: the one that it was last loaded from or saved to. */
interface Bond {
  readonly key: string;
  readonly track: Track;
  /** What it was loaded or saved as. */
  readonly names: ReadonlySet<string>;
  readonly wasLoaded: boolean;
}

/**
 * The tracks of components. They belong to the component objects: two agents in one program don't share what they know.
 * A component belongs to one session at a time. What it holds now is not what it held when it belonged to another, so it
 * knows nothing of that any more but that it did.
 */
export class Tracks {
  readonly #bonds = new WeakMap<StateModule, Bond>();
  readonly #former = new WeakMap<StateModule, Set<string>>();

  of(module: StateModule, key: CheckedKey): Track | undefined {
    const bond = this.#bonds.get(module);
    return bond?.key === keyText(key) ? bond.track : undefined;
  }

  /** Whether a component was loaded from this session, or saved to it, by this name. */
  isKnown(module: StateModule, key: CheckedKey, name: string): boolean {
    const bond = this.#bonds.get(module);
    return bond?.key === keyText(key) && bond.names.has(name);
  }

  /** Whether a component holds what belongs to another session: it was loaded from that, or saved there after it was saved here. */
  isElsewhere(module: StateModule, key: CheckedKey): boolean {
    const bond = this.#bonds.get(module);
    if (bond?.key === keyText(key)) return false;
    return bond?.wasLoaded === true || this.#former.get(module)?.has(keyText(key)) === true;
  }

  wasLoaded(components: SessionComponents, key: CheckedKey, track: Track): void {
    const entries = Object.entries(components);
    for (const [, module] of entries) {
      const names = new Set(entries.flatMap(([name, one]) => (one === module ? name : [])));
      this.#bind(module, { key: keyText(key), track, names, wasLoaded: true });
    }
  }

  wasSaved(components: SessionComponents, key: CheckedKey, track: Track): void {
    for (const [name, module] of Object.entries(components)) {
      const bond = this.#bonds.get(module);
      const old = bond?.key === keyText(key) ? bond : undefined;
      this.#bind(module, {
        key: keyText(key),
        track,
        names: new Set([...(old?.names ?? []), name]),
        wasLoaded: old?.wasLoaded ?? false,
      });
    }
  }

  forget(modules: readonly StateModule[], key: CheckedKey): void {
    for (const module of modules) {
      if (this.of(module, key) !== undefined) this.#bonds.delete(module);
      this.#former.get(module)?.delete(keyText(key));
    }
  }

  #bind(module: StateModule, bond: Bond): void {
    const old = this.#bonds.get(module);
    if (old !== undefined && old.key !== bond.key) {
      const former = this.#former.get(module) ?? new Set();
      former.delete(bond.key);
      this.#former.set(module, former.add(old.key));
    }
    this.#bonds.set(module, bond);
  }
}
