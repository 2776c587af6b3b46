// A program that offers two tools over standard input and output. Any MCP client can start it; main.ts does.

import { tool, Toolkit } from 'troupe';
import { McpServer } from 'troupe/mcp';
import { z } from 'zod';

const toolkit = new Toolkit();
toolkit.registerToolFunction(
  tool({
    name: 'get_weather',
    description: 'The weather in a city, now.',
    schema: z.object({ city: z.string().describe('The name of the city.') }),
    readOnly: true,
    execute: ({ city }) => {
      console.log('this goes to standard error: standard output belongs to the protocol');
      return `${city}: sunny, 24 °C.`;
    },
  }),
);
toolkit.registerToolFunction(
  tool({
    name: 'delete_everything',
    description: 'Deletes everything.',
    execute: () => {
      throw new Error('Nobody should have been able to call this.');
    },
  }),
);

await new McpServer(toolkit, { name: 'weather' }).serveStdio();
