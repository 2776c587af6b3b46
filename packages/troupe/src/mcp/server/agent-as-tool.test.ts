import { expect, test } from 'vitest';

import { ReActAgent } from '../../react/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { externalTool } from '../../toolkit/tool/external-tool.ts';
import { tool, type ToolCallResult } from '../../toolkit/tool/tool.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import { agentToolkit } from './agent-as-tool.ts';

function agentWith(toolkit: Toolkit, script: ConstructorParameters<typeof ScriptedModel>[0]): ReActAgent {
  const agent = new ReActAgent({ name: 'Friday', sysPrompt: '', model: new ScriptedModel(script), toolkit });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

function ask(agent: Toolkit, message: string, signal?: AbortSignal): Promise<ToolCallResult> {
  const call = { type: 'tool_use', id: message, name: 'Friday', input: { message } } as const;
  return agent.callToolFunction(call, { signal });
}

test('one who no longer waits for the agent does not hold up the others, and is not heard', async () => {
  const [started, go] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const toolkit = new Toolkit();
  const execute = (): Promise<string> => {
    started.resolve();
    return go.promise;
  };
  toolkit.registerToolFunction(tool({ name: 'wait', execute }));
  const agent = agentWith(toolkit, [
    { toolCalls: [{ name: 'wait', id: 'c1', input: {} }] },
    'first',
    'third',
  ]);
  const friday = agentToolkit(agent, {});
  const first = ask(friday, 'one');
  await started.promise;
  const stop = new AbortController();
  const second = ask(friday, 'two', stop.signal);
  const third = ask(friday, 'three');
  await new Promise((resolve) => void setImmediate(resolve)); // both are waiting now
  stop.abort();
  expect(await second).toMatchObject({ status: 'interrupted' });
  go.resolve('waited');
  expect([await first, await third]).toMatchObject([{ output: 'first' }, { output: 'third' }]);
  const texts = (await agent.memory.getMemory()).map(({ text }) => text);
  expect(texts.filter((text) => text !== '')).toEqual(['one', 'first', 'three', 'third']);
});

test('a call that somebody else has to make is an error, too, and the agent goes on', async () => {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(externalTool({ name: 'print', schema: { type: 'object' } }));
  const agent = agentWith(toolkit, [{ toolCalls: [{ name: 'print', id: 'c1', input: {} }] }, 'Never mind.']);
  const friday = agentToolkit(agent, {});
  expect(await ask(friday, 'go')).toMatchObject({
    output:
      "Friday can't continue: its tool call 'print' needs a result from outside, and nobody can give it here.",
    status: 'error',
  });
  expect(await ask(friday, 'and now?')).toMatchObject({ output: 'Never mind.', status: 'ok' });
});

test('an answer that was cut off at the limit of tokens says so to the client', async () => {
  const friday = agentToolkit(
    agentWith(new Toolkit(), [{ text: 'Half an ans', finish: 'length' }, 'Whole.']),
    {},
  );
  expect(await ask(friday, 'go')).toMatchObject({
    output:
      'Half an ans\n\n[This answer of Friday was cut off at the limit of tokens. Ask for a shorter answer, or for the rest of it.]',
    status: 'ok',
    metadata: { end_reason: 'length' },
  });
  expect(await ask(friday, 'again')).toMatchObject({ output: 'Whole.', status: 'ok' });
});
