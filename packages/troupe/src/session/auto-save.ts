import { checkNumber, MAX_TIMER_MS } from '../util/check-number.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import { startTimer } from '../util/clock.ts';

/** Source of save signals, such as an agent. */
export interface SaveSignals {
  /**
   * Calls back when an agent call has ended in any way and the agent is idle. The returned function stops
   * this.
   */
  onSettled(listener: () => void): () => void;
  /** Calls back and waits before an irreversible action. The returned function stops this. */
  onCheckpoint?(listener: () => Promise<void>): () => void;
  /** Calls back and waits before the outcome of an agent call is told. The returned function stops this. */
  onOutcome?(listener: () => Promise<void>): () => void;
  /** True while an agent call runs. */
  readonly isRunning?: boolean;
}

export interface AutoSaveOptions {
  /**
   * Delay from the end of an agent call to the save; changes until then are part of the same save. With a delay, also of 0, agent
   * calls do not wait for the save: a crash right after an answer can lose it.
   * @default none: an agent call waits, so that what the caller and the stream are told is saved
   */
  readonly debounceMs?: number | undefined;
  /** Called for each failed save, which is also logged. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/**
 * Saves before the outcome of each agent call is told (or after it, with `debounceMs`), and before irreversible actions.
 *
 * A failed save is logged, passed to `onError`, told as an `error` event of the agent call, and repeated with the next one; a
 * checkpoint fails with its save. Disposing waits for running agent calls, saves pending changes, and rejects if this fails.
 */
export class AutoSave implements AsyncDisposable {
  readonly #save: () => Promise<void>;
  readonly #options: AutoSaveOptions;
  readonly #hasChanged: () => boolean;
  readonly #watched = new Map<SaveSignals, readonly (() => void)[]>();
  #cancelTimer: (() => void) | undefined;
  #isDirty = false;
  #running: Promise<void> | undefined;
  #isEnding = false;

  /** @param hasChanged tells whether there are unsaved changes without a signal */
  constructor(
    save: () => Promise<void>,
    options: AutoSaveOptions = {},
    hasChanged: () => boolean = () => false,
  ) {
    checkNumber('debounceMs', options.debounceMs ?? 0, { least: 0, most: MAX_TIMER_MS });
    this.#save = save;
    this.#options = options;
    this.#hasChanged = hasChanged;
  }

  /** Saves on the signals of this component, if it has any. */
  watch(component: object): void {
    if (this.#isEnding || !givesSignals(component)) return;
    const save = (): Promise<void> => {
      this.#isDirty = true;
      return this.flush();
    };
    const outcome = this.#options.debounceMs === undefined ? component.onOutcome?.(save) : undefined;
    const stops = [outcome ?? component.onSettled(() => this.#saveSoon()), component.onCheckpoint?.(save)];
    this.#watched.set(
      component,
      stops.filter((stop) => stop !== undefined),
    );
  }

  /** Drops pending changes without saving. */
  discard(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#isDirty = false;
  }

  /** Saves pending changes and waits. Rejects if the save fails. */
  async flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    while (this.#running !== undefined) await this.#running.catch(() => {});
    if (!this.#isDirty) return;
    this.#running = this.#saveNow();
    try {
      await this.#running;
    } finally {
      this.#running = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const isFirst = !this.#isEnding;
    this.#isEnding = true;
    for (const [component, stops] of this.#watched) {
      while (component.isRunning === true) await settled(component);
      for (const stop of stops) stop();
    }
    this.#watched.clear();
    if (isFirst) this.#isDirty ||= this.#hasChanged();
    await this.flush();
  }

  #saveSoon(): void {
    this.#isDirty = true;
    this.#cancelTimer ??= startTimer(this.#options.debounceMs ?? 0, () => {
      this.flush().catch(() => {}); // already reported
    });
  }

  async #saveNow(): Promise<void> {
    await Promise.resolve(); // an agent call may signal several times at once, e.g. for itself and for its pipeline: one save
    if (!this.#isDirty) return; // discarded meanwhile
    this.#isDirty = false;
    try {
      await this.#save();
    } catch (error) {
      this.#isDirty = true;
      getLogger().log('error', `The session was not saved: ${messageOf(error)}`);
      void this.#report(error);
      throw error;
    }
  }

  /** Calls `onError`. An error of it, also of an async one, is logged. */
  async #report(error: unknown): Promise<void> {
    try {
      await this.#options.onError?.(error);
    } catch (problem) {
      getLogger().log('error', `onError threw: ${messageOf(problem)}`);
    }
  }
}

async function settled(component: SaveSignals): Promise<void> {
  let stop: (() => void) | undefined;
  await new Promise<void>((resolve) => (stop = component.onSettled(resolve)));
  stop?.();
}

/** Whether a component says when to save. */
export function givesSignals(component: object): component is SaveSignals {
  return typeof Reflect.get(component, 'onSettled') === 'function';
}
