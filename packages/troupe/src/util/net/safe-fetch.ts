/** What `safe-fetch.node.ts` and `safe-fetch.browser.ts` both speak: options, result and errors. */

import { cutText } from '../text.ts';

/** The most bytes that are taken in, unless somebody says otherwise. */
export const MAX_BYTES = 20 * 1024 * 1024;

export interface SafeFetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** The most bytes that a body may have; 20 MB by default. */
  readonly maxBytes?: number | undefined;
  /** The most time for all of it, redirects included; 30 s by default. */
  readonly timeoutMs?: number | undefined;
  /** By default 10, which is also the most. */
  readonly maxRedirects?: number | undefined;
  /** The media types that are wanted, such as `image/*`; all by default. */
  readonly accept?: readonly string[] | undefined;
  /** Sent to the origin of the URL, and to no other that it redirects to. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Hosts that may be private, by name or address: `intranet.example`, `127.0.0.1`. */
  readonly allowHosts?: readonly string[] | undefined;
  /** Finds the addresses of a host; by default the system does. */
  readonly lookup?: ((host: string) => Promise<readonly string[]>) | undefined;
}

export interface Download {
  readonly bytes: Uint8Array;
  /** Without parameters; `application/octet-stream` if the server named none. */
  readonly mediaType: string;
  /** The encoding of text, if the server named one. */
  readonly charset?: string;
  /** Where the bytes came from, after all redirects. */
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

/** A URL that was not downloaded. Its message shows no more of the URL than host and path. */
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

/** A URL that leads, or could lead, to where only this machine or its network may go. Nothing was sent there. */
export class UnsafeUrlError extends DownloadError {
  override readonly name = 'UnsafeUrlError';

  constructor(url: string | URL, problem: string) {
    super('unsafe_url', url, `is not downloaded: ${problem}`);
  }
}

const MAX_SHOWN = 200;

/** A URL as an error shows it: without user, password and query, where secrets are, and not too long. */
function showUrl(url: string | URL): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : url;
  if (parsed === null) return 'The text';
  const shown =
    parsed.host === '' ? `A ${parsed.protocol} URL` : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  return cutText(shown, MAX_SHOWN);
}
