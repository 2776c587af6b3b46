// Many levels of sub-agents: an interrupt reaches all of them, and endless recursion is limited.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { AgentBase } from '../src/agent/agent-base.ts';
import { agentTool } from '../src/subagent/agent-tool.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { makeSubagentTool } from '../src/subagent/make-subagent-tool.ts';
import type { SubAgentInit } from '../src/subagent/sub-agent.ts';
import { TaskSubAgent } from '../src/subagent/task-sub-agent.ts';
import { withRunConfig } from '../src/config/run-config.ts';
import { McpClient, registerMcpClient } from '../src/mcp/index.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg } from '../src/message/msg.ts';
import { fanoutPipeline } from '../src/pipeline/fanout-pipeline.ts';
import { MsgHub } from '../src/pipeline/msg-hub.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { yieldToEventLoop } from '../src/util/platform/platform.node.ts';
import { validateWith } from '../src/util/schema.ts';
import { hostileServer } from './mcp/mcp-servers.ts';
import { registerSubAgent } from '../src/subagent/register-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

const forEver = (): Promise<never> => new Promise(() => {});
const call = (name: string, id: string): ScriptedToolCall => ({ name, id, input: { task: id, query: id } });
const calling = (name: string): ScriptedTurn => ({ when: () => true, toolCalls: [call(name, name)] });

class Stuck extends AgentBase {
  override reply(): Promise<Msg> {
    return forEver();
  }
}

class Deaf extends AgentBase {
  readonly isTold = Promise.withResolvers<void>();
  override async reply(): Promise<Msg> {
    return Msg.assistant('');
  }
  override observe(): Promise<void> {
    this.isTold.resolve();
    return forEver();
  }
}

test('an interrupt stops three levels, a fan-out of ten, a broadcast and a hung server, and all histories are whole', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'descent-'));
  const server = hostileServer('plain', join(folder, 'starts'));
  await using client = new McpClient({ name: 'hostile', transport: server });
  const workers: TaskSubAgent[] = [];
  class Worker extends TaskSubAgent {
    constructor(init: SubAgentInit) {
      super(init);
      init.memory.clear = async () => {}; // keeps the history for the checks
      workers.push(this);
    }
  }
  const isHanging = Promise.withResolvers<void>();
  const log = (_level: string, line: string): void => void (line.includes('hanging') && isHanging.resolve());

  await withRunConfig({ logging: { log } }, async () => {
    const crew = Array.from({ length: 10 }, (_, n) => new Stuck({ name: `crew ${n}` }));
    const together = tool({ name: 'together', execute: () => fanoutPipeline(crew, 'go').then(String) });
    const speaker = new ReActAgent({ name: 'speaker', model: new ScriptedModel(['Hear me.']) });
    const deaf = new Deaf({ name: 'deaf' });
    await using _hub = await MsgHub.open({ participants: [speaker, deaf] });
    const calls = [call('agent_a', 'c1'), call('together', 'c2'), call('speaker', 'c3')];
    const model = new ScriptedModel([{ toolCalls: calls }, 'Here I am again.']);
    const root = new ReActAgent({ name: 'root', model, parallelToolCalls: true });
    for (const agent of [root, speaker]) agent.setConsoleOutputEnabled(false);
    await registerMcpClient(root.toolkit, client);
    root.toolkit.registerToolFunction(together);
    root.toolkit.registerToolFunction(agentTool(speaker, { description: 'speaks' }));
    const options = { host: root, safetyLimits: { maxDepth: 3 } };
    const spec = (name: string, called: string, tools: readonly Tool[]) => ({
      name,
      description: name,
      modelOverride: new ScriptedModel([calling(called)]),
      tools,
    });
    const hang = root.toolkit.get('hang');
    const c = await makeSubagentTool(Worker, spec('c', 'hang', hang ? [hang] : []), options);
    const b = await makeSubagentTool(Worker, spec('b', 'agent_c', [c]), options);
    await registerSubAgent(root, Worker, spec('a', 'agent_b', [b]), options);
    workers.splice(0);

    const answer = root.call('go');
    await Promise.all([isHanging.promise, deaf.isTold.promise]);
    expect(workers.map(({ name, isRunning }) => [name, isRunning])).toEqual([
      ['a', true],
      ['b', true],
      ['c', true],
    ]);
    expect(crew.every(({ isRunning }) => isRunning) && speaker.isRunning).toBe(true);

    const clock = new FakeClock();
    {
      using _ = clock.install();
      const stopped = root.interrupt('stop');
      await clock.advance(50);
      expect(await stopped).toBe(true);
      expect((await answer).metadata['_is_interrupted']).toBe(true);
      for (let n = 0; n < 50; n++) await yieldToEventLoop(); // without time passing, all promises run
      const family = [root, speaker, ...workers, ...crew];
      expect(family.filter(({ isRunning }) => isRunning).map(({ name }) => name)).toEqual([]);
      // abandoned replies are counted
      expect(crew.map(({ abandonedReplies }) => abandonedReplies)).toEqual(crew.map(() => 1));
      expect(clock.pendingTimers).toBe(0);
    }
    const histories = await Promise.all([root, speaker, ...workers].map(({ memory }) => memory.getMemory()));
    expect(histories.flatMap((history) => findHistoryFaults(history))).toEqual([]);
    const results = histories[0]?.flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results?.map(({ id, status }) => [id, status])).toEqual([
      ['c1', 'interrupted'],
      ['c2', 'interrupted'],
      ['c3', 'interrupted'],
    ]);
    expect((await root.call('again')).text).toBe('Here I am again.');
  });
  await client.close();
  await rm(folder, { recursive: true });
});

describe('a sub-agent that calls itself without an end', () => {
  /** Number of sub-agents made, and the result. */
  async function descend(
    toolsOf: (itself: readonly Tool[]) => readonly Tool[],
    limits: { maxDepth?: number; maxDelegations?: number; maxModelCalls?: number },
  ): Promise<{ made: number; levels: number; root: ReActAgent; outputs: readonly unknown[] }> {
    let [made, levels] = [0, 0];
    class Again extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init, { maxIters: 2 });
        made++;
        levels = Math.max(levels, init.permissions.home.split('/subagents/').length - 1);
      }
    }
    const model = new ScriptedModel([{ toolCalls: [call('agent_again', 'c1')] }, 'the end']);
    const root = new ReActAgent({ name: 'root', model });
    root.setConsoleOutputEnabled(false);
    const itself: Tool[] = [];
    const hasResults: ScriptedTurn['when'] = ({ messages }) =>
      messages.at(-1)?.hasContentBlocks('tool_result') === true;
    const spec = {
      name: 'again',
      description: 'asks itself',
      modelOverride: new ScriptedModel([{ when: hasResults, text: 'back' }, calling('deeper')]),
      tools: () => toolsOf(itself),
    };
    const known = await makeSubagentTool(Again, spec, { host: root, safetyLimits: limits });
    itself.push(known);
    root.toolkit.registerToolFunction(known);
    made = 0;
    await root.call('go');
    const memory = await root.memory.getMemory();
    expect(findHistoryFaults(memory)).toEqual([]);
    const outputs = memory.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ output }) => output);
    return { made, levels, root, outputs };
  }

  const renamed = (itself: readonly Tool[]): readonly Tool[] =>
    itself.map((known) => ({ ...known, name: 'deeper' }));

  test('is as deep as it may be', async () => {
    const { made, levels, outputs, root } = await descend(renamed, { maxDepth: 5 });
    expect({ made, levels, outputs }).toEqual({ made: 5, levels: 5, outputs: ['back'] });
    expect(root.isRunning).toBe(false);
  });

  test.each([
    [{ maxDelegations: 7 }, 7, /back/],
    [
      { maxModelCalls: 7 },
      8,
      /\[subagent_limit\] again was stopped: The limit of 7 model calls is used up\./,
    ],
  ])('ends with %j, however deep it may go', async (limits, most, told) => {
    const { made, outputs } = await descend(renamed, { maxDepth: Infinity, ...limits });
    expect(made).toBeLessThanOrEqual(most);
    expect(made).toBeGreaterThanOrEqual(most - 1);
    expect(outputs).toEqual([expect.stringMatching(told)]);
  });

  test('ends by itself without any limit', async () => {
    const { made, outputs } = await descend(renamed, { maxDepth: Infinity });
    expect(made).toBeLessThanOrEqual(64);
    expect(made).toBeGreaterThan(32);
    expect(outputs).toEqual(['back']);
  });

  test('through an agent and a hub in between', async () => {
    const between = (itself: readonly Tool[]): readonly Tool[] => {
      const model = new ScriptedModel([calling('agent_again')]);
      const peer = new ReActAgent({ name: 'peer', model, maxIters: 1 });
      peer.setConsoleOutputEnabled(false);
      for (const known of itself) peer.toolkit.registerToolFunction(known);
      const inHub = tool({
        name: 'deeper',
        execute: async () => {
          await using _hub = await MsgHub.open({ participants: [peer, new Stuck({ name: 'listener' })] });
          return (await peer.call('go')).text;
        },
      });
      return [inHub];
    };
    const { made, root, outputs } = await descend(between, { maxDepth: 3 });
    expect({ made, outputs }).toEqual({ made: 3, outputs: ['back'] });
    expect(root.isRunning).toBe(false);
  });
});
