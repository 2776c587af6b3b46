import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Msg } from 'troupe';
import { afterEach, expect, test } from 'vitest';

import { chooseModel } from './choose-model.ts';

const NOBODY = { OLLAMA_HOST: '127.0.0.1:1' };
const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

test.each([
  ['OPENAI_API_KEY', 'gpt-5-mini'],
  ['ANTHROPIC_API_KEY', 'claude-haiku-4-5'],
  ['GEMINI_API_KEY', 'gemini-2.5-flash'],
  ['DASHSCOPE_API_KEY', 'qwen-plus'],
])('%s means %s, unless another is named', async (variable, modelName) => {
  const { model, description } = await chooseModel({ ...NOBODY, [variable]: 'key' });
  expect(model.modelName).toBe(modelName);
  expect(description).toContain(variable);
  expect((await chooseModel({ ...NOBODY, [variable]: 'key', TROUPE_MODEL: 'mine' })).model.modelName).toBe(
    'mine',
  );
});

test('a local Ollama is used if there is no key', async () => {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/api/tags')
      return response.end('{"models":[{"name":"nomic-embed-text"},{"name":"qwen3:8b"}]}');
    return response.end(
      '{"message":{"role":"assistant","content":"Hi!"},"done":true,"done_reason":"stop"}\n',
    );
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const env = { OLLAMA_HOST: `127.0.0.1:${(server.address() as AddressInfo).port}` };
  const { model } = await chooseModel(env);
  expect(model.modelName).toBe('qwen3:8b');
  expect((await model.call({ messages: [Msg.user('Hello.')] })).text).toBe('Hi!');
});

test('without either it is offline, and says how to change that', async () => {
  const { model, description } = await chooseModel(NOBODY);
  expect(model.modelName).toBe('offline');
  expect(description).toContain('OPENAI_API_KEY');
});
