import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';

/** Request whose connection is awaited. */
interface Watch {
  readonly origin: string | undefined;
  readonly onConnected: () => void;
}

const current = new AsyncLocalStorage<Watch>();
const watches = new WeakMap<object, Watch>();
let isListening = false;

/** Whether fetch reports its connections here: Node's does, those of Bun and Deno don't. */
export const reportsConnections =
  process.versions['undici'] !== undefined &&
  process.versions['bun'] === undefined &&
  process.versions['deno'] === undefined;

/**
 * Runs work that fetches, and calls `onConnected` each time that a request to `origin`, or to any server, has its
 * connection and is being sent. Learned from Node's own fetch, which publishes both moments.
 */
export function watchConnection<T>(origin: string | undefined, onConnected: () => void, work: () => T): T {
  if (!isListening) listen();
  isListening = true;
  return current.run({ origin, onConnected }, work);
}

function listen(): void {
  subscribe('undici:request:create', (message) => {
    const watch = current.getStore(); // set if the work has made the request
    const { request } = message as { readonly request: { readonly origin?: unknown } };
    if (watch === undefined) return;
    if (watch.origin === undefined || watch.origin === String(request.origin)) watches.set(request, watch);
  });
  subscribe('undici:client:sendHeaders', (message) => {
    const { request } = message as { readonly request: object };
    watches.get(request)?.onConnected();
  });
}
