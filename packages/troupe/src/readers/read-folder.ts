import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { SourceDocument } from '../document/chunk.ts';
import { TroupeError } from '../errors.ts';
import { readDocument } from './read-document.ts';
import { overLimit, settleLimits, type ReadDocumentOptions } from './read-options.ts';
import { kindOfName } from './source-file.ts';

export interface ReadFolderOptions extends ReadDocumentOptions {
  /** Whether a file is read, by its path below the folder. @default all files of known types, without hidden ones */
  readonly include?: ((path: string) => boolean) | undefined;
  /** Called for a file that can't be read; the others are read. @default the error ends the reading */
  readonly onError?: ((path: string, error: unknown) => void) | undefined;
}

/**
 * Documents of the files below a folder (images only with `includeImages`), one after another in the order of their names, for `SimpleKnowledge.sync`.
 * The id of a document is its path below the folder. Links are not followed.
 */
export async function* readFolder(
  folder: string,
  { include = () => true, onError, ...options }: ReadFolderOptions = {},
): AsyncGenerator<SourceDocument> {
  const { maxBytes } = settleLimits(options.limits);
  for await (const path of filesBelow(folder, '')) {
    const kind = kindOfName(path);
    const isLeftOut = kind === undefined || (kind === 'image' && options.includeImages !== true);
    if (isLeftOut || !include(path)) continue;
    options.signal?.throwIfAborted();
    try {
      const { size } = await stat(join(folder, path));
      if (size > maxBytes) throw overLimit(`'${path}' has ${size} bytes`, 'maxBytes');
      yield await readDocument({ id: path, data: await readFile(join(folder, path)) }, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (onError === undefined) throw error;
      onError(path, error);
    }
  }
}

async function* filesBelow(root: string, folder: string): AsyncGenerator<string> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((cause: unknown) => {
    throw new TroupeError('file_failed', `The folder '${join(root, folder)}' can't be read.`, { cause });
  });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.')) continue;
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(root, path);
    else if (entry.isFile()) yield path;
  }
}
