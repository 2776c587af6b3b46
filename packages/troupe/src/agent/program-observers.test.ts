import { afterEach, describe, expect, test } from 'vitest';

import { getRunConfig, withRunConfig } from '../config/run-config.ts';
import type { Msg } from '../message/msg.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { agentTool } from '../subagent/agent-tool.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { observeProgram, type ProgramObserver } from './program-observers.ts';

const texts = (msgs: readonly Msg[]): string[] => msgs.map(({ text }) => text);
let stop = (): void => {};
afterEach(() => stop());

/** An observer that notes everything in words. */
function noting(): { readonly observer: ProgramObserver; readonly notes: string[] } {
  const notes: string[] = [];
  const observer: ProgramObserver = {
    onCall: ({ agentPath, msgs, toolCallId }) =>
      notes.push(`call ${agentPath.join('/')} ${texts(msgs).join()} in ${toolCallId ?? 'nothing'}`),
    onEvent: ({ type, agentPath }) => {
      if (/^(?:reply_start|run_end|tool_result)$/.test(type)) notes.push(`${type} ${agentPath.join('/')}`);
    },
    onPrompt: ({ agentPath, messages, tools, modelName }) =>
      notes.push(
        `prompt ${agentPath.join('/')} ${messages.length} messages, ${tools.length} tools, ${modelName}`,
      ),
  };
  return { observer, notes };
}

describe('an observer of the program', () => {
  test('sees calls, events and prompts of an agent and of the agent in its tool, each once', async () => {
    const inner = new ReActAgent({ name: 'inner', model: new ScriptedModel(['Four.']), console: false });
    const call = { id: 'c1', name: 'inner', input: { query: '2+2?' } };
    const outer = new ReActAgent({
      name: 'outer',
      model: new ScriptedModel([{ toolCalls: [call] }, 'It is four.']),
      tools: [agentTool(inner, { description: 'Counts.' })],
      console: false,
    });
    const { observer, notes } = noting();
    stop = observeProgram(observer);
    outer.on('reply_start', () => notes.push('heard'), { nested: true });
    await outer.call('How much?');
    expect(notes).toEqual([
      'call outer How much? in nothing',
      'reply_start outer',
      'heard',
      'prompt outer 1 messages, 1 tools, scripted',
      'call outer/inner 2+2? in c1',
      'reply_start outer/inner',
      'heard',
      'prompt outer/inner 1 messages, 0 tools, scripted',
      'run_end outer/inner',
      'tool_result outer',
      'prompt outer 3 messages, 1 tools, scripted',
      'run_end outer',
    ]);
  });

  test('is called in the configuration of the agent call, and after its removal no longer', async () => {
    const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['1', '2']), console: false });
    const runIds = new Set<string>();
    const remove = observeProgram({
      onCall: () => runIds.add(getRunConfig().runId),
      onEvent: () => runIds.add(getRunConfig().runId),
      onPrompt: () => runIds.add(getRunConfig().runId),
    });
    await withRunConfig({ runId: 'mine' }, () => agent.call('Hi'));
    expect([...runIds]).toEqual(['mine']);
    remove();
    await withRunConfig({ runId: 'other' }, () => agent.call('Hi'));
    expect([...runIds]).toEqual(['mine']);
  });

  test('that throws fails no agent call', async () => {
    const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Fine.']), console: false });
    const fail = (): never => {
      throw new Error('broken');
    };
    stop = observeProgram({ onCall: fail, onEvent: fail, onPrompt: fail });
    expect((await agent.call('Hi')).text).toBe('Fine.');
  });
});
