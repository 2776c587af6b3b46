// A chat that is killed in the middle of an answer, and continues after a restart. The chat runs in its own
// process; this program kills that process with SIGKILL (no handler runs, nothing more is written), and
// starts it again.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { findHistoryFaults, ReActAgent, SessionManager, tool } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { JsonSession } from 'troupe/stores/json';
import { z } from 'zod';

/**
 * The chat: prints the saved messages, then asks the agent each question, and is killed during the last
 * answer.
 */
async function chat(folder: string, questions: readonly string[]): Promise<void> {
  const order = tool({
    name: 'order_tea',
    description: 'Orders tea.',
    schema: z.object({ kind: z.string().describe('The kind of tea.') }),
    sideEffect: true, // so its start is saved before it runs, and the tool call is not repeated automatically
    execute({ kind }) {
      if (kind !== 'mint') return `One cup of ${kind} tea is on its way.`;
      console.log('the kettle is on');
      return new Promise<string>((resolve) => setTimeout(resolve, 60_000, 'never said'));
    },
  });
  const agent = new ReActAgent({
    name: 'Friday',
    sysPrompt: 'You are a friendly butler.',
    model: new OfflineModel(),
    tools: [order],
    console: false,
  });

  const session = SessionManager.forSessionId('tea-time')
    .forUser('anna@example.com')
    .withSession(new JsonSession(folder))
    .addComponent(agent); // memory, tools and running tool calls are part of the agent's state
  await session.loadIfExists();
  session.autoSave(); // saves after every answer, and before every side effect

  for (const question of questions) await agent.call(question);
  await session[Symbol.asyncDispose](); // waits until everything is saved
  const history = await agent.memory.getMemory();
  assert.deepEqual(findHistoryFaults(history), []);
  for (const msg of history) {
    for (const block of msg.getContentBlocks(['text', 'tool_use', 'tool_result'])) {
      if (block.type === 'text') console.log(`${msg.name}: ${block.text}`);
      else if (block.type === 'tool_use')
        console.log(`${msg.name} -> ${block.name} ${JSON.stringify(block.input)}`);
      else console.log(`${block.name}: ${block.status} ${JSON.stringify(block.output)}`);
    }
  }
}

/** Runs the chat in a process, and kills the process when it prints a certain line. */
async function run(
  folder: string,
  questions: readonly string[],
  lastWords?: string,
): Promise<readonly string[]> {
  const child = spawn(process.execPath, [...process.execArgv, import.meta.filename, folder, ...questions], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    console.log(`  | ${line}`);
    if (line === lastWords) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null)
    await new Promise((resolve) => child.once('exit', resolve));
  assert.equal(child.signalCode, lastWords === undefined ? null : 'SIGKILL');
  if (lastWords === undefined) assert.equal(child.exitCode, 0);
  return lines;
}

const [ownFolder, ...ownQuestions] = process.argv.slice(2);
if (ownFolder !== undefined) await chat(ownFolder, ownQuestions);
else {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-killed-chat-'));
  try {
    console.log('The first chat, killed while the tea is made:');
    await run(
      folder,
      ['Order tea of the kind "green".', 'Order tea of the kind "mint".'],
      'the kettle is on',
    );
    console.log('The second chat, in a new process:');
    const lines = await run(folder, ['Hello, are you there?']);
    assert.ok(lines.includes('user: Order tea of the kind "green".')); // earlier messages are loaded
    assert.ok(lines.some((line) => line.startsWith('order_tea: ok "One cup of green tea')));
    assert.ok(lines.includes('user: Order tea of the kind "mint".')); // also the message of the killed reply
    // the outcome of its tool call is unknown
    assert.ok(lines.some((line) => line.startsWith('order_tea: ') && line.includes('unknown')));
    assert.ok(!lines.includes('the kettle is on')); // and the tool call was not repeated
    console.log('Nothing was lost, and nothing was done twice.');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
