import type * as Client from '@modelcontextprotocol/client';
import type * as Server from '@modelcontextprotocol/server';
import type * as Stdio from '@modelcontextprotocol/server/stdio';

import { TroupeError } from '../../errors.ts';

// The optional packages. Bundlers accept an import that they can't resolve only as `await import()` in `try`, so no
// other module of this folder imports values of the packages. Set by the functions below, which run before any
// module that uses these is loaded.
export let mcpClientSdk: typeof Client;
export let mcpServerSdk: typeof Server;
export let mcpStdioSdk: typeof Stdio;

/** Loads the package for clients. Folder `mcp/protocol`: start here. @throws TroupeError with the command that installs the package. */
export async function loadMcpClientSdk(): Promise<void> {
  try {
    mcpClientSdk = await import('@modelcontextprotocol/client');
  } catch (error) {
    throw missing('@modelcontextprotocol/client', error);
  }
}

/** Loads the package for servers. @throws TroupeError with the command that installs the package. */
export async function loadMcpServerSdk(): Promise<void> {
  try {
    mcpServerSdk = await import('@modelcontextprotocol/server');
    mcpStdioSdk = await import('@modelcontextprotocol/server/stdio');
  } catch (error) {
    throw missing('@modelcontextprotocol/server', error);
  }
}

function missing(name: string, cause: unknown): TroupeError {
  const problem = `MCP needs the package ${name}, which could not be loaded. Run: npm install ${name}`;
  return new TroupeError('invalid_config', problem, { cause });
}
