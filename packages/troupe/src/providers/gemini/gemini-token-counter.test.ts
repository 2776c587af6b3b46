import { describe, expect, test, vi } from 'vitest';
import { geminiFaults } from '../../../test/wire/gemini-rules.ts';
import { HISTORIES, TOOLS, TRAVEL } from '../../../test/wire/histories.ts';
import { fetchOf, toBytes, type SentRequest } from '../../../test/wire/replay.ts';
import { Msg } from '../../message/msg.ts';
import { ModelError } from '../../model/model-error.ts';
import type { JsonObject } from '../../util/json.ts';
import { GeminiTokenCounter, type GeminiTokenCounterOptions } from './gemini-token-counter.ts';

const MODEL = 'gemini-2.5-flash';
const KEY = 'AIza-secret-4711';

function make(
  answer: object | string = { totalTokens: 31, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 31 }] },
  options: Partial<GeminiTokenCounterOptions> & { readonly status?: number } = {},
): { counter: GeminiTokenCounter; sent: SentRequest[] } {
  const sent: SentRequest[] = [];
  const { status = 200, ...own } = options;
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const pieces = [toBytes(text.slice(0, 5)), toBytes(text.slice(5))];
  const fetch = fetchOf({ pieces, status, headers: { 'content-type': 'application/json' } }, sent);
  return { counter: new GeminiTokenCounter({ modelName: MODEL, apiKey: KEY, fetch, ...own }), sent };
}

const bodyOf = ({ body }: SentRequest): JsonObject =>
  (JSON.parse(body) as { generateContentRequest: JsonObject }).generateContentRequest;

describe('a count', () => {
  test('is what the API says about the very prompt that would be sent', async () => {
    const { counter, sent } = make();
    const messages = [Msg.system('Be short.'), Msg.user('Hi.')];
    expect(await counter.count(messages, [TOOLS[1]!])).toBe(31);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      url: `https://generativelanguage.googleapis.com/v1beta/models/${MODEL}:countTokens`,
      headers: { 'x-goog-api-key': KEY },
    });
    expect(bodyOf(sent[0]!)).toEqual({
      model: `models/${MODEL}`,
      systemInstruction: { parts: [{ text: 'Be short.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Hi.' }] }],
      tools: [{ functionDeclarations: [{ name: 'get_time' }] }],
    });
  });

  test('changes nothing that it is given, whatever that is', async () => {
    for (const [name, messages] of Object.entries(HISTORIES)) {
      const before = JSON.stringify([messages, TOOLS]);
      const { counter, sent } = make();
      expect(await counter.count(messages, TOOLS), name).toBe(31);
      expect(await counter.count(messages, TOOLS), name).toBe(31);
      expect(JSON.stringify([messages, TOOLS]), name).toBe(before);
      expect(sent[0]!.body).toBe(sent[1]!.body);
      const { model, ...body } = bodyOf(sent[0]!);
      expect(model).toBe(`models/${MODEL}`);
      expect(geminiFaults(body, MODEL), name).toEqual([]);
    }
    expect(Object.keys(HISTORIES).length).toBeGreaterThan(15);
  });

  test('of nothing is 0, and of tools alone is asked for', async () => {
    const { counter, sent } = make();
    expect(await counter.count([])).toBe(0);
    expect(sent).toHaveLength(0);
    expect(await counter.count([], TOOLS)).toBe(31);
    expect(bodyOf(sent[0]!)).toHaveProperty('tools');
  });

  test('of each message is estimated here, without a request', async () => {
    const { counter, sent } = make();
    const counts = await counter.countEach(TRAVEL);
    expect(counts).toHaveLength(TRAVEL.length);
    for (const count of counts) expect(count).toBeGreaterThan(0);
    expect(sent).toEqual([]);
  });
});

describe('a failure', () => {
  const failureOf = async (counter: GeminiTokenCounter): Promise<ModelError> => {
    const error = await counter.count([Msg.user('Hi.')]).catch((thrown: unknown) => thrown);
    if (!ModelError.isInstance(error)) throw new Error('It did not fail by a ModelError.', { cause: error });
    return error;
  };

  test('is the same error as that of a model, without the key', async () => {
    const body = { error: { code: 400, message: `API key not valid: ${KEY}`, status: 'INVALID_ARGUMENT' } };
    const error = await failureOf(make(body, { status: 400 }).counter);
    expect(error).toMatchObject({ kind: 'auth', status: 400 });
    expect(`${error.stack} ${error.body}`).not.toContain(KEY);
  });

  test.each(['{"total":3}', '[]', 'no JSON', '{"totalTokens":"3"}'])(
    'is an answer without a count: %s',
    async (text) => {
      expect(await failureOf(make(text).counter)).toMatchObject({ kind: 'malformed' });
    },
  );

  test('is a signal that is aborted, and a key that is missing', async () => {
    const { counter, sent } = make();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(counter.count([Msg.user('Hi.')], [], { signal })).rejects.toThrow('enough');
    expect(sent).toEqual([]);
    vi.stubEnv('GEMINI_API_KEY', undefined);
    vi.stubEnv('GOOGLE_API_KEY', undefined);
    expect(() => new GeminiTokenCounter({ modelName: MODEL })).toThrow('Gemini needs a key');
    vi.unstubAllEnvs();
  });
});
