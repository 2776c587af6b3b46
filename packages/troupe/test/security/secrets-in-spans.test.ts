// Incident class: secrets in traces. Langfuse masked only spans of its own SDK; vercel/ai put prompts and headers into errors.
import { expect, test } from 'vitest';

import { serveA2A } from '../../src/a2a/index.ts';
import { InMemorySession, Msg, ReActAgent, tool, Toolkit } from '../../src/index.ts';
import { McpClient, McpServer, registerMcpClient } from '../../src/mcp/index.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/index.ts';
import { GeminiChatModel } from '../../src/providers/gemini/index.ts';
import { OpenAIChatModel } from '../../src/providers/openai/index.ts';
import { trace } from '../../src/otel/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { remoteAgent } from '../a2a/a2a-agents.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { RecordedSpans } from '../tracing/recorded-spans.ts';

const KEY = 'sk-canary0123456789canary';
const BEARER = 'Bearer canaryBearer0123456789';
const WORDS = 'the canary sings at midnight';
const CANARY = /canary/i;

/** Everything that holds a canary: the prompt, keys, headers, arguments, results, errors, names. */
async function everything(): Promise<void> {
  const quiet = { console: false } as const;
  const refuse: Fetch = async () =>
    Response.json({ error: { message: `bad key ${KEY} in ${BEARER}` } }, { status: 401 });
  for (const Model of [OpenAIChatModel, AnthropicChatModel, GeminiChatModel]) {
    const options = { modelName: 'm', apiKey: KEY, headers: { authorization: BEARER }, fetch: refuse };
    const agent = new ReActAgent({ name: 'asker', sysPrompt: WORDS, model: new Model(options), ...quiet });
    await agent.call(WORDS).catch(() => {});
  }
  const tools = [
    tool({ name: 'leak', execute: () => `${WORDS} ${KEY}` }),
    tool({ name: 'fail', execute: () => Promise.reject(new Error(`${WORDS} ${KEY}`)) }),
  ];
  const toolCalls = [
    { name: 'leak', input: { password: WORDS, token: KEY } },
    { name: 'fail', input: { words: WORDS } },
    { name: `unknown_${KEY}`, input: {} },
  ];
  const agent = new ReActAgent({
    name: 'teller',
    model: new ScriptedModel([{ text: WORDS, thinking: WORDS, toolCalls }, WORDS]),
    tools,
    ...quiet,
  });
  await agent.call([Msg.user(WORDS)]);
  await new InMemorySession().save('canary-session', { agent });
  await trace(`work ${KEY}`, async (said: string) => said)(WORDS);
  await trace('work', () => Promise.reject(new Error(WORDS)))().catch(() => {});

  const remote = new Toolkit();
  for (const one of tools) remote.registerToolFunction(one);
  await using mcp = new McpServer(remote);
  const transport = { type: 'http', url: await mcp.listen(), headers: { authorization: BEARER } } as const;
  await using client = new McpClient({ name: 'mcp', transport });
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client);
  for (const name of ['leak', 'fail'])
    await toolkit.callToolFunction({ type: 'tool_use', id: 'c', name, input: { words: WORDS } });

  await using server = serveA2A(
    () => new ReActAgent({ name: 'served', model: new ScriptedModel([WORDS]), ...quiet }),
    { card: { name: 'served', description: 'Serves.' } },
  );
  await using asked = remoteAgent(await server.listen(), { headers: { authorization: BEARER } });
  await asked.call(WORDS);
}

test('spans hold nothing of what was said, no key and no header', async () => {
  using spans = await RecordedSpans.start();
  await everything();
  expect(spans.begun.length).toBeGreaterThan(30);
  expect(spans.text).not.toMatch(CANARY);
});

test('with captured content, spans hold what was said, and still no key and no header', async () => {
  using spans = await RecordedSpans.start({ captureContent: true });
  await everything();
  expect(spans.text).toContain(WORDS);
  expect(spans.text).not.toContain(KEY);
  expect(spans.text).not.toContain('canaryBearer');
  expect(spans.text).not.toContain(`"password\\":\\"the`);
});

test('keys of attributes and headers from other programs change no prototype', async () => {
  using spans = await RecordedSpans.start({ captureContent: true });
  const input = JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  ) as object;
  await trace('work', (given: object) => given)(input);
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(tool({ name: '__proto__x', execute: () => 'x' }));
  await toolkit.callToolFunction({ type: 'tool_use', id: '__proto__', name: '__proto__x', input: {} });
  expect(spans.open).toEqual([]);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});
