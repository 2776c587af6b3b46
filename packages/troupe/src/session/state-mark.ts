import { ComponentState, type SessionComponents } from './format/component-state.ts';

/** What tells whether components have changed: their state as text, and the items of their lists. */
export interface StateMark {
  readonly rest: string;
  readonly lists: readonly (readonly object[])[];
}

/** @returns undefined if it is no state that can be saved */
export function markOf(components: SessionComponents): StateMark | undefined {
  try {
    const { rest, lists } = new ComponentState(components).stateParts();
    return { rest: JSON.stringify(rest), lists: lists.map(({ items }) => items.slice()) };
  } catch {
    return undefined;
  }
}

export function isSameMark(a: StateMark | undefined, b: StateMark | undefined): boolean {
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
