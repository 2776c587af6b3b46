// A Mastra server with one agent: the routes of Mastra itself, on Hono. Arguments: address of the model, and the result of its tool.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { serve } from '@hono/node-server';
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { MastraServer } from '@mastra/hono';
import { Hono } from 'hono';
import { z } from 'zod';

const [baseURL, result] = process.argv.slice(2);
const model = createOpenAICompatible({ name: 'fake', baseURL, apiKey: 'x', includeUsage: true }).chatModel(
  'fake',
);
const lookup = createTool({
  id: 'lookup',
  description: 'Looks something up.',
  inputSchema: z.object({ x: z.number() }),
  execute: async () => result,
});
const bench = new Agent({
  id: 'bench',
  name: 'bench',
  instructions: '',
  model,
  maxRetries: 0,
  tools: { lookup },
});
const mastra = new Mastra({ agents: { bench }, logger: false });
const app = new Hono();
await new MastraServer({ app, mastra, prefix: '/api' }).init();
process.on('message', () => process.send({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }));
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send({ port }));
