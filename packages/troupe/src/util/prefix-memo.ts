/** How far back from the end of a list the end of an earlier one is looked for. */
const MAX_STEPS_BACK = 64;

/** What was made of a list, so that it can be gone on with when the list has grown. */
interface Entry<Item, Work> {
  readonly items: Item[];
  readonly work: Work;
}

/**
 * Remembers what was made of lists that grow at their end, such as a history. The
 * next time, only what is new has to be worked on. It may be shared by any number of lists: an entry
 * hangs on the last item of its list, and goes with it.
 */
export class PrefixMemo<Item extends object, Work> {
  readonly #entries = new WeakMap<Item, Entry<Item, Work>>();

  /**
   * The work on a list: `step` for each item, beginning behind what is known.
   * @param start makes the work on an empty list
   * @param canContinue whether the work can be gone on with when the list has grown
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
    if (last !== undefined && canContinue(work)) this.#entries.set(last, { items: seen, work });
    return work;
  }

  /** The entry of the longest known beginning of the list. It is given away only once. */
  #take(items: readonly Item[]): Entry<Item, Work> | undefined {
    const end = Math.max(0, items.length - MAX_STEPS_BACK);
    for (let i = items.length - 1; i >= end; i--) {
      const last = items[i];
      const entry = last && this.#entries.get(last);
      if (last === undefined || entry === undefined || !isBeginning(entry.items, items)) continue;
      this.#entries.delete(last);
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
