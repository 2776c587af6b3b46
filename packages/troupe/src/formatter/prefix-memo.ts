/** How far back from the end of a list the end of an earlier one is looked for. */
const MAX_STEPS_BACK = 64;

/** What was made of a list, so that it can be gone on with when the list has grown. */
interface Entry<Item, Work> {
  readonly items: readonly Item[];
  readonly work: Work;
}

/**
 * Remembers what was made of lists that grow at their end, such as a history. The
 * next time, only what is new has to be worked on. It may be shared by any number of lists: an entry
 * hangs on the last item of its list, and goes with it.
 */
export class PrefixMemo<Item extends object, Work> {
  readonly #entries = new WeakMap<Item, Entry<Item, Work>>();

  /** Hands over the work on the longest known beginning of the list, and how long that is. It is given away only once. */
  take(items: readonly Item[]): { readonly work: Work; readonly length: number } | undefined {
    const end = Math.max(0, items.length - MAX_STEPS_BACK);
    for (let i = items.length - 1; i >= end; i--) {
      const last = items[i];
      const entry = last && this.#entries.get(last);
      if (last === undefined || entry === undefined || !isBeginning(entry.items, items)) continue;
      this.#entries.delete(last);
      return { work: entry.work, length: entry.items.length };
    }
    return undefined;
  }

  put(items: readonly Item[], work: Work): void {
    const last = items.at(-1);
    if (last !== undefined) this.#entries.set(last, { items: [...items], work });
  }
}

function isBeginning<Item>(beginning: readonly Item[], items: readonly Item[]): boolean {
  if (beginning.length > items.length) return false;
  for (let i = 0; i < beginning.length; i++) if (beginning[i] !== items[i]) return false;
  return true;
}
