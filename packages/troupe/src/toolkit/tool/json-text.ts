import { messageOf } from '../../errors.ts';
import { describe, MAX_JSON_DEPTH, NotJsonError, setOwn, type JsonValue } from '../../util/json.ts';

/** Maximum number of values; checking them takes about a second. */
const MAX_VALUES = 8_000_000;

/**
 * JSON text of any value, as `JSON.stringify` writes it: with `toJSON` and getters, without methods. Beyond that,
 * a bigint is its digits as a string, a set is a list, a map is an object (a list of pairs if a key is no
 * string), and an error has its name and message.
 * @throws NotJsonError with the path of a cycle, of a part that can't be read, or of a value that is too large
 */
export function jsonText(value: unknown, path: string): string {
  const check = new PlainCheck();
  if (check.isPlain(value)) return JSON.stringify(value);
  if (check.isExhausted) throw new NotJsonError(path, 'is beyond the size limit');
  return JSON.stringify(new JsonCopy(path).of(value));
}

/** Checks that a value is plain JSON data and can be written safely. Ten times as fast as a copy. */
class PlainCheck {
  isExhausted = false;
  #count = 0;

  isPlain(value: unknown): boolean {
    try {
      return this.#passes(value, 0);
    } catch {
      return false; // a proxy
    }
  }

  #passes(value: unknown, depth: number): boolean {
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
      if (item === undefined || !('value' in item) || !this.#passes(item.value, depth)) return false;
    }
    return true;
  }

  #object(object: object, depth: number): boolean {
    const prototype: unknown = Object.getPrototypeOf(object);
    if (prototype !== null && prototype !== Object.prototype) return false;
    for (const key of Object.keys(object)) {
      const property = Object.getOwnPropertyDescriptor(object, key);
      if (property === undefined || !('value' in property)) return false; // a getter
      if (property.value !== undefined && !this.#passes(property.value, depth)) return false;
    }
    return true;
  }
}

/** Copies a value as JSON data, for values with other classes, getters or `toJSON`. */
class JsonCopy {
  readonly #path: string;
  readonly #trail: (string | number)[] = [];
  /** Objects that contain the current one. */
  readonly #containers = new Set<object>();
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws NotJsonError */
  of(value: unknown): JsonValue {
    const copied = this.#copy(value, '');
    return copied ?? (copied === null ? null : this.#fail(`is ${describe(value)}, which JSON can't hold`));
  }

  /** Undefined for a value that JSON leaves out. */
  #copy(value: unknown, key: string): JsonValue | undefined {
    if (++this.#count > MAX_VALUES) this.#fail('is beyond the size limit');
    if (typeof value === 'object' && value !== null) return this.#object(value, key);
    return this.#primitive(value);
  }

  #primitive(value: unknown): JsonValue | undefined {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) ? value : null;
      case 'bigint':
        return String(value);
      default:
        return value === null ? null : undefined;
    }
  }

  #object(object: object, key: string): JsonValue | undefined {
    if (this.#containers.has(object)) this.#fail('refers to itself');
    if (this.#containers.size === MAX_JSON_DEPTH)
      this.#fail(`is nested deeper than ${MAX_JSON_DEPTH} levels`);
    const value = this.#read(() => jsonForm(object, key));
    if (typeof value !== 'object' || value === null) return this.#primitive(value);
    this.#containers.add(object);
    try {
      return this.#read(() => Array.isArray(value))
        ? this.#list(value as readonly unknown[])
        : this.#properties(value);
    } finally {
      this.#containers.delete(object);
    }
  }

  #list(list: readonly unknown[]): JsonValue[] {
    const copied: JsonValue[] = [];
    const length = this.#read(() => list.length);
    for (let i = 0; i < length; i++) copied.push(this.#part(i, () => list[i]) ?? null);
    return copied;
  }

  #properties(object: object): JsonValue {
    const copied: { [key: string]: JsonValue } = {};
    for (const key of this.#read(() => Object.keys(object))) {
      const part = this.#part(key, () => (object as Readonly<Record<string, unknown>>)[key]);
      if (part !== undefined) setOwn(copied, key, part);
    }
    return copied;
  }

  #part(key: string | number, read: () => unknown): JsonValue | undefined {
    this.#trail.push(key);
    const copied = this.#copy(this.#read(read), String(key));
    this.#trail.pop();
    return copied;
  }

  /** Runs code of the value: a getter, a `toJSON`, a trap of a proxy. */
  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      return this.#fail(`could not be read: ${messageOf(error)}`);
    }
  }

  #fail(problem: string): never {
    const steps = this.#trail.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
    throw new NotJsonError(this.#path + steps.join(''), problem);
  }
}

/** Stand-in for an object in JSON: the value of its `toJSON`, plain data for a map, a set and an error, or the object itself. */
function jsonForm(object: object, key: string): unknown {
  if ('toJSON' in object && typeof object.toJSON === 'function') {
    const given: unknown = object.toJSON(key);
    return typeof given === 'object' && given !== null ? plainForm(given) : given;
  }
  return plainForm(object);
}

function plainForm(object: object): unknown {
  if (object instanceof Map) {
    const pairs = [...(object as ReadonlyMap<unknown, unknown>)];
    return pairs.every(([name]) => typeof name === 'string') ? objectOf(pairs) : pairs;
  }
  if (object instanceof Set) return [...(object as ReadonlySet<unknown>)];
  if (object instanceof Error) return Object.assign({ name: object.name, message: object.message }, object);
  const isBoxed = [String, Number, Boolean, BigInt].some((type) => object instanceof type);
  return isBoxed ? object.valueOf() : object;
}

function objectOf(pairs: readonly (readonly [unknown, unknown])[]): object {
  const made: { [key: string]: unknown } = {};
  for (const [name, value] of pairs) setOwn(made, String(name), value);
  return made;
}
