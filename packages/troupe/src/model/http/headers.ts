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
 * Returns the URL without trailing slashes.
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
  if (username === '' && password === '') return url.replace(/\/+$/, '');
  throw new TroupeError(
    'invalid_config',
    `The baseUrl of ${vendor} must not contain a user or a password. Use the option headers.`,
  );
}
