/**
 * `served-agent.ts <kind> <place> <file>`: a program that serves one conversation with an agent over HTTP on the loopback, saved by
 * `autoSave`, until it is killed. Gets ready, waits for the id of the conversation on a line of its standard input, loads the
 * conversation and prints its port.
 *
 * `POST /` with a text, or with `{ "decisions": [...] }`, answers with the events of the run. `GET /` answers with the history and the pending
 * tool calls. The file gets a line with the id of each tool call that has paid.
 */
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { ReActAgent } from '../src/react/react-agent.ts';
import type { ModelRequest } from '../src/model/chat-model-base.ts';
import { SessionManager } from '../src/session/session-manager.ts';
import { ScriptedModel } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { isJsonObject, parseJson } from '../src/util/json.ts';
import { openPlace, type PlaceKind } from './session-places.ts';

const [kind = '', place = '', paidFile = ''] = process.argv.slice(2);

const wantsToPay = ({ messages }: ModelRequest): boolean => messages.at(-1)?.text === 'pay';
const model = new ScriptedModel([
  { when: wantsToPay, toolCalls: [{ name: 'pay', input: {} }] },
  { when: () => true, text: 'As you wish.', chunkSize: 3 },
]);
const agent = new ReActAgent({
  name: 'clerk',
  model,
  tools: [
    tool({
      name: 'pay',
      sideEffect: true,
      execute: (_input, { call: { id } }) => {
        appendFileSync(paidFile, `${id}\n`);
        return 'Paid.';
      },
    }),
  ],
  permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
  console: false,
});
const session = openPlace(kind as PlaceKind, place);
await session.exists('none'); // connects, so that the conversation begins at once
flushCompileCache(); // the next process starts faster
const input = createInterface({ input: process.stdin });
const conversation = await new Promise<string>((resolve) => input.once('line', resolve));
input.on('close', () => process.exit()); // the test is over
const manager = SessionManager.forSessionId(conversation)
  .withSession(session)
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
