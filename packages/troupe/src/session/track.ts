import type { StateModule } from '../state/state-module.ts';
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

/** The tracks of components. They belong to the component objects: two agents in one program don't share what they know. */
export class Tracks {
  readonly #byModule = new WeakMap<StateModule, Map<string, Track>>();

  of(module: StateModule, key: CheckedKey): Track | undefined {
    return this.#byModule.get(module)?.get(keyText(key));
  }

  set(modules: readonly StateModule[], key: CheckedKey, track: Track): void {
    for (const module of modules) {
      const tracks = this.#byModule.get(module) ?? new Map<string, Track>();
      this.#byModule.set(module, tracks.set(keyText(key), track));
    }
  }

  forget(modules: readonly StateModule[], key: CheckedKey): void {
    for (const module of modules) this.#byModule.get(module)?.delete(keyText(key));
  }
}
