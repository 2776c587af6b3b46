import { describe, expect, it } from 'vitest';

import type { Msg } from '../../src/index.ts';
import { Msg as Message } from '../../src/index.ts';
import { OpenAIChatModel, OpenAIResponsesModel } from '../../src/providers/openai/index.ts';

/** A fetch that answers with events, in one read. */
function answering(events: readonly (object | string)[], init: ResponseInit = {}): typeof fetch {
  const lines = events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event)));
  const body = lines.map((line) => `data: ${line}\n\n`).join('');
  return async () =>
    new Response(body, { headers: { 'content-type': 'text/event-stream' }, status: 200, ...init });
}

const request = { messages: [Message.user('Hello.')] };
const tools = [{ name: 'f', description: '', parameters: { type: 'object' } }] as const;

async function chat(...events: readonly (object | string)[]): Promise<Msg> {
  const options = { modelName: 'm', apiKey: 'k', baseUrl: 'http://127.0.0.1:1/v1' };
  return new OpenAIChatModel({ ...options, fetch: answering(events) }).call({ ...request, tools });
}

async function responses(...events: readonly object[]): Promise<Msg> {
  const options = { modelName: 'm', apiKey: 'k', baseUrl: 'http://127.0.0.1:1/v1' };
  return new OpenAIResponsesModel({ ...options, fetch: answering(events) }).call({ ...request, tools });
}

const delta = (delta: object, finish_reason: string | null = null): object => ({
  id: 'x1',
  choices: [{ index: 0, delta, finish_reason }],
});
const call = (id: string): object => ({
  tool_calls: [{ index: 0, id, type: 'function', function: { name: 'f', arguments: '{}' } }],
});

describe('an answer of Chat Completions', () => {
  it('begins with an empty text, and ends without a finish reason', async () => {
    const { text, finishReason } = await chat(
      delta({ content: '' }),
      delta({ content: 'Hello' }),
      delta({ content: ' world' }),
      '[DONE]',
    );
    expect([text, finishReason]).toEqual(['Hello world', 'stop']);
  });

  it('keeps tool calls behind its first finish reason, each once', async () => {
    const { content, finishReason } = await chat(
      delta({ content: 'Let me see.' }, 'stop'),
      delta(call('c1'), 'tool_calls'),
      delta(call('c2'), 'tool_calls'),
      delta(call('c1'), 'tool_calls'),
      '[DONE]',
    );
    expect(content).toEqual([
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'c1', name: 'f', input: {} },
      { type: 'tool_use', id: 'c2', name: 'f', input: {} },
    ]);
    expect(finishReason).toBe('tool_calls');
  });

  it.each([
    'sk-live\\/abcdefgh\\u002bxyz12345',
    'sk\\u002dlive/abcdefgh+xyz12345',
    'sk-live/abcdefgh+xyz12345',
  ])('that fails never shows the key, spelled %s', async (spelled) => {
    const body = `{"error":{"message":"Invalid key ${spelled} \\\\u002b."}}`;
    const model = new OpenAIChatModel({
      modelName: 'm',
      apiKey: 'sk-live/abcdefgh+xyz12345',
      baseUrl: 'http://127.0.0.1:1/v1',
      fetch: async () => new Response(body, { status: 401, headers: { 'content-type': 'application/json' } }),
    });
    const failure: unknown = await model.call(request).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'auth' });
    expect(`${String(failure)} ${JSON.stringify(failure)}`).not.toMatch(/abcdefgh/);
    expect(String(failure)).toContain('Invalid key');
    expect(String(failure)).toContain(String.raw`\u002b.`);
  });
});

describe('an answer of the Responses API', () => {
  const functionCall = {
    type: 'function_call',
    id: 'fc1',
    call_id: 'c1',
    name: 'f',
    arguments: '{"city":"Paris"}',
  };
  const added = {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...functionCall, arguments: '' },
  };
  const message = {
    type: 'message',
    id: 'm1',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'It is sunny.', annotations: [] }],
  };
  const completed = (...output: readonly object[]): object => ({
    type: 'response.completed',
    response: { id: 'r1', status: 'completed', output },
  });

  it('has tool calls whose end only the last event tells', async () => {
    const part = { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"city":"Par' };
    const { content, finishReason } = await responses(added, part, completed(functionCall));
    expect(content).toMatchObject([{ type: 'tool_use', id: 'c1', name: 'f', input: { city: 'Paris' } }]);
    expect(finishReason).toBe('tool_calls');
  });

  it('has items of which only the last event tells', async () => {
    const done = { type: 'response.output_item.done', output_index: 0, item: functionCall };
    const { content } = await responses(added, done, completed(functionCall, message));
    expect(content).toMatchObject([
      { type: 'tool_use', id: 'c1' },
      { type: 'text', text: 'It is sunny.' },
    ]);
  });

  it('has its items once if all events tell of them', async () => {
    const text = {
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: 0,
      delta: 'It is sunny.',
    };
    const done = { type: 'response.output_item.done', output_index: 0, item: message };
    const begun = { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } };
    expect((await responses(begun, text, done, completed(message))).text).toBe('It is sunny.');
    expect((await responses(begun, text, completed(message))).text).toBe('It is sunny.');
  });

  it('with impossible indexes costs nothing', async () => {
    const at = { output_index: 0, content_index: 4_294_967_293 };
    const annotation = {
      type: 'url_citation',
      url: 'https://example.com/',
      title: 'A',
      start_index: 0,
      end_index: 2,
    };
    const { content } = await responses(
      { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
      { type: 'response.output_text.delta', ...at, delta: 'It' },
      { type: 'response.output_text.annotation.added', ...at, annotation },
      completed(),
    );
    expect(content).toMatchObject([
      { text: 'It', citations: [{ url: 'https://example.com/', start: 0, end: 2 }] },
    ]);
  });
});
