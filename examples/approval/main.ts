// An agent that needs approval before risky tool calls. A person answers in the terminal; without a terminal
// the answers are prepared. Between the question and the answer the agent's process is killed: the pending
// tool call is saved in a file, and another process resumes it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';

import {
  PermissionRules,
  ReActAgent,
  SessionManager,
  tool,
  type PendingCall,
  type PendingDecision,
} from 'troupe';
import { JsonSession } from 'troupe/stores/json';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

/**
 * Shell that only prints the command. `shellTool` of `troupe/tools` is a real one, which confines commands that
 * nobody was asked about.
 */
const shell = tool({
  name: 'execute_shell_command',
  description: 'Runs a shell command.',
  schema: z.object({ command: z.string() }),
  sideEffect: true,
  checkConfinement: async () => undefined, // printing keeps all limits
  execute({ command }) {
    console.log(`  $ ${command}`);
    return 'exit code 0';
  },
});

const command = (id: string, text: string) => ({ name: shell.name, id, input: { command: text } });

/** Answers of the model. The last command hides something dangerous behind something harmless. */
const SCRIPT = [
  {
    text: 'I look around, test, and clean up.',
    toolCalls: [command('c1', 'git status'), command('c2', 'npm test')],
  },
  { toolCalls: [command('c3', 'npm test'), command('c4', 'ls & rm -rf ~')] },
  'All is tested. I was not allowed to clean up.',
];

/** Loads the agent and its rules from the session. @param script remaining answers of the model */
async function wake(folder: string, script: typeof SCRIPT) {
  const permissionPolicy = new PermissionRules({
    workingDirectories: ['/workspace'],
    toolArguments: { [shell.name]: { command: 'command' } }, // known for the tools of the library
  });
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    tools: [shell],
    permissionPolicy,
    console: false,
  });
  const session = SessionManager.forSessionId('clean-up')
    .withSession(new JsonSession(folder))
    .addComponent(agent); // pending tool calls and granted rules are part of the agent's state
  await session.loadIfExists();
  return { agent, permissionPolicy, session };
}

/** First process: works until an approval is needed, saves, and is killed. */
async function untilAsked(folder: string): Promise<never> {
  const { agent, session } = await wake(folder, SCRIPT);
  const answer = await agent.call('Clean up the project.');
  await session.saveSession();
  console.log(`Friday: ${answer.text}`);
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

/** Asks a person, or takes the next prepared answer: yes, always, or no. */
async function ask(question: string, ready: string[]): Promise<string> {
  if (!process.stdin.isTTY) {
    const answer = ready.shift() ?? 'n';
    console.log(`${question}${answer}`);
    return answer;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(question);
  terminal.close();
  return answer.trim().toLowerCase();
}

/** Second process: asks a person about pending tool calls until none are left. */
async function withPerson(folder: string): Promise<unknown[]> {
  const { agent, permissionPolicy, session } = await wake(folder, SCRIPT.slice(1));
  const ready = ['a', 'n'];
  const asked: unknown[] = [];
  while (agent.pendingCalls.length > 0) {
    const decisions: PendingDecision[] = [];
    for (const pending of agent.pendingCalls) {
      asked.push(pending.call.input['command']);
      decisions.push(await decide(pending, permissionPolicy, ready));
    }
    const answer = await agent.call(undefined, { decisions });
    await session.saveSession();
    if (agent.pendingCalls.length === 0) console.log(`Friday: ${answer.text}`);
  }
  return asked;
}

async function decide(
  { id, call, reason, suggestions = [] }: PendingCall,
  permissionPolicy: PermissionRules,
  ready: string[],
): Promise<PendingDecision> {
  const choices = suggestions.length > 0 ? 'y / n / a = always' : 'y / n';
  const answer = await ask(
    `May I run ${JSON.stringify(call.input['command'])}? (${reason}) [${choices}] `,
    ready,
  );
  if (answer.startsWith('a')) for (const rule of suggestions) permissionPolicy.addRule(rule);
  if (answer.startsWith('y') || answer.startsWith('a')) return { id, verdict: 'allow' };
  return { id, verdict: 'deny', reason: 'not now' };
}

const [role, ownFolder] = process.argv.slice(2);
if (role === 'until-asked' && ownFolder !== undefined) await untilAsked(ownFolder);

const folder = await mkdtemp(join(tmpdir(), 'approval-'));
try {
  const child = spawnSync(
    process.execPath,
    [...process.execArgv, import.meta.filename, 'until-asked', folder],
    {
      encoding: 'utf8',
    },
  );
  process.stdout.write(child.stdout);
  assert.equal(child.signal, 'SIGKILL', child.stderr);
  console.log('(The process was killed. Another one takes over.)');
  const asked = await withPerson(folder);
  if (!process.stdin.isTTY) {
    // `git status` only reads. The second `npm test` was allowed by the rule that the first answer granted.
    assert.deepEqual(asked, ['npm test', 'ls & rm -rf ~']);
    const { permissionPolicy } = await wake(folder, []);
    assert.deepEqual(permissionPolicy.addedRules, [
      { tool: 'execute_shell_command', behavior: 'allow', when: { command: 'npm test' }, exact: true },
    ]);
    console.log('What was allowed ran once, and the rest did not.');
  }
} finally {
  await rm(folder, { recursive: true });
}
