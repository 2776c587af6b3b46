/** Options, result and errors shared by `safe-fetch.node.ts` and `safe-fetch.browser.ts`. Folder `util/net`: start here. */

import { cutText } from '../text.ts';

/** Default maximum size of a download in bytes. */
export const MAX_BYTES = 20 * 1024 * 1024;

export interface SafeFetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Maximum size of the body in bytes. @default 20 MiB */
  readonly maxBytes?: number | undefined;
  /** Maximum time in total, redirects included. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of redirects, at most 10. @default 10 */
  readonly maxRedirects?: number | undefined;
  /** Accepted media types, e.g. `image/*`. @default all */
  readonly accept?: readonly string[] | undefined;
  /** Request headers, sent only to the origin of the URL and not to other origins after a redirect. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Hosts that may be private, by name or address: `intranet.example`, `127.0.0.1`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Resolves a host to its addresses. @default the resolver of the system */
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined;
}

export interface Download {
  readonly bytes: Uint8Array;
  /** Media type without parameters; `application/octet-stream` if the server sent none. */
  readonly mediaType: string;
  /** Text encoding, if sent by the server. */
  readonly charset?: string;
  /** Final URL after all redirects. */
  readonly url: string;
}

export type DownloadErrorCode =
  | 'unsafe_url'
  | 'too_many_redirects'
  | 'too_large'
  | 'timed_out'
  | 'wrong_type'
  | 'bad_answer'
  | 'network'
  | 'unsupported';

/** Failed download. The message shows only protocol, host and path of the URL. */
export class DownloadError extends Error {
  override readonly name: string = 'DownloadError';

  constructor(
    readonly code: DownloadErrorCode,
    url: string | URL,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`${showUrl(url)} ${problem}`, options);
  }
}

/** URL of a host that may be inside the private network. Nothing was sent to it. */
export class UnsafeUrlError extends DownloadError {
  override readonly name = 'UnsafeUrlError';

  constructor(url: string | URL, problem: string) {
    super('unsafe_url', url, `is not downloaded: ${problem}`);
  }
}

const MAX_SHOWN = 200;

/** URL for an error message: shortened, without user, password and query, which can hold secrets. */
function showUrl(url: string | URL): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : url;
  if (parsed === null) return 'The text';
  const shown =
    parsed.host === '' ? `A ${parsed.protocol} URL` : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  return cutText(shown, MAX_SHOWN);
}
