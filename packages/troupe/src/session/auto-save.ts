import { checkNumber, MAX_TIMER_MS } from '../util/check-number.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import { startTimer } from '../util/clock.ts';

/** What tells when it is worth saving: an agent. */
export interface SaveSignals {
  /** Calls back whenever a call has ended in any way and the agent is free. The returned function ends that. */
  onSettled(listener: () => void): () => void;
  /** Calls back, and waits, before something is done that can't be undone. The returned function ends that. */
  onCheckpoint?(listener: () => Promise<void>): () => void;
  /** Whether a call is being answered. */
  readonly isRunning?: boolean;
}

export interface AutoSaveOptions {
  /** How long after a call the state is saved; what comes until then is saved with it. @default 0 */
  readonly debounceMs?: number | undefined;
  /** Gets to know of each save that failed. The logger does too. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Saves whenever an agent has ended a call, and before it does what can't be undone.
 *
 * A save that fails is reported, and made up for by the next one; a checkpoint fails with it. Disposing waits for the calls
 * that run, saves what is not saved yet, and rejects if that fails.
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

  /** @param hasChanged whether there is something to save that nobody has told of */
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

  /** Saves on the signals of this component, if it gives any. */
  watch(component: object): void {
    if (this.#isEnding || !givesSignals(component)) return;
    const stop = component.onSettled(() => this.#saveSoon());
    const stopCheckpoints = component.onCheckpoint?.(() => {
      this.#isDirty = true;
      return this.flush();
    });
    this.#watched.set(component, stopCheckpoints === undefined ? [stop] : [stop, stopCheckpoints]);
  }

  /** Saves nothing of what has happened until now. */
  discard(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#isDirty = false;
  }

  /** Saves what is not saved yet, and waits for it. Rejects if that fails. */
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
      if (component.isRunning === true) await settled(component);
      for (const stop of stops) stop();
    }
    this.#watched.clear();
    if (isFirst) this.#isDirty ||= this.#hasChanged();
    await this.flush();
  }

  #saveSoon(): void {
    this.#isDirty = true;
    this.#cancelTimer ??= startTimer(this.#options.debounceMs ?? 0, () => {
      this.flush().catch(() => {}); // reported already
    });
  }

  async #saveNow(): Promise<void> {
    this.#isDirty = false;
    try {
      await this.#save();
    } catch (error) {
      this.#isDirty = true;
      getLogger().log('error', `The session was not saved: ${messageOf(error)}`);
      try {
        this.#options.onError?.(error);
      } catch (problem) {
        getLogger().log('error', `onError threw: ${messageOf(problem)}`);
      }
      throw error;
    }
  }
}

async function settled(component: SaveSignals): Promise<void> {
  let stop: (() => void) | undefined;
  await new Promise<void>((resolve) => (stop = component.onSettled(resolve)));
  stop?.();
}

function givesSignals(component: object): component is SaveSignals {
  return typeof Reflect.get(component, 'onSettled') === 'function';
}
