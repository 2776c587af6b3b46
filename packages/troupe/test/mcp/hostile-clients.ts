// For the tests: clients of the misbehaving server, and checks that no process is left.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach } from 'vitest';

import { McpClient, type McpClientOptions } from '../../src/mcp/index.ts';
import { childrenOf, hostileServer } from './mcp-servers.ts';

export interface HostileClients {
  /** Folder of the running test. The server counts its starts in it. */
  readonly folder: string;
  /** Client that is closed at the end of the test. @param mode misbehaviour of the server */
  clientOf(mode: string, options?: Partial<McpClientOptions>): McpClient;
}

/** Set-up for the tests of a file. A test fails if a process is left running. */
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

/** Messages that the server has received. */
export async function logOf(client: McpClient): Promise<unknown> {
  return JSON.parse(await textOf(client, 'log'));
}
