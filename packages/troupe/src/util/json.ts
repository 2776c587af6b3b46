/**
 * Single place for parsing JSON and for converting unknown values to JSON.
 *
 * `copyJson` returns a deep-frozen copy with JSON values only: no accessors, class instances or cycles, and
 * nothing deeper than the limit. A key named `__proto__` stays an ordinary property. Folder `util`: start here; each other file is one helper.
 */

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

export interface JsonLimits {
  /** Maximum nesting depth of objects and arrays. @default 128 */
  readonly maxDepth?: number;
  /** Maximum number of values plus characters of text. @default 256 Mi */
  readonly maxSize?: number;
}

export const MAX_JSON_DEPTH = 128;
export const MAX_JSON_SIZE = 256 * 1024 * 1024;

/** Value outside of JSON, or beyond the limits. */
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

/** Maximum characters of a path in an error; keys can have any length. */
const MAX_PATH = 200;

/** Depth and size of a tree. */
interface Extent {
  readonly depth: number;
  readonly size: number;
}

/** Frozen trees made by `copyJson`. They are reused without a copy but still count towards the limits. */
const copies = new WeakMap<object, Extent>();

/**
 * Deep-frozen copy of a JSON value, without undefined properties.
 * @throws NotJsonError that names the path, e.g. `metadata.a[2] is a function`
 */
export function copyJson(value: unknown, path: string, limits: JsonLimits = {}): JsonValue {
  return copyOf(value, path, limits, false);
}

/** @param isParsed true for values from `JSON.parse`, which need no slow check for getters */
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

  /** Reads a property without calling a getter. */
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

/** Like `copyJson`, for objects only. */
export function copyJsonObject(value: unknown, path: string, limits?: JsonLimits): JsonObject {
  const copied = copyJson(value, path, limits);
  if (!isJsonObject(copied)) throw new NotJsonError(path, `is ${describe(value)}, not an object`);
  return copied;
}

/**
 * Parses JSON text.
 * @throws NotJsonError, which contains no part of the text
 */
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
 * Parses short-lived JSON text, e.g. one event of a stream, without copying or freezing. Undefined if the
 * text is not JSON.
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

/** Sets an own property, even for names such as `__proto__`. */
export function setOwn<T>(target: { [key: string]: T }, key: string, value: T): void {
  if (key in target) {
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  } else target[key] = value;
}

/** Describes the type of a value for an error message; never its content. */
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
    // The object throws when inspected; the default text stays.
  }
  return 'an object';
}
