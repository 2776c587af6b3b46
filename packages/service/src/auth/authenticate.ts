/** The caller of a request. */
export interface Caller {
  /** Id of the user: sessions, runs, events and files belong to it. */
  readonly user: string;
}

/** Names the caller of a request; undefined if the request is not authenticated. Folder `auth`: start here. */
export type Authenticate = (request: Request) => Caller | undefined | Promise<Caller | undefined>;

/** Maximum length of a bearer token: longer ones are refused before any work. */
const MAX_TOKEN_LENGTH = 8192;

/** The bearer token of a request. */
export function bearerToken(request: Request): string | undefined {
  const header = request.headers.get('authorization') ?? '';
  if (header.length > MAX_TOKEN_LENGTH) return undefined;
  return /^Bearer +([^\s]+)$/i.exec(header)?.[1];
}
