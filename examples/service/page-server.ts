// A server of your own around a service: it serves a page, and hands `/api` to the service.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

import type { Service } from '@troupe/service';

/** Folders with files for the browser. `troupe/client` is loaded as it is built; a bundler would do as well. */
const FOLDERS = {
  page: join(import.meta.dirname, 'page'),
  troupe: fileURLToPath(new URL('dist/', import.meta.resolve('troupe/package.json'))),
  'eventsource-parser': fileURLToPath(new URL('.', import.meta.resolve('eventsource-parser'))),
} as const;
/** The client for the browser, which is there after a build. */
export const CLIENT = join(FOLDERS.troupe, 'client/index.js');
const FILE = /^\/(page|troupe|eventsource-parser)\/((?:client\/|chunks\/)?[\w-]+\.(?:js|css))$/;

export interface PageServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves on this machine only. */
export async function servePage(service: Service, port: number): Promise<PageServer> {
  const page = await readFile(join(FOLDERS.page, 'index.html'), 'utf8');
  const importMap = /<script type="importmap">([^]*?)<\/script>/.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(importMap).digest('base64');
  const policy = `default-src 'none'; script-src 'self' 'sha256-${hash}'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '/' } = request;
    if (path.startsWith('/api/')) return forward(request, response, service);
    const [, folder, name = ''] = FILE.exec(path) ?? [];
    const file = folder === undefined ? undefined : join(FOLDERS[folder as keyof typeof FOLDERS], name);
    const body = path === '/' ? page : file && (await readFile(file, 'utf8').catch(() => undefined));
    const type = name.endsWith('.js') ? 'text/javascript' : name.endsWith('.css') ? 'text/css' : 'text/html';
    response.setHeader('content-security-policy', policy);
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': `${type}; charset=utf-8` });
    response.end(body ?? 'There is nothing here.');
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()); // the page has left
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function forward(request: IncomingMessage, response: ServerResponse, service: Service): Promise<void> {
  const { method = 'GET', url = '/', headers } = request;
  const answer = await service.fetch(
    new Request(new URL(url, `http://${headers.host ?? ''}`), {
      method,
      headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        typeof value === 'string' ? [[name, value]] : [],
      ),
      ...(method !== 'GET' &&
        method !== 'DELETE' && { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' }),
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) response.end();
  else await pipeline(Readable.fromWeb(answer.body), response);
}
