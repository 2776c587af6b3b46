// Streams over real HTTP: an agent behind a server on the loopback, a client that reads server-sent events.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createParser } from 'eventsource-parser';
import { afterEach, expect, test } from 'vitest';

import { ReActAgent, tool, Toolkit, TroupeError, type AgentEvent } from '../src/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/index.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

/** Answers every request with a response, as a framework for Node does. */
async function serve(
  respond: () => Response | Promise<Response>,
): Promise<{ url: string; closed: Promise<void> }> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const answer = async (res: ServerResponse): Promise<void> => {
    const response = await respond();
    res.writeHead(response.status, Object.fromEntries(response.headers));
    res.flushHeaders();
    // a disconnected client ends the pipeline, which cancels the body
    if (response.body) await pipeline(Readable.fromWeb(response.body), res).catch(() => {});
    resolve();
  };
  const server = createServer((_, res) => void answer(res));
  servers.push(server);
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, closed };
}

function agentOf(script: readonly (string | ScriptedTurn)[], onHang: () => void = () => {}): ReActAgent {
  const hang = tool({
    name: 'hang',
    execute: () => {
      onHang();
      return new Promise<never>(() => {});
    },
  });
  const look = tool({ name: 'look', execute: () => 'sunny\nand warm' });
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    toolkit: new Toolkit({ tools: [hang, look] }),
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

test('a client reads the events, with ids, as they are', async () => {
  const script = [
    { toolCalls: [{ name: 'look', id: 'c1', input: {} }] },
    { text: 'It is sunny.\n\nReally.', chunkSize: 3 },
  ];
  const seen: AgentEvent[] = [];
  const other = agentOf(script).stream('How is it?');
  for await (const event of other) seen.push(event);
  const agent = agentOf(script);
  const { url } = await serve(() => agent.stream('How is it?').toResponse());
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const events: { id: string | undefined; event: string | undefined; data: AgentEvent }[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => events.push({ id, event, data: JSON.parse(data) as AgentEvent }),
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) parser.feed(decoder.decode(chunk, { stream: true }));
  expect(events.map(({ event }) => event)).toEqual(seen.map(({ type }) => type));
  expect(events.map(({ id }) => Number(id))).toEqual(events.map(({ data }) => data.seq));
  const texts = events.flatMap(({ data }) => (data.type === 'text_delta' ? data.text : []));
  expect(texts.join('')).toBe('It is sunny.\n\nReally.');
  expect(events.at(-1)?.data).toMatchObject({
    type: 'run_end',
    status: 'finished',
    msg: { content: [{ type: 'text', text: 'It is sunny.\n\nReally.' }], endReason: 'finished' },
  });
  expect(agent.isRunning).toBe(false);
});

test('a client that disconnects interrupts the run, and the agent goes on with the next one', async () => {
  const { promise: hangs, resolve } = Promise.withResolvers<void>();
  const agent = agentOf([{ toolCalls: [{ name: 'hang', id: 'c1', input: {} }] }, 'Again.'], resolve);
  const { url, closed } = await serve(() => agent.stream('Wait.').toResponse());
  const client = new AbortController();
  const response = await fetch(url, { signal: client.signal });
  const reader = response.body!.getReader();
  await reader.read();
  const rest = reader.read().catch(() => {});
  await hangs;
  expect(agent.isRunning).toBe(true);
  client.abort();
  await closed;
  await rest;
  await agent.interrupt(); // resolves when the agent is free
  const memory = await agent.memory.getMemory();
  expect(memory.map(({ endReason }) => endReason ?? '')).toEqual(['', '', '', 'interrupted']);
  const [result] = memory.flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(result).toMatchObject({ id: 'c1', status: 'interrupted' });
  expect((await agent.call('Once more.')).text).toBe('Again.');
});

test('a client that reads slowly slows the agent down', async () => {
  const size = 20_000;
  const agent = agentOf([{ text: 'x'.repeat(size * 300), chunkSize: size }]);
  let chunks = 0;
  agent.registerInstanceHook('reasoningChunk', 'count', () => void chunks++);
  const { url } = await serve(() => agent.stream('Talk.').toResponse());
  const response = await fetch(url);
  const reader = response.body!.getReader();
  await reader.read();
  let before = -1;
  for (let stands = 0; stands < 20; stands = chunks === before ? stands + 1 : 0) {
    before = chunks;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(chunks).toBeLessThan(290); // 64 events, and what sockets hold
  for (let { done } = await reader.read(); !done; { done } = await reader.read());
  expect(chunks).toBeGreaterThanOrEqual(300);
});

test('an agent that is busy says so in the response', async () => {
  const agent = agentOf([{ toolCalls: [{ name: 'hang', id: 'c1', input: {} }] }]);
  const first = agent.call('Wait.');
  const { url } = await serve(() => agent.stream('Me too.').toResponse());
  const body = await (await fetch(url)).text();
  expect(body).toContain('event: run_end\n');
  expect(body).toContain('"code":"agent_busy"');
  await agent.interrupt();
  await first;
});

test('a server that waits for the start of the run answers 409 to a busy agent, and streams otherwise', async () => {
  const { promise: hangs, resolve } = Promise.withResolvers<void>();
  const agent = agentOf([{ toolCalls: [{ name: 'hang', id: 'c1', input: {} }] }, 'Hello.'], resolve);
  const { url } = await serve(async () => {
    const stream = agent.stream('Me too.');
    try {
      await stream.started;
    } catch (error) {
      if (!TroupeError.isInstance(error) || !error.isRefusal) throw error;
      return Response.json({ code: error.code, message: error.message }, { status: 409 });
    }
    return stream.toResponse();
  });
  const first = agent.call('Wait.');
  await hangs;
  const refused = await fetch(url);
  expect([refused.status, await refused.json()]).toEqual([
    409,
    {
      code: 'agent_busy',
      message:
        "Friday is busy with another call. Wait for it, or call with { onBusy: 'queue' } or { onBusy: 'interrupt' }.",
    },
  ]);
  await agent.interrupt();
  await first;
  const accepted = await fetch(url);
  const body = await accepted.text();
  expect([accepted.status, accepted.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  expect(body.match(/^event: \w+$/gm)).toEqual([
    'event: reply_start',
    'event: model_start',
    'event: block_start',
    'event: text_delta',
    'event: model_end',
    'event: block_end',
    'event: reply_end',
    'event: run_end',
  ]);
});
