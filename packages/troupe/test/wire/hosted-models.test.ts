// Claude on Bedrock and on Vertex AI, Gemini on Vertex AI: requests and answers in the platform's own form.
import { createHash, createHmac } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import type { ModelHosting } from '../../src/model/http/model-hosting.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/index.ts';
import { bedrock } from '../../src/providers/bedrock/index.ts';
import { GeminiChatModel } from '../../src/providers/gemini/index.ts';
import { vertex } from '../../src/providers/vertex/index.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import type { JsonObject } from '../../src/util/json.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { pointsOf } from '../fair-sample.ts';
import { anthropicFaults } from './anthropic-rules.ts';
import { asBedrockStream, awsFrame, bedrockChunk } from './aws-frames.ts';
import { HISTORIES, TOOLS } from './histories.ts';
import { fetchOf, outcomeOf, readFixtures, toBytes, type Outcome, type SentRequest } from './replay.ts';
import { wholeMessage } from './whole-answer.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const ASK = { messages: [Msg.system('Be short.'), Msg.user('Hi.')], tools: TOOLS };
const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const STREAM = { 'content-type': 'application/vnd.amazon.eventstream' };
const fixtures = readFixtures('anthropic');

afterEach(() => vi.unstubAllEnvs());

function claude(hosting: ModelHosting, fetch: Fetch, options: object = {}): AnthropicChatModel {
  return new AnthropicChatModel({ modelName: MODEL, hosting, fetch, ...options });
}

describe('Bedrock', () => {
  const hosting = bedrock({ region: 'us-east-1', credentials: CREDENTIALS });
  const ask = (...pieces: Uint8Array[]): Promise<Outcome> =>
    outcomeOf(claude(hosting, fetchOf({ pieces, headers: STREAM })), ASK);

  test.each([...fixtures])(
    '%s is the answer that Anthropic gives, whole and cut in two',
    async (name, recording) => {
      const own = new AnthropicChatModel({
        modelName: 'claude-sonnet-4-5',
        apiKey: 'k',
        fetch: fetchOf({ pieces: [recording] }),
      });
      const expected = await outcomeOf(own, ASK);
      if (name === 'disconnect') expect(expected.error).toBe('network');
      const bytes = asBedrockStream(recording);
      expect(await ask(bytes)).toEqual(expected);
      for (const at of pointsOf('cuts in two of each answer of Bedrock', bytes.length, 15))
        expect(await ask(bytes.subarray(0, at), bytes.subarray(at)), `cut at ${at}`).toEqual(expected);
    },
  );

  test('a request has the address, the version and the betas of the platform, and no model', async () => {
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [asBedrockStream(fixtures.get('plain')!)] }, sent);
    await claude(hosting, fetch, { betas: ['x-1'], headers: { 'Anthropic-Beta': 'y-2' } }).call(ASK);
    const { url, headers, body } = sent[0]!;
    expect(url).toBe(
      'https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream',
    );
    const json = JSON.parse(body) as JsonObject;
    expect(json).toMatchObject({ anthropic_version: 'bedrock-2023-05-31', anthropic_beta: ['x-1', 'y-2'] });
    for (const key of ['model', 'stream', 'cache_control']) expect(json).not.toHaveProperty(key);
    expect(json['system']).toEqual([
      { type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } },
    ]);
    expect(headers).not.toHaveProperty('anthropic-beta');
    expect(headers).not.toHaveProperty('x-api-key');
  });

  test('an address of an image is not passed on: the platform fetches nothing', async () => {
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [asBedrockStream(fixtures.get('plain')!)] }, sent);
    const source = { type: 'url', url: 'https://example.com/map.png' } as const;
    const messages = [
      Msg.user([
        { type: 'text', text: 'See:' },
        { type: 'image', source },
      ]),
    ];
    await claude(hosting, fetch).call({ messages });
    expect(sent[0]!.body).not.toContain('"type":"url"');
  });

  test('the service tier is a header', async () => {
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [asBedrockStream(fixtures.get('plain')!)] }, sent);
    await claude(hosting, fetch).call({ ...ASK, generation: { serviceTier: 'flex' } });
    expect(sent[0]!.headers).toMatchObject({ 'x-amzn-bedrock-service-tier': 'flex' });
    expect(JSON.parse(sent[0]!.body)).not.toHaveProperty('service_tier');
  });

  test('requests of all histories keep the rules of Anthropic', async () => {
    for (const messages of Object.values(HISTORIES)) {
      const sent: SentRequest[] = [];
      const fetch = fetchOf({ pieces: [asBedrockStream(fixtures.get('plain')!)] }, sent);
      await claude(hosting, fetch, { onRepair: () => {} }).call({ messages, tools: TOOLS });
      const { anthropic_version: _, ...json } = JSON.parse(sent[0]!.body) as JsonObject;
      expect(anthropicFaults({ ...json, model: 'claude-sonnet-4-5', stream: true })).toEqual([]);
    }
  });

  test('the signature is that of Signature Version 4', async () => {
    using _ = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5)).install();
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [asBedrockStream(fixtures.get('plain')!)] }, sent);
    const session = bedrock({
      region: 'eu-west-1',
      credentials: async () => ({ ...CREDENTIALS, sessionToken: 'session-77' }),
    });
    await claude(session, fetch).call(ASK);
    const { url, headers, body } = sent[0]!;
    expect(headers['x-amz-date']).toBe('20260102T030405Z');
    expect(headers['x-amz-security-token']).toBe('session-77');
    expect(headers['authorization']).toBe(signatureOf(new URL(url), headers, body));
  });

  test('an API key needs no signature, and a function is asked for a fresh one', async () => {
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [asBedrockStream(fixtures.get('plain')!)] }, sent);
    let asked = 0;
    const model = claude(bedrock({ region: 'us-east-1', apiKey: () => `bedrock-key-${++asked}` }), fetch);
    await model.call(ASK);
    await model.call(ASK);
    vi.stubEnv('AWS_BEARER_TOKEN_BEDROCK', 'bedrock-key-of-env');
    vi.stubEnv('AWS_REGION', 'us-west-2');
    await claude(bedrock(), fetch).call(ASK);
    expect(sent.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer bedrock-key-1',
      'Bearer bedrock-key-2',
      'Bearer bedrock-key-of-env',
    ]);
  });

  test('without streaming, the answer is plain JSON', async () => {
    const sent: SentRequest[] = [];
    const whole = toBytes(JSON.stringify(wholeMessage(fixtures.get('parallel-tools')!)));
    const model = claude(hosting, fetchOf({ pieces: [whole] }, sent), { stream: false });
    const outcome = await outcomeOf(model, ASK);
    expect(outcome).toEqual(await ask(asBedrockStream(fixtures.get('parallel-tools')!)));
    expect(sent[0]!.url).toMatch(/%3A0\/invoke$/);
  });

  test.each([
    ['throttlingException', 'Too many tokens, please wait before trying again.', 'rate_limit'],
    ['validationException', 'Input is too long for requested model.', 'context_overflow'],
    ['validationException', 'messages: at least one message is required', 'bad_request'],
    ['modelStreamErrorException', 'The model failed.', 'overloaded'],
    ['internalServerException', 'Oops.', 'overloaded'],
  ])('%s (%s) inside of a stream is of the kind %s', async (type, message, kind) => {
    const headers = { ':exception-type': type, ':message-type': 'exception' };
    const begin = bedrockChunk('{"type":"message_start","message":{"id":"msg_1","content":[]}}');
    const failure = awsFrame(headers, JSON.stringify({ message }));
    expect(await ask(begin, failure)).toEqual({ content: [], responseId: 'msg_1', error: kind });
  });

  test('an error has the name of the platform and no credential', async () => {
    const secret = CREDENTIALS.secretAccessKey;
    const body = toBytes(JSON.stringify({ message: `Bad ${secret} of ${CREDENTIALS.accessKeyId}.` }));
    const fetch = fetchOf({ pieces: [body], status: 403, headers: { 'x-amzn-requestid': 'r7' } });
    const error: unknown = await claude(hosting, fetch)
      .call(ASK)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'auth', vendor: 'Amazon Bedrock', requestId: 'r7' });
    expect(String(error)).toContain('It said: Bad [redacted] of [redacted].');
    expect(JSON.stringify(error)).not.toMatch(/wJalr|AKID/);
  });

  test('is refused without a region or without credentials', () => {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_BEARER_TOKEN_BEDROCK', 'AWS_ACCESS_KEY_ID'])
      vi.stubEnv(name, '');
    expect(() => bedrock({ credentials: CREDENTIALS })).toThrow('Amazon Bedrock needs a region');
    expect(() => bedrock({ region: 'evil.example/x', credentials: CREDENTIALS })).toThrow('needs a region');
    expect(() => bedrock({ region: 'us-east-1' })).toThrow('Amazon Bedrock needs credentials');
    expect(() => bedrock({ region: 'us-east-1', apiKey: 'k' }).path('google', 'g', true)).toThrow(
      'Amazon Bedrock does not host models of Google.',
    );
  });
});

describe('Vertex AI', () => {
  const hosting = vertex({ project: 'my-project', location: 'europe-west1', token: () => 'ya29.token' });

  test('Claude has the address, the version and the betas of the platform, and no model', async () => {
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [fixtures.get('plain')!] }, sent);
    const modelName = 'claude-sonnet-4-5@20250929';
    const outcome = await outcomeOf(claude(hosting, fetch, { modelName, betas: ['x-1'] }), ASK);
    expect(outcome).toMatchObject({
      content: [{ type: 'text', text: 'Grüß dich, 世界 👋!' }],
      finishReason: 'stop',
    });
    const { url, headers, body } = sent[0]!;
    expect(url).toBe(
      'https://europe-west1-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict',
    );
    expect(headers).toEqual({
      'content-type': 'application/json',
      'anthropic-beta': 'x-1',
      authorization: 'Bearer ya29.token',
    });
    const json = JSON.parse(body) as JsonObject;
    expect(json).toMatchObject({ anthropic_version: 'vertex-2023-10-16', stream: true });
    for (const key of ['model', 'cache_control']) expect(json).not.toHaveProperty(key);
  });

  test('Gemini has the address and the rules of the platform', async () => {
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [readFixtures('gemini').get('plain')!] }, sent);
    const model = new GeminiChatModel({ modelName: 'gemini-2.5-flash', hosting, fetch });
    await model.call({ ...ASK, generation: { presencePenalty: 1 } });
    await model.call({ ...ASK, http: { stream: false } });
    const root = `https://europe-west1-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west1/publishers/google/models/gemini-2.5-flash`;
    expect(sent.map(({ url }) => url)).toEqual([
      `${root}:streamGenerateContent?alt=sse`,
      `${root}:generateContent`,
    ]);
    expect(sent[0]!.headers).toEqual({
      'content-type': 'application/json',
      authorization: 'Bearer ya29.token',
    });
    expect(JSON.parse(sent[0]!.body)).toMatchObject({ generationConfig: { presencePenalty: 1 } });
  });

  test.each([
    ['global', 'https://aiplatform.googleapis.com'],
    ['eu', 'https://aiplatform.eu.rep.googleapis.com'],
    ['us-central1', 'https://us-central1-aiplatform.googleapis.com'],
  ])('the location %s is at %s', (location, baseUrl) => {
    expect(vertex({ project: 'p', location, token: 't' }).baseUrl).toBe(baseUrl);
  });

  test('a token is asked for before each request, and is in no error', async () => {
    const body = toBytes(
      '{"error":{"code":401,"message":"Bad token ya29.secret-2","status":"UNAUTHENTICATED"}}',
    );
    let asked = 0;
    const token = (): string => `ya29.secret-${++asked}`;
    const model = claude(vertex({ project: 'p', token }), fetchOf({ pieces: [body], status: 401 }));
    await expect(model.call(ASK)).rejects.toThrow('Bad token ya29.secret-2');
    const error: unknown = await model.call(ASK).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'auth', vendor: 'Vertex AI' });
    expect(String(error)).toContain('Bad token [redacted]');
    expect(asked).toBe(2);
  });

  test('is refused without a project, with another location or without a token', async () => {
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', '');
    expect(() => vertex({ token: 't' })).toThrow('Vertex AI needs a project');
    expect(() => vertex({ project: 'p', location: 'x.evil/', token: 't' })).toThrow('location is invalid');
    const none = claude(vertex({ project: 'p', token: () => null }), fetchOf({ pieces: [] }));
    await expect(none.call(ASK)).rejects.toThrow('The key for Vertex AI is empty.');
  });
});

/** Authorization header by the published steps of Signature Version 4. */
function signatureOf(url: URL, headers: Readonly<Record<string, string>>, body: string): string {
  const hmac = (key: string | Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest();
  const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
  const date = headers['x-amz-date']!;
  const names = /SignedHeaders=([^,]+)/.exec(headers['authorization']!)![1]!;
  const values: Readonly<Record<string, string | undefined>> = { ...headers, host: url.host };
  const path = url.pathname.split('/').map(encodeURIComponent).join('/');
  const canonical = [
    'POST',
    path,
    '',
    ...names.split(';').map((name) => `${name}:${values[name]}`),
    '',
    names,
    hash(body),
  ].join('\n');
  const scope = `${date.slice(0, 8)}/eu-west-1/bedrock/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${CREDENTIALS.secretAccessKey}`);
  const signature = createHmac('sha256', key).update(toSign).digest('hex');
  return `AWS4-HMAC-SHA256 Credential=${CREDENTIALS.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
}
