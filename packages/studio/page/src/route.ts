import { encoded } from './encoded.ts';
import { useSyncExternalStore } from 'react';

/** An address inside the page: `#/runs/abc?at=12` has the path `['runs', 'abc']`. In the fragment, so that the Studio works below any path. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** Address of a path with a query. Undefined values are left out. */
export function hrefOf(path: readonly string[], query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return `#/${path.map(encoded).join('/')}${text && `?${text}`}`;
}

export function goTo(path: readonly string[], query?: Query): void {
  location.hash = hrefOf(path, query).slice(1);
}

/** Changes the query of the present address, without a new entry in the history. */
export function changeQuery(change: Query): void {
  const { path, query } = parseRoute(location.hash);
  const next: Record<string, string | number | undefined> = { ...Object.fromEntries(query), ...change };
  history.replaceState(null, '', hrefOf(path, next));
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

let last: { readonly hash: string; readonly route: Route } | undefined;

function currentRoute(): Route {
  if (last?.hash !== location.hash) last = { hash: location.hash, route: parseRoute(location.hash) };
  return last.route;
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, currentRoute);
}
