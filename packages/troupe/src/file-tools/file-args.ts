import type { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';
import type { JsonSchema } from '../util/schema.ts';

/** Settings of all file tools. The handle is not a tool argument, so a model can't choose another one. */
export interface FileToolSettings {
  readonly handle: FileSystemHandle;
  readonly skipFolders: readonly string[];
  readonly maxMatches: number;
  readonly maxOutputChars: number;
}

/** Schema of tool arguments. Required: arguments without default that are not listed as optional. */
export function argsOf(
  properties: { readonly [name: string]: JsonObject },
  ...optional: readonly string[]
): JsonSchema {
  const required = Object.entries(properties)
    .filter(([name, schema]) => !('default' in schema) && !optional.includes(name))
    .map(([name]) => name);
  return { type: 'object', properties, required, additionalProperties: false };
}

export function text(description: string): JsonObject {
  return { type: 'string', description };
}

export function flag(description: string, value = false): JsonObject {
  return { type: 'boolean', description, default: value };
}

export function count(description: string, value?: JsonValue): JsonObject {
  return { type: 'integer', description, minimum: 1, ...(value === undefined ? {} : { default: value }) };
}

export function range(description: string): JsonObject {
  const items = { type: 'integer' };
  return { type: 'array', description, items, minItems: 2, maxItems: 2 };
}

/** Schema of a path argument; its description lists the allowed folders. */
export function pathIn({ allowedDirectories }: FileSystemHandle, what: string): JsonObject {
  const folders = allowedDirectories.map(({ path }) => path).join(', ');
  return text(`The full path of ${what}, in: ${folders}`);
}
