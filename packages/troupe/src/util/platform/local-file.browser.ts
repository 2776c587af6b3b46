/** Browser version of `local-file.node.ts`, for hosts without files. */
import { LocalFileError, type LocalFileOptions } from './local-file.ts';

export async function readLocalFile(path: string, _options: LocalFileOptions): Promise<Uint8Array> {
  throw new LocalFileError(path, 'is not read: this platform has no local files. Give the bytes as base64.');
}
