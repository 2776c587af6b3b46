/** Maximum distance from the end of a list at which a known prefix is searched. */
const MAX_STEPS_BACK = 64;

/** Result for a list, reusable when the list has grown. */
interface Entry<Item, Work> {
  readonly items: Item[];
  readonly work: Work;
}

/**
 * Caches results for lists that grow at the end, such as a history, so that only new items are processed. One
 * cache can serve any number of lists: each entry belongs to the last item of its list and is collected with
 * that item.
 */
export class PrefixMemo<Item extends object, Work> {
  #entries: WeakMap<Item, Entry<Item, Work>> | undefined; // made by the first list

  /**
   * Processes a list: calls `step` for each item after the known prefix.
   * @param start creates the result for an empty list
   * @param canContinue tells whether the result can be extended when the list has grown
   */
  workOn(
    items: readonly Item[],
    start: () => Work,
    step: (work: Work, item: Item) => Work,
    canContinue: (work: Work) => boolean = () => true,
  ): Work {
    const known = this.#take(items);
    const seen = known?.items ?? [];
    let work = known === undefined ? start() : known.work;
    for (let i = seen.length; i < items.length; i++) {
      const item = items[i] as Item;
      work = step(work, item);
      seen.push(item);
    }
    const last = items.at(-1);
    if (last !== undefined && canContinue(work))
      (this.#entries ??= new WeakMap()).set(last, { items: seen, work });
    return work;
  }

  /** Removes and returns the entry of the longest known prefix. */
  #take(items: readonly Item[]): Entry<Item, Work> | undefined {
    const end = Math.max(0, items.length - MAX_STEPS_BACK);
    for (let i = items.length - 1; i >= end; i--) {
      const last = items[i];
      const entry = last && this.#entries?.get(last);
      if (last === undefined || entry === undefined || !isBeginning(entry.items, items)) continue;
      this.#entries?.delete(last);
      return entry;
    }
    return undefined;
  }
}

function isBeginning<Item>(beginning: readonly Item[], items: readonly Item[]): boolean {
  if (beginning.length > items.length) return false;
  for (let i = 0; i < beginning.length; i++) if (beginning[i] !== items[i]) return false;
  return true;
}
