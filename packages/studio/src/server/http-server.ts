import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';

import type { AgentScopeSocket } from '../agentscope/agentscope-socket.ts';
import { STUDIO_HEADER, type ApiError } from '../protocol.ts';
import type { Access } from './access.ts';
import { ApiFailure } from './api-failure.ts';
import type { LiveServer } from './live-server.ts';
import type { PageFile } from './page-files.ts';
import { readJsonBody } from './request-body.ts';

export interface HttpServerOptions {
  readonly access: () => Access;
  readonly page: ReadonlyMap<string, PageFile>;
  readonly live: LiveServer;
  readonly api: Hono;
  readonly programs: Hono;
  readonly agentScope: Hono;
  readonly otlp: Hono;
  readonly agentScopeSocket: AgentScopeSocket | undefined;
  /** Whether programs may write without a token (AgentScope and OTLP only). */
  readonly hasOpenReceivers: boolean;
  /** Called with an unexpected failure. The answer says nothing about it. */
  readonly onFailure: (error: unknown) => void;
}

const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CSP,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), payment=()',
};

const MAX_HEADER_BYTES = 16 * 1024;
const LOGIN_BYTES = 1024;
const COOKIE_SECONDS = 30 * 86_400;

/**
 * The HTTP server of the Studio. Every request passes here first: Host and Origin, then who asks, then the kind of the request. Only then
 * a route reads the body. Folder `server`: start here.
 */
export function makeHttpServer(options: HttpServerOptions): Server {
  const { live, agentScopeSocket, access, onFailure } = options;
  const answer = getRequestListener(routes(options).fetch, { overrideGlobalObjects: false });
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: 60_000,
      keepAlive: true, // a peer that is gone without a word is noticed
      keepAliveInitialDelay: 30_000,
    },
    (request, response) => {
      for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
      const failure = refusalOf(request, options);
      if (failure !== undefined) return refuse(request, response, failure);
      if (isOwnedBy(request, '/socket.io/')) {
        if (agentScopeSocket === undefined)
          return refuse(request, response, new ApiFailure('not_found', 'Not here.'));
        return agentScopeSocket.handle(request, response);
      }
      if (isPageRequest(request) && access().isOtherName(request)) {
        // One name, so that cookies and Origin are always the same. The browser keeps the fragment with the token.
        response.writeHead(302, { location: `${access().origin}${request.url ?? '/'}` }).end();
        return;
      }
      answer(request, response).catch(onFailure);
    },
  );
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const failure = upgradeRefusal(request, options);
    if (failure !== undefined) {
      socket.on('error', () => {});
      socket.end(`HTTP/1.1 ${failure.status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    } else if (isOwnedBy(request, '/socket.io/')) agentScopeSocket?.upgrade(request, socket, head);
    else live.accept(request, socket, head);
  });
  return server;
}

function routes({ page, api, programs, agentScope, otlp, access, onFailure }: HttpServerOptions): Hono {
  const app = new Hono();
  app.post('/api/login', async (c) => {
    const body = await readJsonBody(c, LOGIN_BYTES);
    const token = typeof body === 'object' && body !== null && 'token' in body ? body.token : undefined;
    if (!access().isToken(token))
      throw new ApiFailure(
        'unauthorized',
        'The token is wrong. The Studio prints the right address when it starts.',
      );
    const cookie = `${access().cookieName}=${access().newCookie()}`;
    c.header('set-cookie', `${cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${COOKIE_SECONDS}`);
    return c.body(null, 204);
  });
  app.route('/api', api);
  app.route('/program', programs);
  app.route('/trpc', agentScope);
  app.route('/v1', otlp);
  app.route('/as/:key/trpc', agentScope);
  app.route('/as/:key/v1', otlp);
  app.get('*', (c) => {
    const path = c.req.path.slice(1);
    const asset = /(?:^|\/)(assets\/[^/]+)$/.exec(path)?.[1]; // relative to any address of the page
    const file = page.get(asset ?? path) ?? (/\.\w+$/.test(path) ? undefined : page.get('index.html'));
    if (file === undefined) throw new ApiFailure('not_found', 'There is no such file.');
    return c.body(file.body, 200, {
      'content-type': file.type,
      'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-store',
    });
  });
  app.use(async (c, next) => {
    await next();
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store');
  });
  app.notFound((c) =>
    c.json({ code: 'not_found', message: 'There is no such route.' } satisfies ApiError, 404),
  );
  app.onError((error, c) => {
    c.header('cache-control', 'no-store');
    if (error instanceof ApiFailure) {
      const { code, message, problems, status } = error;
      return c.json({ code, message, ...(problems && { problems }) } satisfies ApiError, status);
    }
    onFailure(error);
    return c.json(
      { code: 'failed', message: 'The Studio could not do this. Its log says why.' } satisfies ApiError,
      503,
    );
  });
  return app;
}

/** Reason why a request may not pass; undefined if it may. */
function refusalOf(request: IncomingMessage, options: HttpServerOptions): ApiFailure | undefined {
  const access = options.access();
  const refused = access.refusal(request);
  if (refused !== undefined) return new ApiFailure('forbidden', refused.message);
  const path = pathOf(request);
  if (!isPlain(path)) return new ApiFailure('not_found', 'There is no such route.');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (isReceiver(path)) return receiverRefusal(request, path, options);
  if (isOwnedBy(request, '/program/')) return programRefusal(request, access);
  if (!isOwnedBy(request, '/api/')) return isRead ? undefined : methodFailure();
  if (path === '/api/login') return isRead ? methodFailure() : contentRefusal(request);
  const isProgram = access.isToken(access.bearerOf(request));
  if (!isProgram && !access.hasCookie(request))
    return new ApiFailure('unauthorized', 'Log in with the address that the Studio prints.');
  if (isRead) return undefined;
  return request.method === 'POST' ? contentRefusal(request) : methodFailure();
}

/** State changes need a content type and a header that no form and no foreign page can send without being asked about. */
function contentRefusal(request: IncomingMessage): ApiFailure | undefined {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim();
  if (type !== 'application/json') return wrongKind('Send application/json.', 415);
  if (request.headers[STUDIO_HEADER] !== '1')
    return wrongKind(`The header ${STUDIO_HEADER}: 1 is missing.`, 415);
  return undefined;
}

function programRefusal(request: IncomingMessage, access: Access): ApiFailure | undefined {
  if (isFromPage(request)) return new ApiFailure('forbidden', 'This route is for programs.');
  if (access.isToken(access.bearerOf(request))) return undefined;
  return new ApiFailure(
    'unauthorized',
    'The token is missing or wrong. The Studio prints the address with its token.',
  );
}

/** AgentScope programs and tracers: they write, and hear nothing but answers to their own questions. */
function receiverRefusal(
  request: IncomingMessage,
  path: string,
  options: HttpServerOptions,
): ApiFailure | undefined {
  if (isFromPage(request)) return new ApiFailure('forbidden', 'This route is for programs.');
  if (path.startsWith('/socket.io/')) return undefined; // the id of a registered run is the permission
  if (request.method !== 'POST') return methodFailure();
  const access = options.access();
  const bearer = access.bearerOf(request);
  const key = /^\/as\/([\w-]+)\//.exec(path)?.[1];
  const isKnown = access.isToken(bearer) || access.isIngestKey(bearer) || access.isIngestKey(key);
  if (isKnown || (options.hasOpenReceivers && key === undefined)) return undefined;
  return new ApiFailure(
    'unauthorized',
    'A key is missing: the settings of the Studio show the address with its key.',
  );
}

function upgradeRefusal(request: IncomingMessage, options: HttpServerOptions): ApiFailure | undefined {
  const access = options.access();
  const refused = access.refusal(request);
  if (refused !== undefined) return new ApiFailure('forbidden', refused.message);
  if (!isPlain(pathOf(request))) return new ApiFailure('not_found', 'There is no such route.');
  if (isOwnedBy(request, '/socket.io/')) {
    // Clients in Python send the Origin of the Studio itself; any other one was refused before.
    if (request.headers.cookie !== undefined || options.agentScopeSocket === undefined)
      return new ApiFailure('forbidden', 'Not here.');
    return undefined;
  }
  if (pathOf(request) !== '/api/live') return new ApiFailure('not_found', 'There is no such route.');
  if (access.isToken(access.bearerOf(request))) return undefined;
  if (request.headers.origin === undefined) return new ApiFailure('forbidden', 'An Origin is missing.');
  return access.hasCookie(request) ? undefined : new ApiFailure('unauthorized', 'Log in first.');
}

/** A request of the wrong kind: another method or content type. */
function wrongKind(message: string, status: 405 | 415): ApiFailure {
  return new ApiFailure('invalid', message, undefined, status);
}

function methodFailure(): ApiFailure {
  return wrongKind('This method is not allowed here.', 405);
}

function refuse(request: IncomingMessage, response: ServerResponse, failure: ApiFailure): void {
  const body: ApiError = { code: failure.code, message: failure.message };
  // The body of a refused request is not read.
  response.writeHead(failure.status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(JSON.stringify(body));
  request.resume();
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split(/[?#]/, 1)[0] ?? '';
}

/**
 * Whether a path is written as the routes are: absolute, without dot segments, and with nothing encoded in its first segment. Routes are
 * found by the decoded path, so that another spelling of `/api/` would reach a route whose check was skipped.
 */
function isPlain(path: string): boolean {
  return /^\/[^/%]*(?:\/|$)/.test(path) && URL.parse(`http://studio${path}`)?.pathname === path;
}

function isOwnedBy(request: IncomingMessage, prefix: string): boolean {
  return pathOf(request).startsWith(prefix);
}

function isReceiver(path: string): boolean {
  return /^\/(?:trpc|v1|as|socket\.io)\//.test(path);
}

function isPageRequest(request: IncomingMessage): boolean {
  return !/^\/(?:trpc|v1|as|socket\.io|program|api)\//.test(pathOf(request));
}

/** Whether a browser sent the request. Programs send none of these. */
function isFromPage({ headers }: IncomingMessage): boolean {
  return (
    headers.origin !== undefined || headers.cookie !== undefined || headers['sec-fetch-site'] !== undefined
  );
}
