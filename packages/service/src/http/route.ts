import type { JsonSchema } from 'troupe';
import { validateWith } from 'troupe/kernel';

import type { Caller } from '../auth/authenticate.ts';
import { ServiceFailure } from '../service-failure.ts';
import { readBody } from './read-body.ts';

/** One request, authenticated, with its validated parts. */
export interface RouteRequest {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
  /** The request itself. Its body is unread if the route has no schema for it. */
  readonly request: Request;
}

/** One operation of the API: what validates a request is also what the OpenAPI document says. */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Path with `{name}` for parameters. */
  readonly path: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  readonly body?: JsonSchema;
  /** Media type of a body that is no JSON, and that the route reads by itself. */
  readonly takes?: string;
  readonly status: number;
  /** Schema of the answer; undefined for answers without JSON. */
  readonly answer?: JsonSchema;
  /** Media type of the answer. @default 'application/json' */
  readonly mediaType?: string;
  /** Whether the route answers without a token: there is no caller. @default false */
  readonly isPublic?: boolean;
  /** A refusal in the form of another protocol. @default problem+json */
  readonly failure?: (failure: ServiceFailure) => Response;
  readonly handle: (request: RouteRequest) => Promise<Response | object | undefined>;
}

/** Reads a body of JSON, at most `maxBytes` long. @throws ServiceFailure */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  const body = await readBody(request, maxBytes);
  if (body.byteLength === 0) return {};
  const type = request.headers.get('content-type') ?? '';
  // A page of another origin can't send this type without asking first.
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type))
    throw new ServiceFailure('unsupported_type', 'The body must have the content type application/json.');
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    return JSON.parse(text, withoutPrototype);
  } catch {
    throw new ServiceFailure('invalid_request', 'The body is not JSON.');
  }
}

/** Leaves out keys that could reach a prototype. */
function withoutPrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value;
}

/** @throws ServiceFailure with the first problem */
export async function validated(
  schema: JsonSchema | undefined,
  value: unknown,
  where: string,
): Promise<Readonly<Record<string, unknown>>> {
  if (schema === undefined) return {};
  const result = await validateWith(schema, value);
  if (result.ok) return result.value as Readonly<Record<string, unknown>>;
  const [problem] = result.problems;
  const path = problem?.path === undefined || problem.path === '' ? where : `${where}.${problem.path}`;
  throw new ServiceFailure('invalid_request', `${path}: ${problem?.message ?? 'is not valid'}`);
}
