/** Shorter words of a header could be ordinary words. */
const MIN_CHARS = 8;
/** Maximum number of remembered words; tokens change over time. */
const MAX_WORDS = 100;
const MAX_CAUSES = 10;

/** Remembers secrets sent to a server and removes them from errors, in case the server repeats them. */
export class SecretWords {
  readonly #words = new Set<string>();

  /** @param values header values or form fields */
  remember(values: Iterable<unknown>): void {
    this.rememberWhole([...values].flatMap((value) => String(value).split(' ')));
  }

  /** @param values secrets that may contain spaces, such as passwords; also hidden as part of a JSON text */
  rememberWhole(values: Iterable<string>): void {
    for (const word of [...values].flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])) {
      if (word.length < MIN_CHARS) continue;
      this.#words.delete(word);
      this.#words.add(word);
    }
    for (const oldest of this.#words) if (this.#words.size > MAX_WORDS) this.#words.delete(oldest);
  }

  /** Returns the error for use as a `cause`, or undefined if it contains a secret. */
  causeOf(error: unknown): unknown {
    return this.#isIn(error) ? undefined : error;
  }

  #isIn(error: unknown): boolean {
    for (let one = error, depth = 0; one instanceof Error && depth < MAX_CAUSES; one = one.cause, depth++) {
      const text = `${one.message} ${jsonText(one)}`;
      if (this.hide(text) !== text) return true;
    }
    return false;
  }

  /** Replaces all remembered words in a text. */
  hide(text: string): string {
    let shown = text;
    for (const word of this.#words) shown = shown.replaceAll(word, '[hidden]');
    return shown;
  }
}

/** Properties of an error as JSON text; empty if they are not JSON. */
function jsonText(error: Error): string {
  try {
    return JSON.stringify(error);
  } catch {
    return '';
  }
}
