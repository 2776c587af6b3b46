import { abortable } from '../../util/abort.ts';
import { mergeHeaders } from './headers.ts';

/** A value, or a function that returns the value before each request, such as a fresh token. */
export type AskedFor<T> = T | ((options: { readonly signal: AbortSignal }) => T | Promise<T>);

/** Settings of HTTP requests, for a model or for one model call. */
export interface HttpCallOptions {
  /** Key, or a function that returns a fresh one. @default the provider's environment variable */
  readonly apiKey?: AskedFor<string> | undefined;
  /** Base URL of requests. @default the provider's URL */
  readonly baseUrl?: string | undefined;
  /** Additional headers, or a function that returns them. Headers of a model call override the model's by name. */
  readonly headers?: AskedFor<Readonly<Record<string, string>>> | undefined;
  /** Additional parameters of the URL. Parameters of a model call override the model's by name. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /**
   * Whether the answer is requested as a stream. A whole answer gives the same message, as one piece of text
   * for each block; `deadlines.firstByteMs` then limits the time to all of it. @default true
   */
  readonly stream?: boolean | undefined;
}

/** Settings of one HTTP request: those of the model call over those of the model, all functions asked. */
export interface HttpSettings {
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly isStreamed: boolean;
}

/** @throws what a function throws, or the signal's reason */
export async function settleHttp(
  own: HttpCallOptions,
  ofCall: HttpCallOptions = {},
  signal: AbortSignal,
): Promise<HttpSettings> {
  const asked = [ofCall.apiKey ?? own.apiKey, own.headers, ofCall.headers] as const;
  const [apiKey, headers, ofCallHeaders] = areKnown(asked)
    ? asked
    : await Promise.all([ask(asked[0], signal), ask(asked[1], signal), ask(asked[2], signal)]);
  return {
    apiKey,
    baseUrl: ofCall.baseUrl ?? own.baseUrl,
    headers: mergeHeaders(headers ?? {}, ofCallHeaders),
    query: { ...own.query, ...ofCall.query },
    isStreamed: ofCall.stream ?? own.stream ?? true,
  };
}

/**
 * Settings known without a model call: what a function returns is missing.
 * @returns undefined for `apiKey` if a function is asked for the key
 */
export function knownHttp({ apiKey, headers, baseUrl, query = {}, stream }: HttpCallOptions): HttpSettings {
  return {
    ...(typeof apiKey === 'string' && { apiKey }),
    baseUrl,
    headers: mergeHeaders(typeof headers === 'function' ? {} : (headers ?? {}), undefined),
    query,
    isStreamed: stream ?? true,
  };
}

type Headers = Readonly<Record<string, string>>;

function areKnown(
  values: readonly [
    AskedFor<string> | undefined,
    AskedFor<Headers> | undefined,
    AskedFor<Headers> | undefined,
  ],
): values is readonly [string | undefined, Headers | undefined, Headers | undefined] {
  return values.every((value) => typeof value !== 'function');
}

async function ask<T extends string | object>(
  value: AskedFor<T> | undefined,
  signal: AbortSignal,
): Promise<T | undefined> {
  if (typeof value !== 'function') return value;
  return abortable(Promise.resolve(value({ signal })), signal);
}
