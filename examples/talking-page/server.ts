// A server for the page: static files, and everything else by the service.

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import type { Service } from '@troupe/service';

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/': ['index.html', 'text/html'],
  '/page.js': ['page.js', 'text/javascript'],
  '/sound.js': ['sound.js', 'text/javascript'],
  '/page.css': ['page.css', 'text/css'],
};
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface TalkPage extends AsyncDisposable {
  readonly url: string;
}

/** Serves the page and the service on this machine. */
export async function servePage(service: Service, port: number): Promise<TalkPage> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    const [file, type] = FILES[url.pathname] ?? [];
    if (file !== undefined) {
      const body = await readFile(join(import.meta.dirname, 'page', file));
      response.writeHead(200, {
        'content-type': `${type}; charset=utf-8`,
        'content-security-policy': POLICY,
      });
      return void response.end(body);
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const body = chunks.length === 0 ? null : Buffer.concat(chunks);
    const headers = { 'content-type': request.headers['content-type'] ?? '' };
    const method = request.method ?? 'GET';
    const answered = await service.fetch(new Request(url, { method, headers, body }));
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    response.end(Buffer.from(await answered.arrayBuffer()));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()); // the page has left
  });
  server.on('upgrade', (request, socket, head) => service.upgrade(request, socket, head));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
