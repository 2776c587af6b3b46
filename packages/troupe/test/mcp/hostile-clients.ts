// For the tests: clients of the server that misbehaves, and the proof that nothing of it is left.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach } from 'vitest';

import { McpClient, type McpClientOptions } from '../../src/mcp/index.ts';
import { childrenOf, hostileServer } from './mcp-servers.ts';

export interface HostileClients {
  /** A folder for the test that runs. The server counts its starts in it. */
  readonly folder: string;
  /** A client that is closed when the test is over. @param mode how the server misbehaves */
  clientOf(mode: string, options?: Partial<McpClientOptions>): McpClient;
}

/** For the tests of a file. Each fails if a process is left behind it. */
export function hostileClients(): HostileClients {
  let folder = '';
  let clients: McpClient[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mcp-'));
    clients = [];
  });
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await rm(folder, { recursive: true });
    const left = childrenOf(process.pid);
    if (left.length > 0) throw new Error(`There are processes left: ${left.join()}`);
  });
  return {
    get folder() {
      return folder;
    },
    clientOf(mode, options = {}) {
      const transport = hostileServer(mode, join(folder, 'starts'));
      const client = new McpClient({ name: 'hostile', transport, ...options });
      clients.push(client);
      return client;
    },
  };
}

export async function textOf(client: McpClient, tool: string): Promise<string> {
  return String((await client.callTool(tool)).content);
}

/** What the server was told so far. */
export async function logOf(client: McpClient): Promise<unknown> {
  return JSON.parse(await textOf(client, 'log'));
}
