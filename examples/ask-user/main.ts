// A model that asks the person: with choices, and by a form, from inside another agent. A person answers in the terminal; without
// a terminal the answers are prepared. After each question the process is killed: the question is saved, and another process goes on.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { agentTool, ReActAgent, SessionManager, type PendingCall, type PendingDecision } from 'troupe';
import { askUserTool, decideOnTerminal } from 'troupe/ask-user';
import { JsonSession } from 'troupe/stores/json';
import { ScriptedModel } from 'troupe/testing';

const TRIP = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Where to' },
    nights: { type: 'integer', minimum: 1, default: 2 },
    breakfast: { type: 'boolean', default: true },
  },
  required: ['city'],
};

/** Answers of the models, by the number of the process. The clerk asks twice, in two processes. */
const CLERK = [
  [
    {
      toolCalls: [
        { name: 'ask_user', id: 'q1', input: { question: 'Where do you want to go?', schema: TRIP } },
      ],
    },
  ],
  [
    {
      toolCalls: [
        { name: 'ask_user', id: 'q2', input: { question: 'Which room?', choices: ['single', 'double'] } },
      ],
    },
  ],
  ['A room is free.'],
];
const BOSS = [
  [{ toolCalls: [{ name: 'clerk', id: 'c1', input: { query: 'Find a room.' } }] }],
  [],
  ['I have found a room for you.'],
];

/** Loads the agents from the session. */
async function wake(folder: string, process: number) {
  const clerk = new ReActAgent({
    name: 'clerk',
    model: new ScriptedModel(CLERK[process] ?? []),
    tools: [askUserTool()],
    console: false,
  });
  const boss = new ReActAgent({
    name: 'boss',
    model: new ScriptedModel(BOSS[process] ?? []),
    tools: [agentTool(clerk, { description: 'Finds rooms.' })],
    console: false,
  });
  const session = SessionManager.forSessionId('trip').withSession(new JsonSession(folder)).addComponent(boss);
  await session.loadIfExists();
  return { boss, session };
}

/** Asks a person, or takes prepared answers. */
async function decide(pending: readonly PendingCall[]): Promise<readonly PendingDecision[]> {
  if (process.stdin.isTTY) return decideOnTerminal(pending);
  return pending.map(({ id, question, agentPath }) => {
    console.log(`${agentPath.join(' > ')}: ${question?.message}`);
    return { id, verdict: 'answer', answer: question?.choices === undefined ? { city: 'Rome' } : 'double' };
  });
}

/** One process: answers the open question if there is one, works until the next question, saves, and is killed. */
async function oneProcess(folder: string, number: number): Promise<void> {
  const { boss, session } = await wake(folder, number);
  const { pendingCalls } = boss;
  const answer =
    pendingCalls.length === 0
      ? await boss.call('I want to travel.')
      : await boss.call(undefined, { decisions: await decide(pendingCalls) });
  await session.saveSession();
  if (boss.pendingCalls.length > 0) process.kill(process.pid, 'SIGKILL');
  console.log(`boss: ${answer.text}`);
}

const [folderOfParent, number] = process.argv.slice(2);
if (folderOfParent !== undefined) {
  await oneProcess(folderOfParent, Number(number));
} else {
  const folder = await mkdtemp(join(tmpdir(), 'ask-user-'));
  try {
    for (const child of [0, 1, 2]) {
      const { signal } = spawnSync(
        process.execPath,
        [...process.execArgv, import.meta.filename, folder, String(child)],
        { stdio: 'inherit' },
      );
      assert.equal(signal, child < 2 ? 'SIGKILL' : null);
    }
    if (!process.stdin.isTTY) {
      const { boss } = await wake(folder, 2);
      assert.deepEqual(boss.pendingCalls, []);
      console.log('Every question was asked once, and answered after its process was killed.');
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}
