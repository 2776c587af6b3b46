import { describe, type JsonValue } from '../util/json.ts';
import type { StateConverter } from './state-module.ts';

/** Converter of a property that holds a text. A saved value of another type is refused before anything is loaded. */
export const TEXT_STATE: StateConverter<string> = { toJson: (text) => text, fromJson: toText };

/** The same, for a text that is not empty. */
export const NAME_STATE: StateConverter<string> = {
  toJson: (name) => name,
  fromJson(json) {
    if (json === '') throw new TypeError('it must not be empty');
    return toText(json);
  },
};

function toText(json: JsonValue): string {
  if (typeof json === 'string') return json;
  throw new TypeError(`it must be a text, not ${describe(json)}`);
}
