import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { EXAMPLE_ENV } from '../run-example.ts';

const dir = mkdtempSync(join(tmpdir(), 'troupe-start-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];

/** Starts the program behind `npm start`, without a terminal, a browser, a key or Ollama. */
async function start(): Promise<{ child: ChildProcess; url: string; token: string }> {
  const env = { ...EXAMPLE_ENV, PORT: '0', TROUPE_STUDIO_DIR: dir };
  const child = spawn(process.execPath, [...FLAGS, join(import.meta.dirname, 'main.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  });
  children.push(child);
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    text += String(chunk);
    const [, url, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#t=(\S+)/.exec(text) ?? [];
    if (url !== undefined && token !== undefined) return { child, url, token };
  }
  throw new Error(`No address: ${text}`);
}

/** Requests of a tool with the token. */
function client({ url, token }: { url: string; token: string }) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'x-troupe-studio': '1',
  };
  const request = async (path: string, body?: object): Promise<any> => {
    const answer = await fetch(`${url}/api/${path}`, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    return answer.json();
  };
  return {
    request,
    /** Sends a message and resolves to the answers of the run when there are `turns` of them. */
    async say(runId: string, content: string, turns: number): Promise<string[]> {
      await request(`runs/${runId}/actions`, { action: { type: 'send', content }, windowId: 'test' });
      for (;;) {
        const { turns: found } = await request(`runs/${runId}/turns`);
        const answers = found.flatMap(({ answer }: any) => (answer === undefined ? [] : [answer as string]));
        if (answers.length === turns) return answers;
      }
    },
  };
}

test('npm start serves a conversation, ends by Ctrl-C with it saved, and the next start continues', async () => {
  const first = await start();
  const page = client(first);
  const info = await page.request('info');
  expect(info.agents).toMatchObject([{ key: 'friday', modelName: 'offline demo', canStartMany: true }]);
  expect(info.agents[0].suggestions.map(({ shows }: any) => shows)).toEqual([
    'streaming',
    'tool',
    'approval',
    'interrupt',
    'sub_agent',
    'plan',
    'question',
    'form',
  ]);
  const run = await page.request('conversations', { agent: 'friday' });
  expect(await page.say(run.id, 'What is 12 * (3 + 4)?', 1)).toEqual(['12 * (3 + 4) is **84**.']);
  first.child.kill('SIGINT');
  expect(await once(first.child, 'close')).toEqual([0, null]);

  const second = await start();
  const again = client(second);
  expect((await again.request('sessions')).sessions).toMatchObject([
    { id: run.id, runId: run.id, agentKey: 'friday' },
  ]);
  expect(await again.say(run.id, 'What is 12 * (3 + 4)?', 2)).toHaveLength(2);
  const { agents } = await again.request(`runs/${run.id}`);
  const inside = await again.request(`runs/${run.id}/agents/${agents[0].id}?refresh=1`);
  expect(inside.memory.working.filter(({ msg }: any) => msg.role === 'user')).toHaveLength(2); // both questions: nothing was lost
  second.child.kill('SIGINT');
  expect(await once(second.child, 'close')).toEqual([0, null]);
});
