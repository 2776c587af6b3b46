// The server: one page, and conversations behind it.
//
//   POST /conversations                  a new conversation: { id }
//   GET  /conversations/<id>             its messages and pending tool calls, for a page that was loaded again
//   POST /conversations/<id>/messages    { text }: the events of the run, as server-sent events
//   POST /conversations/<id>/decisions   { decisions: [{ id, verdict }] }: the events of the run that goes on

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

import { TroupeError, type ReActAgent, type Session } from 'troupe';
import { z } from 'zod';

import { Conversations } from './conversations.ts';

export interface ServerOptions {
  /** 0 for a free port. */
  readonly port: number;
  /** Where conversations are kept. */
  readonly store: Session;
  /** Makes the agent of one conversation. */
  readonly makeAgent: () => ReActAgent;
}

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 64 * 1024;
const CONVERSATION = /^\/conversations\/([0-9a-f-]{36})(\/messages|\/decisions)?$/;
const Message = z.object({ text: z.string().trim().min(1) });
const Decisions = z.object({
  decisions: z.array(z.object({ id: z.string(), verdict: z.enum(['allow', 'deny']) })).min(1),
});

/** An answer other than 200. */
class HttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Folders with files for the browser. `troupe/events` is loaded as it is; a bundler would do as well. */
const FOLDERS = {
  page: join(import.meta.dirname, 'page'),
  troupe: fileURLToPath(new URL('..', import.meta.resolve('troupe/events'))),
  'eventsource-parser': fileURLToPath(new URL('.', import.meta.resolve('eventsource-parser'))),
} as const;
const FILE = /^\/(page|troupe|eventsource-parser)\/((?:entries\/events|chunks\/[\w-]+|[\w-]+)\.(js|css))$/;
const TYPES = {
  js: 'text/javascript',
  css: 'text/css',
  html: 'text/html',
  json: 'application/json',
} as const;

/** Serves on this machine only. */
export async function startServer({ port, store, makeAgent }: ServerOptions): Promise<RunningServer> {
  const conversations = new Conversations(store, makeAgent);
  const page = await readFile(join(FOLDERS.page, 'index.html'), 'utf8');
  const headers = securityHeaders(page);

  const server = createServer((request, response) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => fail(error, response));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    // Another site must not reach this server, neither under a name of its own nor by a form.
    const isOwnHost = headers.host === `127.0.0.1:${bound}` || headers.host === `localhost:${bound}`;
    if (!isOwnHost) throw new HttpError(421, 'This server has another name.');
    if (method === 'GET' && path === '/') return send(response, 'html', page);
    if (method === 'GET' && FILE.test(path)) return sendFile(response, path);
    if (method === 'POST' && path === '/conversations') {
      await readJsonBody(request, z.object({}));
      const id = await conversations.create();
      if (id === undefined) throw new HttpError(503, 'There are too many conversations.');
      return send(response, 'json', JSON.stringify({ id }));
    }
    const [, id = '', part = ''] = CONVERSATION.exec(path) ?? [];
    const conversation = id === '' ? undefined : await conversations.find(id);
    if (conversation === undefined) throw new HttpError(404, 'There is nothing here.');
    if (method === 'GET' && part === '')
      return send(response, 'json', JSON.stringify(await conversation.state()));
    if (method !== 'POST' || part === '') throw new HttpError(405, 'That can not be done here.');
    const stream = (events: Response): Promise<void> => sendEvents(response, events);
    if (part === '/messages') {
      const { text } = await readJsonBody(request, Message);
      return conversation.run(text, {}, stream);
    }
    const { decisions } = await readJsonBody(request, Decisions);
    return conversation.run(undefined, { decisions }, stream);
  }

  return {
    url: `http://127.0.0.1:${bound}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections(); // interrupts what runs
      await closed;
      await conversations.close();
    },
  };
}

/** Nothing but the files of this server runs on the page, and no other page may frame it. */
function securityHeaders(page: string): readonly (readonly [string, string])[] {
  const importMap = /<script type="importmap">([^]*?)<\/script>/.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(importMap).digest('base64');
  const policy = [
    `default-src 'none'`,
    `script-src 'self' 'sha256-${hash}'`,
    `style-src 'self'`,
    `connect-src 'self'`,
    `img-src data:`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ];
  return [
    ['content-security-policy', policy.join('; ')],
    ['x-content-type-options', 'nosniff'],
    ['referrer-policy', 'no-referrer'],
    ['cache-control', 'no-store'],
  ];
}

/** Reads JSON of limited size. Other sites can not send it without permission, which they do not get. */
async function readJsonBody<Body>(request: IncomingMessage, schema: z.ZodType<Body>): Promise<Body> {
  if (request.headers['content-type']?.split(';')[0] !== 'application/json')
    throw new HttpError(415, 'The body must be JSON.');
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES)
    throw new HttpError(413, 'The body is too long.');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new HttpError(413, 'The body is too long.');
    chunks.push(chunk);
  }
  try {
    return schema.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } catch {
    throw new HttpError(400, 'The body is not what this address takes.');
  }
}

function send(response: ServerResponse, type: keyof typeof TYPES, body: string): void {
  response.writeHead(200, { 'content-type': `${TYPES[type]}; charset=utf-8` }).end(body);
}

async function sendFile(response: ServerResponse, path: string): Promise<void> {
  const [, folder, name = '', type] = FILE.exec(path) ?? [];
  const file = join(FOLDERS[folder as keyof typeof FOLDERS], name); // the pattern has neither .. nor \
  const body = await readFile(file, 'utf8').catch(() => {
    throw new HttpError(404, 'There is nothing here.');
  });
  send(response, type as 'js' | 'css', body);
}

/** Sends a stream as it grows. A page that disconnects ends the pipeline, which cancels the body: that interrupts the run. */
async function sendEvents(response: ServerResponse, events: Response): Promise<void> {
  for (const [name, value] of events.headers) response.setHeader(name, value);
  response.writeHead(events.status);
  if (events.body !== null) await pipeline(Readable.fromWeb(events.body), response);
}

function fail(error: unknown, response: ServerResponse): void {
  if (response.headersSent) return void response.destroy(); // the page has left
  const { status, message } = statusOf(error);
  if (status === 500) console.error(error);
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ message }));
}

function statusOf(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof HttpError) return error;
  if (TroupeError.isInstance(error) && error.isRefusal) return { status: 409, message: error.message };
  return { status: 500, message: 'Something went wrong.' };
}
