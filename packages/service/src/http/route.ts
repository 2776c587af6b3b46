import type { JsonSchema } from 'troupe';
import { validateWith } from 'troupe/kernel';

import type { Caller } from '../auth/authenticate.ts';
import { ServiceFailure } from '../service-failure.ts';

/** One request, authenticated, with its validated parts. */
export interface RouteRequest {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

/** One operation of the API: what validates a request is also what the OpenAPI document says. */
export interface Route {
  readonly method: 'get' | 'post' | 'delete';
  /** Path with `{name}` for parameters. */
  readonly path: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  readonly body?: JsonSchema;
  readonly status: number;
  /** Schema of the answer; undefined for answers without JSON. */
  readonly answer?: JsonSchema;
  /** Media type of the answer. @default 'application/json' */
  readonly mediaType?: string;
  /** A refusal in the form of another protocol. @default problem+json */
  readonly failure?: (failure: ServiceFailure) => Response;
  readonly handle: (request: RouteRequest) => Promise<Response | object | undefined>;
}

/** Reads a body of JSON, at most `maxBytes` long. @throws ServiceFailure */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const type = request.headers.get('content-type') ?? '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (request.body !== null)
    for await (const chunk of request.body) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  if (size === 0) return {};
  // A page of another origin can't send this type without asking first.
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type))
    throw new ServiceFailure('invalid_request', 'The body must have the content type application/json.');
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return JSON.parse(text, withoutPrototype);
  } catch {
    throw new ServiceFailure('invalid_request', 'The body is not JSON.');
  }
}

/** Leaves out keys that could reach a prototype. */
function withoutPrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value;
}

function tooLarge(maxBytes: number): ServiceFailure {
  return new ServiceFailure('too_large', `The body is larger than ${maxBytes} bytes.`);
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
