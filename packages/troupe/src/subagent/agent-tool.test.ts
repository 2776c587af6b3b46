import { describe, expect, test } from 'vitest';

import { Msg } from '../message/msg.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { BackgroundTools } from '../toolkit/background-tools.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { agentTool } from './agent-tool.ts';
import { ReActAgent } from '../react/react-agent.ts';

function agentWith(
  name: string,
  script: readonly (string | ScriptedTurn)[],
  toolkit = new Toolkit(),
): ReActAgent {
  const agent = new ReActAgent({ name, model: new ScriptedModel(script), toolkit });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

test('an agent as a tool is saved with its owner', async () => {
  const inner = agentWith('inner', ['I know.']);
  const outer = agentWith('outer', []);
  outer.toolkit.registerToolFunction(agentTool(inner, { description: 'Knows.' }));
  await inner.call('Do you know?');
  const saved = outer.stateDict();

  const freshInner = agentWith('inner', []);
  const fresh = agentWith('outer', []);
  fresh.toolkit.registerToolFunction(agentTool(freshInner, { description: 'Knows.' }));
  fresh.loadStateDict(saved);
  expect((await freshInner.memory.getMemory()).map(({ text }) => text)).toEqual(['Do you know?', 'I know.']);

  fresh.toolkit.removeToolFunction('inner');
  expect(fresh.stateDict()).toMatchObject({ toolkit: { modules: {} } });
});

test('a state without the agent, or with a removed agent, can be loaded', async () => {
  const outer = agentWith('outer', []);
  const before = outer.stateDict();
  outer.toolkit.registerToolFunction(agentTool(agentWith('inner', []), { description: 'Knows.' }));
  const after = outer.stateDict();
  outer.loadStateDict(before);
  expect(outer.stateDict()).toEqual(after);
  const alone = agentWith('outer', []);
  alone.loadStateDict(after);
  expect(alone.stateDict()).toEqual(before);
});

test('agents that are tools of each other can be saved', () => {
  const [a, b] = [agentWith('a', []), agentWith('b', [])];
  a.toolkit.registerToolFunction(agentTool(b, { description: 'b' }));
  b.toolkit.registerToolFunction(agentTool(a, { description: 'a' }));
  expect(a.stateDict()).toMatchObject({ toolkit: { modules: { b: { toolkit: { modules: {} } } } } });
  a.loadStateDict(a.stateDict());
});

describe('an agent as a background tool', () => {
  const ask = (name: string): ScriptedTurn => ({ toolCalls: [{ name, id: name, input: { query: 'go' } }] });

  test('belongs to the run of its caller, by path and by cost', async () => {
    const paths: string[] = [];
    const permissionPolicy = {
      decide: ({ call, agentPath }: { call: { name: string }; agentPath: readonly string[] }) => {
        paths.push(`${agentPath.join('/')} ${call.name}`);
        return { behavior: 'allow' as const };
      },
    };
    const usage = { inputTokens: 3, outputTokens: 4 };
    const inner = new ReActAgent({
      name: 'inner',
      model: new ScriptedModel([{ ...ask('look'), usage }, 'done']),
      permissionPolicy,
    });
    inner.setConsoleOutputEnabled(false);
    inner.toolkit.registerToolFunction(tool({ name: 'look', execute: () => 'seen' }));
    const background = new BackgroundTools();
    const door = Promise.withResolvers<unknown>();
    background.onDone(door.resolve);
    const outer = agentWith('outer', [ask('inner'), ask('wait'), 'end']);
    outer.toolkit.registerToolFunction(background.inBackground(agentTool(inner, { description: 'Looks.' })));
    outer.toolkit.registerToolFunction(tool({ name: 'wait', execute: () => door.promise.then(() => 'ok') }));
    const steps: string[] = [];
    const answer = await outer.call('go', {
      runStep: ({ kind, name }, body) => {
        steps.push(`${kind} ${name}`);
        return body();
      },
    });
    expect(paths).toEqual(['outer/inner look']);
    expect(answer.usage).toEqual(usage);
    // background steps are not steps of the run, which may have ended
    expect(steps.filter((name) => name.startsWith('tool '))).toEqual(['tool inner', 'tool wait']);
  });

  test('can wait for its caller, and be interrupted with its caller', async () => {
    const background = new BackgroundTools();
    const asked = Promise.withResolvers<{ readonly answer: Promise<Msg> }>();
    const outer = agentWith('outer', [ask('inner'), ask('wait'), 'You again?']);
    class Inner extends ReActAgent {
      override async reply(): Promise<Msg> {
        asked.resolve({ answer: outer.call('Are you there?', { onBusy: 'queue' }) });
        return new Promise(() => {});
      }

      override async handleInterrupt(): Promise<Msg> {
        await new Promise((resolve) => setImmediate(resolve));
        return Msg.assistant('What is it?', { name: 'inner' });
      }
    }
    const inner = new Inner({ name: 'inner', model: new ScriptedModel([]) });
    inner.setConsoleOutputEnabled(false);
    outer.toolkit.registerToolFunction(background.inBackground(agentTool(inner, { description: 'Asks.' })));
    const waiting = Promise.withResolvers<void>();
    const wait = tool({ name: 'wait', execute: () => new Promise(() => waiting.resolve()) });
    outer.toolkit.registerToolFunction(wait);
    const over = new Promise((resolve) => background.onDone(resolve));
    const call = outer.call('go');
    const [again] = await Promise.all([asked.promise, waiting.promise]);
    await outer.interrupt();
    expect((await call).metadata['_is_interrupted']).toBe(true);
    expect((await again.answer).text).toBe('You again?');
    await inner.interrupt();
    expect(await over).toMatchObject({ state: 'done' });
    const output =
      'What is it?\n\n[This answer of inner was given when the agent was interrupted: the task may not be done.]';
    expect(background.stateDict()).toMatchObject({
      records: [{ result: { output, metadata: { end_reason: 'interrupted' } } }],
    });
  });
});
