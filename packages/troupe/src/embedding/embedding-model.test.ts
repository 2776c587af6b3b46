import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';

import { ModelError } from '../model/model-error.ts';
import { DashScopeMultimodalEmbedding } from '../providers/dashscope/dashscope-multimodal-embedding.ts';
import { DashScopeTextEmbedding } from '../providers/dashscope/dashscope-text-embedding.ts';
import { GeminiEmbeddingModel } from '../providers/gemini/gemini-embedding-model.ts';
import { OllamaEmbeddingModel } from '../providers/ollama/ollama-embedding-model.ts';
import { OpenAIEmbeddingModel } from '../providers/openai/openai-embedding-model.ts';
import { installInstrumentation } from '../tracing/instrumentation.ts';
import type { SpanOutcome, TracedOperation } from '../tracing/traced-operation.ts';
import { EmbeddingModelBase, type EmbeddedBatch, type EmbeddingInput } from './embedding-model-base.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

interface Sent {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** Real HTTP server that answers each request by its body. */
async function serve(
  answer: (sent: Sent, count: number) => { status?: number; headers?: Record<string, string>; body: unknown },
): Promise<{ url: string; sent: Sent[] }> {
  const sent: Sent[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const one: Sent = { path: request.url ?? '', headers: request.headers, body: JSON.parse(text) };
      sent.push(one);
      const { status = 200, headers = {}, body } = answer(one, sent.length);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

const vectors = (...lists: number[][]): Float32Array[] => lists.map((list) => Float32Array.from(list));

describe('wires', () => {
  test('OpenAI: vectors in any order, dimensions sent only when given', async () => {
    const { url, sent } = await serve(() => ({
      body: {
        object: 'list',
        data: [
          { object: 'embedding', index: 1, embedding: [0, 1] },
          { object: 'embedding', index: 0, embedding: [1, 0] },
        ],
        model: 'text-embedding-3-small',
        usage: { prompt_tokens: 7, total_tokens: 7 },
      },
    }));
    const options = { modelName: 'text-embedding-3-small', apiKey: 'sk-test', baseUrl: `${url}/v1` };
    const model = new OpenAIEmbeddingModel({ ...options, vendor: 'openai', dimensions: 2 });
    const { embeddings, usage, cachedCount } = await model.embed(['a', { type: 'text', text: 'b' }]);
    expect(embeddings).toEqual(vectors([1, 0], [0, 1]));
    expect({ ...usage, seconds: 0, cachedCount }).toEqual({
      inputTokens: 7,
      outputTokens: 0,
      seconds: 0,
      cachedCount: 0,
    });
    expect(sent.map(({ path, body, headers }) => ({ path, body, key: headers.authorization }))).toEqual([
      {
        path: '/v1/embeddings',
        key: 'Bearer sk-test',
        body: { model: 'text-embedding-3-small', input: ['a', 'b'], encoding_format: 'float', dimensions: 2 },
      },
    ]);
    await new OpenAIEmbeddingModel({ ...options, vendor: 'openai' }).embed(['a', 'b']);
    expect(sent[1]?.body).not.toHaveProperty('dimensions');
  });

  test('Gemini: queries and documents are told apart, and dimensions are sent', async () => {
    const { url, sent } = await serve(() => ({ body: { embeddings: [{ values: [1, 2, 3] }] } }));
    const model = new GeminiEmbeddingModel({
      modelName: 'gemini-embedding-001',
      apiKey: 'g-test',
      baseUrl: url,
      dimensions: 3,
    });
    expect((await model.embed(['a'], { purpose: 'query' })).embeddings).toEqual(vectors([1, 2, 3]));
    await model.embed(['b']);
    const request = (text: string, taskType: string): object => ({
      model: 'models/gemini-embedding-001',
      content: { parts: [{ text }] },
      taskType,
      outputDimensionality: 3,
    });
    expect(sent.map(({ path, body }) => [path, body])).toEqual([
      [
        '/v1beta/models/gemini-embedding-001:batchEmbedContents',
        { requests: [request('a', 'RETRIEVAL_QUERY')] },
      ],
      [
        '/v1beta/models/gemini-embedding-001:batchEmbedContents',
        { requests: [request('b', 'RETRIEVAL_DOCUMENT')] },
      ],
    ]);
  });

  test('Ollama', async () => {
    const { url, sent } = await serve(() => ({
      body: { model: 'nomic-embed-text', embeddings: [[1, 0]], prompt_eval_count: 3 },
    }));
    const model = new OllamaEmbeddingModel({ modelName: 'nomic-embed-text', baseUrl: url, keepAlive: '5m' });
    const { embeddings, usage } = await model.embed(['a']);
    expect([embeddings, usage.inputTokens]).toEqual([vectors([1, 0]), 3]);
    expect(sent.map(({ path, body }) => [path, body])).toEqual([
      ['/api/embed', { model: 'nomic-embed-text', input: ['a'], keep_alive: '5m' }],
    ]);
  });

  test('DashScope text: batches of 10', async () => {
    const { url, sent } = await serve(({ body }) => {
      const { texts } = (body as { input: { texts: string[] } }).input;
      const embeddings = texts.map((text, index) => ({ text_index: index, embedding: [Number(text)] }));
      return { body: { output: { embeddings }, usage: { total_tokens: texts.length }, request_id: 'r' } };
    });
    const model = new DashScopeTextEmbedding({ modelName: 'text-embedding-v4', apiKey: 'd', baseUrl: url });
    const numbers = Array.from({ length: 23 }, (_, i) => String(i));
    const { embeddings, usage } = await model.embed(numbers);
    expect(embeddings.map(([value]) => String(value))).toEqual(numbers);
    expect(usage.inputTokens).toBe(23);
    expect(
      sent
        .map(({ body }) => (body as { input: { texts: string[] } }).input.texts.length)
        .toSorted((a, b) => b - a),
    ).toEqual([10, 10, 3]);
    expect(sent[0]?.path).toBe('/api/v1/services/embeddings/text-embedding/text-embedding');
    expect(sent[0]?.body).toMatchObject({ parameters: { text_type: 'document' } });
  });

  test('DashScope multimodal: texts, images and videos; lengths and names of models are fixed', async () => {
    const { url, sent } = await serve(({ body }) => {
      const { contents } = (body as { input: { contents: object[] } }).input;
      const embedding = Array.from({ length: 768 }, () => 0.5);
      return {
        body: {
          output: { embeddings: contents.map((_, index) => ({ index, embedding, type: 'x' })) },
          usage: { input_tokens: 4 },
        },
      };
    });
    const options = { modelName: 'tongyi-embedding-vision-flash', apiKey: 'd', baseUrl: url };
    const model = new DashScopeMultimodalEmbedding(options);
    expect(model.dimensions).toBe(768);
    const image = {
      type: 'image',
      source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' },
    } as const;
    const video = { type: 'video', source: { type: 'url', url: 'https://example.com/v.mp4' } } as const;
    expect((await model.embed(['a', image, video])).embeddings).toHaveLength(3);
    expect(sent[0]?.body).toEqual({
      model: 'tongyi-embedding-vision-flash',
      input: {
        contents: [
          { text: 'a' },
          { image: 'data:image/png;base64,AAAA' },
          { video: 'https://example.com/v.mp4' },
        ],
      },
    });
    const inline = {
      type: 'video',
      source: { type: 'base64', mediaType: 'video/mp4', data: 'AAAA' },
    } as const;
    await expect(model.embed([inline])).rejects.toThrow('by URL only');
    expect(() => new DashScopeMultimodalEmbedding({ ...options, dimensions: 2 })).toThrow('768 numbers only');
    expect(() => new DashScopeMultimodalEmbedding({ ...options, modelName: 'gpt' })).toThrow(
      'begins with one of',
    );
  });
});

test('a rate limit is retried, and an error of the key is not; no error holds the key', async () => {
  const { url, sent } = await serve((_, count) =>
    count === 1
      ? { status: 429, headers: { 'retry-after-ms': '1' }, body: { error: { message: 'slow down' } } }
      : count === 2
        ? { body: { data: [{ index: 0, embedding: [1] }] } }
        : { status: 401, body: { error: { message: 'bad key sk-secret-123456' } } },
  );
  const model = new OpenAIEmbeddingModel({
    modelName: 'm',
    vendor: 'openai',
    apiKey: 'sk-secret-123456',
    baseUrl: url,
  });
  expect((await model.embed(['a'])).embeddings).toEqual(vectors([1]));
  const error = await model.embed(['a']).catch((thrown: unknown) => thrown);
  expect(sent).toHaveLength(3);
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({ kind: 'auth' });
  expect(JSON.stringify([String(error), error])).not.toContain('sk-secret');
});

/** Counts its requests; each input becomes a vector of its length. */
class Fake extends EmbeddingModelBase {
  readonly batches: (readonly EmbeddingInput[])[] = [];
  running = 0;
  most = 0;
  lengths: readonly number[] | undefined;

  constructor(options: ConstructorParameters<typeof EmbeddingModelBase>[1] = {}) {
    super({ modelName: 'fake', maxBatch: 100 }, options);
  }

  protected override async embedBatch(inputs: readonly EmbeddingInput[]): Promise<EmbeddedBatch> {
    this.batches.push(inputs);
    this.most = Math.max(this.most, ++this.running);
    await new Promise((resolve) => setImmediate(resolve));
    this.running--;
    const embeddings = inputs.map((input, i) =>
      new Float32Array(this.lengths?.[i] ?? 2).fill(String(input).length),
    );
    return { embeddings, inputTokens: inputs.length };
  }
}

test('batches keep the order, and no more requests run at once than allowed', async () => {
  const model = new Fake({ batchSize: 3, maxConcurrency: 2 });
  const inputs = Array.from({ length: 20 }, (_, i) => 'x'.repeat(i + 1));
  const { embeddings, usage } = await model.embed(inputs);
  expect(embeddings.map(([length]) => length)).toEqual(inputs.map(({ length }) => length));
  expect([model.batches.length, model.most, usage.inputTokens, model.dimensions]).toEqual([7, 2, 20, 2]);
});

test('all calls of a model together send no more requests at once than allowed; an aborted one leaves the queue', async () => {
  const model = new Fake({ batchSize: 1, maxConcurrency: 2 });
  const controller = new AbortController();
  const calls = [
    model.embed(['a', 'b', 'c']),
    model.embed(['d', 'e']),
    model.embed(['f'], { signal: controller.signal }),
  ];
  controller.abort(new Error('enough'));
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  expect([model.most, model.batches.flat().map(String).toSorted()]).toEqual([2, ['a', 'b', 'c', 'd', 'e']]);
});

test('vectors of another length, or too few, are an error; empty and foreign inputs are refused', async () => {
  const model = new Fake();
  await model.embed(['a']);
  model.lengths = [3];
  await expect(model.embed(['a'])).rejects.toThrow('vectors of 3 numbers for 1 inputs; vectors of 2');
  await expect(model.embed([' '])).rejects.toThrow('empty text');
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/i.png' } } as const;
  await expect(model.embed([image])).rejects.toThrow('embeds text, not image');
  expect((await model.embed([])).embeddings).toEqual([]);
});

test('an abort stops before the next request', async () => {
  const model = new Fake({ batchSize: 1, maxConcurrency: 1 });
  const controller = new AbortController();
  const running = model.embed(['a', 'b', 'c'], { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
  expect(model.batches).toHaveLength(1);
});

test('one span for all requests of a call, with usage and count', async () => {
  const spans: [TracedOperation, SpanOutcome][] = [];
  cleanups.push(
    installInstrumentation({
      isRecording: true,
      begin: (operation) => ({
        capturesContent: false,
        run: (body) => body(),
        end: (outcome) => void spans.push([operation, outcome]),
      }),
      headers: () => ({}),
      continueTrace: (_, body) => body(),
    }),
  );
  await new Fake({ batchSize: 1, dimensions: 2 }).embed(['a', 'b']);
  expect(spans).toMatchObject([
    [
      { type: 'embedding', model: { modelName: 'fake' }, inputCount: 2, dimensions: 2 },
      { status: 'ok', count: 2, usage: { inputTokens: 2 } },
    ],
  ]);
});
