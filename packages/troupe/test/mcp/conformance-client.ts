// For the tests: the client that the official conformance suite starts, once for each scenario, with the address of a server.

import {
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client';

import { McpClient } from '../../src/mcp/index.ts';
import { isJsonObject, parseJson, type JsonObject } from '../../src/util/json.ts';

const url = process.argv.at(-1) ?? '';
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const given = parseJson(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');
const context: JsonObject = isJsonObject(given) ? given : {};
const REDIRECT = 'http://127.0.0.1:1/callback';

function text(key: string): string {
  return String(context[key]);
}

/** The page to which a person would have been sent. */
let sentTo: URL | undefined;

/** A person who agrees to everything, at a browser. */
function person(): OAuthClientProvider {
  const kept: { [key: string]: unknown } = {};
  const metadata = {
    client_name: 'troupe',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
  if ('client_id' in context)
    kept['client'] = { client_id: text('client_id'), client_secret: text('client_secret') };
  return {
    redirectUrl: REDIRECT,
    clientMetadata: metadata,
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    clientInformation: () => kept['client'] as Awaited<ReturnType<OAuthClientProvider['clientInformation']>>,
    saveClientInformation: (client) => void (kept['client'] = client),
    tokens: () => kept['tokens'] as Awaited<ReturnType<OAuthClientProvider['tokens']>>,
    saveTokens: (tokens) => void (kept['tokens'] = tokens),
    redirectToAuthorization: (page) => void (sentTo = page),
    saveCodeVerifier: (verifier) => void (kept['verifier'] = verifier),
    codeVerifier: () => String(kept['verifier']),
    saveDiscoveryState: (state) => void (kept['discovery'] = state),
    discoveryState: () => kept['discovery'] as OAuthDiscoveryState | undefined,
  };
}

/* oxlint-disable typescript/no-deprecated -- the suite does not say which issuer it expects */
function provider(): OAuthClientProvider {
  const credentials = { clientId: text('client_id'), clientSecret: text('client_secret') };
  if (scenario === 'auth/client-credentials-basic') return new ClientCredentialsProvider(credentials);
  if (scenario === 'auth/client-credentials-jwt')
    return new PrivateKeyJwtProvider({
      clientId: text('client_id'),
      privateKey: text('private_key_pem'),
      algorithm: text('signing_algorithm'),
    });
  if (scenario === 'auth/cross-app-access-complete-flow')
    return new CrossAppAccessProvider({
      ...credentials,
      assertion: async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
        const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
          tokenEndpoint: text('idp_token_endpoint'),
          audience: authorizationServerUrl,
          resource: resourceUrl,
          idToken: text('idp_id_token'),
          clientId: text('idp_client_id'),
          ...(scope !== undefined && { scope }),
          fetchFn,
        });
        return jwtAuthGrant;
      },
    });
  return person();
}
/* oxlint-enable typescript/no-deprecated */

const isLogin = scenario.startsWith('auth/');
await using client = new McpClient({
  name: 'conformance',
  transport: { type: 'http', url, ...(isLogin && { authProvider: provider() }) },
  elicitation: () => ({ action: 'accept' }),
});

/** Does something, and logs in whenever a person is sent to a page. */
async function loggedIn<T>(work: () => Promise<T>): Promise<T> {
  for (let logins = 0; ; logins++) {
    sentTo = undefined;
    try {
      return await work();
    } catch (error) {
      const page: URL | undefined = sentTo;
      if (page === undefined || logins === 3) throw error;
      const { headers } = await fetch(page, { redirect: 'manual' });
      await client.finishAuth(new URL(headers.get('location') ?? '').searchParams);
    }
  }
}

await loggedIn(() => client.connect());
for (const { name } of client.tools) {
  const input = name === 'add_numbers' ? { a: 5, b: 3 } : {};
  await loggedIn(() => client.callTool(name, input));
}
