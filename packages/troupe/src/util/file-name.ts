import { oneLine } from './text.ts';

const MAX_CHARS = 200;

/**
 * Displayable file name from an untrusted path or URL: without folders, on one line. Undefined if there is
 * none.
 */
export function fileNameIn(path: string): string | undefined {
  const end = path.slice(-2 * MAX_CHARS); // limits the work for very long paths
  const name = end.split(/[/\\]+/).findLast((part) => part !== '');
  return name === undefined ? undefined : oneLine(name).slice(-MAX_CHARS);
}
