import { Hono, type Context } from 'hono';
import { getLogger } from 'troupe';
import { continueTrace } from 'troupe/kernel';
import { redactKeys } from 'troupe/studio';

import type { Authenticate, Caller } from '../auth/authenticate.ts';
import type { UserLimiter } from '../limits/user-limits.ts';
import { ServiceFailure } from '../service-failure.ts';
import type { ServiceMetrics } from './metrics.ts';
import { DOCS_PAGE, DOCS_SCRIPT, DOCS_STYLE, openApiOf } from './openapi.ts';
import { readJsonBody, validated, type Route } from './route.ts';

export interface AppOptions {
  readonly routes: readonly Route[];
  /** Undefined: every caller is the user `local`, and only loopback names are answered. */
  readonly authenticate: Authenticate | undefined;
  readonly limiter: UserLimiter;
  readonly metrics: ServiceMetrics;
  readonly maxBodyBytes: number;
  /** Origins of pages that may call. @default none */
  readonly corsOrigins: readonly string[];
  /** Whether requests can be taken. */
  readonly isReady: () => Promise<boolean>;
}

const LOCAL: Caller = { user: 'local' };
/** Caller of a public route. */
const NOBODY: Caller = { user: '' };
/** Parameter of a path: without control characters, which a database may refuse. */
const PARAM = /^[^\p{Cc}\p{Cs}]{1,512}$/u;
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i;
const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
} as const;
const DOCS_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * The HTTP face of a service: names the caller, counts the request, validates it and calls the route. A refusal is problem+json with
 * a code; an unexpected failure tells the caller nothing. Folder `http`: start here.
 */
export function makeApp(options: AppOptions): Hono {
  const { routes, metrics } = options;
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(SAFE_HEADERS)) context.res.headers.set(name, value);
  });
  app.use((context, next) => cors(context, next, options.corsOrigins));
  for (const route of routes) {
    const path = route.path.replace(/\{(\w+)\}/g, ':$1');
    app.on(route.method.toUpperCase(), path, async (context) => {
      const response = await answer(context, route, options).catch((error: unknown) => refusal(error, route));
      metrics.countRequest(route.method, route.path, response.status);
      return response;
    });
  }
  const document = JSON.stringify(openApiOf(routes, { isOpen: options.authenticate === undefined }));
  const isOpen = options.authenticate === undefined;
  app.use(async (context, next) => {
    if (isOpen && !isLoopback(context)) return refusal(notLoopback());
    await next();
  });
  app.get('/openapi.json', (context) => context.body(document, 200, { 'content-type': 'application/json' }));
  app.get('/docs', (context) => context.html(DOCS_PAGE, 200, { 'content-security-policy': DOCS_CSP }));
  app.get('/docs.css', (context) => context.body(DOCS_STYLE, 200, { 'content-type': 'text/css' }));
  app.get('/docs.js', (context) => context.body(DOCS_SCRIPT, 200, { 'content-type': 'text/javascript' }));
  app.get('/healthz', (context) => context.text('ok'));
  app.get('/readyz', async (context) =>
    (await options.isReady()) ? context.text('ready') : context.text('not ready', 503),
  );
  app.get('/metrics', (context) => context.text(metrics.text()));
  app.notFound(() => refusal(new ServiceFailure('not_found', 'There is nothing here. See /openapi.json.')));
  app.onError((error) => refusal(error));
  return app;
}

async function answer(context: Context, route: Route, options: AppOptions): Promise<Response> {
  const request = context.req.raw;
  const caller = route.isPublic === true ? NOBODY : await callerOf(context, options.authenticate);
  if (caller === NOBODY && options.authenticate === undefined && !isLoopback(context)) throw notLoopback();
  if (caller !== NOBODY) options.limiter.countRequest(caller.user);
  const params = context.req.param();
  if (Object.values(params).some((param) => !PARAM.test(param)))
    throw new ServiceFailure('not_found', 'There is nothing with such an id.');
  const query = Object.fromEntries(new URL(request.url).searchParams);
  for (const [name, schema] of Object.entries(route.query ?? {}))
    if (query[name] !== undefined) await validated(schema, query[name], name);
  for (const [name, schema] of Object.entries(route.headers ?? {})) {
    const value = request.headers.get(name);
    if (value !== null) await validated(schema, value, name);
  }
  const body = route.body === undefined ? {} : await readJsonBody(request, options.maxBodyBytes);
  const checked = {
    caller,
    params,
    query,
    body: await validated(route.body, body, 'body'),
    headers: request.headers,
    signal: request.signal,
    request,
  };
  const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
  const result = await continueTrace(header, () => route.handle(checked));
  if (result instanceof Response) return result;
  return result === undefined
    ? new Response(null, { status: route.status })
    : Response.json(result, { status: route.status });
}

async function callerOf(context: Context, authenticate: Authenticate | undefined): Promise<Caller> {
  if (authenticate === undefined) {
    if (!isLoopback(context)) throw notLoopback();
    return LOCAL;
  }
  const caller = await authenticate(context.req.raw);
  if (caller === undefined) throw new ServiceFailure('unauthenticated', 'The request needs a valid token.');
  return caller;
}

/** Whether the request names this machine: a page elsewhere whose name leads here does not. */
function isLoopback(context: Context): boolean {
  return LOOPBACK.test(context.req.header('host') ?? new URL(context.req.url).host);
}

function notLoopback(): ServiceFailure {
  return new ServiceFailure('forbidden', 'Without authentication the service answers only on this machine.');
}

/** Whether a page of this origin was loaded from the address of the service. */
function isOwn(origin: string, context: Context): boolean {
  return URL.parse(origin)?.host === (context.req.header('host') ?? new URL(context.req.url).host);
}

async function cors(
  context: Context,
  next: () => Promise<void>,
  origins: readonly string[],
): Promise<Response | undefined> {
  const origin = context.req.header('origin');
  const isNamed = origin !== undefined && origins.includes(origin);
  const isPreflight = context.req.method === 'OPTIONS';
  // A page can send some requests to another origin without asking first, and those may change something.
  if (!isNamed && (isPreflight || (origin !== undefined && !isOwn(origin, context))))
    return refusal(
      new ServiceFailure('forbidden', 'Pages of this origin may not call the service: see corsOrigins.'),
    );
  if (!isPreflight) await next();
  if (!isNamed) return undefined;
  const headers = {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers':
      'authorization, content-type, idempotency-key, last-event-id, x-session-id, a2a-version, mcp-session-id, mcp-protocol-version',
    'access-control-expose-headers': 'mcp-session-id',
    vary: 'origin',
  };
  if (isPreflight) return new Response(null, { status: 204, headers });
  for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value);
  return undefined;
}

/** A failure as a response. Texts of unexpected errors stay in the log. */
function refusal(error: unknown, route?: Route): Response {
  if (!(error instanceof ServiceFailure))
    getLogger().log('error', `A request failed: ${redactKeys(String(error))}`);
  const failure =
    error instanceof ServiceFailure
      ? error
      : new ServiceFailure('internal', 'Something failed. It was logged.');
  if (route?.failure !== undefined) return route.failure(failure);
  const { status, code, message, retryAfter } = failure;
  const problem = { type: 'about:blank', title: code.replaceAll('_', ' '), status, detail: message, code };
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' };
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  return new Response(JSON.stringify(problem), { status, headers });
}
