/** Listeners of an agent, such as autosave: the agent call waits for all of them. */
export type SaveListeners = ReadonlySet<() => Promise<void>>;

interface SavePointsOptions {
  /** The listeners of `onOutcome` of the agent. */
  readonly outcomeListeners?: SaveListeners | undefined;
  /** The listeners of `onCheckpoint` of the agent. */
  readonly checkpointListeners?: SaveListeners | undefined;
  /** The save points of the agent call around. */
  readonly outer: SavePoints | undefined;
  /** Whether the outcome may be part of the state of the agents around too. */
  readonly isToldOutside: () => boolean;
  /** Notes, in the agent call around, that the tool call around is about to change something. */
  readonly noteStart: () => void;
}

/** The points of an agent call at which the state of its agent, and of the agents around, has to be saved first. */
export class SavePoints {
  readonly #options: SavePointsOptions;

  constructor(options: SavePointsOptions) {
    this.#options = options;
  }

  /**
   * Waits for the listeners of `onOutcome`, before the outcome is told. A question goes to the streams of the agent calls around too,
   * and may be part of the state of those agents, so it waits for their listeners as well. Undefined if there are none.
   */
  beforeOutcome(): Promise<unknown> | undefined {
    const listeners = [...(this.#options.outcomeListeners ?? [])];
    if (this.#options.isToldOutside())
      for (let { outer } = this.#options; outer !== undefined; { outer } = outer.#options)
        listeners.push(...(outer.#options.outcomeListeners ?? []));
    return listeners.length === 0 ? undefined : Promise.all(listeners.map((listener) => listener()));
  }

  /** Waits for the listeners of `onCheckpoint` of this agent and of the agents around, before an action that can't be undone. */
  async checkpoint(): Promise<void> {
    const { checkpointListeners, outer, noteStart } = this.#options;
    await Promise.all(Array.from(checkpointListeners ?? [], (listener) => listener()));
    if (outer === undefined) return;
    noteStart();
    await outer.checkpoint();
  }
}
