/** A shorter word of a header may be any word. */
const MIN_CHARS = 8;
/** How many are remembered: tokens change. */
const MAX_WORDS = 100;
const MAX_CAUSES = 10;

/** What was sent to a server and belongs in no error, whatever the server repeats. */
export class SecretWords {
  readonly #words = new Set<string>();

  /** @param values of headers, or of the fields of a form */
  remember(values: Iterable<unknown>): void {
    for (const word of [...values].flatMap((value) => String(value).split(' '))) {
      if (word.length < MIN_CHARS) continue;
      this.#words.delete(word);
      this.#words.add(word);
    }
    for (const oldest of this.#words) if (this.#words.size > MAX_WORDS) this.#words.delete(oldest);
  }

  /** The error, to be the cause of another, unless it holds any of them. */
  causeOf(error: unknown): unknown {
    return this.#areIn(error) ? undefined : error;
  }

  #areIn(error: unknown): boolean {
    for (let one = error, depth = 0; one instanceof Error && depth < MAX_CAUSES; one = one.cause, depth++) {
      const said = `${one.message} ${jsonText(one)}`;
      if (this.hide(said) !== said) return true;
    }
    return false;
  }

  /** The text without them. */
  hide(text: string): string {
    let shown = text;
    for (const word of this.#words) shown = shown.replaceAll(word, '[hidden]');
    return shown;
  }
}

/** The properties of an error. What is no JSON is told by nobody. */
function jsonText(error: Error): string {
  try {
    return JSON.stringify(error);
  } catch {
    return '';
  }
}
