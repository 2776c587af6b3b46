/** The shapes that `platform.node.ts` and `platform.browser.ts` both fill. */

/** A value that follows a call through all its awaits. */
export interface AsyncScope<T> {
  run<R>(value: T, body: () => R): R;
  getStore(): T | undefined;
}

/** A person at a keyboard, or a pipe in the place of one. Whoever has it open has it alone. */
export interface Terminal {
  /** The next line, or undefined when there are no more. Rejects with the reason of an aborted signal. */
  ask(prompt: string): Promise<string | undefined>;
  /** Shows a line of text. */
  say(line: string): void;
  /** Lets the next one have the terminal. */
  close(): void;
}
