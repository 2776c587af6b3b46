/** Maximum readers that are woken in one turn of the event loop: each writes to its connection then. */
const PER_TURN = 100;

/** Wakes readers of events: some at once, and the rest over the next turns of the event loop, so that thousands of them stop nothing else. */
export class WakeQueue {
  readonly #waiting: (() => void)[] = [];
  #left = PER_TURN;
  #isArmed = false;

  add(wake: () => void): void {
    this.#arm();
    if (this.#left === 0) return void this.#waiting.push(wake);
    this.#left--;
    wake();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => {
      this.#isArmed = false;
      this.#left = PER_TURN;
      for (const wake of this.#waiting.splice(0, PER_TURN)) {
        this.#left--;
        wake();
      }
      if (this.#waiting.length > 0) this.#arm();
    });
  }
}
