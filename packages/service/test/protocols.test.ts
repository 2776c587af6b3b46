import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as OldHttpAgent } from 'ag-ui-client-0';
import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type ChatState,
  type ChatStatus,
  type UIMessage,
} from 'ai';
import OpenAI from 'openai';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService } from '../src/index.ts';
import { CALLS_WAIT, Gate, gatedAgent } from './service-client.ts';

let removals = 0;

/** Answers by the messages in the prompt: greets, or calls a tool that needs an approval, then tells the outcome. */
function agent(): ReActAgent {
  const sees = (text: string) => (request: { readonly messages: unknown }) =>
    JSON.stringify(request.messages).includes(text);
  return new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel([
      { when: sees('Removed it.'), text: 'It is gone.', chunkSize: 3 },
      { when: sees('denied'), text: 'Then it stays.' },
      {
        when: sees('remove'),
        text: 'I will.',
        toolCalls: [{ id: 'call_1', name: 'remove', input: { path: '/a' } }],
      },
      { when: sees('fail'), error: new Error('the model is broken') },
      {
        when: () => true,
        thinking: 'A greeting.',
        text: 'Hello there!',
        chunkSize: 4,
        usage: { inputTokens: 5, outputTokens: 3 },
      },
    ]),
    tools: [
      tool({
        name: 'remove',
        sideEffect: true,
        schema: { type: 'object', properties: { path: { type: 'string' } } },
        execute: () => {
          removals++;
          return 'Removed it.';
        },
      }),
    ],
    permissionPolicy: { decide: () => ({ behavior: 'ask', reason: 'it deletes' }) },
  });
}

async function serve(): Promise<AsyncDisposable & { url: string }> {
  removals = 0;
  const service = await createService({ agents: { assistant: agent }, shutdownMs: 0 });
  const url = await service.listen({ port: 0 });
  return { url, [Symbol.asyncDispose]: () => service.close() };
}

test.each([
  ['1.0', HttpAgent],
  ['0.0', OldHttpAgent],
] as const)(
  'the client of AG-UI %s runs, is asked for an approval, and goes on',
  async (_version, Client) => {
    await using serving = await serve();
    const client = new Client({ url: `${serving.url}/ag-ui/assistant`, threadId: 't1' });
    client.addMessage({ id: 'u1', role: 'user', content: 'Hi.' });
    const first = await client.runAgent();
    expect(
      first.newMessages.filter(({ role }) => role === 'assistant').map(({ content }) => content),
    ).toEqual(['Hello there!']);
    expect(first.newMessages.some(({ role }) => role === 'reasoning')).toBe(true);

    client.addMessage({ id: 'u2', role: 'user', content: 'Please remove /a.' });
    const finished: {
      outcome?: {
        type: string;
        interrupts?: readonly { id: string; toolCallId?: string; message?: string }[];
      };
    }[] = [];
    await client.runAgent({}, { onRunFinishedEvent: ({ event }) => void finished.push(event as never) });
    const interrupt = finished[0]?.outcome?.interrupts?.[0];
    expect(finished[0]?.outcome).toMatchObject({
      type: 'interrupt',
      interrupts: [{ toolCallId: 'call_1', message: 'it deletes' }],
    });
    expect(removals).toBe(0);

    const resume = [
      { interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload: { approved: true } },
    ];
    const last = await client.runAgent({ resume });
    expect(removals).toBe(1);
    expect(last.newMessages.at(-1)).toMatchObject({ role: 'assistant', content: 'It is gone.' });
  },
);

/** The state of a chat without a framework. */
class PlainChatState implements ChatState<UIMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => void (this.messages = [...this.messages, message]);
  popMessage = (): void => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: UIMessage): void =>
    void (this.messages = this.messages.with(index, structuredClone(message)));
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

class PlainChat extends AbstractChat<UIMessage> {}

test.each([true, false])(
  'the chat of the AI SDK streams, asks for an approval (%s), and goes on in the same message',
  async (approved) => {
    await using serving = await serve();
    let posts = 0;
    const chat = new PlainChat({
      id: 'chat1',
      state: new PlainChatState(),
      transport: new DefaultChatTransport({
        api: `${serving.url}/ai-sdk/assistant`,
        fetch: (input, init) => {
          posts++;
          return fetch(input, init);
        },
      }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await chat.sendMessage({ text: 'Hi.' });
    expect(chat.status).toBe('ready');
    expect(chat.messages.at(-1)?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'A greeting.', state: 'done' },
      { type: 'text', text: 'Hello there!', state: 'done' },
    ]);
    await chat.sendMessage({ text: 'Please remove /a.' });
    const asked = chat.messages.at(-1);
    const part = asked?.parts.find(({ type }) => type === 'dynamic-tool') as {
      state: string;
      approval: { id: string };
    };
    expect(part.state).toBe('approval-requested');
    await chat.addToolApprovalResponse({ id: part.approval.id, approved });
    while (chat.status !== 'ready' || posts < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(posts).toBe(3);
    expect(chat.messages).toHaveLength(4);
    const done = chat.messages.at(-1);
    expect(done?.id).toBe(asked?.id);
    expect(done?.parts.find(({ type }) => type === 'dynamic-tool')).toMatchObject({
      state: approved ? 'output-available' : 'output-denied',
    });
    expect(done?.parts.at(-1)).toMatchObject({
      type: 'text',
      text: approved ? 'It is gone.' : 'Then it stays.',
    });
    expect(removals).toBe(approved ? 1 : 0);
  },
);

test('the chat of the AI SDK gets an error of the run, and a user message that was sent twice runs once', async () => {
  await using serving = await serve();
  const body = JSON.stringify({
    id: 'c',
    trigger: 'submit-message',
    messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }],
  });
  const post = async (): Promise<string> =>
    (
      await fetch(`${serving.url}/ai-sdk/assistant`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    ).text();
  expect(await post()).toBe(await post());
  const chat = new PlainChat({
    id: 'c2',
    state: new PlainChatState(),
    transport: new DefaultChatTransport({ api: `${serving.url}/ai-sdk/assistant` }),
  });
  await chat.sendMessage({ text: 'fail' });
  expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('broken')]);
});

test('the client of OpenAI completes, streams, lists models, keeps a session and reads refusals', async () => {
  await using serving = await serve();
  const client = new OpenAI({ baseURL: `${serving.url}/v1`, apiKey: 'none' });
  const messages = [{ role: 'user' as const, content: 'Hi.' }];
  const whole = await client.chat.completions.create({ model: 'assistant', messages });
  expect(whole.choices[0]?.message.content).toBe('Hello there!');
  expect(whole.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 });
  const stream = client.chat.completions.stream({
    model: 'assistant',
    messages,
    stream_options: { include_usage: true },
  });
  const pieces: string[] = [];
  stream.on('content', (piece) => void pieces.push(piece));
  const final = await stream.finalChatCompletion();
  expect(pieces.length).toBeGreaterThan(1);
  expect([final.choices[0]?.message.content, final.usage?.total_tokens]).toEqual(['Hello there!', 8]);
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['assistant']);

  const bound = { headers: { 'x-session-id': 'mine' } };
  await client.chat.completions.create({ model: 'assistant', messages }, bound);
  await client.chat.completions.create(
    { model: 'assistant', messages: [{ role: 'user', content: 'And?' }] },
    bound,
  );
  const kept = (await (await fetch(`${serving.url}/api/sessions/mine/messages`)).json()) as {
    data: readonly object[];
  };
  expect(kept.data).toHaveLength(4);

  const refused = await client.chat.completions
    .create({ model: 'nobody', messages })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(OpenAI.NotFoundError);
  expect(refused).toMatchObject({ code: 'not_found', message: expect.stringContaining('There is no agent') });
});

test('the client of OpenAI makes responses: streamed and whole, in one conversation, resumed and with an approval', async () => {
  await using serving = await serve();
  const client = new OpenAI({ baseURL: `${serving.url}/v1`, apiKey: 'none' });
  const stream = client.responses.stream({ model: 'assistant', input: 'Hi.' });
  const types: string[] = [];
  stream.on('event', ({ type }) => void types.push(type));
  const first = await stream.finalResponse();
  expect(first).toMatchObject({ status: 'completed', usage: { input_tokens: 5, output_tokens: 3 } });
  expect(first.output_text).toBe('Hello there!');
  expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  expect(types.filter((type) => type === 'response.output_text.delta').length).toBeGreaterThan(1);

  const sequences: number[] = [];
  const resumed = await client.responses.retrieve(first.id, { stream: true, starting_after: 4 });
  for await (const { sequence_number } of resumed) sequences.push(sequence_number);
  expect(sequences).toEqual(sequences.map((_, index) => index + 5));
  expect(sequences.length).toBe(types.length - 5);
  expect(await client.responses.retrieve(first.id)).toMatchObject({ id: first.id, status: 'completed' });

  const asked = await client.responses.create({
    model: 'assistant',
    input: 'Please remove /a.',
    previous_response_id: first.id,
  });
  const request = asked.output.find(({ type }) => type === 'mcp_approval_request');
  expect(request).toMatchObject({ name: 'remove', arguments: '{"path":"/a"}' });
  expect(removals).toBe(0);
  const done = await client.responses.create({
    model: 'assistant',
    previous_response_id: asked.id,
    input: [{ type: 'mcp_approval_response', approval_request_id: request?.id ?? '', approve: true }],
  });
  expect([done.output_text, removals]).toEqual(['It is gone.', 1]);
  const failed = await client.responses.create({ model: 'assistant', input: 'fail' });
  expect(failed).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('broken') } });
  await expect(client.responses.retrieve('resp_none')).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

test('the client of OpenAI runs a failing agent once, and a repeated request with a key once', async () => {
  await using serving = await serve();
  const client = new OpenAI({ baseURL: `${serving.url}/v1`, apiKey: 'none' });
  const sessions = async (): Promise<number> => {
    const { data } = (await (await fetch(`${serving.url}/api/sessions`)).json()) as {
      data: readonly object[];
    };
    return data.length;
  };
  const ask = (content: string, headers = {}): Promise<OpenAI.ChatCompletion> =>
    client.chat.completions.create(
      { model: 'assistant', messages: [{ role: 'user', content }] },
      { headers },
    );
  const failed = await ask('fail').catch((error: unknown) => error);
  expect(failed).toMatchObject({
    status: 500,
    code: 'run_failed',
    message: expect.stringContaining('broken'),
  });
  expect(await sessions()).toBe(1);

  const key = { 'idempotency-key': 'k1' };
  const first = await ask('Hi.', key);
  expect(await ask('Hi.', key)).toEqual(first);
  await expect(ask('And?', key)).rejects.toMatchObject({ status: 422, code: 'key_reused' });
  const respond = (): Promise<OpenAI.Responses.Response> =>
    client.responses.create({ model: 'assistant', input: 'Hi.' }, { headers: key });
  expect((await respond()).id).toBe((await respond()).id);
  expect(await sessions()).toBe(3);
});

test('a response in a conversation stores only the new messages of the user', async () => {
  await using serving = await serve();
  const client = new OpenAI({ baseURL: `${serving.url}/v1`, apiKey: 'none' });
  const old = [
    { role: 'user' as const, content: 'Old.' },
    { role: 'assistant' as const, content: 'Older.' },
  ];
  const input = [...old, { role: 'user' as const, content: 'New.' }];
  await client.responses.create({ model: 'assistant', input, conversation: 'mine' });
  const { data } = (await (await fetch(`${serving.url}/api/sessions/mine/messages`)).json()) as {
    data: readonly { role: string }[];
  };
  expect(data.map(({ role }) => role)).toEqual(['user', 'assistant']);
  expect(JSON.stringify(data)).not.toContain('Old');
});

test.each(['/v1/chat/completions', '/v1/responses'])(
  'nobody reads events for a client of %s that has left',
  async (path) => {
    const gate = new Gate();
    await using service = await createService({
      agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate) },
      shutdownMs: 0,
    });
    const leaving = new AbortController();
    const body = { model: 'assistant', input: 'Hi.', messages: [{ role: 'user', content: 'Hi.' }] };
    const answered = service.fetch(
      new Request(`http://127.0.0.1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: leaving.signal,
      }),
    );
    await gate.reached;
    leaving.abort();
    await answered;
    const metrics = await service.fetch(new Request('http://127.0.0.1/metrics'));
    expect(await metrics.text()).toMatch(/^troupe_event_readers 0$/m);
  },
);
