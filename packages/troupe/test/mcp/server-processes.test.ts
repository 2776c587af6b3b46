import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { McpClient } from '../../src/mcp/index.ts';
import { withRunConfig } from '../../src/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { hostileClients, logOf, textOf } from './hostile-clients.ts';
import { childrenOf, hostileServer, isAlive, ownServer, until } from './mcp-servers.ts';

const hostile = hostileClients();
const { clientOf } = hostile;

test('nothing is started before it is used', async () => {
  const client = clientOf('plain');
  expect([client.isConnected, client.tools, childrenOf(process.pid)]).toEqual([false, [], []]);
});

test('the child sees nothing of the environment but what is safe and what is given', async () => {
  process.env['SECRET_KEY'] = 'sk-123';
  try {
    const transport = { ...hostileServer('plain'), env: { GIVEN: 'yes' } };
    await using client = new McpClient({ name: 'hostile', transport });
    const env = JSON.parse(await textOf(client, 'env')) as Record<string, string>;
    const safe = [
      'HOME',
      'LANG',
      'LC_ALL',
      'LC_CTYPE',
      'LOGNAME',
      'PATH',
      'SHELL',
      'TERM',
      'TMPDIR',
      'TZ',
      'USER',
    ];
    expect(Object.keys(env).filter((name) => !safe.includes(name))).toEqual(['GIVEN']);
    expect([env['PATH'], env['GIVEN']]).toEqual([process.env['PATH'], 'yes']);
  } finally {
    delete process.env['SECRET_KEY'];
  }
});

test('arguments are no shell', async () => {
  const transport = hostileServer('plain');
  const owned = join(hostile.folder, 'owned');
  const args = [
    ...(transport.args ?? []),
    join(hostile.folder, 'starts'),
    `; touch ${owned}`,
    `$(touch ${owned})`,
  ];
  await using client = new McpClient({ name: 'hostile', transport: { ...transport, args } });
  expect(await textOf(client, 'add')).toBe('three');
  expect(existsSync(owned)).toBe(false);
});

test('a server that can not be started, or is gone before it is spoken to, is said to be that', async () => {
  const connect = (name: string, more: object): Promise<void> =>
    new McpClient({ name, transport: { type: 'stdio', command: process.execPath, ...more } }).connect();
  const nowhere = join(hostile.folder, 'no');
  await expect(connect('lost', { cwd: nowhere })).rejects.toMatchObject({
    code: 'mcp_failed',
    message: `lost failed at the handshake: there is no program ${process.execPath}, or no folder ${nowhere}`,
  });
  const script = join(hostile.folder, 'no-server');
  writeFileSync(script, '#!/bin/sh\nexec <&-\nexit 7\n', { mode: 0o755 });
  for (let i = 0; i < 5; i++) {
    await expect(connect('gone', { command: script })).rejects.toMatchObject({
      message: 'gone ended during the handshake. It ended with the exit code 7.',
    });
  }
  chmodSync(script, 0o644);
  await expect(connect('forbidden', { command: script })).rejects.toMatchObject({
    message: `forbidden failed at the handshake: spawn ${script} EACCES`,
  });
  await expect(async () => connect('null', { env: { KEY: 'secret\0' } })).rejects.toThrow(/null character/);
});

test('a helper that the server has started goes with it, also when it ignores SIGTERM', async () => {
  const client = clientOf('plain');
  const pid = Number(await textOf(client, 'helper'));
  expect(isAlive(pid)).toBe(true);
  await client.close();
  await until(() => !isAlive(pid));
});

test('a helper goes when its server dies', async () => {
  const client = clientOf('plain');
  const pid = Number(await textOf(client, 'helper'));
  await client.callTool('die').catch(() => {});
  await until(() => !isAlive(pid));
});

test('a server that ignores everything is made to end', async () => {
  const client = clientOf('stubborn');
  await client.connect();
  const clock = new FakeClock();
  using _ = clock.install();
  const closed = client.close();
  await until(() => clock.pendingTimers === 3);
  await clock.advance(500);
  expect(childrenOf(process.pid)).toHaveLength(1); // only asked to end
  await clock.advance(1500);
  await closed;
  expect([childrenOf(process.pid), clock.pendingTimers]).toEqual([[], 0]);
});

test('closing ends the calls that run, and can be done twice, and in any order', async () => {
  const [first, second] = [clientOf('plain'), clientOf('plain')];
  await Promise.all([first.connect(), second.connect()]);
  const call = first.callTool('hang');
  call.catch(() => {});
  await until(async () => JSON.stringify(await logOf(first)).includes('hang'));
  await Promise.all([first.close(), first.close()]);
  await expect(call).rejects.toMatchObject({
    code: 'mcp_failed',
    message: 'hostile was closed. Call connect() to use it again.',
  });
  await expect(first.callTool('add')).rejects.toThrow('hostile was closed');
  await first.connect();
  expect(await textOf(first, 'add')).toBe('three');
  await first.close();
  await second.close();
});

test('closing calls off a connection that is being made', async () => {
  const client = clientOf('silent');
  const connecting = client.connect();
  connecting.catch(() => {});
  await until(() => childrenOf(process.pid).length > 0);
  await client.close();
  expect(childrenOf(process.pid)).toEqual([]);
  await expect(connecting).rejects.toThrow('hostile was closed');
});

test('closing while the tools are being listed says that it was closed', async () => {
  const client = clientOf('no-list');
  const listing = Promise.withResolvers<void>();
  const logging = {
    log: (_level: string, text: string) => void (text.includes('listing') && listing.resolve()),
  };
  const call = withRunConfig({ logging }, () => client.callTool('add'));
  call.catch(() => {});
  await listing.promise;
  await client.close();
  await expect(call).rejects.toMatchObject({
    message: 'hostile was closed. Call connect() to use it again.',
  });
  expect(childrenOf(process.pid)).toEqual([]);
});

test('a stateless client has a process for each call', async () => {
  const client = clientOf('plain', { stateful: false });
  expect(await textOf(client, 'starts')).toBe('2'); // the first start was for the list of tools
  expect(await textOf(client, 'starts')).toBe('3');
  expect(client.isConnected).toBe(false);
});

test.each(['SIGTERM', 'SIGINT', 'exit', 'SIGKILL'])(
  'a program that ends by %s leaves no process behind',
  async (how) => {
    const { command, args = [] } = ownServer('leaving-program.ts', how === 'exit' ? 'exit' : 'stay');
    const program = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(program, 'exit');
    const [line] = (await once(program.stdout.setEncoding('utf8'), 'data')) as [string];
    const pids = line.trim().split(' ').map(Number);
    expect(pids).toHaveLength(2);
    if (how !== 'exit') program.kill(how as NodeJS.Signals);
    expect(await exited).toEqual(how === 'exit' ? [0, null] : [null, how]);
    // Nothing handles SIGKILL; but a server ends when its input ends.
    await until(() => !isAlive(pids[0] ?? 0) && (how === 'SIGKILL' || !isAlive(pids[1] ?? 0)));
    if (how === 'SIGKILL') process.kill(pids[1] ?? 0, 'SIGKILL');
  },
);
