// A remote agent and its client, stopped at every point where they can wait, saved and loaded in between.

import { afterEach, beforeEach, expect, test } from 'vitest';

import { A2AAgent, serveA2A, type A2AServer } from '../../src/a2a/index.ts';
import {
  AgentBase,
  agentTool,
  findHistoryFaults,
  Msg,
  ReActAgent,
  Toolkit,
  type JsonObject,
} from '../../src/index.ts';
import { abortAtEvery, interruptAtEvery, ScriptedModel } from '../../src/testing/index.ts';

const URL_OF_SERVER = 'http://localhost/';
const { fetch } = globalThis;
let server: A2AServer;
let heard: string[];
let card: JsonObject;

/** Repeats its input, and the number of messages in this conversation. */
class Echo extends AgentBase {
  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    const text = msgs.map((msg) => msg.text).join();
    heard.push(text);
    return Msg.assistant(`heard ${text}`, { name: this.name });
  }
}

beforeEach(async () => {
  heard = [];
  const echo = (): Echo => {
    const agent = new Echo({ name: 'echo' });
    agent.setConsoleOutputEnabled(false);
    return agent;
  };
  server = serveA2A(echo, { card: { name: 'echo', description: 'Repeats.' } });
  // Without a network, which would take turns of the event loop.
  globalThis.fetch = (input, init) => server.fetch(new Request(input, init));
  card = (await (await fetchCard()).json()) as JsonObject;
});

afterEach(async () => {
  globalThis.fetch = fetch;
  await server.close();
});

const fetchCard = (): Promise<Response> =>
  server.fetch(new Request(`${URL_OF_SERVER}.well-known/agent-card.json`));

function remote(): A2AAgent {
  const agent = new A2AAgent({ name: 'remote', card });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

/** The agent loaded from its state, as after a restart. */
function reloaded(agent: A2AAgent): A2AAgent {
  const again = remote();
  again.loadStateDict(JSON.parse(JSON.stringify(agent.stateDict())) as JsonObject);
  return again;
}

const count = (word: string): number => heard.join().split(word).length - 1;
const contextOf = (agent: A2AAgent): unknown => agent.stateDict()['contextId'];

test.each([
  ['an interrupt', interruptAtEvery],
  ['an abort', abortAtEvery],
])('%s at any point leaves a remote agent that goes on, here and after a restart', async (_, drive) => {
  await remote().call('warm up'); // loads the modules
  const { points } = await drive(async () => {
    const agent = remote();
    await agent.call('one');
    await agent.observe(Msg.user('by the way'));
    heard.length = 0;
    return {
      agent,
      input: 'two',
      async check({ error }) {
        expect(agent.isRunning).toBe(false);
        expect(agent.abandonedReplies).toBe(0);
        const contexts = [contextOf(agent)];
        const again = reloaded(agent);
        const answer = await again.call('three');
        expect(answer.text).toContain('three');
        contexts.push(contextOf(again));
        // Nothing is lost. A message that may have arrived, without an answer, is sent again.
        expect(count('by the way')).toBeGreaterThanOrEqual(1);
        expect(count('by the way')).toBeLessThanOrEqual(2);
        if (error === undefined) expect(count('two')).toBeGreaterThanOrEqual(1);
        expect(count('three')).toBe(1);
        expect(new Set(contexts).size).toBe(1);
        await agent[Symbol.asyncDispose]();
        await again[Symbol.asyncDispose]();
      },
    };
  });
  expect(points).toBeGreaterThan(50);
});

test('an interrupt at any point leaves whole histories with who asked a remote agent', async () => {
  const scenario = () => {
    const far = remote();
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(agentTool(far, { description: 'Far away.' }));
    const asks = { toolCalls: [{ name: 'remote', input: { query: 'Well?' } }] };
    const model = new ScriptedModel([asks, 'So it is.', 'And on.', 'And on.']);
    const agent = new ReActAgent({ name: 'root', sysPrompt: '', model, toolkit });
    agent.setConsoleOutputEnabled(false);
    return {
      agent,
      input: 'Go',
      async check() {
        expect([agent.isRunning, far.isRunning]).toEqual([false, false]);
        expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
        await agent[Symbol.asyncDispose]();
        await far[Symbol.asyncDispose]();
      },
    };
  };
  const { agent, input } = scenario();
  await agent.call(input); // loads the modules
  const { points } = await interruptAtEvery(scenario);
  expect(points).toBeGreaterThan(50);
});
