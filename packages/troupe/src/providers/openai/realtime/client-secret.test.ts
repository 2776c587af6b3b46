import { describe, expect, it } from 'vitest';

import { OpenAIRealtimeModel } from './openai-realtime-model.ts';

const KEY = 'sk-very-secret-key';

interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly body: unknown;
}

function modelThat(answer: () => Response): { model: OpenAIRealtimeModel; sent: Sent[] } {
  const sent: Sent[] = [];
  const model = new OpenAIRealtimeModel({
    modelName: 'gpt-realtime-2.1',
    apiKey: KEY,
    voice: 'marin',
    fetch: async (input, init) => {
      const request = new Request(input, init);
      sent.push({ url: request.url, headers: request.headers, body: await request.json() });
      return answer();
    },
  });
  return { model, sent };
}

describe('createClientSecret', () => {
  it('asks for a key that lives briefly, with the session of the model', async () => {
    const { model, sent } = modelThat(() =>
      Response.json({ value: 'ek_1', expires_at: 1_800_000_000, session: {} }),
    );
    const tools = [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } }];
    const secret = await model.createClientSecret({ seconds: 30, instructions: 'Be short.', tools });
    expect(secret).toEqual({ value: 'ek_1', expiresAt: 1_800_000_000_000 });
    const [request] = sent;
    expect(request?.url).toBe('https://api.openai.com/v1/realtime/client_secrets');
    expect(request?.headers.get('authorization')).toBe(`Bearer ${KEY}`);
    expect(request?.body).toMatchObject({
      expires_after: { anchor: 'created_at', seconds: 30 },
      session: {
        type: 'realtime',
        model: 'gpt-realtime-2.1',
        instructions: 'Be short.',
        tools: [{ type: 'function', name: 'look_up' }],
        audio: { output: { voice: 'marin' } },
      },
    });
  });

  it('tells a refusal without the key of the program', async () => {
    const error = { error: { message: `Incorrect API key provided: ${KEY}`, code: 'invalid_api_key' } };
    const { model } = modelThat(() => Response.json(error, { status: 401 }));
    const refused = model.createClientSecret();
    await expect(refused).rejects.toMatchObject({ kind: 'auth', vendor: 'OpenAI' });
    await expect(refused).rejects.not.toThrow(KEY);
  });

  it('refuses an answer without a key, and a time that is out of range', async () => {
    const { model } = modelThat(() => Response.json({ session: {} }));
    await expect(model.createClientSecret()).rejects.toThrow('no client secret');
    await expect(model.createClientSecret({ seconds: 5 })).rejects.toThrow('seconds');
  });
});
