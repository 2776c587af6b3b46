/** Fetch for servers configured by the developer. URLs from any other source go through safe-fetch. */
export type Fetch = typeof globalThis.fetch;

export const platformFetch: Fetch = (input, init) => globalThis.fetch(input, init);

/** A POST request to a server configured by the developer. Redirects are errors. */
export interface HttpPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  /** Called when the request has its connection, TLS included. */
  readonly onConnected: () => void;
}

/** Headers of a response, by name. */
export type HttpHeaders = Pick<Headers, 'get'>;

/** The answer to a request, whose body is read piece by piece. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** Next piece of the body; undefined at its end. */
  read(): Promise<Uint8Array | undefined>;
  /** Closes the connection, unless the body was read to its end. */
  cancel(): void;
}

/** The response of a fetch, read by the same interface. */
export function fetchedResponse({ status, headers, body }: Response): HttpResponse {
  const reader = body?.getReader();
  return {
    status,
    headers,
    read: async () => {
      const piece = await reader?.read();
      return piece?.value;
    },
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}
