import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { isList } from './canonical-request.ts';
import { isSecretName, REDACTED, redactKeys } from '../../util/redaction/key-patterns.ts';
import { secretForms } from '../../util/redaction/secret-forms.ts';

export interface RedactOptions {
  /** Secret texts to remove, in addition to texts with the format of a key. */
  readonly secrets?: readonly string[] | undefined;
  /** Removes other secrets; called for one text at a time. */
  readonly redact?: ((text: string) => string) | undefined;
}

/** Removes secrets from texts. A second pass leaves redacted text unchanged. */
export class Redactor {
  readonly #secrets: RegExp | undefined;
  readonly #redact: (text: string) => string;

  constructor({ secrets = [], redact = (text) => text }: RedactOptions = {}) {
    // Longest first, because a secret may be part of another.
    const known = secrets.filter((secret) => secret !== '').sort((a, b) => b.length - a.length);
    if (known.length > 0) this.#secrets = new RegExp(known.map(secretForms).join('|'), 'g');
    this.#redact = redact;
  }

  text(text: string): string {
    return redactKeys(this.#own(text));
  }

  /** Copy with every text redacted, keys included. */
  json(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.text(value);
    if (isList(value)) return value.map((item) => this.json(item));
    return isJsonObject(value) ? this.object(value) : value;
  }

  object(value: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.text(key), this.#property(key, item)]),
    );
  }

  /** Uses the property name to recognize secret values. */
  #property(key: string, value: JsonValue): JsonValue {
    if (isList(value)) return value.map((item) => this.#property(key, item));
    if (typeof value !== 'string') return this.json(value);
    if (isSecretName(key)) return value === '' ? '' : REDACTED;
    const name = `${key}: `;
    const both = redactKeys(name + this.#own(value));
    return both.startsWith(name) ? both.slice(name.length) : this.text(value);
  }

  #own(text: string): string {
    const rest = this.#redact(text);
    return this.#secrets === undefined ? rest : rest.replace(this.#secrets, REDACTED);
  }
}
