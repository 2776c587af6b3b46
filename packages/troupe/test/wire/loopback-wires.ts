import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import type { HttpModelOptions } from '../../src/model/http/http-chat-model.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/index.ts';
import { GeminiChatModel } from '../../src/providers/gemini/index.ts';
import { OllamaChatModel } from '../../src/providers/ollama/index.ts';
import { OpenAIChatModel, OpenAIResponsesModel } from '../../src/providers/openai/index.ts';
import { readFixtures } from './replay.ts';

/** One of the five wire formats, for tests over real connections. */
export interface LoopbackWire {
  readonly name: string;
  readonly vendor: string;
  readonly modelName: string;
  readonly contentType: string;
  /** Recorded answers by name, such as `plain` and `length-stop`. */
  readonly answers: ReadonlyMap<string, Uint8Array>;
  readonly make: (options: Omit<HttpModelOptions, 'modelName'>) => ChatModelBase;
}

const SSE = 'text/event-stream';

export const LOOPBACK_WIRES: readonly LoopbackWire[] = [
  {
    name: 'openai-chat',
    vendor: 'OpenAI',
    modelName: 'gpt-4.1',
    contentType: SSE,
    answers: readFixtures('openai-chat'),
    make: (options) => new OpenAIChatModel({ vendor: 'openai', modelName: 'gpt-4.1', ...options }),
  },
  {
    name: 'openai-responses',
    vendor: 'OpenAI',
    modelName: 'gpt-4.1',
    contentType: SSE,
    answers: readFixtures('openai-responses'),
    make: (options) => new OpenAIResponsesModel({ vendor: 'openai', modelName: 'gpt-4.1', ...options }),
  },
  {
    name: 'anthropic',
    vendor: 'Anthropic',
    modelName: 'claude-sonnet-4-5',
    contentType: SSE,
    answers: readFixtures('anthropic'),
    make: (options) => new AnthropicChatModel({ modelName: 'claude-sonnet-4-5', ...options }),
  },
  {
    name: 'gemini',
    vendor: 'Gemini',
    modelName: 'gemini-2.5-flash',
    contentType: SSE,
    answers: readFixtures('gemini'),
    make: (options) => new GeminiChatModel({ modelName: 'gemini-2.5-flash', ...options }),
  },
  {
    name: 'ollama',
    vendor: 'Ollama',
    modelName: 'qwen3',
    contentType: 'application/x-ndjson',
    answers: readFixtures('ollama'),
    make: (options) => new OllamaChatModel({ modelName: 'qwen3', ...options }),
  },
];

export interface LoopbackServer extends AsyncDisposable {
  /** Such as `127.0.0.1:4711`. */
  readonly host: string;
  readonly server: Server;
}

/** A server on a free port, whose handler is called once a request has arrived whole. */
export async function serve(
  handler: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => handler(request, response, body));
    response.on('error', () => {});
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
