import { isJsonObject, setOwn, type JsonValue } from '../json.ts';

/** Shorter words of a header could be ordinary words. */
const MIN_CHARS = 8;
/** Maximum number of remembered words; tokens change over time. */
const MAX_WORDS = 1000;
const MAX_CAUSES = 10;

/** Remembers secrets sent to a server and removes them from errors, in case the server repeats them. */
export class SecretWords {
  readonly #words = new Set<string>();

  /** @param values header values or form fields */
  remember(values: Iterable<unknown>): void {
    this.rememberWhole([...values].flatMap((value) => String(value).split(' ')));
  }

  /** @param values secrets that may contain spaces, such as passwords, or lines; also hidden as part of a JSON text */
  rememberWhole(values: Iterable<string>): void {
    for (const word of [...values].flatMap((value) => [value, ...linesOf(value)].flatMap(writtenForms))) {
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

  /** Replaces all remembered words in the texts and names of a JSON value. */
  hideIn(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.hide(value);
    if (Array.isArray(value)) return value.map((one: JsonValue) => this.hideIn(one));
    if (!isJsonObject(value)) return value;
    const shown: { [key: string]: JsonValue } = {};
    for (const [key, one] of Object.entries(value)) setOwn(shown, this.hide(key), this.hideIn(one));
    return shown;
  }

  /** Replaces all remembered words in a text. */
  hide(text: string): string {
    let shown = text;
    for (const word of this.#words) shown = shown.replaceAll(word, '[hidden]');
    return shown;
  }
}

/** Lines of a text with several, such as a private key. */
function linesOf(value: string): readonly string[] {
  return value.includes('\n') ? value.split(/\r?\n/) : [];
}

/** A secret as it is, as part of a JSON text, and as part of a JSON text in ASCII. */
function writtenForms(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [value, json, ascii];
}

/** Properties of an error as JSON text; empty if they are not JSON. */
function jsonText(error: Error): string {
  try {
    return JSON.stringify(error);
  } catch {
    return '';
  }
}
