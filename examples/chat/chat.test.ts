import { ConsoleView, findHistoryFaults, type ChatModelBase, type ReActAgent } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import {
  abortAtEvery,
  failAtEvery,
  interruptAtEvery,
  leaveAtEvery,
  ScriptedModel,
  type Scenario,
} from 'troupe/testing';
import { expect, test } from 'vitest';

import { chatAgent } from './chat-agent.ts';

function silentAgent(model: ChatModelBase): ReActAgent {
  const agent = chatAgent(model, import.meta.dirname);
  agent.setConsoleOutputEnabled(false);
  return agent;
}

test('calculates and tells the time with the offline model', async () => {
  const agent = silentAgent(new OfflineModel());
  expect((await agent.call('What is 12 * (3 + 4)?')).text).toContain('calculate says: 84');
  const memory = await agent.memory.getMemory();
  expect(memory.map((msg) => msg.role)).toEqual(['user', 'assistant', 'system', 'assistant']);
  expect((await agent.call('What time is it?')).text).toContain('current_time says: ');
});

test('lists and reads files with the offline model', async () => {
  const agent = silentAgent(new OfflineModel());
  expect((await agent.call('List the files')).text).toContain('chat-agent.ts');
  expect((await agent.call('Read main.ts')).text).toContain('npm run chat');
  expect((await agent.call('Read ../package.json')).text).toContain(
    "There is no '../package.json' in this folder.",
  );
});

test('prints what the model says while it says it', async () => {
  const agent = silentAgent(new ScriptedModel([{ text: 'Hello, world', chunkSize: 7 }]));
  const written: string[] = [];
  agent.setConsoleOutputEnabled(true, new ConsoleView((text) => written.push(text)));
  await agent.call('hi');
  expect(written).toEqual(['assistant: Hello, ', 'world', '\n']);
});

test('a model that fails does not end the chat', async () => {
  const agent = silentAgent(
    new ScriptedModel([{ text: 'So far', error: new Error('line is dead') }, 'Hello.']),
  );
  await expect(agent.call('a')).rejects.toThrow('line is dead');
  expect((await agent.call('b')).text).toBe('Hello.');
  expect((await agent.memory.getMemory()).map((msg) => msg.text)).toEqual(['a', 'So far', 'b', 'Hello.']);
});

/** Two model messages with tool calls of all kinds, then an answer; then an agent call that has to work. */
function stressed(): Scenario {
  const calls = [
    { name: 'calculate', input: { expression: '2+2' }, id: 'same' },
    { name: 'calculate', input: { expression: '1/0' }, id: 'same' },
    { name: 'unknown', input: {} },
  ];
  const model = new ScriptedModel([
    { when: ({ messages }) => messages.at(-1)?.text === 'again', text: 'Fine.' },
    { thinking: 'hm', text: 'One moment', toolCalls: calls, chunkSize: 4 },
    { toolCalls: calls },
    { text: 'Done.', chunkSize: 2 },
  ]);
  const agent = silentAgent(model);
  return {
    agent,
    input: 'go',
    async check() {
      expect(agent.isRunning).toBe(false);
      expect((await agent.call('again')).text).toBe('Fine.');
      const memory = await agent.memory.getMemory();
      expect(findHistoryFaults(memory)).toEqual([]);
      expect(memory.slice(-2).map((msg) => msg.text)).toEqual(['again', 'Fine.']);
    },
  };
}

test.each([
  ['an interrupt', interruptAtEvery, 100],
  ['an abort', abortAtEvery, 100],
  ['a consumer that leaves', leaveAtEvery, 30],
  ['a fault in a step', failAtEvery, 18],
] as const)('%s at any point leaves a valid memory and a free agent', async (_, driver, least) => {
  expect((await driver(stressed)).points).toBeGreaterThanOrEqual(least);
});
