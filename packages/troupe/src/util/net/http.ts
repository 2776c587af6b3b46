/** Fetch for servers configured by the developer. URLs from any other source go through safe-fetch. */
export type Fetch = typeof globalThis.fetch;

export const platformFetch: Fetch = (input, init) => globalThis.fetch(input, init);
