import type { StandardSchemaV1 } from '@standard-schema/spec';

/**
 * Reads a value of the protocol from the other side, at once. The schemas of the SDK answer by a promise, which rejects, if a
 * value is nested so deep that it can't be checked: such a value is not valid.
 * @returns undefined if the value is not valid
 */
export function readSpecType<T>(schema: StandardSchemaV1<unknown, T>, value: unknown): T | undefined {
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise) {
    result.catch(() => {}); // not valid
    return undefined;
  }
  return result.issues === undefined ? result.value : undefined;
}
