/** The twin of `safe-fetch.node.ts` for browsers and other hosts that hide to which address they connect. */
import { DownloadError, type Download, type SafeFetchOptions } from './safe-fetch.ts';

export async function safeFetch(url: string, _options?: SafeFetchOptions): Promise<Download> {
  throw new DownloadError(
    'unsupported',
    url,
    'is not downloaded: here nobody can check where it leads. Give the bytes as base64.',
  );
}
