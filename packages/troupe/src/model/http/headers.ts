import { TroupeError } from '../../errors.ts';

type Headers = Readonly<Record<string, string>>;

/** Merges headers under lower-case names; given headers override own ones. */
export function mergeHeaders(own: Headers, given: Headers | undefined): Headers {
  const merged: Record<string, string> = {};
  for (const [name, value] of [...Object.entries(own), ...Object.entries(given ?? {})])
    merged[name.toLowerCase()] = value;
  return merged;
}

/**
 * Returns the key if it is valid in a header.
 * @throws TroupeError, which does not contain the key
 */
export function checkKey(vendor: string, key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  const problem = key === '' ? 'is empty' : 'contains white space or other invalid characters';
  throw new TroupeError('invalid_config', `The key for ${vendor} ${problem}.`);
}

/**
 * Returns the URL without trailing slashes of its path, and without a fragment. A query stays.
 * @throws TroupeError if the URL is invalid, or contains a password, which errors and logs would show
 */
export function checkBaseUrl(vendor: string, url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new TroupeError(
      'invalid_config',
      `The baseUrl of ${vendor} must be a URL such as https://example.com/v1.`,
    );
  }
  const { username, password } = new URL(url);
  if (username === '' && password === '') return joinUrl(url, '');
  throw new TroupeError(
    'invalid_config',
    `The baseUrl of ${vendor} must not contain a user or a password. Use the option headers.`,
  );
}

/** Adds a path before the query of a URL. Parameters replace those of the same name in the query. */
export function joinUrl(base: string, path: string, params: Readonly<Record<string, string>> = {}): string {
  const [, start = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(base) ?? [];
  const kept = query.split('&').filter((pair) => pair !== '' && !Object.hasOwn(params, nameIn(pair)));
  const added = Object.entries(params).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const whole = [...kept, ...added].join('&');
  return `${start.replace(/\/+$/, '')}${path}${whole === '' ? '' : `?${whole}`}`;
}

/** Names of parameters that hold secrets, by their ending. */
const SECRET_PARAMETER = /(?:key|token|secret|sig|signature|code|password|auth)$/i;

/** Secrets in the query of a URL, as they are written there and decoded. */
export function secretsInQuery(url: string): readonly string[] {
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  const written = query.split('&').filter((pair) => SECRET_PARAMETER.test(nameIn(pair)));
  const decoded = [...new URLSearchParams(written.join('&')).values()];
  return [...written.map((pair) => pair.slice(nameIn(pair).length + 1)), ...decoded];
}

function nameIn(pair: string): string {
  return pair.split('=', 1)[0] ?? '';
}
