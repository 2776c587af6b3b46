// A key is in the request's header and nowhere else: not in an error, not in what a logger makes of an error or a model.
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Msg } from '../../src/message/msg.ts';
import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/index.ts';
import { GeminiChatModel } from '../../src/providers/gemini/index.ts';
import { OllamaChatModel } from '../../src/providers/ollama/index.ts';
import { OpenAIChatModel, OpenAIResponsesModel } from '../../src/providers/openai/index.ts';
import type { Fetch } from '../../src/util/net/http.ts';

const KEY = 'sk-4711-very-secret';
const PROMPT = 'my diary of 1987';

interface Options {
  readonly modelName: string;
  readonly apiKey: string;
  readonly fetch: Fetch;
}

const MODELS: readonly [string, (options: Options) => ChatModelBase][] = [
  ['OpenAI Chat', (options) => new OpenAIChatModel(options)],
  ['OpenAI Responses', (options) => new OpenAIResponsesModel(options)],
  [
    'Azure',
    (options) => new OpenAIChatModel({ ...options, vendor: 'azure', baseUrl: 'https://x.openai.azure.com' }),
  ],
  ['Anthropic', (options) => new AnthropicChatModel(options)],
  ['Gemini', (options) => new GeminiChatModel(options)],
  ['Ollama', (options) => new OllamaChatModel(options)],
];

/** Servers that send back the whole request. */
const echo =
  (status: number, contentType: string): Fetch =>
  async (url, init) => {
    const seen = JSON.stringify({
      error: { message: `Bad request: ${JSON.stringify(init?.headers)} ${String(url)}` },
    });
    const body = contentType === 'text/event-stream' ? `data: ${seen}\n\n` : seen;
    return new Response(body, { status, headers: { 'content-type': contentType } });
  };
const SERVERS: readonly [string, Fetch][] = [
  ['a 401', echo(401, 'application/json')],
  ['a 500', echo(500, 'text/plain')],
  ['a web page', echo(200, 'text/html')],
  ['an error in the stream', echo(200, 'text/event-stream')],
  ['an error that is no stream', echo(200, 'application/json')],
  [
    'a connection that fails',
    async () => {
      throw new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') });
    },
  ],
];

for (const [name, make] of MODELS) {
  test(`${name}: the key is sent in a header, not in the address or the body`, async () => {
    let sent: { url: string; headers: string; body: string } | undefined;
    const fetch: Fetch = async (url, init) => {
      sent = { url: String(url), headers: JSON.stringify(init?.headers), body: String(init?.body) };
      throw new TypeError('fetch failed');
    };
    await make({ modelName: 'm', apiKey: KEY, fetch })
      .call({ messages: [Msg.user(PROMPT)] })
      .catch(() => {});
    expect(sent?.headers).toContain(KEY);
    expect(sent?.url).not.toContain(KEY);
    expect(sent?.body).not.toContain(KEY);
    expect(sent?.body).toContain(PROMPT);
  });

  test.each(SERVERS)(`${name}: %s shows no key and no prompt`, async (_, fetch) => {
    const model = make({ modelName: 'm', apiKey: KEY, fetch });
    const error: unknown = await model
      .call({ messages: [Msg.user(PROMPT)] })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    const shown = [
      inspect(error, { depth: 20, showHidden: true }),
      JSON.stringify(error),
      String(error),
      inspect(model, { depth: 20, showHidden: true }),
      JSON.stringify(model),
    ].join('\n');
    expect(shown).not.toContain(KEY);
    expect(shown).not.toContain(PROMPT);
  });
}
