import { TroupeError } from 'troupe';

import { ServiceFailure } from '../service-failure.ts';

/**
 * The request for a server inside the service. The service has checked the host, the origin and the caller, so the server sees a request
 * of this machine.
 */
export function mountedRequest(request: Request, body: Uint8Array | undefined): Request {
  const { pathname, search } = new URL(request.url);
  const headers = new Headers(request.headers);
  for (const name of ['origin', 'authorization', 'cookie', 'content-length', 'transfer-encoding'])
    headers.delete(name);
  headers.set('host', 'localhost');
  return new Request(`http://localhost${pathname}${search}`, {
    method: request.method,
    headers,
    signal: request.signal,
    ...(body !== undefined && { body: new Uint8Array(body) }),
  });
}

/** Answers by a server whose package is optional. @throws ServiceFailure if the package is not installed */
export async function answerWith(name: string, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new ServiceFailure('not_available', `The service can't do this: it needs the package ${name}.`);
  }
}

function isMissing(error: unknown): boolean {
  if (TroupeError.isInstance(error)) return error.code === 'invalid_config';
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
}
