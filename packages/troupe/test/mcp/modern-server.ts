// For the tests: a server over stdio that knows only the newest protocol.

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(
  () => {
    const mcp = new McpServer({ name: 'modern', version: '1' }, { capabilities: { tools: {} } });
    const { server } = mcp;
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'go', inputSchema: { type: 'object' } }],
    }));
    server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'gone' }] }));
    return mcp;
  },
  { legacy: 'reject' },
);
