// Notes for a host about the answer of a sub-agent, and answers that a sub-agent gives in place of its host.
import {
  agentTool,
  Msg,
  ReActAgent,
  registerSubAgent,
  stopAgent,
  SubAgentBase,
  TaskSubAgent,
  tool,
  ToolResponse,
  type SubAgentInit,
  type ToolResponseOptions,
  type ToolResultBlock,
} from 'troupe';
import type { SubAgentClass } from 'troupe/subagent';
import { ScriptedModel, type ScriptedTurn } from 'troupe/testing';
import { describe, expect, test } from 'vitest';

const ASK_TASK: ScriptedTurn = {
  toolCalls: [{ name: 'agent_kid', id: 'c', input: { task: 'Write a report.' } }],
};
const ASK: ScriptedTurn = {
  toolCalls: [{ name: 'agent_kid', id: 'c', input: { query: 'Write a report.' } }],
};

function hostOf(...script: readonly (string | ScriptedTurn)[]): ReActAgent {
  return new ReActAgent({ name: 'boss', model: new ScriptedModel(script), console: false });
}

async function resultOf({ memory }: ReActAgent): Promise<ToolResultBlock | undefined> {
  return (await memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'))[0];
}

describe('an answer that is not a plain one', () => {
  test('of a sub-agent that was cut off says so, to the model and to the program', async () => {
    const host = hostOf(ASK_TASK, 'I ask for the rest.');
    const modelOverride = new ScriptedModel([{ text: 'The report begins', finish: 'length' }]);
    await registerSubAgent(host, TaskSubAgent, { name: 'kid', description: 'Writes.', modelOverride });
    await host.call('A report, please.');
    expect(await resultOf(host)).toMatchObject({
      status: 'ok',
      output:
        'The report begins\n\n[This answer of kid was cut off at the limit of tokens. Ask for a shorter answer, or for the rest of it.]',
      metadata: { subagent: 'kid', end_reason: 'length' },
    });
  });

  test('of a sub-agent that a hook stopped says so', async () => {
    class Guarded extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init);
        this.registerInstanceHook('postReasoning', 'guard', () => stopAgent('I may not tell.'));
      }
    }
    const host = hostOf(ASK_TASK, 'Too bad.');
    const modelOverride = new ScriptedModel(['The code is 4711.']);
    await registerSubAgent(host, Guarded, { name: 'kid', description: 'Writes.', modelOverride });
    await host.call('The code, please.');
    expect(await resultOf(host)).toMatchObject({
      status: 'ok',
      output:
        'I may not tell.\n\n[This answer of kid was given when a hook stopped the agent: the task may not be done.]',
      metadata: { end_reason: 'stopped' },
    });
  });

  test('of a sub-agent that was interrupted says so', async () => {
    class Sleeper extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init);
        this.registerInstanceHook('preReasoning', 'stop', () => void this.interrupt());
      }
    }
    const host = hostOf(ASK_TASK, 'Too bad.');
    const modelOverride = new ScriptedModel([{ text: 'One', stall: true }]);
    await registerSubAgent(host, Sleeper, { name: 'kid', description: 'Writes.', modelOverride });
    await host.call('A report, please.');
    expect(await resultOf(host)).toMatchObject({
      status: 'interrupted',
      output: expect.stringMatching(
        /\n\n\[This answer of kid was given when the agent was interrupted: .*\]$/,
      ) as string,
      metadata: { end_reason: 'interrupted' },
    });
  });

  test.each<[string, ConstructorParameters<typeof ScriptedModel>[0], object | undefined]>([
    ['length', [{ text: 'The report begins', finish: 'length' }], { end_reason: 'length' }],
    [
      'max_iters',
      [{ toolCalls: [{ name: 'look', input: {} }] }, 'So far: nothing.'],
      { end_reason: 'max_iters' },
    ],
    ['finished', ['Here it is.'], undefined],
  ])('of an agent as a tool says so: %s', async (_reason, script, metadata) => {
    const look = tool({ name: 'look', execute: () => 'Nothing.' });
    const model = new ScriptedModel(script);
    const inner = new ReActAgent({ name: 'kid', model, tools: [look], maxIters: 1, console: false });
    const host = new ReActAgent({
      name: 'boss',
      model: new ScriptedModel([
        { toolCalls: [{ name: 'kid', id: 'c', input: { query: 'Write.' } }] },
        'Done.',
      ]),
      tools: [agentTool(inner, { description: 'Writes.' })],
      console: false,
    });
    await host.call('A report, please.');
    const result = await resultOf(host);
    expect(result?.metadata).toEqual(metadata);
    expect(String(result?.output).includes('[This answer of kid ')).toBe(metadata !== undefined);
  });
});

describe('a sub-agent that answers in place of its host', () => {
  /** Gives a response of its own. */
  function speaker(options: ToolResponseOptions): SubAgentClass {
    return class Speaker extends SubAgentBase {
      override async reply(): Promise<Msg> {
        return Msg.assistant('unused', { name: this.name });
      }

      override async delegate(): Promise<ToolResponse> {
        return new ToolResponse('It rains.', options);
      }
    };
  }

  test.each<[string, ToolResponseOptions['responseMsg'], boolean, string]>([
    ['its content', true, false, 'It rains.'],
    ['its content, without the id of the task', true, true, 'It rains.'],
    ['a text', 'Take an umbrella.', false, 'Take an umbrella.'],
    ['a message', Msg.assistant('Take a coat.'), true, 'Take a coat.'],
  ])('ends the reply of the host with %s', async (_what, responseMsg, continuable, expected) => {
    const host = hostOf(ASK); // a second model call would fail
    await registerSubAgent(host, speaker({ responseMsg }), {
      name: 'kid',
      description: 'Looks.',
      continuable,
    });
    const answer = await host.call('How is the weather?');
    expect([answer.text, answer.endReason, answer.name]).toEqual([expected, 'finished', 'boss']);
    expect(await resultOf(host)).toMatchObject({ status: 'ok', metadata: { subagent: 'kid' } });
  });

  test('does not, where the host has another answer to give: structured output', async () => {
    const schema = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] };
    const host = hostOf(ASK, { toolCalls: [{ name: 'generate_response', input: { sky: 'grey' } }] });
    await registerSubAgent(host, speaker({ responseMsg: true }), { name: 'kid', description: 'Looks.' });
    const answer = await host.call('How is the weather?', { structuredModel: schema });
    expect(answer.metadata).toEqual({ sky: 'grey' });
  });

  test('is not every sub-agent whose own tool ends its reply: the host goes on', async () => {
    const look = tool({ name: 'look', execute: () => new ToolResponse('It rains.', { responseMsg: true }) });
    const host = hostOf(ASK_TASK, 'Take an umbrella.');
    host.toolkit.registerToolFunction(look);
    const modelOverride = new ScriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }]);
    const spec = { name: 'kid', description: 'Looks.', modelOverride, toolsAllowlist: ['look'] };
    await registerSubAgent(host, TaskSubAgent, spec);
    expect((await host.call('How is the weather?')).text).toBe('Take an umbrella.');
    expect(await resultOf(host)).toMatchObject({ output: 'It rains.', status: 'ok' });
  });
});
