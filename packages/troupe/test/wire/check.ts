import { isJsonObject, type JsonObject } from '../../src/util/json.ts';

/** Collects what is wrong with a request. */
export class Faults {
  readonly list: string[] = [];

  /** Records a fault if the condition is false; returns the condition. */
  must(holds: boolean, fault: string): boolean {
    if (!holds) this.list.push(fault);
    return holds;
  }

  /** The value must be an object with no keys but these. */
  object(value: unknown, path: string, keys: readonly string[]): value is JsonObject {
    if (!this.must(isJsonObject(value), `${path} must be an object`)) return false;
    for (const key of Object.keys(value as JsonObject))
      this.must(keys.includes(key), `${path}.${key} is unknown`);
    return true;
  }

  /** The value must be a list; returns it. */
  items(value: unknown, path: string): readonly unknown[] {
    return this.must(Array.isArray(value), `${path} must be a list`) ? (value as unknown[]) : [];
  }

  text(value: unknown, path: string, pattern = /\S/): value is string {
    return this.must(
      typeof value === 'string' && pattern.test(value),
      `${path} must be text like ${pattern}`,
    );
  }

  unique(values: readonly unknown[], path: string): void {
    this.must(new Set(values).size === values.length, `${path} must be unique`);
  }
}

export function isLike(value: unknown, ...types: string[]): boolean {
  return types.includes(value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
}

export function jsonObjectIn(text: unknown): boolean {
  try {
    return typeof text === 'string' && isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}
