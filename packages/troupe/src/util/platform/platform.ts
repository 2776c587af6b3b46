/** Interfaces implemented by `platform.node.ts` and `platform.browser.ts`. */

/** Value that is visible in everything called by `run`, across awaits. Folder `util/platform`: start here. */
export interface AsyncScope<T> {
  run<R>(value: T, body: () => R): R;
  getStore(): T | undefined;
}

/** Exclusive access to the keyboard, or to a pipe instead. */
export interface Terminal {
  /** Next line, or lines pasted together; undefined at the end of input. Rejects with the reason of an aborted signal. */
  ask(prompt: string): Promise<string | undefined>;
  /** Prints one line of text. */
  say(line: string): void;
  /** Releases the terminal for the next user. */
  close(): void;
}
