/** The twin of `local-file.node.ts` for hosts without files. */
import { LocalFileError, type LocalFileOptions } from './local-file.ts';

export async function readLocalFile(place: string, _options: LocalFileOptions): Promise<Uint8Array> {
  throw new LocalFileError(place, 'is not read: there are no local files here. Give the bytes as base64.');
}
