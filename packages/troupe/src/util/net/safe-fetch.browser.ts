/** Browser version of `safe-fetch.node.ts`, for hosts with hidden connection addresses. */
import { DownloadError, type Download, type SafeFetchOptions } from './safe-fetch.ts';

export async function safeFetch(url: string, _options?: SafeFetchOptions): Promise<Download> {
  throw new DownloadError(
    'unsupported',
    url,
    'is not downloaded: this platform can not check its address. Give the bytes as base64.',
  );
}
