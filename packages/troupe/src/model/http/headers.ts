import { TroupeError } from '../../errors.ts';

type Headers = Readonly<Record<string, string>>;

/** Headers under lower-case names; those that are given win over our own. */
export function mergeHeaders(own: Headers, given: Headers | undefined): Headers {
  const merged: Record<string, string> = {};
  for (const [name, value] of [...Object.entries(own), ...Object.entries(given ?? {})])
    merged[name.toLowerCase()] = value;
  return merged;
}

/**
 * The key, if it can stand in a header.
 * @throws TroupeError, which does not show it.
 */
export function checkKey(vendor: string, key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  const problem = key === '' ? 'is empty' : 'holds white space or other characters that no key has';
  throw new TroupeError('invalid_config', `The key for ${vendor} ${problem}.`);
}

/**
 * The address without a slash at its end.
 * @throws TroupeError if it is none, or holds a password: that would be shown in errors and logs.
 */
export function checkBaseUrl(vendor: string, url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new TroupeError(
      'invalid_config',
      `The baseUrl of ${vendor} must be an address such as https://example.com/v1.`,
    );
  }
  const { username, password } = new URL(url);
  if (username === '' && password === '') return url.replace(/\/+$/, '');
  throw new TroupeError(
    'invalid_config',
    `The baseUrl of ${vendor} must not hold a user or a password. Use the option headers.`,
  );
}
