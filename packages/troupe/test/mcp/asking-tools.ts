// For the tests: tools of a server that ask their client. With the argument `serve`, a server over stdio; with `ask`, a program with an
// agent that prints its state when a question is pending, and ends.

import { ReActAgent } from '../../src/react/react-agent.ts';
import {
  McpClient,
  McpServer,
  mcpRequestOf,
  registerMcpClient,
  type McpToolRequest,
} from '../../src/mcp/index.ts';
import { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { tool, type ToolContext } from '../../src/toolkit/tool/tool.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import { ownServer } from './mcp-servers.ts';

function client(context: ToolContext): McpToolRequest {
  const request = mcpRequestOf(context);
  if (request === undefined) throw new Error('The tool call did not come over MCP.');
  return request;
}

export const SEATS = {
  type: 'object',
  properties: {
    seats: { type: 'integer', minimum: 1, maximum: 9, default: 2 },
    window: { type: 'boolean', default: true },
    name: { type: 'string' },
  },
  required: ['name'],
} as const;

/** @param aborted gets the names of tools whose tool call was aborted */
export function askingTools(aborted: string[] = []): Toolkit {
  const note = ({ signal, call }: ToolContext): void =>
    signal.addEventListener('abort', () => void aborted.push(call.name));
  return new Toolkit({
    tools: [
      tool({
        name: 'book',
        timeoutMs: Infinity, // a person answers meanwhile
        async execute(_, context) {
          note(context);
          return JSON.stringify(await client(context).elicit({ message: 'Which seats?', schema: SEATS }));
        },
      }),
      tool({
        name: 'twice',
        async execute(_, context) {
          const schema = {
            type: 'object',
            properties: { word: { type: 'string' } },
            required: ['word'],
          } as const;
          const first = await client(context).elicit({ message: 'First word?', schema });
          const second = await client(context).elicit({ message: 'Second word?', schema });
          return JSON.stringify([first, second]);
        },
      }),
      tool({
        name: 'nag',
        schema: { type: 'object', properties: { times: { type: 'integer' } } },
        async execute({ times = 1 }, context) {
          const schema = { type: 'object', properties: {} } as const;
          const actions: string[] = [];
          for (let i = 0; i < Number(times); i++)
            actions.push((await client(context).elicit({ message: 'Well?', schema })).action);
          return actions.join();
        },
      }),
      tool({
        name: 'visit',
        schema: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
        execute: ({ url }, context) => client(context).elicitUrl('Please log in.', String(url)),
      }),
      tool({
        name: 'think',
        schema: { type: 'object', properties: { times: { type: 'integer' } } },
        async execute({ times = 1 }, context) {
          let last = '';
          for (let i = 0; i < Number(times); i++) {
            const msg = await client(context).sample({
              messages: `Thought ${i + 1}?`,
              sysPrompt: 'Think hard.',
              maxTokens: 5000,
            });
            last = `${msg.name}: ${msg.text}`;
          }
          return last;
        },
      }),
      tool({
        name: 'where',
        execute: async (_, context) => JSON.stringify(await client(context).listRoots()),
      }),
      tool({
        name: 'features',
        execute: (_, context) => {
          const { canElicit, canElicitUrl, canSample, canListRoots } = client(context);
          return JSON.stringify({ canElicit, canElicitUrl, canSample, canListRoots });
        },
      }),
      tool({ name: 'aborted', execute: () => aborted.join() }),
    ],
  });
}

/** An agent that calls `book` once, at a server over stdio. */
export async function bookingAgent(mcp: McpClient): Promise<ReActAgent> {
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, mcp);
  const model = new ScriptedModel([{ toolCalls: [{ name: 'book', id: 'b1', input: {} }] }, 'Done.']);
  return new ReActAgent({ name: 'Friday', model, toolkit, console: false });
}

export function askingProcess(options: object = {}): McpClient {
  return new McpClient({ name: 'trains', transport: ownServer('asking-tools.ts', 'serve'), ...options });
}

if (process.argv[2] === 'serve') await new McpServer(askingTools()).serveStdio();
if (process.argv[2] === 'ask') {
  await using mcp = askingProcess();
  const agent = await bookingAgent(mcp);
  await agent.call('Book.');
  process.stdout.write(JSON.stringify(agent.stateDict()));
}
