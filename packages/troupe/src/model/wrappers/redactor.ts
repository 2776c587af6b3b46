import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { isList } from './canonical-request.ts';

export interface RedactOptions {
  /** Texts that must not be written, besides those that look like a key. */
  readonly secrets?: readonly string[];
  /** Takes out what else must not be written. It gets one text at a time. */
  readonly redact?: (text: string) => string;
}

export const REDACTED = '[redacted]';

/** Not in the middle of a word: what looks like a key there is none. */
const START = String.raw`(?<![A-Za-z0-9])`;
/** A random part: long, or not so long but with a digit in it, as no hyphenated word has one. */
const RANDOM = String.raw`(?:(?=[\w-]*\d)[\w-]{8,}|[\w-]{20,})`;

/** What keys look like. A group in front is kept. None takes a quote or a number, so that JSON stays JSON. */
const PATTERNS: readonly RegExp[] = [
  String.raw`${START}(?:sk|rk|pk)-${RANDOM}`,
  String.raw`${START}(?:sk|rk|pk)_(?:live|test)_\w{8,}`,
  String.raw`${START}(?:gsk|hf|npm|glpat|xai|pplx|dop_v1|github_pat|gh[pousr])[_-][\w-]{16,}`,
  String.raw`${START}AIza[\w-]{30,}`,
  String.raw`${START}xox[a-z](?:-[\w-]+|\.[\w.-]+)`,
  String.raw`${START}(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])`,
  String.raw`${START}eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*`,
  String.raw`${START}([Bb]earer\s+)(?:(?=[\w.~+/-]*\d)[\w.~+/-]{8,}|[\w.~+/-]{20,})=*`,
  String.raw`((?:[Kk]ey|KEY|[Tt]oken|TOKEN|[Ss]ecret|SECRET|[Pp]assword|PASSWORD)(?:\s+is)?[\s"'\\:=]{1,8})(?<!"\s{0,4}:\s{0,4})[0-9A-Fa-f]{16,}`,
  String.raw`(:\/\/[^\s/:@"\\]+:)[^\s/:@"\\]+(?=@)`,
  String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-"\\]|\\[nr])*(?:-----END [A-Z ]*PRIVATE KEY-----)?`,
].map((source) => new RegExp(source, 'g'));

/** Takes secrets out of texts. What was redacted once is left alone the next time. */
export class Redactor {
  readonly #secrets: readonly string[];
  readonly #redact: (text: string) => string;

  constructor({ secrets = [], redact = (text) => text }: RedactOptions = {}) {
    // A secret in a JSON text has another form. The longest is looked for first, as one may be part of another.
    const forms = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
    this.#secrets = [...new Set(forms)].filter((form) => form !== '').sort((a, b) => b.length - a.length);
    this.#redact = redact;
  }

  text(text: string): string {
    return withoutKeys(this.#own(text));
  }

  /** The value with every text in it redacted, keys included. */
  json(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.text(value);
    if (isList(value)) return value.map((item) => this.json(item));
    return isJsonObject(value) ? this.object(value) : value;
  }

  object(value: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        this.text(key),
        typeof item === 'string' ? this.#property(key, item) : this.json(item),
      ]),
    );
  }

  /** The name of a property may tell that its value is a key. */
  #property(key: string, text: string): string {
    const name = `${key}: `;
    const both = withoutKeys(name + this.#own(text));
    return both.startsWith(name) ? both.slice(name.length) : this.text(text);
  }

  #own(text: string): string {
    return this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), this.#redact(text));
  }
}

function withoutKeys(text: string): string {
  return PATTERNS.reduce(
    (rest, pattern) =>
      rest.replace(pattern, (_match, kept: unknown) => (typeof kept === 'string' ? kept : '') + REDACTED),
    text,
  );
}
