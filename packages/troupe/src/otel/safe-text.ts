import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { Redactor, type RedactOptions } from '../model/wrappers/redactor.ts';
import { checkNumber } from '../util/check-number.ts';
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import { cutText } from '../util/text.ts';
import { messageParts } from './message-parts.ts';

export interface SafeTextOptions extends RedactOptions {
  /** Maximum characters of one attribute with content. Older messages are left out first, then long texts are cut. @default 20 000 */
  readonly maxChars?: number | undefined;
}

const MAX_CHARS = 20_000;
const MAX_LABEL_CHARS = 1000;
/** Space for the note on messages that are left out. */
const NOTE_CHARS = 100;
/** Longer than the words of the conventions, which are never cut. */
const MIN_TEXT_CHARS = 20;
const TOO_LARGE = JSON.stringify('[too large]');

/** Makes texts for attributes: redacted, without bytes, and never longer than a limit. Content of the conversation is always valid JSON. */
export class SafeText {
  readonly #redactor: Redactor;
  readonly #maxChars: number;

  /** @throws TroupeError if `maxChars` is out of range. */
  constructor({ maxChars = MAX_CHARS, ...redaction }: SafeTextOptions = {}) {
    if (maxChars !== Infinity) checkNumber('maxChars', maxChars, { least: 100 });
    this.#maxChars = maxChars;
    this.#redactor = new Redactor(redaction);
  }

  /** Messages of a conversation, in the form of the conventions. Says how many of the oldest are left out. */
  messages(msgs: readonly Msg[], finishReason?: string): string {
    const entries: JsonObject[] = [];
    let size = NOTE_CHARS;
    for (const msg of msgs.toReversed()) {
      const entry = messageEntry(msg, finishReason);
      size += JSON.stringify(entry).length + 1;
      if (size > this.#maxChars && entries.length > 0) break;
      entries.unshift(entry);
    }
    const missing = msgs.length - entries.length;
    if (missing > 0) {
      const content = `[${missing} earlier messages left out]`;
      entries.unshift({ role: 'system', parts: [{ type: 'text', content }] });
    }
    return this.json(entries);
  }

  /** The parts of the system prompt; undefined without one. */
  instructions(msgs: readonly Msg[]): string | undefined {
    return msgs.length === 0 ? undefined : this.json(msgs.flatMap(messageParts));
  }

  toolDefinitions(tools: readonly ToolSchema[]): string {
    return this.json(
      tools.map(({ name, description, parameters }) => ({
        type: 'function',
        name,
        ...(description !== undefined && { description }),
        parameters: copyJson(parameters, 'parameters'),
      })),
    );
  }

  /** Any value of the program as JSON; a value that is not JSON as text. */
  value(value: unknown): string {
    try {
      return this.json(copyJson(value ?? null, 'value'));
    } catch {
      return this.json(String(value));
    }
  }

  /** JSON whose texts are cut until the whole fits. */
  json(value: JsonValue): string {
    const redacted = this.#redactor.json(withShortTexts(value, 2 * this.#maxChars));
    for (let limit = this.#maxChars; limit >= MIN_TEXT_CHARS; limit /= 2) {
      const text = JSON.stringify(withShortTexts(redacted, Math.floor(limit)));
      if (text.length <= this.#maxChars) return text;
    }
    return TOO_LARGE;
  }

  /** A name, an id or one line. Also redacted: names of tools come from models. */
  label(text: string): string {
    return this.#redactor.text(cutText(text, MAX_LABEL_CHARS));
  }
}

function messageEntry(msg: Msg, finishReason: string | undefined): JsonObject {
  const { role, name } = msg;
  return {
    role,
    ...(name !== role && { name }),
    parts: messageParts(msg),
    ...(finishReason !== undefined && { finish_reason: finishReason }),
  };
}

/** A copy whose texts have at most `maxChars` characters. */
function withShortTexts(value: JsonValue, maxChars: number): JsonValue {
  if (typeof value === 'string') return cutText(value, maxChars);
  if (isList(value)) return value.map((item) => withShortTexts(item, maxChars));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withShortTexts(item, maxChars)]),
  );
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
