/** Which URLs may be asked at all, as far as that can be said before their host is looked up. */
import { isIpAddress, isPublicAddress } from './ip-address.ts';
import { UnsafeUrlError } from './safe-fetch.ts';

/** Names that by convention never mean a public host. */
const LOCAL_NAMES = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa'];

/**
 * The URL, if its scheme and host may be asked. The addresses of a host name are yet to be checked.
 * @throws UnsafeUrlError
 */
export function checkUrl(text: string, allowHosts: readonly string[] = []): URL {
  const url = URL.parse(text);
  if (url === null) throw new UnsafeUrlError(text, 'it is no URL.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new UnsafeUrlError(url, 'only http and https are.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new UnsafeUrlError(url, 'it holds a user name or password. Give credentials as headers.');
  }
  const host = hostOf(url);
  if (isAllowed(host, allowHosts)) return url;
  if (host.split('.').includes('')) throw new UnsafeUrlError(url, 'its host has an empty part.');
  const isLocal = isIpAddress(host)
    ? !isPublicAddress(host)
    : LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
  if (isLocal) throw privateHost(url);
  return url;
}

export function privateHost(url: URL): UnsafeUrlError {
  return new UnsafeUrlError(url, 'its host is private. If you trust it, name it in allowHosts.');
}

/** The host as a resolver wants it: no brackets, no port, no dot at the end. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$|\.$/g, '');
}

/** Whether a host was named as one that may be private. */
export function isAllowed(host: string, allowHosts: readonly string[] = []): boolean {
  return allowHosts.some((name) => name.toLowerCase().replace(/^\[|\]$/g, '') === host);
}
