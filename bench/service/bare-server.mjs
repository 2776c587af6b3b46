// A bare Hono server with one route: it streams the text of a loop over the model and its tool, written by hand. Arguments: address of the
// model, and the result of its tool.

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { stream } from 'hono/streaming';

import { makeFloor } from '../peers/adapters/floor/loop.mjs';

const [baseURL, result] = process.argv.slice(2);
const parameters = {
  type: 'object',
  properties: { x: { type: 'number' } },
  required: ['x'],
  additionalProperties: false,
};
const lookup = {
  name: 'lookup',
  description: 'Looks something up.',
  parameters,
  execute: async () => result,
};

async function post(url, body, signal) {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer x' };
  const response = await fetch(url, { method: 'POST', headers, body, signal });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response.body;
}

const create = makeFloor(post);
const app = new Hono();
app.post('/run', async (context) => {
  const { prompt } = await context.req.json();
  const loop = create({ baseURL, tools: [lookup], maxRounds: 20 });
  context.header('content-type', 'text/event-stream');
  return stream(context, async (out) => {
    const writes = [];
    await loop.run(prompt, {
      onDelta: (text) => writes.push(out.write(`data: ${JSON.stringify({ text })}\n\n`)),
    });
    await Promise.all(writes);
    await out.write('data: [DONE]\n\n');
  });
});
process.on('message', () => process.send({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }));
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send({ port }));
