import { once } from 'node:events';
import { gzipSync } from 'node:zlib';

import { io, type Socket } from 'socket.io-client';
import { afterEach, describe, expect, test } from 'vitest';

import { spansFromJson, spansFromProtobuf } from '../src/otlp/otlp-spans.ts';
import { Studios, type StudioClient } from './studio-client.ts';

const studios = new Studios();
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.disconnect();
  await studios.closeAll();
});

/** Writes protobuf: a field with a number, a text, bytes or a nested message. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.byteLength), bytes]);
}
function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}
function fixed64(number: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return Buffer.concat([varint((number << 3) | 1), bytes]);
}
const text = (value: string) => field(1, value);
const int = (value: number) => Buffer.concat([varint(3 << 3), varint(value)]);
const pair = (key: string, value: Buffer) => Buffer.concat([field(1, key), field(2, value)]);

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const REQUEST = field(
  1,
  Buffer.concat([
    field(1, field(1, pair('service.name', text('weather')))),
    field(
      2,
      field(
        2,
        Buffer.concat([
          field(1, Buffer.from(TRACE, 'hex')),
          field(2, Buffer.from(SPAN, 'hex')),
          field(5, 'chat gpt-x'),
          fixed64(7, 1_700_000_000_000_000_000n),
          fixed64(8, 1_700_000_001_500_000_000n),
          field(9, pair('gen_ai.operation.name', text('chat'))),
          field(9, pair('gen_ai.request.model', text('gpt-x'))),
          field(9, pair('gen_ai.conversation.id', text('"run-7"'))),
          field(9, pair('gen_ai.usage.input_tokens', int(12))),
          field(9, pair('gen_ai.usage.output_tokens', int(3))),
          field(9, pair('__proto__', text('polluted'))),
          field(15, Buffer.concat([field(2, 'too slow'), Buffer.concat([varint(3 << 3), varint(2)])])),
        ]),
      ),
    ),
  ]),
);

const WANTED = {
  id: SPAN,
  traceId: TRACE,
  name: 'chat gpt-x',
  kind: 'model',
  startMs: 1_700_000_000_000,
  endMs: 1_700_000_001_500,
  status: 'error',
  error: 'too slow',
  modelName: 'gpt-x',
  usage: { inputTokens: 12, outputTokens: 3 },
};

/** A request with empty spans: two bytes each. */
function manySpans(count: number): Uint8Array<ArrayBuffer> {
  const part = (tag: number, bytes: Buffer): Buffer => {
    const length: number[] = [];
    for (let rest = bytes.byteLength; rest > 0; rest >>>= 7)
      length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
  };
  const spans = Buffer.alloc(2 * count, Buffer.from([0x12, 0]));
  return new Uint8Array(part(0x0a, part(0x12, spans)));
}

describe('the OTLP receiver', () => {
  const send = (
    page: StudioClient,
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string>,
    path = 'v1/traces',
  ) => fetch(`${page.studio.url}/${path}`, { method: 'POST', body, headers });
  const bearer = (page: StudioClient) => ({ authorization: `Bearer ${page.studio.token}` });

  test('takes protobuf, plain and packed, and shows the span in its run', async () => {
    const page = await studios.start();
    const type = { 'content-type': 'application/x-protobuf' };
    const answer = await send(page, new Uint8Array(gzipSync(REQUEST)), {
      ...type,
      ...bearer(page),
      'content-encoding': 'gzip',
    });
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'application/x-protobuf',
      '',
    ]);
    expect((await send(page, new Uint8Array(REQUEST), { ...type, ...bearer(page) })).status).toBe(200);
    const { body } = await page.get('api/runs/run-7/spans');
    expect(body).toMatchObject({ source: 'otlp', total: 1, spans: [WANTED] });
    expect(Object.hasOwn(body.spans[0].attributes, '__proto__')).toBe(true);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    expect((await page.get('api/traces')).body.traces).toMatchObject([
      { traceId: TRACE, service: 'weather', runId: 'run-7', spans: 1, errors: 1, durationMs: 1500 },
    ]);
    const found = async (q: string) =>
      (await page.get(`api/traces?q=${encodeURIComponent(q)}`)).body.traces.length;
    expect([await found('GPT-x'), await found('weath'), await found('%')]).toEqual([1, 1, 0]);
  });

  test('takes JSON with the names of the standard, by the address with the key that can only write', async () => {
    const page = await studios.start();
    const attributes = [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'gen_ai.request.model', value: { stringValue: 'gpt-x' } },
      { key: 'gen_ai.conversation.id', value: { stringValue: 'run-7' } },
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
      { key: 'gen_ai.usage.output_tokens', value: { intValue: 3 } },
    ];
    const span = {
      traceId: TRACE,
      spanId: SPAN,
      name: 'chat gpt-x',
      startTimeUnixNano: '1700000000000000000',
      endTimeUnixNano: '1700000001500000000',
      attributes,
      status: { code: 2, message: 'too slow' },
    };
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
    const { pathname } = new URL(page.studio.agentscopeUrl);
    const answer = await send(
      page,
      body,
      { 'content-type': 'application/json' },
      `${pathname.slice(1)}/v1/traces`,
    );
    expect([answer.status, await answer.json()]).toEqual([200, {}]);
    expect((await page.get('api/runs/run-7/spans')).body.spans).toMatchObject([WANTED]);
  });

  test('refuses other types, other packings and damaged data, and never hangs', async () => {
    const page = await studios.start();
    expect((await send(page, 'x', { ...bearer(page), 'content-type': 'text/xml' })).status).toBe(415);
    const type = { ...bearer(page), 'content-type': 'application/x-protobuf' };
    expect((await send(page, 'x', { ...type, 'content-encoding': 'br' })).status).toBe(415);
    expect((await send(page, 'x', { ...type, 'content-encoding': 'gzip' })).status).toBe(400);
    expect((await send(page, '', type)).status).toBe(400);
    expect((await send(page, manySpans(1_000_000), type)).status).toBe(400);
    const spans = Array.from({ length: 30_000 }, () => ({}));
    expect(() => spansFromJson({ resourceSpans: [{ scopeSpans: [{ spans }] }] })).toThrow('20000 spans');
    let read = 0;
    for (let length = 0; length < REQUEST.byteLength; length++) {
      try {
        read += spansFromProtobuf(REQUEST.subarray(0, length)).length;
      } catch (error) {
        expect(error).toMatchObject({ name: 'BadProtobufError' });
      }
    }
    expect(read).toBe(0);
    expect(spansFromJson({ resourceSpans: [{ scopeSpans: 'x' }, null] })).toEqual([]);
  });
});

describe('programs written for the Studio of AgentScope', () => {
  const call = (page: StudioClient, procedure: string, input: object) =>
    fetch(`${page.studio.agentscopeUrl}/trpc/${procedure}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
  const RUN = {
    id: 'r1',
    project: 'zoo',
    name: 'first',
    timestamp: '2026-01-31 09:30:00.000',
    pid: 7,
    status: 'running',
    run_dir: '',
  };

  test('register a run and push messages, of which the last with an id counts', async () => {
    const page = await studios.start();
    const answer = await call(page, 'registerRun', RUN);
    expect([answer.status, await answer.json()]).toEqual([200, { result: {} }]);
    const push = (content: unknown, extra: object = {}) =>
      call(page, 'pushMessage', {
        runId: 'r1',
        replyId: 'p1',
        replyName: 'Friday',
        replyRole: 'assistant',
        msg: {
          id: 'm1',
          name: 'Friday',
          role: 'assistant',
          content,
          metadata: {},
          timestamp: '2026-01-31 09:30:01.000',
        },
        ...extra,
      });
    expect((await push('Hel')).status).toBe(200);
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(4000) },
    };
    expect((await push([{ type: 'text', text: 'Hello' }, image, { type: 'hint', hint: 'new' }])).status).toBe(
      200,
    );
    const { body } = await page.get('api/runs/r1/entries');
    const messages = body.entries.filter(({ kind }: any) => kind === 'message');
    expect(messages.map(({ msg, replyName }: any) => [msg.id, replyName])).toEqual([
      ['m1', 'Friday'],
      ['m1', 'Friday'],
    ]);
    const [, shown] = messages[1].msg.content;
    expect(shown.source).toMatchObject({
      type: 'url',
      url: expect.stringMatching(/^studio-file:[0-9a-f]{64}$/),
    });
    const file = await fetch(`${page.studio.url}/api/files/${shown.source.url.slice(12)}`, {
      headers: { cookie: page.cookie },
    });
    expect([file.headers.get('content-type'), file.headers.get('content-security-policy')]).toEqual([
      'image/png',
      "default-src 'none'; sandbox",
    ]);
    expect((await page.get('api/runs/r1')).body.run).toMatchObject({
      project: 'zoo',
      source: 'agentscope',
      status: 'idle',
      preview: 'Hello',
    });
    const sound = { type: 'audio', source: { type: 'base64', media_type: 'audio/wav', data: 'UklGRg==' } };
    expect((await push('Hello', { speech: [sound] })).status).toBe(200);
    const spoken = (await page.get('api/runs/r1/entries')).body.entries.at(-1).msg.content;
    expect(spoken).toEqual([
      { type: 'text', text: 'Hello' },
      { type: 'audio', source: { type: 'base64', mediaType: 'audio/wav', data: 'UklGRg==' } },
    ]);
    const unknown = await push('x', { runId: 'r2' });
    expect([unknown.status, ((await unknown.json()) as any).error.message]).toEqual([
      400,
      'Run with id r2 does not exist',
    ]);
    expect((await call(page, 'noSuchProcedure', {})).status).toBe(404);
  });

  test('a message that grows is one message, of which the tape keeps the first form and the newest', async () => {
    const page = await studios.start();
    await call(page, 'registerRun', RUN);
    let content = '';
    for (let n = 1; n <= 50; n++) {
      content += `word ${n} `;
      const msg = { id: 'm1', name: 'Friday', role: 'assistant', content, metadata: {}, timestamp: 'x' };
      const reply = { runId: 'r1', replyId: 'm1', replyName: 'Friday', replyRole: 'assistant' };
      expect((await call(page, 'pushMessage', { ...reply, msg })).status).toBe(200);
    }
    const { entries } = (await page.get('api/runs/r1/entries')).body;
    const texts = entries.flatMap((entry: any) => (entry.kind === 'message' ? [entry.msg.content] : []));
    expect(texts).toEqual(['word 1 ', content]);
    expect((await page.get('api/runs/r1')).body.run.messages).toBe(1);
    const found = async (q: string) => (await page.get(`api/runs?q=${q}`)).body.total;
    expect([await found('word%2050'), await found('word%201%20word%202')]).toEqual([1, 1]);
  });

  test.each(['polling', 'websocket'])(
    'ask a person and get the answer by socket.io (%s), each its own',
    async (transport) => {
      const page = await studios.start();
      for (const id of ['r1', 'r2']) await call(page, 'registerRun', { ...RUN, id });
      const connect = (runId: string): Socket => {
        const socket = io(`${page.studio.url}/python`, {
          auth: { run_id: runId },
          transports: [transport],
          reconnection: false,
        });
        sockets.push(socket);
        return socket;
      };
      const [mine, other] = [connect('r1'), connect('r2')];
      await Promise.all([once(mine as never, 'connect'), once(other as never, 'connect')]);
      const heard: unknown[][] = [];
      other.on('forwardUserInput', (...args: unknown[]) => heard.push(args));
      const question = {
        requestId: 'q1',
        runId: 'r1',
        agentId: 'a1',
        agentName: 'user',
        structuredInput: null,
      };
      expect((await call(page, 'requestUserInput', question)).status).toBe(200);
      const { body } = await page.get('api/waiting');
      expect(body.waiting).toMatchObject([{ id: 'q1', kind: 'question', agentName: 'user', schema: null }]);
      const answered = once(mine as never, 'forwardUserInput');
      expect(await page.act('r1', { type: 'answer', id: 'q1', content: 'Hello!' })).toMatchObject({
        status: 200,
      });
      expect(await answered).toEqual(['q1', [{ type: 'text', text: 'Hello!' }], null]);
      expect(heard).toEqual([]);
      const stranger = connect('unknown');
      const [error] = (await once(stranger as never, 'connect_error')) as [Error];
      expect(error.message).toBe('This run is not registered.');
    },
  );
});
