import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Answer to a request that may not pass. */
export interface Refusal {
  readonly status: 400 | 401 | 403;
  readonly message: string;
}

export interface AccessOptions {
  /** `name:port` under which the Studio is reached, the canonical one first. */
  readonly hosts: readonly string[];
  /** Scheme of the page's address. @default 'http' */
  readonly scheme?: 'http' | 'https';
  readonly token: string;
  /** Key of receivers that take items and give nothing back. */
  readonly ingestKey: string;
  /** Secret for cookies, the same after a restart. */
  readonly secret: string;
}

/**
 * Decides who may pass. Host first, on every request and upgrade, against DNS rebinding; then Origin with scheme, name and port, because
 * cookies are sent from other ports of the same machine too; then the cookie of the page, or the token of a program.
 */
export class Access {
  readonly #options: AccessOptions;
  readonly origin: string;
  readonly cookieName: string;

  constructor(options: AccessOptions) {
    this.#options = options;
    const [host = ''] = options.hosts;
    this.origin = `${options.scheme ?? 'http'}://${host}`;
    this.cookieName = `troupe_studio_${/:(\d+)$/.exec(host)?.[1] ?? ''}`;
  }

  /** Checks Host, and Origin and fetch metadata where a browser sends them. */
  refusal(request: IncomingMessage): Refusal | undefined {
    const hosts = valuesOf(request, 'host');
    const [host] = hosts;
    if (hosts.length !== 1 || host === undefined || !this.#options.hosts.includes(host.toLowerCase()))
      return { status: 403, message: 'This Host is not served here.' };
    const origins = valuesOf(request, 'origin');
    if (origins.length > 1 || origins.some((origin) => origin !== this.origin))
      return { status: 403, message: 'This Origin may not do this.' };
    const sites = valuesOf(request, 'sec-fetch-site');
    const isNavigation = valuesOf(request, 'sec-fetch-mode')[0] === 'navigate' && request.method === 'GET';
    const isOwn = sites.every((site) => site === 'same-origin' || site === 'none');
    // A link from elsewhere may open the page, which holds nothing before the login.
    if (!isOwn && !isNavigation) return { status: 403, message: 'This request comes from another site.' };
    return undefined;
  }

  /** Whether the request came under another name than the canonical one. */
  isOtherName(request: IncomingMessage): boolean {
    return request.headers.host?.toLowerCase() !== this.#options.hosts[0];
  }

  isToken(given: unknown): boolean {
    return typeof given === 'string' && isEqual(given, this.#options.token);
  }

  isIngestKey(given: unknown): boolean {
    return typeof given === 'string' && isEqual(given, this.#options.ingestKey);
  }

  /** Value of a new cookie. */
  newCookie(): string {
    const id = randomBytes(18).toString('base64url');
    return `${id}.${this.#sign(id)}`;
  }

  /** Whether the request carries the cookie of the page. */
  hasCookie(request: IncomingMessage): boolean {
    const values = (request.headers.cookie ?? '').split(';').flatMap((part) => {
      const [name = '', value = ''] = part.trim().split('=', 2);
      return name === this.cookieName ? [value] : [];
    });
    const [id = '', signature = ''] = values.length === 1 ? (values[0] ?? '').split('.', 2) : [];
    return id !== '' && isEqual(signature, this.#sign(id));
  }

  /** The `Authorization: Bearer` of a request. */
  bearerOf(request: IncomingMessage): string | undefined {
    return /^Bearer ([\w.~+/=-]{1,200})$/.exec(request.headers.authorization ?? '')?.[1];
  }

  #sign(id: string): string {
    return createHmac('sha256', this.#options.secret).update(`page ${id}`).digest('base64url');
  }
}

/** A new random text of 192 bits. */
export function newSecret(): string {
  return randomBytes(24).toString('base64url');
}

/** All values of a header, as they were sent: Node itself keeps only one of some. */
function valuesOf(request: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < request.rawHeaders.length; i += 2)
    if (request.rawHeaders[i]?.toLowerCase() === name) values.push(request.rawHeaders[i + 1] ?? '');
  return values;
}

/** Compares in constant time. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
