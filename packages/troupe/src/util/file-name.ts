import { oneLine } from './text.ts';

const MAX_CHARS = 200;

/** The name of a file by a path or address that a stranger gave, to be shown; undefined if there is none. It names no folder. */
export function fileNameIn(path: string): string | undefined {
  const end = path.slice(-2 * MAX_CHARS); // however long it is
  const name = end.split(/[/\\]+/).findLast((part) => part !== '');
  return name === undefined ? undefined : oneLine(name).slice(-MAX_CHARS);
}
