// Failures on the way to a provider and back, seen through real packages of the AI SDK.

import { inspect } from 'node:util';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import type { ModelDelta } from '../../src/message/model-delta.ts';
import { ModelError } from '../../src/model/model-error.ts';
import { AiSdkModel } from '../../src/providers/ai-sdk/index.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { textsIn } from '../../src/testing/contract-checks.ts';
import { Loopback, type Answer } from './loopback.ts';
import { ANTHROPIC, CHAT_WIRES, GEMINI, KEY, RESPONSES_WIRES, WIRES, type Wire } from './wires.ts';

const SECRET = 'My diary says: hush.';
const ASK = {
  messages: [Msg.user(SECRET)],
  tools: [{ name: 'get_time', parameters: { type: 'object', properties: {} } }],
};

let server: Loopback;
beforeAll(async () => {
  server = await new Loopback().listen();
});
beforeEach(() => {
  server.requests.length = 0;
  server.leftCount = 0;
});
afterAll(() => server.close());

/** The deltas of an answer up to its failure, and the failure. */
async function failureOf(wire: Wire, answer: Answer): Promise<{ error: ModelError; deltas: ModelDelta[] }> {
  server.willAnswer(answer);
  const deltas: ModelDelta[] = [];
  try {
    for await (const delta of new AiSdkModel(wire.model(server.url)).stream(ASK)) deltas.push(delta);
  } catch (error) {
    if (!ModelError.isInstance(error)) throw error;
    expect(server.requests).toHaveLength(1);
    expectNoSecret(error);
    return { error, deltas };
  }
  throw new Error('It did not fail.');
}

/** Neither the printed text of an error nor its properties may hold the request. */
function expectNoSecret(error: ModelError): void {
  const everything = [...textsIn(error), inspect(error, { depth: Infinity, showHidden: true })].join('\n');
  expect(everything).toContain(error.message);
  expect(everything).not.toContain(SECRET);
  expect(everything).not.toContain(KEY);
  expect(everything).not.toContain(server.url);
  expect(error.cause).toBeUndefined();
}

/** The beginning of an answer that is going to be long. */
const beginning = (wire: Wire): string => wire.body({ text: ['Dear ', 'diary'] });

describe.each(WIRES)('$title', (wire) => {
  test('too many requests, with how long to wait', async () => {
    const { error, deltas } = await failureOf(wire, {
      status: 429,
      headers: { 'retry-after': '7', 'x-request-id': 'req_42' },
      body: JSON.stringify({
        type: 'error',
        error: { type: 'rate_limit_error', code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' },
      }),
    });
    expect(deltas).toEqual([]);
    expect(error).toMatchObject({
      kind: 'rate_limit',
      status: 429,
      isRetryable: true,
      retryAfterMs: 7000,
      requestId: 'req_42',
      message: expect.stringMatching(
        /\(429\)\. It said: Slow down\. Wrap the model in a RetryModel, /,
      ) as string,
    });
  });

  test.each([
    [401, '{"error":{"message":"Incorrect API key provided.","code":"invalid_api_key"}}', 'auth', false],
    [
      400,
      '{"error":{"message":"This model\'s maximum context length is 8192 tokens.","type":"invalid_request_error"}}',
      'context_overflow',
      false,
    ],
    [404, '{"error":{"message":"The model does not exist."}}', 'bad_request', false],
    [503, '<html>Service Unavailable</html>', 'overloaded', true],
    [529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 'overloaded', true],
  ] as const)('status %i', async (status, body, kind, isRetryable) => {
    const { error } = await failureOf(wire, { status, body });
    expect(error).toMatchObject({ kind, status, isRetryable });
    expect(error.body).toBe(body);
  });

  test('a connection that breaks in the middle', async () => {
    const { error, deltas } = await failureOf(wire, { body: beginning(wire), end: 'reset' });
    expect(error).toMatchObject({ kind: 'network', isRetryable: true });
    expect(error.message).toMatch(/^The connection to \S+ \(\S+ at 127\.0\.0\.1:\d+\) was lost: /);
    expect(deltas.filter(({ type }) => type === 'finish')).toEqual([]);
  });

  test('a connection that is closed in the middle as if that were all', async () => {
    const { error, deltas } = await failureOf(wire, { body: beginning(wire), end: 'closed' });
    expect(error).toMatchObject({ kind: 'network', isRetryable: true });
    expect(deltas).toContainEqual({ type: 'text', text: 'diary' });
    expect(deltas.filter(({ type }) => type === 'finish')).toEqual([]);
  });

  test('a call that was begun when the connection was closed is not made', async () => {
    const calls = [{ id: 'call_1', name: 'get_time', json: '{"zone":"UTC"}' }];
    const { error, deltas } = await failureOf(wire, { body: wire.body({ calls }), end: 'closed' });
    expect(error.kind).toBe('network');
    expect(deltas.filter(({ type }) => type === 'tool_use_end')).toEqual([]);
  });

  test('no server', async () => {
    const nowhere = await new Loopback().listen();
    const { url } = nowhere;
    await nowhere.close();
    const error: unknown = await new AiSdkModel(wire.model(url)).call(ASK).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'network', isRetryable: true });
    expect((error as Error).message).toMatch(/ could not be reached: .*ECONNREFUSED/);
    expect(textsIn(error).join()).not.toContain(SECRET);
  });

  test('an abort in the middle: the reason is thrown, and the server sees the client leave', async () => {
    server.willAnswer({ body: beginning(wire), end: 'never' });
    const controller = new AbortController();
    const reason = new Error('enough');
    const texts: string[] = [];
    const reading = (async () => {
      for await (const delta of new AiSdkModel(wire.model(server.url)).stream(ASK, controller)) {
        if (delta.type === 'text') texts.push(delta.text);
        if (texts.length === 2) controller.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(texts).toEqual(['Dear ', 'diary']);
    await server.wasLeft();
    expect(server.leftCount).toBe(1);
  });

  test('an abort while it waits for the first word', async () => {
    server.willAnswer({ body: '', end: 'never' });
    const controller = new AbortController();
    const calling = new AiSdkModel(wire.model(server.url)).call(ASK, controller);
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort('enough');
    await expect(calling).rejects.toBe('enough');
    await server.wasLeft();
  });

  test('a reader that leaves: the server sees it', async () => {
    server.willAnswer({ body: beginning(wire), end: 'never' });
    let count = 0;
    for await (const delta of new AiSdkModel(wire.model(server.url)).stream(ASK)) {
      if (delta.type === 'text') count++;
      if (count === 1) break;
    }
    expect(count).toBe(1);
    await server.wasLeft();
    expect(server.leftCount).toBe(1);
  });

  test('a server that falls silent in the middle', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    server.willAnswer({ body: beginning(wire), end: 'never' });
    const model = new AiSdkModel(wire.model(server.url), { deadlines: { idleMs: 1000 } });
    const deltas = model.stream(ASK);
    for (let texts = 0; texts < 2;) if ((await deltas.next()).value?.type === 'text') texts++;
    const next = deltas.next();
    next.catch(() => {});
    await clock.advance(1000);
    await expect(next).rejects.toMatchObject({ kind: 'timeout', deadline: 'idle' });
    await server.wasLeft();
  });
});

describe('an error inside of the answer', () => {
  const overloaded = { message: 'The server is overloaded.', type: 'server_error', code: 'server_error' };

  test.each(CHAT_WIRES)('$title', async (wire) => {
    const body = `${beginning(wire)}data: ${JSON.stringify({ error: overloaded })}\n\n`;
    const { error, deltas } = await failureOf(wire, { body });
    expect(error).toMatchObject({ kind: 'overloaded', providerCode: 'server_error' });
    expect(deltas).toContainEqual({ type: 'text', text: 'diary' });
  });

  test.each(RESPONSES_WIRES)('$title', async (wire) => {
    const event = { type: 'error', sequence_number: 99, error: { ...overloaded, param: null } };
    const body = `${beginning(wire)}event: error\ndata: ${JSON.stringify(event)}\n\n`;
    const { error, deltas } = await failureOf(wire, { body });
    expect(error).toMatchObject({ kind: 'overloaded', providerCode: 'server_error' });
    expect(deltas).toContainEqual({ type: 'text', text: 'diary' });
  });

  test('Anthropic, v4', async () => {
    const event = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const body = `${beginning(ANTHROPIC)}event: error\ndata: ${JSON.stringify(event)}\n\n`;
    const { error } = await failureOf(ANTHROPIC, { body });
    expect(error).toMatchObject({ kind: 'overloaded', providerCode: 'overloaded_error' });
  });

  test('Gemini, v4', async () => {
    const event = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } };
    const body = `${beginning(GEMINI)}data: ${JSON.stringify(event)}\r\n\r\n`;
    const { error } = await failureOf(GEMINI, { body });
    expect(error).toMatchObject({ kind: 'overloaded', status: 503, providerCode: 'UNAVAILABLE' });
  });

  test('a call that Gemini itself could not write', async () => {
    const { error } = await failureOf(GEMINI, { body: GEMINI.body({ reason: 'MALFORMED_FUNCTION_CALL' }) });
    expect(error).toMatchObject({
      kind: 'overloaded',
      isRetryable: true,
      message: `google.generative-ai (${GEMINI.model(server.url).modelId}) failed during its answer: MALFORMED_FUNCTION_CALL. Wrap the model in a RetryModel, or in a FallbackModel with another model.`,
    });
  });

  test.each(WIRES)('$title: an event that is no JSON', async (wire) => {
    const { error } = await failureOf(wire, { body: `${beginning(wire)}data: {"nonsense\n\n` });
    expect(error.kind).toBe('malformed');
  });

  test.each(WIRES)('$title: a web page', async (wire) => {
    const body = '<html><body>Welcome to the hotel</body></html>';
    const { error } = await failureOf(wire, { body, headers: { 'content-type': 'text/html' } });
    expect(['network', 'malformed']).toContain(error.kind);
  });
});

test('a missing key is told as that', async () => {
  const { createOpenAI } = await import('@ai-sdk/openai');
  const before = process.env['OPENAI_API_KEY'];
  delete process.env['OPENAI_API_KEY'];
  try {
    const model = new AiSdkModel(createOpenAI({ baseURL: server.url }).chat('gpt-4.1'));
    await expect(model.call(ASK)).rejects.toMatchObject({ kind: 'auth', isRetryable: false });
    expect(server.requests).toEqual([]);
  } finally {
    if (before !== undefined) process.env['OPENAI_API_KEY'] = before;
  }
});
