import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { afterEach, expect, test } from 'vitest';

import type { ApprovalWaiting, RunEntry, StudioRun, Waiting } from '../src/protocol.ts';
import { Studios, type LiveClient, type StudioClient } from './studio-client.ts';

const studios = new Studios();
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await studios.closeAll();
});

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];

/** Starts a program, and resolves to its output at its end. */
function run(what: string, { studio }: StudioClient): { child: ChildProcess; output: Promise<string> } {
  const file = join(import.meta.dirname, 'connected-program.ts');
  const child = spawn(process.execPath, [...FLAGS, file, what, studio.url, studio.token], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return { child, output: once(child, 'close').then(() => text.trim()) };
}

const isEvent = (entry: RunEntry, type: string): boolean =>
  entry.kind === 'event' && entry.event.type === type;

function runWith(live: LiveClient, id: string, fits: (run: StudioRun) => boolean): Promise<StudioRun> {
  return live.until(({ messages }) =>
    messages.flatMap((one) => (one.type === 'run' && one.run.id === id ? [one.run] : [])).find(fits),
  );
}

function waitingIn(live: LiveClient): Promise<Waiting> {
  return live.until(({ messages }) =>
    messages
      .flatMap((one) => (one.type === 'waiting' ? one.waiting : []))
      .find(({ state }) => state === 'waiting'),
  );
}

test('a program that connects by init ends by itself, and its whole run is kept', async () => {
  const page = await studios.start();
  const live = await page.live();
  live.send({ type: 'watch_runs' });
  const { output } = run('ends', page);
  expect(await output).toBe('Done.');
  const done = await runWith(live, 'run-ends', ({ status }) => status === 'done');
  expect(done).toMatchObject({
    project: 'tests',
    rootAgent: 'Ann',
    preview: 'Done.',
    dropped: 0,
    source: 'program',
  });
  const { body } = await page.get('api/runs/run-ends/entries');
  const kinds = body.entries.map((entry: RunEntry) =>
    entry.kind === 'event' ? entry.event.type : entry.kind,
  );
  expect(kinds.filter((kind: string) => /^(?:input|run_end|prompt|program)$/.test(kind))).toEqual([
    'program', // connected
    'input',
    'prompt',
    'run_end',
    'program', // ended
  ]);
  const { body: prompts } = await page.get('api/runs/run-ends/prompts');
  expect(prompts.prompts).toMatchObject([{ n: 1, messages: 1, modelName: 'scripted', status: 'finished' }]);
  expect((await page.get('api/runs/run-ends/prompts/1')).body.parts).toMatchObject([
    { kind: 'message', text: 'Work!' },
  ]);
  expect((await page.get('api/runs?q=Work')).body.runs).toHaveLength(1);
});

test('a program is interrupted from the page, and counts as lost after its process was killed', async () => {
  const page = await studios.start();
  const live = await page.live();
  live.send({ type: 'watch_runs' });
  const { child } = run('hangs', page);
  await runWith(live, 'run-hangs', ({ status }) => status === 'running');
  live.send({ type: 'watch_run', runId: 'run-hangs', after: 0 });
  await live.entry('run-hangs', (entry) => isEvent(entry, 'text_delta'));
  expect(await page.act('run-hangs', { type: 'interrupt', content: 'Stop.' })).toMatchObject({ status: 200 });
  expect(await live.entry('run-hangs', (entry) => isEvent(entry, 'run_end'))).toMatchObject({
    event: { status: 'interrupted' },
  });
  child.kill('SIGKILL');
  expect(await runWith(live, 'run-hangs', ({ status }) => status === 'lost')).toMatchObject({
    isConnected: false,
  });
  expect(await page.act('run-hangs', { type: 'send', content: 'Hello?' })).toMatchObject({
    status: 410,
    body: { code: 'gone' },
  });
});

test('a question of a UserAgent is answered by a form, whose problems are told', async () => {
  const page = await studios.start();
  const live = await page.live();
  const { output } = run('asks', page);
  const question = await waitingIn(live);
  expect(question).toMatchObject({
    kind: 'question',
    agentName: 'ann',
    schema: { properties: { age: { type: 'integer' } } },
  });
  const answer = (structured: object) =>
    page.act(question.runId, { type: 'answer', id: question.id, content: 'Here.', structured });
  expect(await answer({ age: 'old' })).toMatchObject({
    status: 400,
    body: { problems: [{ path: ['age'] }] },
  });
  expect(await answer({ age: 36 })).toMatchObject({ status: 200 });
  expect(await output).toBe('Here. {"age":36}');
  expect(await answer({ age: 37 })).toMatchObject({ status: 409, body: { code: 'decided' } });
});

test('a tool call of a nested agent is approved with edited arguments, by the id of the innermost tool call', async () => {
  const page = await studios.start();
  const live = await page.live();
  run('nested', page);
  const waiting = (await waitingIn(live)) as ApprovalWaiting;
  expect(waiting).toMatchObject({
    agentPath: ['Lead', 'Finance'],
    pending: { call: { name: 'send_mail', input: { to: 'bob' } } },
    schema: { properties: { to: { type: 'string' } } },
  });
  live.send({ type: 'watch_run', runId: waiting.runId, after: 0 });
  const decision = { verdict: 'allow', input: { to: 'eve' } };
  const { id, argsHash } = waiting;
  expect(await page.act(waiting.runId, { type: 'decide', id, argsHash, decision })).toMatchObject({
    status: 200,
  });
  const result = await live.entry(
    waiting.runId,
    (entry) =>
      entry.kind === 'event' && entry.event.type === 'tool_result' && entry.event.call.name === 'send_mail',
  );
  expect(result).toMatchObject({
    event: {
      agentPath: ['Lead', 'Finance'],
      result: { output: expect.stringMatching(/sent to eve$/), status: 'ok' },
    },
  });
  await live.entry(
    waiting.runId,
    (entry) => isEvent(entry, 'run_end') && JSON.stringify(entry).includes('All done.'),
  );
  const { body } = await page.get(`api/runs/${waiting.runId}/spans`);
  const tree = body.spans.map(({ name, kind, parentId }: any) => [
    kind,
    name,
    body.spans.find(({ id: other }: any) => other === parentId)?.name,
  ]);
  expect(tree).toContainEqual(['tool', 'finance', 'Lead']);
  expect(tree).toContainEqual(['agent', 'Finance', 'finance']);
});
