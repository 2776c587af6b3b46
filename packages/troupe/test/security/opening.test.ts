// To open, list or look at what was saved starts nothing: no process, no connection, no tool. Nor does a decision about a command.
import { createHook } from 'node:async_hooks';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ReActAgent } from '../../src/react/react-agent.ts';
import { FileSystemHandle } from '../../src/filesystem/file-system-handle.ts';
import { PermissionRules } from '../../src/permission/permission-rules.ts';
import { DiskFileSystem } from '../../src/stores/disk/disk-file-system.ts';
import { JsonSession } from '../../src/stores/json/json-session.ts';
import { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/toolkit/tool/tool.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import { fileTools } from '../../src/file-tools/file-tools.ts';
import { fetchPageTool } from '../../src/tools/process/fetch-page-tool.ts';
import { javascriptTool } from '../../src/tools/process/javascript-tool.ts';
import { pythonTool } from '../../src/tools/process/python-tool.ts';
import { shellTool } from '../../src/tools/process/shell-tool.ts';
import { newDir } from '../json-folder.ts';

const SHELL = 'execute_shell_command';

/** Starts during an action: processes, connections, look-ups of names, threads. */
async function startedBy(work: () => Promise<void>): Promise<readonly string[]> {
  const started: string[] = [];
  const watch = createHook({
    init: (_, type) => void (/PROCESS|TCP|UDP|TLS|WORKER|DNS|GETADDRINFO/.test(type) && started.push(type)),
  });
  watch.enable();
  await work().finally(() => watch.disable());
  return started;
}

test('the trap works', async () => {
  const started = await startedBy(async () => {
    execFileSync('true');
    await new Promise((resolve) => spawn('true').on('close', resolve));
    await new Promise((resolve) =>
      connect(1, '127.0.0.1')
        .on('close', resolve)
        .on('error', () => {}),
    );
  });
  expect(started).toEqual(expect.arrayContaining(['PROCESSWRAP', 'TCPWRAP']));
});

test('tools that run programs, read pages and use files are made and described, and nothing is started', async () => {
  const dir = await newDir();
  writeFileSync(join(dir, 'bwrap'), '#!/bin/sh\ntouch ran', { mode: 0o755 });
  const started = await startedBy(async () => {
    const files = await DiskFileSystem.open({ folders: { workspace: dir } });
    const bwrap = join(dir, 'bwrap');
    const tools = [
      shellTool({ cwd: dir, bwrap }),
      pythonTool({ cwd: dir, bwrap }),
      javascriptTool(),
      fetchPageTool(),
      ...fileTools(new FileSystemHandle(files)),
    ];
    const toolkit = new Toolkit({ tools });
    expect(toolkit.getJsonSchemas()).toHaveLength(tools.length);
    const call = {
      type: 'tool_use',
      id: 'c1',
      name: 'list_directory',
      input: { path: '/workspace' },
    } as const;
    expect((await toolkit.callToolFunction(call)).output).toBe('[FILE] bwrap');
  });
  expect([started, existsSync(join(dir, 'ran'))]).toEqual([[], false]);
});

test('a session whose calls wait, or were allowed, is opened, listed and looked at, and runs nothing', async () => {
  const dir = await newDir();
  const mark = join(dir, 'ran');
  const make = (permissionPolicy: PermissionRules): ReActAgent => {
    const run = tool({
      name: SHELL,
      schema: { type: 'object', properties: { command: { type: 'string' } } },
      sideEffect: true,
      execute: () => writeFileSync(mark, ''),
    });
    const input = { command: `touch ${mark}` };
    const model = new ScriptedModel([{ toolCalls: [{ name: SHELL, id: 'c1', input }] }]);
    const agent = new ReActAgent({
      name: 'a',
      model,
      toolkit: new Toolkit({ tools: [run] }),
      permissionPolicy,
    });
    agent.setConsoleOutputEnabled(false);
    return agent;
  };
  const before = make(new PermissionRules());
  await before.call('go');
  const session = new JsonSession(join(dir, 'sessions'));
  await session.save('waits', { agent: before });
  const text = JSON.stringify(before.stateDict());
  const allowed = text
    .replace(
      '"kind":"waiting"',
      '"kind":"granted","name":"execute_shell_command","input":{},"isEdited":false',
    )
    .replace('"mode":"default"', '"mode":"bypass"');
  const permissionPolicy = new PermissionRules();
  const started = await startedBy(async () => {
    const agent = make(permissionPolicy);
    expect((await session.list()).sessions).toMatchObject([{ session: 'waits' }]);
    expect(await session.load('waits', { agent })).toBe(true);
    expect(agent.pendingCalls).toHaveLength(1);
    agent.loadStateDict(JSON.parse(allowed));
    expect([agent.pendingCalls, permissionPolicy.mode]).toEqual([[], 'default']); // edited: grants don't count
    agent.loadStateDict(JSON.parse(allowed), { acceptGrants: true });
    expect([agent.pendingCalls, permissionPolicy.mode]).toEqual([[], 'bypass']);
    expect(JSON.stringify(agent.stateDict())).toContain(mark);
    for (const command of [`touch ${mark}`, `$(touch ${mark})`, 'curl http://127.0.0.1:1', 'cat <(ls)']) {
      const call = { type: 'tool_use', id: 'c1', name: SHELL, input: { command } } as const;
      permissionPolicy.decide({
        call,
        tool: agent.toolkit.get(SHELL) ?? { name: SHELL, execute: () => '' },
        agentPath: [],
        context: undefined,
      });
    }
  });
  expect([started, existsSync(mark)]).toEqual([[], false]);
});
