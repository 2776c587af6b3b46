import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { ReActAgent } from '../../react/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { tool } from '../../toolkit/tool/tool.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import { SqliteMemory } from './sqlite-memory.ts';

const folder = await mkdtemp(join(tmpdir(), 'troupe-memory-'));
afterAll(() => rm(folder, { recursive: true }));

test('an agent that is made anew goes on where the one before was, tool calls included', async () => {
  const open = () => new SqliteMemory(join(folder, 'chat.db'), { userId: 'ann', sessionId: 'trip' });
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(tool({ name: 'look', execute: () => 'The sea.' }));

  const make = (model: ScriptedModel, memory: SqliteMemory) => {
    const agent = new ReActAgent({ name: 'Friday', model, toolkit, memory });
    agent.setConsoleOutputEnabled(false);
    return agent;
  };

  const calls = [{ id: 'call_1', name: 'look', input: {} }];
  const first = open();
  await make(new ScriptedModel([{ toolCalls: calls }, 'I see the sea.']), first).call('Look!');
  await first.close();

  const model = new ScriptedModel(['The sea, as I said.']);
  await using second = open();
  const agent = make(model, second);
  await agent.call('What was it?');
  const [asked] = model.requests;
  expect(asked?.messages.map((msg) => msg.text || msg.getContentBlocks()[0]?.type)).toEqual([
    'Look!',
    'tool_use',
    'tool_result',
    'I see the sea.',
    'What was it?',
  ]);
  expect(agent.stateDict()['memory']).toEqual({ conversation: { userId: 'ann', sessionId: 'trip' } });
});
