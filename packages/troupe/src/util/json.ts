/**
 * The one place that parses JSON and that turns unknown values into JSON.
 *
 * What leaves `copyJson` is a deep-frozen copy that holds nothing but JSON: no
 * accessors, no class instances, no cycles, nothing deeper than the limit. A key
 * named `__proto__` stays an ordinary, inert property.
 */

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

export interface JsonLimits {
  /** How deep objects and arrays may nest. @default 128 */
  readonly maxDepth?: number;
  /** How many values and characters of text there may be in all. @default 256 Mi */
  readonly maxSize?: number;
}

export const MAX_JSON_DEPTH = 128;
export const MAX_JSON_SIZE = 256 * 1024 * 1024;

/** A value that JSON cannot hold, or that is beyond the limits. */
export class NotJsonError extends TypeError {
  override readonly name = 'NotJsonError';
  readonly path: string;

  constructor(
    path: string,
    readonly problem: string,
  ) {
    const place = path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
    super(`${place} ${problem}`);
    this.path = place;
  }
}

/** A path is made of keys, and those may be of any length. */
const MAX_PATH = 200;

/** How deep a tree goes, and how much it holds. */
interface Extent {
  readonly depth: number;
  readonly size: number;
}

/** The frozen trees that `copyJson` made. They need no second copy, but count where they are used. */
const copies = new WeakMap<object, Extent>();

/**
 * A deep-frozen copy of a JSON value. Properties that are undefined are left out.
 * @throws NotJsonError that names the place, e.g. `metadata.a[2] is a function`.
 */
export function copyJson(value: unknown, path: string, limits: JsonLimits = {}): JsonValue {
  return copyOf(value, path, limits, false);
}

/** @param isParsed whether it comes from `JSON.parse`, and so has no getters: looking for them takes time */
function copyOf(value: unknown, path: string, limits: JsonLimits, isParsed: boolean): JsonValue {
  const { maxDepth = MAX_JSON_DEPTH, maxSize = MAX_JSON_SIZE } = limits;
  const trail: (string | number)[] = [];
  let size = 0;
  let deepest = 0;

  function fail(problem: string): never {
    const steps = trail.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
    throw new NotJsonError(path + steps.join(''), problem);
  }

  function grow(by: number): void {
    size += by;
    if (size > maxSize) fail('is beyond the size limit');
  }

  function reach(depth: number): void {
    if (depth > maxDepth) fail(`is nested deeper than ${maxDepth} levels, or refers to itself`);
    deepest = Math.max(deepest, depth);
  }

  /** A property without calling a getter. */
  function read(object: object, key: string | number): unknown {
    if (isParsed) return (object as { [key: string | number]: unknown })[key];
    const property = Object.getOwnPropertyDescriptor(object, key);
    if (property?.get || property?.set) fail('is a getter, not a value');
    return property?.value;
  }

  function copy(value: unknown): JsonValue {
    switch (typeof value) {
      case 'string':
        grow(value.length + 1);
        return value;
      case 'number':
        if (!Number.isFinite(value)) fail(`is ${value}, which JSON can't hold`);
        grow(1);
        return value === 0 ? 0 : value; // JSON has no -0
      case 'boolean':
        grow(1);
        return value;
      case 'object':
        if (value !== null) return copyTree(value);
        grow(1);
        return value;
      default:
        return fail(`is ${describe(value)}, which JSON can't hold`);
    }
  }

  function copyTree(value: object): JsonValue {
    const depth = trail.length;
    const known = copies.get(value);
    if (known !== undefined) {
      grow(known.size);
      reach(depth + known.depth);
      return value as JsonValue;
    }
    const before = { size, deepest };
    grow(1);
    deepest = 0;
    reach(depth + 1);
    const copied = Array.isArray(value) ? copyArray(value) : copyObject(value);
    copies.set(copied, { depth: deepest - depth, size: size - before.size });
    deepest = Math.max(deepest, before.deepest);
    return Object.freeze(copied);
  }

  function copyArray(value: readonly unknown[]): JsonValue[] {
    const copied: JsonValue[] = [];
    for (let i = 0; i < value.length; i++) {
      trail.push(i);
      copied.push(copy(read(value, i)));
      trail.pop();
    }
    return copied;
  }

  function copyObject(value: object): JsonObject {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      fail(`is ${describe(value)}, not a plain object`);
    }
    const copied: { [key: string]: JsonValue } = {};
    for (const key of Object.keys(value)) {
      trail.push(key);
      const item = read(value, key);
      if (item !== undefined) {
        grow(key.length);
        setOwn(copied, key, copy(item));
      }
      trail.pop();
    }
    return copied;
  }

  return copy(value);
}

/** As `copyJson`, for a value that has to be an object. */
export function copyJsonObject(value: unknown, path: string, limits?: JsonLimits): JsonObject {
  const copied = copyJson(value, path, limits);
  if (!isJsonObject(copied)) throw new NotJsonError(path, `is ${describe(value)}, not an object`);
  return copied;
}

/** Parses JSON text. @throws NotJsonError, which holds none of the text. */
export function parseJson(text: string, path = 'the text', limits: JsonLimits = {}): JsonValue {
  if (text.length > (limits.maxSize ?? MAX_JSON_SIZE))
    throw new NotJsonError(path, 'is beyond the size limit');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new NotJsonError(path, 'is not JSON');
  }
  return copyOf(value, path, limits, true);
}

/**
 * Parses JSON text that is looked at once and thrown away, such as a piece of a stream: a plain value
 * that is neither copied nor frozen; undefined if it is no JSON.
 */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets a property that stays an ordinary one, whatever its name. */
export function setOwn<T>(target: { [key: string]: T }, key: string, value: T): void {
  if (key in target) {
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  } else target[key] = value;
}

/** What a value is, in a few words, for an error message: never its content. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`;
  try {
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    if (typeof name === 'string' && name !== '' && name !== 'Object') {
      return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name.slice(0, 64)}`;
    }
  } catch {
    // An object that throws when it is looked at has no name to tell.
  }
  return 'an object';
}
