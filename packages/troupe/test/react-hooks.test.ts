import { expect, test } from 'vitest';

import type { ToolResultBlock, ToolUseBlock } from '../src/message/blocks.ts';
import { Msg } from '../src/message/msg.ts';
import type { ToolChoice } from '../src/model/chat-model-base.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { ReferenceAgent, type Tool } from './reference-agent.ts';

const tools: Readonly<Record<string, Tool>> = {
  add: async ({ a, b }) => String(Number(a) + Number(b)),
  async *count() {
    yield '1';
    yield '2';
  },
};

/** Overrides the steps, and calls those above, as a variant of an agent would. */
class Variant extends ReferenceAgent {
  protected override async reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg> {
    return super.reasoning(toolChoice, turn);
  }

  protected override async acting(call: ToolUseBlock, turn: Turn): Promise<ToolResultBlock> {
    return super.acting(call, turn);
  }
}

async function hooksOf(script: (string | ScriptedTurn)[]): Promise<string[]> {
  const agent = new Variant({ model: new ScriptedModel(script), tools, maxIters: 2 });
  const fired: string[] = [];
  const note = (type: string) => (): void => void fired.push(type);
  agent.registerInstanceHook('preReasoning', 'note', note('preReasoning'));
  agent.registerInstanceHook('reasoningChunk', 'note', note('reasoningChunk'));
  agent.registerInstanceHook('postReasoning', 'note', note('postReasoning'));
  agent.registerInstanceHook('preActing', 'note', note('preActing'));
  agent.registerInstanceHook('actingChunk', 'note', note('actingChunk'));
  agent.registerInstanceHook('postActing', 'note', note('postActing'));
  agent.registerInstanceHook('preSummary', 'note', note('preSummary'));
  agent.registerInstanceHook('postSummary', 'note', note('postSummary'));
  await agent.call('go');
  return fired;
}

test('a plain answer fires the reasoning hooks once and no acting hooks, also through super calls', async () => {
  expect(await hooksOf(['Hello!'])).toEqual([
    'preReasoning',
    'reasoningChunk',
    'reasoningChunk',
    'postReasoning',
  ]);
});

test('a tool call fires the acting hooks once, with a chunk for each piece that the tool shows', async () => {
  const deltas: ScriptedTurn['deltas'] = [
    { type: 'tool_use_start', index: 0, name: 'count' },
    { type: 'tool_use_end', index: 0 },
  ];
  const fired = await hooksOf([{ deltas }, 'Done.']);
  expect(fired.filter((type) => type.includes('cting'))).toEqual([
    'preActing',
    'actingChunk',
    'actingChunk',
    'postActing',
  ]);
  expect(fired.filter((type) => type === 'preReasoning' || type === 'postReasoning')).toEqual([
    'preReasoning',
    'postReasoning',
    'preReasoning',
    'postReasoning',
  ]);
});

test('at the limit the summary hooks fire', async () => {
  const call: ScriptedTurn = { toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] };
  const fired = await hooksOf([call, call]);
  expect(fired.slice(-2)).toEqual(['preSummary', 'postSummary']);
});

test('hooks change what the steps get and give', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ id: 'x', name: 'add', input: { a: 1, b: 2 } }] },
    'Done.',
  ]);
  const agent = new Variant({ model, tools });
  agent.registerInstanceHook('preActing', 'double', (_agent, { call }) => ({
    call: { ...call, input: { a: 2, b: 4 } },
  }));
  agent.registerInstanceHook('postReasoning', 'shout', (_agent, _args, thought) =>
    thought.hasContentBlocks('tool_use') ? undefined : thought.with({ content: thought.text.toUpperCase() }),
  );
  expect((await agent.call('go')).text).toBe('DONE.');
  expect(agent.history.flatMap((msg) => msg.getContentBlocks('tool_result'))[0]?.output).toBe('6');
});

test('a hook that is removed after the first model call leaves no prompt to the second', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'now', input: {} }] }, 'It is noon.']);
  const now = tool({ name: 'now', execute: () => 'noon' });
  const agent = new ReActAgent({ name: 'Friday', model, tools: [now], console: false });
  agent.registerInstanceHook('preReasoning', 'once', (_agent, { messages }) => {
    agent.removeInstanceHook('preReasoning', 'once');
    return { messages: [...messages, Msg.system('Be brief.')] };
  });
  await agent.call('What time is it?');
  const [first, second] = model.requests.map(({ messages }) => messages);
  expect(first?.map(({ text }) => text)).toEqual(['What time is it?', 'Be brief.']);
  expect(second?.map(({ role }) => role)).toEqual(['user', 'assistant', 'system']);
});
