// A program with an agent on the official SDK's server, for protocol 1.0 and 0.3. It reports its port to its
// parent process.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { AgentCard, formatSSEEvent, TaskState, type Message, type Part } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
  type AgentExecutor,
  type ExecutionEventBus,
} from '@a2a-js/sdk/server';

const canceled = new Map<string, () => void>();

const text = (value: string): Part => ({
  content: { $case: 'text', value },
  mediaType: '',
  filename: '',
  metadata: undefined,
});

/** Streams the requested text; asks back on 'ask'; never ends on 'hang'. */
const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const ids = { taskId, contextId, metadata: undefined };
    const status = (state: TaskState, said?: string): void => {
      const message: Message | undefined =
        said === undefined
          ? undefined
          : {
              ...userMessage,
              messageId: crypto.randomUUID(),
              role: 2,
              parts: [text(said)],
              taskId,
              contextId,
            };
      bus.publish(AgentEvent.statusUpdate({ ...ids, status: { state, message, timestamp: undefined } }));
    };
    const chunk = (value: string, append: boolean): void => {
      const artifact = {
        artifactId: 'a',
        name: '',
        description: '',
        parts: [text(value)],
        metadata: undefined,
        extensions: [],
      };
      bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, append, lastChunk: false }));
    };
    const said = userMessage.parts
      .map(({ content }) => (content?.$case === 'text' ? content.value : content?.$case))
      .join('+');
    const history = [...(task?.history ?? []), userMessage];
    const state = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined };
    bus.publish(
      AgentEvent.task({ id: taskId, contextId, status: state, artifacts: [], history, metadata: undefined }),
    );
    status(TaskState.TASK_STATE_WORKING);
    if (said === 'ask') status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which one?');
    else if (said === 'hang') {
      chunk('Hanging.', false);
      await new Promise<void>((resolve) => void canceled.set(taskId, resolve));
      status(TaskState.TASK_STATE_CANCELED);
      process.send?.({ canceled: taskId });
    } else {
      chunk(`You said `, false);
      chunk(said, true);
      chunk(task === undefined ? '.' : ' in the same task.', true);
      status(TaskState.TASK_STATE_COMPLETED);
    }
    bus.finished();
  },
  async cancelTask(taskId: string, _bus: ExecutionEventBus) {
    canceled.get(taskId)?.();
  },
};

const streaming = process.argv[2] !== 'polling';
const card = (url: string): AgentCard => ({
  name: 'official',
  description: 'The official server.',
  version: '1.0.0',
  supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
    url,
    protocolBinding: 'JSONRPC',
    tenant: '',
    protocolVersion,
  })),
  provider: undefined,
  capabilities: { streaming, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
});
const handler = new DefaultRequestHandler(card('http://127.0.0.1/'), new InMemoryTaskStore(), executor);
const modern = new JsonRpcTransportHandler(handler);
const legacy = new LegacyJsonRpcTransportHandler(handler);

const server = createServer((request, response) => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  if (request.url === '/.well-known/agent-card.json') {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(AgentCard.toJSON(card(url))));
    return;
  }
  if (request.url === '/old-card.json') {
    const { supportedInterfaces: _, ...rest } = AgentCard.toJSON(card(url)) as Record<string, unknown>;
    const old = {
      ...rest,
      url: `${url}old`,
      preferredTransport: 'JSONRPC',
      protocolVersion: '0.3.0',
      skills: [],
      capabilities: { streaming },
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(old));
    return;
  }
  let body = '';
  request.setEncoding('utf8').on('data', (part: string) => (body += part));
  const answer = async (): Promise<void> => {
    const requestedVersion = String(request.headers['a2a-version'] ?? '0.3');
    const context = new ServerCallContext({ requestedVersion });
    const result = await (request.url === '/old' ? legacy : modern).handle(body, context);
    if (!(Symbol.asyncIterator in result)) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(result));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    for await (const event of result) response.write(formatSSEEvent(event));
    response.end();
  };
  request.on('end', () => void answer());
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());
