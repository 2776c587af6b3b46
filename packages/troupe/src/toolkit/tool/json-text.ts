import { copyJson, MAX_JSON_DEPTH, NotJsonError } from '../../util/json.ts';

/** Maximum number of values; checking them takes about a second. */
const MAX_VALUES = 8_000_000;

/**
 * JSON text of any value. Like `JSON.stringify`, but calls no code of the value (getters, `toJSON`), and
 * refuses values that are not JSON.
 * @throws NotJsonError with the path of the problem.
 */
export function jsonText(value: unknown, path: string): string {
  const check = new PlainCheck();
  if (check.passes(value, 0)) return JSON.stringify(value);
  if (check.isExhausted) throw new NotJsonError(path, 'is beyond the size limit');
  return JSON.stringify(copyJson(value, path)); // slower, and finds the problem and its path
}

/** Checks that a value is plain JSON data and can be written safely. Ten times as fast as a copy. */
class PlainCheck {
  isExhausted = false;
  #count = 0;

  passes(value: unknown, depth: number): boolean {
    this.isExhausted = ++this.#count > MAX_VALUES;
    if (this.isExhausted) return false;
    if (typeof value !== 'object') {
      return typeof value === 'number'
        ? Number.isFinite(value)
        : typeof value === 'string' || typeof value === 'boolean';
    }
    if (value === null) return true;
    if (depth === MAX_JSON_DEPTH || 'toJSON' in value) return false; // an inherited `toJSON` would be called
    return Array.isArray(value) ? this.#list(value, depth + 1) : this.#object(value, depth + 1);
  }

  #list(list: readonly unknown[], depth: number): boolean {
    if (Object.getPrototypeOf(list) !== Array.prototype) return false;
    for (let i = 0; i < list.length; i++) {
      const item = Object.getOwnPropertyDescriptor(list, i);
      if (item === undefined || !('value' in item) || !this.passes(item.value, depth)) return false;
    }
    return true;
  }

  #object(object: object, depth: number): boolean {
    const prototype: unknown = Object.getPrototypeOf(object);
    if (prototype !== null && prototype !== Object.prototype) return false;
    for (const key of Object.keys(object)) {
      const property = Object.getOwnPropertyDescriptor(object, key);
      if (property === undefined || !('value' in property)) return false; // a getter
      if (property.value !== undefined && !this.passes(property.value, depth)) return false;
    }
    return true;
  }
}
