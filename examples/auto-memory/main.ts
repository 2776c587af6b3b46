// A chat that continues after a restart: an agent with an AutoContextMemory, saved in a session after every
// answer. The program is "started" twice here; the second start finds everything again, including offloaded
// messages.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { AutoContextMemory, ReActAgent, SessionManager, tool } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { JsonSession } from 'troupe/stores/json';
import { z } from 'zod';

const folder = await mkdtemp(join(tmpdir(), 'troupe-auto-memory-'));

/** One start of the program: makes new objects, and loads the session if it exists. */
async function start(): Promise<{ agent: ReActAgent; memory: AutoContextMemory; session: SessionManager }> {
  const readFile = tool({
    name: 'read_file',
    description: 'Reads a file.',
    schema: z.object({ path: z.string() }),
    execute: ({ path }) => `This is ${path}. `.repeat(60),
  });
  const memory = new AutoContextMemory({ maxToken: 2000, lastKeep: 4, largePayloadThreshold: 400 });
  const agent = new ReActAgent({
    name: 'Assistant',
    sysPrompt: 'Help with files.',
    model: new OfflineModel(),
    tools: [readFile],
    memory,
    console: false,
  });
  const session = SessionManager.forSessionId('session000005')
    .withSession(new JsonSession(folder))
    .addComponent(agent); // the memory is part of the agent's state
  if (await session.loadIfExists()) console.log('(The conversation goes on.)');
  return { agent, memory, session };
}

async function chat(questions: readonly string[]): Promise<AutoContextMemory> {
  const { agent, memory, session } = await start();
  for (const question of questions) {
    const answer = await agent.call(question);
    console.log(`you: ${question}\nassistant: ${answer.text.slice(0, 60)}`);
    await session.saveSession(); // writes only new messages
  }
  return memory;
}

try {
  const first = await chat(['Read the file a.txt', 'Read the file b.txt', 'Read the file c.txt']);
  const second = await chat(['Read the file d.txt', 'Read the file e.txt']);

  const before = first.getOriginalMemoryMsgs();
  const after = second.getOriginalMemoryMsgs();
  assert.deepEqual(JSON.stringify(after.slice(0, before.length)), JSON.stringify(before)); // nothing is lost
  assert.ok(second.getInteractionMsgs().length >= 10); // five questions and their answers
  assert.ok(second.getCompressionEvents().length > first.getCompressionEvents().length);
  for (const [uuid, msgs] of first.getOffloadContext()) assert.deepEqual(second.reload(uuid), msgs);
  console.log(`${after.length} messages were said, ${await second.size()} are in the conversation.`);
  for (const { eventType, compressedMessageCount } of second.getCompressionEvents()) {
    console.log(`  ${eventType}: ${compressedMessageCount}`);
  }
} finally {
  await rm(folder, { recursive: true });
}
