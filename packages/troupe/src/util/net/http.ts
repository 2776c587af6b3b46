/** Talks to the servers that the developer named. Addresses from anybody else go through safe-fetch. */
export type Fetch = typeof globalThis.fetch;

export const platformFetch: Fetch = (input, init) => globalThis.fetch(input, init);
