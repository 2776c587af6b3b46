import { Store } from '../live/store.ts';

/** Id of the question or approval that a person wants to see over the composer. */
export const shownWaiting = new Store<string | undefined>(undefined);

/** Shows a record over the composer, and moves the focus there. */
export function showWaiting(id: string): void {
  shownWaiting.set(id);
  window.requestAnimationFrame(() => document.querySelector<HTMLElement>('.waiting-region .card')?.focus());
}
