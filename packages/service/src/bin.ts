#!/usr/bin/env node
// `npx troupe serve ./agents.ts`: serves the agents that a file exports, until Ctrl-C. `troupe serve token …` makes and revokes tokens.

import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { BearerTokens } from './auth/bearer-tokens.ts';
import { createService } from './create-service.ts';
import type { AgentFactory, ServedAgent } from './runs/served-agent.ts';
import { postgresStorage, sqliteStorage, type ServiceStorage } from './store/service-store.ts';

const HELP = `Usage: troupe serve <file> [options]
       troupe serve token make <user> [name]
       troupe serve token list
       troupe serve token revoke <id>

The file exports functions that make agents: export const assistant = () => new ReActAgent({ … }). Or one object 'agents' of them.

  --port <number>   default 4488
  --host <address>  other addresses than 127.0.0.1 need --tokens
  --store <where>   SQLite file, default .troupe/service.sqlite; or postgres://… with TROUPE_APPROVAL_KEY in the environment
  --max-runs <n>    runs of this process at the same time, default 1000; 0 makes a gateway, whose runs other processes run
  --tokens          callers need a token; make one with 'troupe serve token make <user>'
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      port: { type: 'string' },
      host: { type: 'string' },
      store: { type: 'string' },
      'max-runs': { type: 'string' },
      tokens: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const [file] = positionals;
  if (values.help === true || file === undefined) {
    process.stdout.write(HELP);
    process.exitCode = values.help === true ? 0 : 1;
    return;
  }
  const storage = storageOf(values.store ?? '.troupe/service.sqlite');
  const tokens = new BearerTokens(storage.database);
  if (file === 'token') {
    await tokenCommand(tokens, positionals.slice(1));
    await storage.database.close();
    return;
  }
  const exported = (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
  const service = await createService({
    agents: agentsOf(exported, file),
    store: storage,
    maxRuns: numberOf('--max-runs', values['max-runs']),
    ...(values.tokens === true && { auth: tokens.authenticate }),
  });
  const url = await service.listen({
    port: numberOf('--port', values.port),
    host: values.host,
  });
  process.stdout.write(`Service: ${url}\nOperations: ${url}/docs. Ctrl-C ends.\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void service.close().then(() => process.exit(0)));
}

/** The storage that an option names: an address of PostgreSQL, or the path of a SQLite file. */
function storageOf(store: string): ServiceStorage {
  if (/^postgres(?:ql)?:/.test(store)) {
    const { TROUPE_APPROVAL_KEY: approvalKey = '' } = process.env;
    if (approvalKey.length < 16)
      throw new Error(
        'PostgreSQL needs TROUPE_APPROVAL_KEY in the environment: 16 random characters or more, the same for every process.',
      );
    return postgresStorage(store, { approvalKey });
  }
  const path = resolve(store);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return sqliteStorage(path);
}

function numberOf(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,5}$/.test(value)) throw new Error(`${option} needs a number: ${option} 4488`);
  return Number(value);
}

/** Agents of a file: its object `agents`, or each exported function. */
function agentsOf(
  exported: Record<string, unknown>,
  file: string,
): Record<string, AgentFactory | ServedAgent> {
  const { agents } = exported;
  if (typeof agents === 'object' && agents !== null)
    return agents as Record<string, AgentFactory | ServedAgent>;
  const functions = Object.entries(exported).filter(([, value]) => typeof value === 'function');
  if (functions.length === 0)
    throw new Error(
      `${file} exports no agent. Export a function: export const assistant = () => new ReActAgent({ … }).`,
    );
  return Object.fromEntries(functions) as Record<string, AgentFactory>;
}

async function tokenCommand(tokens: BearerTokens, [command, first, name]: readonly string[]): Promise<void> {
  if (command === 'make' && first !== undefined) {
    const { id, token } = await tokens.make(first, name);
    process.stdout.write(`Token of ${first}, shown only now: ${token}\nId, for revoking: ${id}\n`);
  } else if (command === 'list') {
    for (const { id, user, name: label, revokedAt } of await tokens.list())
      process.stdout.write(`${id}  ${user}  ${label}${revokedAt === undefined ? '' : '  revoked'}\n`);
  } else if (command === 'revoke' && first !== undefined) {
    if (!(await tokens.revoke(first))) throw new Error('There is no such token, or it was revoked before.');
    process.stdout.write('Revoked.\n');
  } else throw new Error(HELP);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
