import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { ReActAgent, Msg } from '../../src/index.ts';
import { DashScopeSttModel, DashScopeTtsModel } from '../../src/providers/dashscope/index.ts';
import { GeminiSttModel } from '../../src/providers/gemini/index.ts';
import { OpenAISttModel } from '../../src/providers/openai/index.ts';
import { fromWav, TranscribeModel, toWav, type PcmAudio, type SttModelBase } from '../../src/speech/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { bytesOf } from '../../src/util/audio/pcm.ts';

const SOUND: PcmAudio = {
  data: bytesOf(Int16Array.from({ length: 600 }, (_, i) => i * 50 - 15_000)),
  rate: 16_000,
};
const KEY = 'sk-secret-4711-key';

interface Sent {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** A server that answers with a text, in writes of the given size. */
async function serve(
  answer: string,
  {
    status = 200,
    type = 'text/event-stream',
    size = 7,
  }: { status?: number; type?: string; size?: number } = {},
): Promise<{ baseUrl: string; sent: Sent[] }> {
  const sent: Sent[] = [];
  const bytes = Buffer.from(answer);
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => void parts.push(part));
    request.on('end', () => {
      sent.push({ url: request.url ?? '', headers: request.headers, bytes: Buffer.concat(parts) });
      response.writeHead(status, { 'content-type': type });
      for (let i = 0; i < bytes.length; i += size) response.write(bytes.subarray(i, i + size));
      response.end();
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

const sse = (events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

async function* inPieces({ data, rate }: PcmAudio): AsyncGenerator<PcmAudio> {
  for (let at = 0; at < data.length; at += 100) yield { data: data.subarray(at, at + 100), rate };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The form of a request: texts, and the sound of its file. */
function formOf({ headers, bytes }: Sent): Record<string, unknown> {
  const boundary = /^multipart\/form-data; boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1] ?? 'none';
  const parts = bytes.toString('latin1').split(`--${boundary}`);
  expect([parts[0], parts.at(-1)]).toEqual(['', '--\r\n']);
  const entries = parts.slice(1, -1).map((part) => {
    const at = part.indexOf('\r\n\r\n');
    const [head, value] = [part.slice(2, at), part.slice(at + 4, -2)];
    const [, name = '', file] = /name="([^"]*)"(?:; filename="([^"]*)")?/.exec(head) ?? [];
    if (file === undefined) return [name, value] as const;
    const type = /content-type: (.*)/.exec(head)?.[1];
    return [name, { file, type, sound: fromWav(Uint8Array.from(Buffer.from(value, 'latin1'))) }] as const;
  });
  return Object.fromEntries(entries);
}

describe('OpenAISttModel', () => {
  const make = (baseUrl: string): OpenAISttModel =>
    new OpenAISttModel({
      modelName: 'gpt-transcribe',
      apiKey: KEY,
      baseUrl: `${baseUrl}/v1`,
      language: 'en',
    });
  const events = [
    { type: 'transcript.text.delta', delta: 'What is the ' },
    { type: 'transcript.text.delta', delta: 'weather?' },
    {
      type: 'transcript.text.done',
      text: 'What is the weather?',
      usage: { type: 'tokens', input_tokens: 14, output_tokens: 5, total_tokens: 19 },
    },
  ];

  it.each([1, 64, 100_000])('reads a streamed transcript in pieces of %i bytes', async (size) => {
    const { baseUrl, sent } = await serve(sse(events), { size });
    const deltas = await collect(make(baseUrl).transcribe(inPieces(SOUND)));
    expect(deltas).toEqual([
      { text: 'What is the ' },
      { text: 'weather?' },
      { usage: { inputTokens: 14, outputTokens: 5 } },
    ]);
    expect(sent).toMatchObject([
      { url: '/v1/audio/transcriptions', headers: { authorization: `Bearer ${KEY}` } },
    ]);
    expect(sent[0] && formOf(sent[0])).toEqual({
      model: 'gpt-transcribe',
      response_format: 'json',
      stream: 'true',
      language: 'en',
      file: { file: 'sound.wav', type: 'audio/wav', sound: SOUND },
    });
  });

  it('reads a whole answer of a server that does not stream', async () => {
    const { baseUrl } = await serve('{"text":"Hello."}', { type: 'application/json' });
    expect(await make(baseUrl).toTranscript(SOUND)).toEqual({ text: 'Hello.' });
  });

  it('reads a stream that has its text only at the end', async () => {
    const { baseUrl } = await serve(sse(events.slice(2)));
    expect((await make(baseUrl).toTranscript(SOUND)).text).toBe('What is the weather?');
  });

  it('sends nothing for no sound, and refuses a sound that is too long before it sends', async () => {
    const { baseUrl, sent } = await serve('{"text":"Hello."}');
    expect(await make(baseUrl).toTranscript({ data: new Uint8Array(), rate: 8000 })).toEqual({ text: '' });
    const long = { data: new Uint8Array(25 * 1024 * 1024), rate: 8000 };
    await expect(make(baseUrl).toTranscript(long)).rejects.toThrow('more than 24 MB');
    expect(sent).toEqual([]);
  });

  it('joins pieces of several rates at the rate of the first', async () => {
    const { baseUrl, sent } = await serve('{"text":"Hello."}', { type: 'application/json' });
    async function* mixed(): AsyncGenerator<PcmAudio> {
      yield { data: new Uint8Array(1600), rate: 16_000 };
      yield { data: new Uint8Array(4800), rate: 24_000 };
    }
    await make(baseUrl).toTranscript(mixed());
    const { file } = formOf(sent[0] as Sent) as { file: { sound: PcmAudio } };
    expect(file.sound.rate).toBe(16_000);
    expect(file.sound.data.length).toBeGreaterThan(4500);
    expect(file.sound.data.length).toBeLessThanOrEqual(4800);
  });

  it('reports an error of the server without the key', async () => {
    const body = JSON.stringify({ error: { message: `Invalid key ${KEY}`, code: 'invalid_api_key' } });
    const { baseUrl } = await serve(body, { status: 401, type: 'application/json' });
    const failure = await make(baseUrl)
      .toTranscript(SOUND)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'model_failed', kind: 'auth' });
    expect(String(failure)).not.toContain(KEY);
  });
});

describe('GeminiSttModel', () => {
  it('reads the words without the thinking, with the usage', async () => {
    const { baseUrl, sent } = await serve(
      sse([
        { candidates: [{ content: { parts: [{ text: 'Noise?', thought: true }] } }] },
        { candidates: [{ content: { parts: [{ text: 'Guten ' }] } }] },
        {
          candidates: [{ content: { parts: [{ text: 'Tag.' }] }, finishReason: 'STOP' }],
          usageMetadata: { promptTokenCount: 40, candidatesTokenCount: 3, totalTokenCount: 43 },
        },
      ]),
    );
    const model = new GeminiSttModel({ modelName: 'gemini-3.8-flash', apiKey: KEY, baseUrl });
    expect(await model.toTranscript(SOUND)).toEqual({
      text: 'Guten Tag.',
      usage: { inputTokens: 40, outputTokens: 3 },
    });
    const wav = Buffer.from(toWav(SOUND)).toString('base64');
    const prompt: unknown = expect.stringContaining('word for word');
    expect(JSON.parse(String(sent[0]?.bytes))).toEqual({
      contents: [
        { role: 'user', parts: [{ inlineData: { mimeType: 'audio/wav', data: wav } }, { text: prompt }] },
      ],
    });
  });
});

describe('models of DashScope', () => {
  it('DashScopeSttModel reads the answer of Qwen-ASR', async () => {
    const answer = {
      output: {
        choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: [{ text: '你好。' }] } }],
      },
      usage: { input_tokens_details: { text_tokens: 0, audio_tokens: 42 }, output_tokens: 4, seconds: 1 },
      request_id: 'r1',
    };
    const { baseUrl, sent } = await serve(JSON.stringify(answer), { type: 'application/json' });
    const model = new DashScopeSttModel({
      modelName: 'qwen3-asr-flash',
      apiKey: KEY,
      baseUrl,
      language: 'zh',
    });
    expect(await model.toTranscript(SOUND)).toEqual({
      text: '你好。',
      usage: { inputTokens: 42, outputTokens: 4 },
    });
    expect(sent[0]?.url).toBe('/api/v1/services/aigc/multimodal-generation/generation');
    expect(JSON.parse(String(sent[0]?.bytes))).toEqual({
      model: 'qwen3-asr-flash',
      input: {
        messages: [
          {
            role: 'user',
            content: [{ audio: `data:audio/wav;base64,${Buffer.from(toWav(SOUND)).toString('base64')}` }],
          },
        ],
      },
      parameters: { asr_options: { enable_itn: false, language: 'zh' } },
    });
  });

  const [start, rest] = [SOUND.data.subarray(0, 400), SOUND.data.subarray(400)].map((bytes) =>
    Buffer.from(bytes).toString('base64'),
  );

  it.each([
    ['qwen3-tts-flash', '/aigc/multimodal-generation/generation', { voice: 'Cherry', language_type: 'Auto' }],
    [
      'cosyvoice-v3-plus',
      '/audio/tts/SpeechSynthesizer',
      { voice: 'longanyang', format: 'pcm', sample_rate: 24_000 },
    ],
  ])('DashScopeTtsModel speaks with %s', async (modelName, path, options) => {
    const { baseUrl, sent } = await serve(
      sse([
        { output: { audio: { data: start }, finish_reason: 'null' }, request_id: 'r1' },
        { output: { audio: { data: rest }, finish_reason: 'null' }, request_id: 'r1' },
        {
          output: { audio: { data: '', url: 'http://127.0.0.1/a.wav' }, finish_reason: 'stop' },
          usage: { input_tokens: 3, output_tokens: 30 },
        },
      ]),
    );
    const model = new DashScopeTtsModel({ modelName, apiKey: KEY, baseUrl });
    const deltas = await collect(model.synthesize('Hello.'));
    expect(deltas.flatMap(({ audio }) => [...(audio?.data ?? [])])).toEqual([...SOUND.data]);
    expect(deltas.at(-1)).toEqual({ usage: { inputTokens: 3, outputTokens: 30 } });
    expect(sent[0]).toMatchObject({
      url: `/api/v1/services${path}`,
      headers: { 'x-dashscope-sse': 'enable' },
    });
    expect(JSON.parse(String(sent[0]?.bytes))).toEqual({
      model: modelName,
      input: { text: 'Hello.', ...options },
    });
  });

  it('reports an error event', async () => {
    const { baseUrl } = await serve(sse([{ code: 'Throttling.RateQuota', message: 'Too fast.' }]));
    const model = new DashScopeTtsModel({ modelName: 'qwen3-tts-flash', apiKey: KEY, baseUrl });
    await expect(collect(model.synthesize('Hello.'))).rejects.toMatchObject({ code: 'model_failed' });
  });
});

describe('TranscribeModel', () => {
  const spoken = Msg.user([
    { type: 'text', text: 'Listen:' },
    {
      type: 'audio',
      source: { type: 'base64', mediaType: 'audio/wav', data: Buffer.from(toWav(SOUND)).toString('base64') },
    },
  ]);

  it('gives a model that cannot hear the words, and asks for each sound once', async () => {
    const { baseUrl, sent } = await serve('{"text":" What is the weather? "}', { type: 'application/json' });
    const stt: SttModelBase = new OpenAISttModel({ modelName: 'whisper', apiKey: KEY, baseUrl });
    const model = new ScriptedModel(['Sunny.', 'Still sunny.']);
    const agent = new ReActAgent({ name: 'Friday', model: new TranscribeModel(model, stt), console: false });
    await agent.call(spoken);
    await agent.call('And now?');
    expect(model.requests.map(({ messages }) => messages.find(({ role }) => role === 'user')?.text)).toEqual(
      Array.from({ length: 2 }, () => expect.stringContaining('What is the weather?') as string),
    );
    expect(model.requests[0]?.messages.some((msg) => msg.hasContentBlocks('audio'))).toBe(false);
    expect(sent.length).toBe(1);
    expect((await agent.memory.getMemory())[0]?.hasContentBlocks('audio')).toBe(true);
  });

  it('tries a sound again that failed, and leaves other formats as they are', async () => {
    const { baseUrl } = await serve('{"error":{"message":"Busy."}}', {
      status: 503,
      type: 'application/json',
    });
    const stt = new OpenAISttModel({ modelName: 'whisper', apiKey: KEY, baseUrl });
    const model = new TranscribeModel(new ScriptedModel(['Hello.']), stt);
    const messages = [spoken];
    await expect(model.call({ messages })).rejects.toMatchObject({ kind: 'overloaded' });
    await expect(model.call({ messages })).rejects.toMatchObject({ kind: 'overloaded' });
    const mp3 = Msg.user([
      { type: 'audio', source: { type: 'base64', mediaType: 'audio/mpeg', data: 'AAAA' } },
    ]);
    expect((await model.call({ messages: [mp3] })).text).toBe('Hello.');
  });
});
