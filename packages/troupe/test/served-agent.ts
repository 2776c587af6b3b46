/**
 * `served-agent.ts <kind> <place>`: a program that serves one conversation with an agent over HTTP on the loopback, saved by
 * `autoSave`, until it is killed. Prints its port.
 *
 * `POST /` with a text, or with `{ "decisions": [...] }`, answers with the events of the run. `GET /` answers with the history and the pending
 * tool calls.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { ReActAgent } from '../src/react/react-agent.ts';
import type { ModelRequest } from '../src/model/chat-model-base.ts';
import { SessionManager } from '../src/session/session-manager.ts';
import { ScriptedModel } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { isJsonObject, parseJson } from '../src/util/json.ts';
import { openPlace, type PlaceKind } from './session-places.ts';

const [kind = '', place = ''] = process.argv.slice(2);

const wantsToPay = ({ messages }: ModelRequest): boolean => messages.at(-1)?.text === 'pay';
const model = new ScriptedModel([
  { when: wantsToPay, toolCalls: [{ name: 'pay', input: {} }] },
  { when: () => true, text: 'As you wish.', chunkSize: 3 },
]);
const agent = new ReActAgent({
  name: 'clerk',
  model,
  tools: [tool({ name: 'pay', execute: () => 'Paid.' })],
  permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
  console: false,
});
const manager = SessionManager.forSessionId('chat')
  .withSession(openPlace(kind as PlaceKind, place))
  .addComponent('agent', agent)
  .addComponent('memory', agent.memory);
await manager.loadIfExists();
manager.autoSave();

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
  return body;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') {
    const msgs = (await agent.memory.getMemory()).map((msg) => ({ id: msg.id, text: msg.text }));
    response.end(JSON.stringify({ msgs, pending: agent.pendingCalls.map(({ id }) => id) }));
    return;
  }
  const body = await bodyOf(request);
  const json = body.startsWith('{') ? parseJson(body) : undefined;
  const decisions = isJsonObject(json) ? (json['decisions'] as never) : undefined;
  const {
    status,
    headers,
    body: events,
  } = agent.stream(decisions === undefined ? body : undefined, { decisions }).toResponse();
  response.writeHead(status, Object.fromEntries(headers));
  if (events !== null) await pipeline(Readable.fromWeb(events), response).catch(() => {});
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
