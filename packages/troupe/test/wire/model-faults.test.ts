// Faults of servers and networks during an answer, over real connections and by the clock.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { inspect } from 'node:util';
import { createGzip } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { Msg } from '../../src/message/msg.ts';
import { DeadlineWatch } from '../../src/model/http/deadlines.ts';
import type { HttpModelOptions } from '../../src/model/http/http-chat-model.ts';
import { ModelError } from '../../src/model/model-error.ts';
import { OpenAIChatModel } from '../../src/providers/openai/openai-chat-model.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { fetchOf, outcomeOf, readFixtures, toBytes, toText } from './replay.ts';

const KEY = 'sk-secret-4711-do-not-show';
const ASK = { messages: [Msg.user('My diary says: hush.')] };
const plain = readFixtures('openai-chat').get('plain')!;
const firstDelta = toText(plain).split('\n\n').slice(0, 2).join('\n\n') + '\n\n';
const PLAIN_TEXT = 'Grüß dich, 世界 👋!';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server | undefined;
const sockets = new Set<Socket>();

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
  sockets.clear();
});

async function modelAt(handler: Handler, options: Partial<HttpModelOptions> = {}): Promise<OpenAIChatModel> {
  server = createServer((request, response) => {
    request.resume();
    request.on('end', () => handler(request, response));
    response.on('error', () => {});
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return new OpenAIChatModel({ vendor: 'openai', modelName: 'gpt-4.1', apiKey: KEY, baseUrl, ...options });
}

async function failureOf(model: OpenAIChatModel): Promise<ModelError> {
  try {
    await model.call(ASK);
  } catch (error) {
    if (ModelError.isInstance(error)) return error;
    throw error;
  }
  throw new Error('It did not fail.');
}

const sse = { 'content-type': 'text/event-stream' };
const answer =
  (
    status: number,
    body: string,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ): Handler =>
  (_, response) =>
    response.writeHead(status, headers).end(body);
const complaint = (message: string, code: string | null = null): string =>
  JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } });

/** Waits, for a bounded number of turns of the event loop, until the server has lost all its connections. */
async function allClosed(): Promise<boolean> {
  for (let i = 0; i < 2000 && sockets.size > 0; i++) await new Promise((resolve) => setTimeout(resolve, 1));
  return sockets.size === 0;
}

describe('an answer that is an error', () => {
  test.each([
    [400, complaint('Unknown parameter: foo'), 'bad_request', false],
    [
      400,
      complaint("This model's maximum context length is 128000 tokens.", 'context_length_exceeded'),
      'context_overflow',
      false,
    ],
    [400, complaint('The response was filtered', 'content_filter'), 'content_filter', false],
    [
      400,
      complaint('Invalid request: Your request exceeded model token limit: 8192'),
      'context_overflow',
      false,
    ],
    [
      400,
      complaint("This model's maximum prompt length is 131072 but the request contains 200000 tokens."),
      'context_overflow',
      false,
    ],
    [400, '{"error":{"code":"1261","message":"Prompt超长"}}', 'context_overflow', false],
    [
      400,
      '{"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容"}}',
      'content_filter',
      false,
    ],
    [
      400,
      complaint('Access denied, please make sure your account is in good standing.', 'Arrearage'),
      'rate_limit',
      false,
    ],
    [
      429,
      '{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试。余额不足"}}',
      'rate_limit',
      false,
    ],
    [401, complaint(`Incorrect API key provided: ${KEY}.`, 'invalid_api_key'), 'auth', false],
    [403, complaint('Country not supported'), 'auth', false],
    [404, complaint('The model `x` does not exist', 'model_not_found'), 'bad_request', false],
    [408, '', 'timeout', true],
    [409, complaint('Conflict'), 'overloaded', true],
    [413, '<html>Too large</html>', 'context_overflow', false],
    [400, complaint('Output blocked by content filtering policy'), 'content_filter', false],
    [429, complaint('Rate limit reached', 'rate_limit_exceeded'), 'rate_limit', true],
    [429, complaint('You exceeded your current quota', 'insufficient_quota'), 'rate_limit', false],
    [500, 'oops', 'overloaded', true],
    [502, '<html>Bad gateway</html>', 'overloaded', true],
    [503, '', 'overloaded', true],
    [529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 'overloaded', true],
  ])('%i %s is told as what it is', async (status, body, kind, isRetryable) => {
    const error = await failureOf(await modelAt(answer(status, body)));
    expect(error).toMatchObject({ code: 'model_failed', kind, status, isRetryable });
    expect(error.message).toMatch(/^OpenAI /);
  });

  test('tells how long to wait, and the id of the request', async () => {
    const headers = { 'content-type': 'application/json', 'retry-after': '2', 'x-request-id': 'req_17' };
    const error = await failureOf(await modelAt(answer(429, complaint('Slow down'), headers)));
    expect(error).toMatchObject({ retryAfterMs: 2000, requestId: 'req_17' });
  });

  test('tells how long to wait also where that is in the body, which is no lack of credit', async () => {
    const body = JSON.stringify({
      error: {
        code: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }],
      },
    });
    const error = await failureOf(await modelAt(answer(429, body)));
    expect(error).toMatchObject({ kind: 'rate_limit', isRetryable: true, retryAfterMs: 34_000 });
  });

  test('shows no key, no header and no prompt, and no more than 1 kB of what came', async () => {
    const body = complaint(`Bad key ${KEY} ${'x'.repeat(100_000)}`);
    const error = await failureOf(await modelAt(answer(401, body)));
    const shown = [error.message, error.body, error.stack, JSON.stringify(error), String(error)].join('\n');
    expect(shown).not.toContain(KEY);
    expect(shown).not.toContain('diary');
    expect(shown.toLowerCase()).not.toContain('bearer');
    expect(error.body).toContain('[redacted]');
    expect(error.body!.length).toBeLessThanOrEqual(1024);
    expect(Object.keys(error)).not.toContain('body');
    expect(error.message.length).toBeLessThan(500);
  });

  test('is not waited for to its end', async () => {
    const error = await failureOf(
      await modelAt((_, response) => {
        response.writeHead(500, { 'content-type': 'text/plain' });
        const more = (): void => {
          while (response.write('x'.repeat(65_536)));
          response.once('drain', more);
        };
        more();
      }),
    );
    expect(error.kind).toBe('overloaded');
    expect(await allClosed()).toBe(true);
  });
});

describe('an answer that is none', () => {
  test('because it is a web page', async () => {
    const page = `<html>${'<p>Welcome</p>'.repeat(10_000)}</html>`;
    const error = await failureOf(
      await modelAt(answer(200, page, { 'content-type': 'text/html; charset=utf-8' })),
    );
    expect(error).toMatchObject({ kind: 'malformed', isRetryable: false });
    expect(error.body!.length).toBeLessThanOrEqual(1024);
    expect(await allClosed()).toBe(true);
  });

  test.each([
    ['an error in JSON with status 200', complaint('The engine is overloaded', 'server_error'), 'overloaded'],
    ['a list of errors', `[${complaint('The engine is overloaded', 'server_error')}]`, 'overloaded'],
    ['JSON that is no event', '{"hello":"world"}', 'malformed'],
    ['a page that says it were a stream', '<html>hi</html>', 'malformed'],
    ['nothing', '', 'network'],
    ['an event that is not JSON', 'data: <html>\n\n', 'malformed'],
    ['an event that is a list', 'data: []\n\n', 'malformed'],
    ['nothing but [DONE]', 'data: [DONE]\n\n', 'network'],
  ])('because it is %s', async (_, body, kind) => {
    expect(await failureOf(await modelAt(answer(200, body, sse)))).toMatchObject({ kind });
  });

  test('because gigabytes were packed into a line that never ends', async () => {
    const most = 16 * 1024; // their packed form does not fit into the buffers of a connection
    let sent = 0;
    const model = await modelAt((_, response) => {
      response.writeHead(200, { ...sse, 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(response);
      gzip.write('data: ');
      const block = Buffer.alloc(1 << 20, 'a');
      const more = (): void => {
        if (sent >= most || response.destroyed) return void gzip.end();
        sent++;
        gzip.write(block, more);
      };
      more();
    });
    expect(await failureOf(model)).toMatchObject({ kind: 'malformed' });
    expect(sent).toBeLessThan(most);
    expect(await allClosed()).toBe(true);
  });
});

describe('text', () => {
  const bodyOf = (...contents: Uint8Array[]): Uint8Array =>
    Uint8Array.from([
      ...contents.flatMap((content) => [
        ...toBytes('data: {"id":"r","choices":[{"delta":{"content":"'),
        ...content,
        ...toBytes('"}}]}\n\n'),
      ]),
      ...toBytes('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'),
    ]);
  const read = async (bytes: Uint8Array): Promise<string> => {
    const pieces = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
    const model = new OpenAIChatModel({ modelName: 'm', apiKey: KEY, fetch: fetchOf({ pieces }) });
    return (await model.call(ASK)).text;
  };

  test('that is cut inside of characters is not torn', async () => {
    const text = 'é 世界 👩‍👩‍👧 𝔘 ع';
    expect(await read(bodyOf(toBytes(text)))).toBe(text);
  });

  test('that is no UTF-8, holds half a character or NUL is taken as it is, and survives being saved', async () => {
    expect(await read(bodyOf(Uint8Array.of(0x61, 0xff, 0xc3, 0x28)))).toBe('a\ufffd\ufffd(');
    const text = await read(bodyOf(toBytes('a\\ud800b\\u0000c')));
    expect(text).toBe('a\ud800b\u0000c');
    expect(Msg.from(JSON.parse(JSON.stringify(Msg.assistant(text)))).text).toBe(text);
  });
});

describe('a connection', () => {
  const CASES: readonly [string, Handler][] = [
    ['that is reset', (_, response) => response.socket?.resetAndDestroy()],
    ['that ends without an answer', (_, response) => response.socket?.destroy()],
  ];

  test.each(CASES)('%s before the answer is an error that may be tried again', async (_, handler) => {
    const error = await failureOf(await modelAt(handler));
    expect(error).toMatchObject({ kind: 'network', isRetryable: true });
    expect(error.message).toMatch(/could not be reached/);
  });

  test.each(CASES)('%s in the middle leaves the text so far', async (_, handler) => {
    const model = await modelAt((request, response) => {
      response.writeHead(200, sse).write(firstDelta, () => setTimeout(() => handler(request, response), 20));
    });
    expect(await outcomeOf(model, ASK)).toMatchObject({
      content: [{ type: 'text', text: 'Grüß dich' }],
      error: 'network',
    });
  });

  test('whose Content-Length promises more than comes leaves the text so far', async () => {
    const model = await modelAt((_, response) => {
      response.writeHead(200, { ...sse, 'content-length': '100000' });
      response.write(firstDelta, () => setTimeout(() => response.socket?.destroy(), 20));
    });
    expect(await outcomeOf(model, ASK)).toMatchObject({ content: [{ type: 'text' }], error: 'network' });
  });

  test('whose Content-Length promises more than comes does not harm an answer that is whole', async () => {
    const model = await modelAt((_, response) => {
      response.writeHead(200, { ...sse, 'content-length': '100000' }).write(plain);
    });
    expect(await outcomeOf(model, ASK)).toMatchObject({
      content: [{ text: PLAIN_TEXT }],
      finishReason: 'stop',
    });
  });

  test.each([
    ['to nowhere', 'http://127.0.0.1:1/v1'],
    ['to a name that nobody has', 'http://nobody.invalid/v1'],
    ['by TLS to a server that has none', 'TLS'],
  ])('%s is an error that may be tried again', async (_, url) => {
    const model = await modelAt(answer(200, ''));
    const { port } = server!.address() as AddressInfo;
    const baseUrl = url === 'TLS' ? `https://127.0.0.1:${port}/v1` : url;
    const other = new OpenAIChatModel({ vendor: 'openai', modelName: model.modelName, apiKey: KEY, baseUrl });
    expect(await failureOf(other)).toMatchObject({ kind: 'network', isRetryable: true });
  });

  test('is not led elsewhere with the key', async () => {
    let asked = 0;
    const model = await modelAt((request, response) => {
      asked++;
      response.writeHead(307, { location: `http://127.0.0.1:${request.socket.localPort}/elsewhere` }).end();
    });
    expect(await failureOf(model)).toMatchObject({ kind: 'network' });
    expect(asked).toBe(1);
  });

  test('is used again for the next request', async () => {
    const ports = new Set<number | undefined>();
    const model = await modelAt((request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(200, sse).end(plain);
    });
    for (let i = 0; i < 5; i++) expect((await model.call(ASK)).text).toBe(PLAIN_TEXT);
    expect(ports.size).toBeLessThanOrEqual(2); // one more while the first is still being given back
  });

  test('is closed when the caller aborts, who gets the very reason', async () => {
    const model = await modelAt((_, response) => void response.writeHead(200, sse).write(firstDelta));
    const controller = new AbortController();
    const reason = new Error('enough');
    let caught: unknown;
    try {
      for await (const delta of model.stream(ASK, { signal: controller.signal })) {
        if (delta.type === 'text') controller.abort(reason);
      }
    } catch (error) {
      caught = error;
    }
    expect(caught).toBe(reason);
    expect(await allClosed()).toBe(true);
  });

  test('is closed when the reader leaves', async () => {
    const model = await modelAt((_, response) => void response.writeHead(200, sse).write(firstDelta));
    for await (const delta of model.stream(ASK)) if (delta.type === 'text') break;
    expect(await allClosed()).toBe(true);
  });

  test('is not opened for a call that is aborted already', async () => {
    let asked = 0;
    const model = await modelAt((_, response) => void (asked++, response.end()));
    const signal = AbortSignal.abort(new Error('never mind'));
    await expect(model.call(ASK, { signal })).rejects.toThrow('never mind');
    expect(asked).toBe(0);
  });

  test.each([
    ['fails', (response: ServerResponse) => void setTimeout(() => response.socket?.resetAndDestroy(), 20)],
    ['ends', (response: ServerResponse) => void setTimeout(() => response.end(), 20)],
  ])('that %s behind a complete answer does no harm', async (_, end) => {
    const complete = toText(plain).replace('data: [DONE]\n\n', '');
    const model = await modelAt((_request, response) => {
      response.writeHead(200, sse).write(complete, () => end(response));
    });
    expect(await outcomeOf(model, ASK)).toMatchObject({
      content: [{ text: PLAIN_TEXT }],
      finishReason: 'stop',
    });
  });

  test('is closed when the reader leaves while it waits', async () => {
    const model = await modelAt((_, response) => void response.writeHead(200, sse).write(firstDelta));
    const stream = model.stream(ASK);
    for (let delta = await stream.next(); !delta.done && delta.value.type !== 'text';)
      delta = await stream.next();
    const pending = stream.next();
    await stream.return();
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await allClosed()).toBe(true);
  });

  test.each([
    ['a header that can not be sent', { headers: { 'x-gateway': 'gw\ngw-secret-1' } }, 'gw-secret-1'],
    ['a header that is shown by the server', { headers: { 'X-Gateway': 'gw-secret-2' } }, 'gw-secret-2'],
  ])('shows nothing of %s', async (_, options, secret) => {
    const model = await modelAt((request, response) => {
      response.writeHead(400).end(complaint(`bad header ${String(request.headers['x-gateway'])}`));
    }, options);
    const error = await failureOf(model);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(secret);
  });

  test('that stays open behind [DONE] holds nobody up', async () => {
    const model = await modelAt((_, response) => void response.writeHead(200, sse).write(plain));
    expect((await model.call(ASK)).text).toBe(PLAIN_TEXT);
  });
});

describe('a deadline', () => {
  const MINUTE = 60_000;
  const model = (fetch: HttpModelOptions['fetch'], deadlines = {}): OpenAIChatModel =>
    new OpenAIChatModel({ vendor: 'openai', modelName: 'gpt-4.1', apiKey: KEY, fetch, deadlines });
  const stalled = (text: string): HttpModelOptions['fetch'] =>
    fetchOf({ pieces: text === '' ? [] : [toBytes(text)], stalls: true, headers: sse });

  /** Minutes until the failure of a model, and its error. */
  async function watch(model: OpenAIChatModel, minutes: number): Promise<[number, ModelError]> {
    const clock = new FakeClock();
    using _ = clock.install();
    const start = clock.now();
    const failure = failureOf(model).then((error): [number, ModelError] => [
      (clock.now() - start) / MINUTE,
      error,
    ]);
    for (let i = 0; i < minutes; i++) await clock.advance(MINUTE);
    const result = await failure;
    expect(clock.pendingTimers).toBe(0);
    return result;
  }

  test.each<[string, HttpModelOptions['fetch'], object, string, number]>([
    ['that never accepts', () => new Promise(() => {}), {}, 'connect', 2],
    ['that never begins', stalled(''), {}, 'first_byte', 5],
    ['that falls silent', stalled(firstDelta), {}, 'idle', 5],
    [
      'that never accepts, with a limit of our own',
      () => new Promise(() => {}),
      { connectMs: MINUTE },
      'connect',
      1,
    ],
    [
      'that takes its time, in all',
      stalled(firstDelta),
      { idleMs: Infinity, totalMs: 7 * MINUTE },
      'total',
      7,
    ],
  ])('ends the call of a server %s', async (_, fetch, deadlines, deadline, minutes) => {
    const [at, error] = await watch(model(fetch, deadlines), 10);
    expect(error).toMatchObject({ kind: 'timeout', deadline, isRetryable: true });
    expect(at).toBe(minutes);
  });

  test('for what may come behind a complete answer is short, and its end no failure', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const complete = toText(plain)
      .split('data: [DONE]')[0]!
      .replace(/data: [^\n]*"usage":\{.*\n\n$/, '');
    const call = model(stalled(complete)).call(ASK);
    await clock.advance(0);
    await clock.advance(5000);
    expect((await call).text).toBe(PLAIN_TEXT);
  });

  test('is a number of milliseconds, or none', () => {
    for (const ms of [0, -1, NaN]) {
      expect(() => model(undefined, { idleMs: ms })).toThrow(
        'deadlines.idleMs must be a number of milliseconds above 0.',
      );
    }
    expect(() => model(undefined, { idleMs: undefined, totalMs: Infinity, connectMs: 3e9 })).not.toThrow();
  });

  test('of more than the clock can hold is none', async () => {
    const [at, error] = await watch(model(stalled(''), { totalMs: 3e9, firstByteMs: 7 * MINUTE }), 10);
    expect([at, error.deadline]).toEqual([7, 'first_byte']);
  });

  test.each([
    ['UND_ERR_CONNECT_TIMEOUT', 'connect'],
    ['UND_ERR_HEADERS_TIMEOUT', 'first_byte'],
    ['UND_ERR_BODY_TIMEOUT', 'idle'],
  ])('of Node itself is told as one: %s', async (code, deadline) => {
    const cause = Object.assign(new Error('Timeout Error'), { code });
    const failing: HttpModelOptions['fetch'] = async () => {
      throw new TypeError('fetch failed', { cause });
    };
    expect(await failureOf(model(failing))).toMatchObject({ kind: 'timeout', deadline, isRetryable: true });
  });

  test('is not for the reader, who may take all the time in the world', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const slow = model(
      fetchOf({ pieces: Array.from(plain, (_, i) => plain.subarray(i, i + 1)), headers: sse }),
    );
    let text = '';
    for await (const delta of slow.stream(ASK)) {
      await clock.advance(6 * MINUTE);
      if (delta.type === 'text') text += delta.text;
    }
    expect(text).toBe(PLAIN_TEXT);
  });

  test('that was left starts no timer when its connection comes later', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const watch = new DeadlineWatch({ vendor: 'OpenAI' }, {}, () => {});
    expect(clock.pendingTimers).toBe(2);
    watch.stop();
    watch.connected();
    expect(clock.pendingTimers).toBe(0);
  });

  test('is lifted by every piece that comes', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const pieces = toText(plain).split(/(?<=\n\n)/);
    const fetch: HttpModelOptions['fetch'] = async () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await new Promise<void>((resolve) => void clock.startTimer(4 * MINUTE, resolve));
            const piece = pieces.shift();
            if (piece === undefined) controller.close();
            else controller.enqueue(toBytes(piece));
          },
        }),
        { headers: sse },
      );
    const call = model(fetch).call(ASK);
    for (let i = 0; i < 40; i++) await clock.advance(MINUTE);
    expect((await call).text).toBe(PLAIN_TEXT);
  });
});
