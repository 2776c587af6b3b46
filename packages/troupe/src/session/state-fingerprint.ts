import { ComponentState, type SessionComponents } from './format/component-state.ts';

/** Data to detect changes of components: their state as text, and the items of their lists. */
export interface StateFingerprint {
  readonly rest: string;
  readonly lists: readonly (readonly object[])[];
}

/** @returns undefined if the state can't be saved */
export function fingerprintOf(components: SessionComponents): StateFingerprint | undefined {
  try {
    const { rest, lists } = new ComponentState(components).stateParts();
    return { rest: JSON.stringify(rest), lists: lists.map(({ items }) => items.slice()) };
  } catch {
    return undefined;
  }
}

export function isSameFingerprint(a: StateFingerprint | undefined, b: StateFingerprint | undefined): boolean {
  return (
    a !== undefined &&
    a.rest === b?.rest &&
    a.lists.length === b.lists.length &&
    a.lists.every((items, i) => isSameList(items, b.lists[i] ?? []))
  );
}

function isSameList(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
