import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Sparse {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

interface Point {
  id: string;
  vector: Record<string, number[] | Sparse>;
  payload: Record<string, unknown>;
}

interface Condition {
  readonly key: string;
  readonly match?: { readonly any: readonly unknown[] };
  readonly range?: Readonly<Record<string, number>>;
}

interface Body {
  readonly points?: (Point | string)[];
  readonly payload?: Record<string, unknown>;
  readonly filter?: { readonly must: readonly Condition[] };
  readonly query?: number[] | Sparse;
  readonly using?: string;
  readonly limit?: number;
  readonly offset?: string;
  readonly vectors?: Record<string, { size: number }> | undefined;
  readonly sparse_vectors?: Record<string, { modifier: 'idf' }> | undefined;
}

/**
 * Server with the part of Qdrant's HTTP API that the store uses, on real HTTP: no binary of Qdrant can be had
 * from npm or Debian. The shapes of requests and answers are those of its documentation.
 */
export async function fakeQdrant(): Promise<{ url: string } & AsyncDisposable> {
  const collections = new Map<
    string,
    { config: Pick<Body, 'vectors' | 'sparse_vectors'>; points: Map<string, Point> }
  >();
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const send = (status: number, result: unknown): void => {
        response.writeHead(status, { 'content-type': 'application/json' });
        const body =
          status === 200 ? { result, status: 'ok', time: 0 } : { status: { error: result }, time: 0 };
        response.end(JSON.stringify(body));
      };
      const { pathname } = new URL(request.url ?? '', 'http://x');
      const [, , name = '', ...rest] = pathname.split('/');
      const body = (text === '' ? {} : JSON.parse(text)) as Body;
      const route = `${request.method} ${rest.join('/')}`;
      const found = collections.get(name);
      if (route === 'GET exists') return send(200, { exists: found !== undefined });
      if (route === 'PUT ') {
        const { vectors, sparse_vectors } = body;
        collections.set(name, { config: { vectors, sparse_vectors }, points: new Map() });
        return send(200, true);
      }
      if (found === undefined) return send(404, `Not found: Collection \`${name}\` doesn't exist!`);
      const matching = (): Point[] =>
        [...found.points.values()].filter(({ payload }) =>
          (body.filter?.must ?? []).every((one) => holds(payload, one)),
        );
      switch (route) {
        case 'GET ':
          return send(200, {
            config: { params: found.config },
            points_count: found.points.size,
          });
        case 'PUT index':
          return send(200, { operation_id: 1, status: 'completed' });
        case 'PUT points':
          for (const point of body.points ?? []) {
            if (typeof point === 'string') continue;
            if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(point.id))
              return send(400, 'Unable to parse UUID');
            const { indices = [], values = [] } = (point.vector['words'] ?? {}) as Partial<Sparse>;
            if (indices.length !== values.length || new Set(indices).size !== indices.length)
              return send(422, 'Validation error: must be the same length and unique');
            found.points.set(point.id, point);
          }
          return send(200, { operation_id: 2, status: 'completed' });
        case 'PUT points/payload':
          for (const id of body.points ?? []) {
            const point = found.points.get(String(id));
            if (point !== undefined) point.payload = body.payload ?? {};
          }
          return send(200, { operation_id: 3, status: 'completed' });
        case 'PUT points/vectors':
          for (const one of body.points ?? []) {
            const point = typeof one === 'string' ? undefined : found.points.get(one.id);
            if (point !== undefined) point.vector = { ...point.vector, ...(one as Point).vector };
          }
          return send(200, { operation_id: 5, status: 'completed' });
        case 'POST points/count':
          return send(200, { count: matching().length });
        case 'POST points/delete':
          for (const { id } of matching()) found.points.delete(id);
          return send(200, { operation_id: 4, status: 'completed' });
        case 'POST points/scroll': {
          const { limit = 10, offset = '' } = body;
          const after = matching()
            .sort((a, b) => (a.id < b.id ? -1 : 1))
            .filter(({ id }) => id >= offset);
          const points = after.slice(0, limit).map(({ id, payload }) => ({ id, payload }));
          return send(200, { points, next_page_offset: after[limit]?.id ?? null });
        }
        case 'POST points/query': {
          const { query = [], using = '', limit = 10 } = body;
          const all = [...found.points.values()].flatMap(
            ({ vector }) => (vector[using] ?? []) as Sparse | [],
          );
          const points = matching()
            .flatMap(({ id, vector, payload }) => {
              const own = vector[using];
              if (own === undefined) return [];
              if (Array.isArray(own) && Array.isArray(query))
                return [{ id, version: 1, payload, score: cosine(own, query) }];
              const score = sparseScore(own as Sparse, query as Sparse, all);
              return score === 0 ? [] : [{ id, version: 1, payload, score }];
            })
            .sort((a, b) => b.score - a.score)
            .slice(0, limit);
          return send(200, { points });
        }
        default:
          return send(404, `no route ${route}`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function holds(payload: Record<string, unknown>, { key, match, range = {} }: Condition): boolean {
  const value = key
    .split('.')
    .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], payload);
  if (match !== undefined)
    return (Array.isArray(value) ? value : [value]).some((one) => match.any.includes(one));
  const { gte = -Infinity, gt = -Infinity, lte = Infinity, lt = Infinity } = range;
  return typeof value === 'number' && value >= gte && value > gt && value <= lte && value < lt;
}

/** Dot product, with the rarity of each index in the collection: the modifier `idf`. */
function sparseScore(own: Sparse, query: Sparse, all: readonly Sparse[]): number {
  return query.indices.reduce((sum, index, i) => {
    const at = own.indices.indexOf(index);
    if (at < 0) return sum;
    const having = all.filter(({ indices }) => indices.includes(index)).length;
    const idf = Math.log(1 + (all.length - having + 0.5) / (having + 0.5));
    return sum + idf * (own.values[at] ?? 0) * (query.values[i] ?? 0);
  }, 0);
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
  return dot / (Math.hypot(...a) * Math.hypot(...b));
}
