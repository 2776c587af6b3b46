// For the tests: a program with a server and a helper process of the server. Prints their process ids, and
// then ends or waits to be killed.

import { childrenOf, hostileServer } from './mcp-servers.ts';
import { McpClient } from '../../src/mcp/index.ts';

const client = new McpClient({ name: 'hostile', transport: hostileServer('stubborn-less') });
const helper = String((await client.callTool('helper')).content);
process.stdout.write(`${childrenOf(process.pid).join(' ')} ${helper}\n`);
if (process.argv[2] === 'exit') process.exit(0);
