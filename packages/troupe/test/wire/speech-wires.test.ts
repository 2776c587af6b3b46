import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { GeminiTtsModel } from '../../src/providers/gemini/index.ts';
import { OpenAITtsModel } from '../../src/providers/openai/index.ts';
import type { SpeechDelta, TtsModelBase } from '../../src/tts/tts-model-base.ts';
import { bytesOf } from '../../src/util/audio/pcm.ts';

const SOUND = bytesOf(Int16Array.from({ length: 600 }, (_, i) => i * 50 - 15_000));
const KEY = 'sk-secret-4711-key';

interface Sent {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** A server that answers with bytes, in writes of the given size. */
async function serve(
  answer: Uint8Array | string,
  { status = 200, type = 'audio/pcm', size = 7 }: { status?: number; type?: string; size?: number } = {},
): Promise<{ baseUrl: string; sent: Sent[] }> {
  const sent: Sent[] = [];
  const bytes = Buffer.from(answer);
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => void parts.push(part));
    request.on('end', () => {
      const body: unknown = JSON.parse(Buffer.concat(parts).toString());
      sent.push({ url: request.url ?? '', headers: request.headers, body });
      response.writeHead(status, { 'content-type': type });
      for (let i = 0; i < bytes.length; i += size) response.write(bytes.subarray(i, i + size));
      response.end();
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

async function speak(
  model: TtsModelBase,
  text = 'Hello.',
): Promise<{ sound: Uint8Array; rates: Set<number>; deltas: SpeechDelta[] }> {
  const deltas: SpeechDelta[] = [];
  for await (const delta of model.synthesize(text)) deltas.push(delta);
  const audio = deltas.flatMap((delta) => delta.audio ?? []);
  return {
    deltas,
    sound: Uint8Array.from(audio.flatMap(({ data }) => [...data])),
    rates: new Set(audio.map(({ rate }) => rate)),
  };
}

/** Events with sound as Gemini streams them. */
function geminiStream(): string {
  const middle = Buffer.from(SOUND.subarray(0, 400)).toString('base64');
  const rest = Buffer.from(SOUND.subarray(400)).toString('base64');
  const part = (data: string): object => ({
    inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data },
  });
  const events = [
    {
      candidates: [{ content: { role: 'model', parts: [part(middle)] }, index: 0 }],
      modelVersion: 'gemini-3.8-flash-tts',
    },
    {
      candidates: [{ content: { role: 'model', parts: [part(rest)] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 31, totalTokenCount: 35 },
    },
  ];
  return events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('');
}

describe('OpenAITtsModel', () => {
  const make = (baseUrl: string): OpenAITtsModel =>
    new OpenAITtsModel({
      modelName: 'gpt-4o-mini-tts',
      apiKey: KEY,
      baseUrl: `${baseUrl}/v1`,
      voice: 'marin',
      instructions: 'Softly.',
    });

  it.each([1, 7, 100_000])(
    'reads sound in pieces of %i bytes, which may end inside a sample',
    async (size) => {
      const { baseUrl, sent } = await serve(SOUND, { size });
      const { sound, rates } = await speak(make(baseUrl));
      expect(sound).toEqual(SOUND);
      expect(rates).toEqual(new Set([24_000]));
      expect(sent).toMatchObject([
        {
          url: '/v1/audio/speech',
          headers: { authorization: `Bearer ${KEY}` },
          body: {
            model: 'gpt-4o-mini-tts',
            input: 'Hello.',
            voice: 'marin',
            instructions: 'Softly.',
            response_format: 'pcm',
          },
        },
      ]);
    },
  );

  it('gives no sound and sends nothing for no text', async () => {
    const { baseUrl, sent } = await serve(SOUND);
    expect((await speak(make(baseUrl), ' \n')).deltas).toEqual([]);
    expect(sent).toEqual([]);
  });

  it('reports an error of the server without the key', async () => {
    const body = JSON.stringify({
      error: { message: `Invalid key ${KEY}`, type: 'invalid_request_error', code: 'invalid_api_key' },
    });
    const { baseUrl } = await serve(body, { status: 401, type: 'application/json' });
    const failure = await speak(make(baseUrl)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'model_failed', kind: 'auth' });
    expect(String(failure)).not.toContain(KEY);
  });

  it('stops reading when the reader leaves', async () => {
    const { baseUrl } = await serve(new Uint8Array(2_000_000), { size: 1000 });
    let pieces = 0;
    for await (const _delta of make(baseUrl).synthesize('Hello.')) if (++pieces === 2) break;
    expect(pieces).toBe(2);
  });
});

describe('GeminiTtsModel', () => {
  const make = (baseUrl: string): GeminiTtsModel =>
    new GeminiTtsModel({ modelName: 'gemini-3.8-flash-tts', apiKey: KEY, baseUrl });

  it.each([1, 64, 100_000])('reads a stream in pieces of %i bytes, with its usage', async (size) => {
    const { baseUrl, sent } = await serve(geminiStream(), { size, type: 'text/event-stream' });
    const { sound, rates, deltas } = await speak(make(baseUrl));
    expect(sound).toEqual(SOUND);
    expect(rates).toEqual(new Set([24_000]));
    expect(deltas.at(-1)).toEqual({ usage: { inputTokens: 4, outputTokens: 31 } });
    expect(sent).toMatchObject([
      {
        url: '/v1beta/models/gemini-3.8-flash-tts:streamGenerateContent?alt=sse',
        body: {
          contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }],
          generationConfig: {
            responseModalities: ['AUDIO'],
            speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
          },
        },
      },
    ]);
  });

  it('reports an error event, and a stream that is no JSON', async () => {
    const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } };
    const failing = await serve(`data: ${JSON.stringify(error)}\n\n`, { type: 'text/event-stream' });
    await expect(speak(make(failing.baseUrl))).rejects.toMatchObject({ kind: 'overloaded' });
    const broken = await serve('data: nonsense\n\n', { type: 'text/event-stream' });
    await expect(speak(make(broken.baseUrl))).rejects.toMatchObject({ code: 'model_failed' });
  });
});
