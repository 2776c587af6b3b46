import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/client';
import { inspect } from 'node:util';

import { expect, test } from 'vitest';

import { McpClient, McpServer, type McpAuthProvider } from '../../src/mcp/index.ts';
import { tool, Toolkit } from '../../src/index.ts';
import { WebListener } from '../../src/util/net/web-listener.node.ts';

interface Guarded extends AsyncDisposable {
  readonly url: string;
  readonly tokens: readonly string[];
}

/** Server behind an authorization server, for OAuth logins. */
async function guardedServer(isGood: (token: string) => boolean): Promise<Guarded> {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(tool({ name: 'go', execute: () => 'gone' }));
  const mcp = new McpServer(toolkit);
  const tokens: string[] = [];
  const listener = new WebListener(async (request) => {
    const { origin, pathname } = new URL(request.url);
    if (pathname.startsWith('/.well-known/')) return Response.json(metadata(origin, pathname));
    if (pathname === '/token') {
      const form = await request.text();
      const isRight = form.includes('code=the-code');
      const made = { access_token: 'made-of-the-code', token_type: 'Bearer', expires_in: 3600 };
      return isRight ? Response.json(made) : new Response(`I can do nothing with ${form}`, { status: 500 });
    }
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
    tokens.push(token);
    return isGood(token) ? mcp.fetch(request) : new Response('', { status: 401 });
  });
  return {
    url: `${await listener.listen(0, '127.0.0.1')}/mcp`,
    tokens,
    async [Symbol.asyncDispose]() {
      await Promise.all([mcp.close(), listener.close()]);
    },
  };
}

function metadata(origin: string, path: string): object {
  if (path.includes('protected-resource')) {
    return { resource: `${origin}/mcp`, authorization_servers: [origin] };
  }
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  };
}

function clientOf(url: string, authProvider?: McpAuthProvider): McpClient {
  const transport = { type: 'http', url, ...(authProvider && { authProvider }) } as const;
  return new McpClient({ name: 'guarded', transport, stateful: false });
}

test('a provider is asked for a token, and once more when that is no longer good', async () => {
  let good = 'first';
  await using server = await guardedServer((token) => token === good);
  let current = 'first';
  const renewed: string[] = [];
  const onUnauthorized = async (): Promise<void> => {
    renewed.push(current);
    current = good;
  };
  await using client = clientOf(server.url, { token: async () => current, onUnauthorized });
  expect(await client.callTool('go')).toMatchObject({ content: 'gone' });
  good = 'second';
  expect(await client.callTool('go')).toMatchObject({ content: 'gone' });
  expect(renewed).toEqual(['first']);
  expect(new Set(server.tokens)).toEqual(new Set(['first', 'second']));
});

test('without a token, a server that wants one is a clear error', async () => {
  await using server = await guardedServer(() => false);
  await using client = clientOf(server.url);
  await expect(client.connect()).rejects.toMatchObject({
    code: 'mcp_failed',
    message: expect.stringContaining('401') as string,
  });
});

test('a login by OAuth sends the user away, and goes on with what comes back', async () => {
  await using server = await guardedServer((token) => token === 'made-of-the-code');
  let tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  let verifier = '';
  let discovered: OAuthDiscoveryState | undefined;
  let sentTo: URL | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl: 'http://127.0.0.1:1/callback',
    clientMetadata: { redirect_uris: ['http://127.0.0.1:1/callback'] },
    clientInformation: () => ({ client_id: 'troupe' }),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given),
    redirectToAuthorization: (url) => void (sentTo = url),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
    saveDiscoveryState: (given) => void (discovered = given),
    discoveryState: () => discovered,
  };
  await using client = clientOf(server.url, provider);
  await expect(client.connect()).rejects.toMatchObject({ code: 'mcp_failed' });
  expect(sentTo?.pathname).toBe('/authorize');
  const callback = new URLSearchParams({ code: 'the-code', iss: new URL(server.url).origin });
  const stolen = new URLSearchParams({ ...Object.fromEntries(callback), code: 'a ~code~ of another' });
  const error: unknown = await client.finishAuth(stolen).catch((error: unknown) => error);
  expect(error).toMatchObject({ code: 'mcp_failed' });
  expect(inspect(error, { depth: 10 })).toMatch(/guarded failed at the login: .*code=\[hidden\]/);
  for (const secret of [verifier, '~code~', '%7Ecode%7E']) {
    expect(inspect(error, { depth: 10 })).not.toContain(secret);
  }
  await client.finishAuth(callback);
  expect(await client.callTool('go')).toMatchObject({ content: 'gone' });
  const plain = new McpClient({ name: 'plain', transport: { type: 'http', url: server.url } });
  await expect(plain.finishAuth(callback)).rejects.toMatchObject({ code: 'invalid_config' });
});
