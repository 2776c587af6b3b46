/** Makes a tool name that every provider accepts: letters, digits, `_` and `-`, at most 64 characters. */
export function toolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || '_';
}
