const paths = new Set<string>();

/** Notes a file with a key of this process, which programs in a sandbox must not read. */
export function addPrivateFile(path: string): void {
  paths.add(path);
}

/** Files with keys of this process. */
export function privateFiles(): readonly string[] {
  return [...paths];
}
