/** Checks URLs before their host is resolved. */
import { isIpAddress, isPublicAddress } from './ip-address.ts';
import { UnsafeUrlError } from './safe-fetch.ts';

/** Host names that are local by convention. */
const LOCAL_NAMES = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa'];

/**
 * Parses a URL and checks its scheme and host. Addresses of host names are checked later.
 * @throws UnsafeUrlError
 */
export function checkUrl(text: string, allowedHosts: readonly string[] = []): URL {
  const url = URL.parse(text);
  if (url === null) throw new UnsafeUrlError(text, 'it is not a URL.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new UnsafeUrlError(url, 'only http and https URLs are.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new UnsafeUrlError(url, 'it holds a user name or password. Give credentials as headers.');
  }
  const host = hostOf(url);
  if (isAllowed(host, allowedHosts)) return url;
  if (host.split('.').includes('')) throw new UnsafeUrlError(url, 'its host has an empty part.');
  const isLocal = isIpAddress(host)
    ? !isPublicAddress(host)
    : LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
  if (isLocal) throw privateHost(url);
  return url;
}

export function privateHost(url: URL): UnsafeUrlError {
  return new UnsafeUrlError(url, 'its host is private. If you trust it, name it in allowedHosts.');
}

/** Host for a resolver: without brackets, port and trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$|\.$/g, '');
}

/** Tells whether `allowedHosts` contains the host. */
export function isAllowed(host: string, allowedHosts: readonly string[] = []): boolean {
  return allowedHosts.some((name) => name.toLowerCase().replace(/^\[|\]$/g, '') === host);
}
