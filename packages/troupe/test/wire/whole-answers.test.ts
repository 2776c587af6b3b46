// Answers without streaming: the same messages, usage and errors as from a stream, for every wire.
import { describe, expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import type { ModelRequest } from '../../src/model/chat-model-base.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { pointsOf } from '../fair-sample.ts';
import { TOOLS } from './histories.ts';
import { LOOPBACK_WIRES } from './loopback-wires.ts';
import { OpenAIChatModel } from '../../src/providers/openai/index.ts';
import { fetchOf, outcomeOf, readFixtures, toBytes, type Outcome, type SentRequest } from './replay.ts';
import { wholeChat, wholeContent, wholeLine, wholeMessage, wholeResponse } from './whole-answer.ts';

const ASK: ModelRequest = { messages: [Msg.user('Hi.')], tools: TOOLS };
const KEY = 'sk-secret-4711-do-not-show';

const WHOLE: Readonly<Record<string, (recording: Uint8Array) => JsonObject>> = {
  'openai-chat': wholeChat,
  'openai-responses': wholeResponse,
  anthropic: wholeMessage,
  gemini: wholeContent,
  ollama: wholeLine,
};

/** Recordings whose point is their stream: broken, or in a shape that no whole answer has. */
const STREAMS_ONLY =
  /^(?:disconnect|error-in-stream|failed-in-stream|open-call|careless-calls|late-reasoning|malformed-call|image-generation|only-completed|files-in-pieces|grounding-in-pieces|nested-error|second-start|second-message)$/;

describe.each(LOOPBACK_WIRES)('$name without streaming', ({ name, make, answers, contentType }) => {
  const toWhole = WHOLE[name]!;
  const json = { 'content-type': 'application/json; charset=utf-8' };
  const recordings = [...answers].filter(([recording]) => !STREAMS_ONLY.test(recording));

  test.each(recordings)('%s gives the message and the usage of its stream', async (_, bytes) => {
    const streamed = await outcomeOf(make({ apiKey: KEY, fetch: fetchOf({ pieces: [bytes] }) }), ASK);
    const whole = toBytes(JSON.stringify(toWhole(bytes)));
    const fetch = fetchOf({ pieces: [whole], headers: json });
    expect(await outcomeOf(make({ apiKey: KEY, stream: false, fetch }), ASK)).toEqual(streamed);
    // A server that ignores `stream: true`, under a wrong content type.
    const ignored = fetchOf({ pieces: [whole], headers: { 'content-type': contentType } });
    expect(await outcomeOf(make({ apiKey: KEY, fetch: ignored }), ASK)).toEqual(streamed);
  });

  test('an answer cut in two anywhere is the same answer', async () => {
    const whole = toBytes(` \n${JSON.stringify(toWhole(answers.get('parallel-tools')!))}\n`);
    const ask = (...pieces: Uint8Array[]): Promise<Outcome> =>
      outcomeOf(make({ apiKey: KEY, stream: false, fetch: fetchOf({ pieces }) }), ASK);
    const expected = await ask(whole);
    expect(expected.finishReason).toBe('tool_calls');
    for (const at of pointsOf('cuts in two of each answer without streaming', whole.length, 150))
      expect(await ask(whole.subarray(0, at), whole.subarray(at)), `cut at ${at}`).toEqual(expected);
  });

  test('an answer that is cut off is a lost connection without a tool call', async () => {
    const whole = toBytes(JSON.stringify(toWhole(answers.get('parallel-tools')!)));
    for (const at of pointsOf('ends of each answer without streaming', whole.length, 60)) {
      const fetch = fetchOf({ pieces: [whole.subarray(0, at)], breaks: at % 2 === 0, headers: json });
      const outcome = await outcomeOf(make({ apiKey: KEY, stream: false, fetch }), ASK);
      expect(outcome).toEqual({ content: [], error: 'network' });
    }
  });

  test.each([
    [401, { error: { message: `No such key: ${KEY}`, type: 'authentication_error' } }, 'auth'],
    [400, { error: { message: 'No.', type: 'invalid_request_error' } }, 'bad_request'],
    [200, { error: { message: `Busy, ${KEY}`, type: 'server_error' } }, 'overloaded'],
  ])('an error with the status %i is the error of a stream', async (status, body, kind) => {
    const pieces = [toBytes(JSON.stringify(body))];
    const failures = await Promise.all(
      [true, false].map((stream) =>
        make({ apiKey: KEY, stream, fetch: fetchOf({ pieces, status, headers: json }) })
          .call(ASK)
          .catch((error: unknown) => error),
      ),
    );
    expect(failures[1]).toMatchObject({ kind });
    expect(failures[1]).toEqual(failures[0]);
    expect(JSON.stringify(failures)).not.toContain(KEY);
  });

  test('JSON that is no answer is the answer of another server', async () => {
    const pieces = [toBytes('{"hello":"world"}')];
    const error = await make({ apiKey: KEY, stream: false, fetch: fetchOf({ pieces, headers: json }) })
      .call(ASK)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: name === 'ollama' ? 'network' : 'malformed' });
  });

  test('the request says so, for the model or for one model call', async () => {
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [toBytes(JSON.stringify(toWhole(answers.get('plain')!)))] }, sent);
    await make({ apiKey: KEY, stream: false, fetch }).call(ASK);
    await make({ apiKey: KEY, fetch }).call({ ...ASK, http: { stream: false } });
    await make({ apiKey: KEY, stream: false, fetch }).call({ ...ASK, http: { stream: true } });
    const [ofModel, ofCall, streamed] = sent.map(({ url, body }) => ({
      method: /:\w+/.exec(new URL(url).pathname)?.[0],
      stream: (JSON.parse(body) as JsonObject)['stream'],
      hasStreamOptions: 'stream_options' in (JSON.parse(body) as JsonObject),
    }));
    expect(ofCall).toEqual(ofModel);
    expect([ofModel, streamed]).toEqual(
      name === 'gemini'
        ? [
            { method: ':generateContent', stream: undefined, hasStreamOptions: false },
            { method: ':streamGenerateContent', stream: undefined, hasStreamOptions: false },
          ]
        : [
            { method: undefined, stream: false, hasStreamOptions: false },
            { method: undefined, stream: true, hasStreamOptions: name === 'openai-chat' },
          ],
    );
  });
});

test('DashScope thinks in streams only', async () => {
  const sent: SentRequest[] = [];
  const fetch = fetchOf({ pieces: [readFixtures('openai-chat-dashscope').get('plain')!] }, sent);
  const options = { modelName: 'qwen3-max', apiKey: KEY, stream: false, fetch } as const;
  const model = new OpenAIChatModel({ vendor: 'dashscope', ...options });
  for (const reasoningEffort of [undefined, 'none', 'high'] as const)
    await model.call({ ...ASK, generation: { reasoningEffort } });
  expect(sent.map(({ body }) => (JSON.parse(body) as JsonObject)['stream'])).toEqual([false, false, true]);
});

test('an answer that comes whole is complete without a finish reason or a status', async () => {
  const json = { 'content-type': 'application/json' };
  const make = (name: string, answer: JsonObject): Promise<Outcome> => {
    const fetch = fetchOf({ pieces: [toBytes(JSON.stringify(answer))], headers: json });
    return outcomeOf(
      LOOPBACK_WIRES.find((one) => one.name === name)!.make({ apiKey: KEY, stream: false, fetch }),
      ASK,
    );
  };
  const parts = [{ text: 'Hallo.' }, { functionCall: { name: 'get_time', args: {}, id: 'a' } }];
  expect(await make('gemini', { candidates: [{ content: { parts, role: 'model' } }] })).toEqual({
    content: [
      { type: 'text', text: 'Hallo.' },
      { type: 'tool_use', id: 'a', name: 'get_time', input: {} },
    ],
    finishReason: 'tool_calls',
  });
  const content = [{ type: 'output_text', text: 'Hallo.', annotations: [] }];
  const output = [{ id: 'msg_1', type: 'message', role: 'assistant', content }];
  const whole = { id: 'resp_1', output, error: null };
  const text = [{ type: 'text', text: 'Hallo.' }];
  expect(await make('openai-responses', { ...whole, incomplete_details: null })).toEqual({
    content: text,
    finishReason: 'stop',
    responseId: 'resp_1',
  });
  const details = { reason: 'max_output_tokens' };
  expect(await make('openai-responses', { ...whole, incomplete_details: details })).toMatchObject({
    content: text,
    finishReason: 'length',
  });
  expect(await make('openai-responses', { ...whole, status: 'in_progress' })).toMatchObject({
    error: 'malformed',
  });
});
