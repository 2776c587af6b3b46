import { STUDIO_HEADER, type ApiError, type FieldProblem } from '../../../src/protocol.ts';
import { Store } from '../live/store.ts';

/** A failed request. `message` is for people. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly code: ApiError['code'] | 'offline';
  readonly problems: readonly FieldProblem[];

  constructor(code: RequestError['code'], message: string, problems: readonly FieldProblem[] = []) {
    super(message);
    this.code = code;
    this.problems = problems;
  }
}

/** Whether the server knows this browser. `unknown` before the first answer. */
export const access = new Store<'unknown' | 'granted' | 'refused'>('unknown');

type QueryValue = string | number | boolean | readonly string[] | undefined;

/** Address of a route of the server, relative to the page. */
export function apiUrl(path: string, query: Readonly<Record<string, QueryValue>> = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === '' || value === false) continue;
    if (Array.isArray(value)) for (const one of value as readonly string[]) search.append(key, one);
    else search.set(key, value === true ? '1' : String(value));
  }
  const text = search.toString();
  return `api/${path}${text && `?${text}`}`;
}

/** Reads a record of the contract (`protocol.ts`). */
export async function get<Answer>(
  path: string,
  query?: Readonly<Record<string, QueryValue>>,
  signal?: AbortSignal,
): Promise<Answer> {
  return send<Answer>(apiUrl(path, query), { ...(signal && { signal }) });
}

/** Changes something on the server. */
export async function post<Answer>(path: string, body: object): Promise<Answer> {
  return send<Answer>(apiUrl(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json', [STUDIO_HEADER]: '1' },
    body: JSON.stringify(body),
  });
}

async function send<Answer>(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, { ...init, credentials: 'same-origin' }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new RequestError('offline', 'The Studio does not answer.');
  });
  if (response.ok) {
    access.set('granted');
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  }
  if (response.status === 401) access.set('refused');
  throw await failureOf(response);
}

async function failureOf(response: Response): Promise<RequestError> {
  try {
    const { code, message, problems } = (await response.json()) as ApiError;
    return new RequestError(code, message, problems);
  } catch {
    return new RequestError('failed', `The Studio answered with status ${response.status}.`);
  }
}

/** Logs in by the token in the fragment (`#t=…`), and removes the token from the address. */
export async function logInByFragment(): Promise<void> {
  const token = /^#t=([^&]+)/.exec(location.hash)?.[1];
  if (token === undefined) return;
  history.replaceState(null, '', `${location.pathname}${location.search}#/`);
  await logIn(decodeURIComponent(token)).catch(() => access.set('refused'));
}

export async function logIn(token: string): Promise<void> {
  await post('login', { token });
  access.set('granted');
}

/** Text of any error, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
