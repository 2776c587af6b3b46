import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { WellKnownAgentCardResolver } from '../../src/a2a/index.ts';
import { until } from '../mcp/mcp-servers.ts';
import { eventsOf, remoteAgent, textDeltas } from './a2a-agents.ts';

const FLAGS = ['--no-warnings', '--experimental-transform-types', '--conditions=troupe:source'];

interface Program<Said> extends AsyncDisposable {
  readonly said: Said;
  readonly child: ChildProcess;
}

/** Starts a script of this folder, and waits for its first message. */
async function start<Said>(script: string, ...args: string[]): Promise<Program<Said>> {
  const child = fork(join(import.meta.dirname, script), args, {
    execArgv: FLAGS,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const [said] = (await Promise.race([once(child, 'message'), exited])) as [Said];
  return {
    said,
    child,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    },
  };
}

interface Port {
  readonly port: number;
}

test('the official client talks to our server: answers, streams, decisions, cancellation', async () => {
  await using server = await start<{ url: string }>('own-server.ts');
  await using client = await start('official-client.ts', server.said.url);
  expect(client.said).toEqual({
    whole: ['TASK_STATE_COMPLETED', 'Hello!'],
    streamed: ['task', 'Hello again, my friend!', 'TASK_STATE_COMPLETED'],
    asked: ['TASK_STATE_INPUT_REQUIRED', 'pay'],
    words: 'TASK_STATE_INPUT_REQUIRED',
    paid: ['TASK_STATE_COMPLETED', 'It is paid.'],
    again: ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_COMPLETED', 'It is paid.'],
    resubscribed: ['task', 'TASK_STATE_CANCELED'],
    canceled: 'TASK_STATE_CANCELED',
    nobody: 'TaskNotFoundError',
  });
});

test('a server that is killed while a task waits goes on with it when it is started again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-a2a-'));
  const question = await (async () => {
    await using server = await start<{ url: string }>('own-server.ts', folder);
    const asking = remoteAgent(server.said.url);
    const pending = (await asking.call('pay')).pending ?? [];
    server.child.kill('SIGKILL');
    return { pending, state: asking.stateDict() };
  })();
  await using server = await start<{ url: string }>('own-server.ts', folder);
  const agent = remoteAgent(server.said.url);
  agent.loadStateDict(question.state);
  expect(question.pending).toHaveLength(1);
  const decisions = question.pending.map(({ id }) => ({ id, verdict: 'allow' }) as const);
  expect((await agent.call(undefined, { decisions })).text).toBe('It is paid.');
  await rm(folder, { recursive: true });
});

test.each([
  ['1.0, streaming', 'streaming', '/.well-known/agent-card.json'],
  ['1.0, polling', 'polling', '/.well-known/agent-card.json'],
  ['0.3, streaming', 'streaming', '/old-card.json'],
  ['0.3, polling', 'polling', '/old-card.json'],
])('our client talks to the official server: %s', async (_, mode, path) => {
  await using server = await start<Port>('official-server.ts', mode);
  const card = new WellKnownAgentCardResolver(`http://127.0.0.1:${server.said.port}`, { path });
  let requests = 0;
  const headers = (): Record<string, string> => {
    requests++;
    return {};
  };
  const agent = remoteAgent('http://unused.example', { card, headers });

  const { events, msg } = await eventsOf(agent.stream('hello'));
  expect(msg.text).toBe('You said hello.');
  expect(textDeltas(events)).toEqual(
    mode === 'streaming' ? ['You said ', 'hello', '.'] : ['You said hello.'],
  );

  const question = await agent.call('ask');
  expect([question.text, question.endReason]).toEqual(['Which one?', 'tool_suspended']);
  expect((await agent.call('the red one')).text).toContain('the red one in the same task.');

  const stream = agent.stream('hang');
  const canceled = once(server.child, 'message');
  if (mode === 'streaming') {
    for (
      let step = await stream.next();
      !step.done && step.value.type !== 'text_delta';
      step = await stream.next()
    );
  } else {
    const sent = requests + 1;
    void stream.next();
    await until(() => requests > sent); // the task is known, and is polled
  }
  await agent.interrupt();
  expect((await eventsOf(stream)).msg.metadata).toMatchObject({ _is_interrupted: true });
  expect((await canceled)[0]).toEqual({ canceled: expect.any(String) });
});
