// Interrupts, aborts and leaving a stream, at every point: no span stays open, and what was stopped is marked.
import { beforeAll, expect, test } from 'vitest';

import { findHistoryFaults, ReActAgent, registerSubAgent, TaskSubAgent, tool } from '../../src/index.ts';
import { KnowledgeBase } from '../../src/rag/knowledge-base.ts';
import { abortAtEvery, interruptAtEvery, leaveAtEvery, ScriptedModel } from '../../src/testing/index.ts';
import { validateWith } from '../../src/util/schema.ts';
import { RecordedSpans, summaryOf } from './recorded-spans.ts';

const quiet = { console: false } as const;
const eventLoop = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

beforeAll(async () => void (await validateWith({ type: 'object' }, {}))); // is loaded when it is first needed

class Shelf extends KnowledgeBase {
  override async retrieve(): Promise<[]> {
    return [];
  }
}

async function nestedAgent(): Promise<ReActAgent> {
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(
      [
        { text: 'Let me see.', toolCalls: [{ name: 'now', input: {} }], chunkSize: 4 },
        { toolCalls: [{ name: 'agent_helper', input: { task: 'Look it up.' } }] },
        'All done.',
      ],
      'big',
    ),
    tools: [tool({ name: 'now', execute: async () => 'noon' })],
    knowledge: new Shelf(),
    enableRewriteQuery: false,
    ...quiet,
  });
  const modelOverride = new ScriptedModel([{ text: 'Here it is.', chunkSize: 4 }], 'small');
  await registerSubAgent(agent, TaskSubAgent, { name: 'helper', description: 'Helps.', modelOverride });
  return agent;
}

test.each([
  ['an interrupt', interruptAtEvery],
  ['an abort', abortAtEvery],
  ['leaving the stream', leaveAtEvery],
])('%s at any point leaves no span open', async (_what, drive) => {
  using spans = await RecordedSpans.start();
  await (await nestedAgent()).call('Go.'); // loads the modules
  let stopped = 0;
  const { points } = await drive(async () => {
    const agent = await nestedAgent();
    spans.clear();
    return {
      agent,
      input: 'Go.',
      async check() {
        await eventLoop();
        expect(spans.open).toEqual([]);
        expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
        const statuses = spans.begun.map(({ attributes }) => attributes['troupe.status']);
        expect(statuses).not.toContain(undefined);
        if (statuses.some((status) => status !== 'ok')) stopped++;
      },
    };
  });
  expect(points).toBeGreaterThan(20);
  expect(stopped).toBeGreaterThan(points / 2);
});

test('an interrupt of a model, a tool and a knowledge base that hang ends their spans, marked', async () => {
  using spans = await RecordedSpans.start();
  const hang = new Promise<never>(() => {});
  const started = Promise.withResolvers<void>();
  const stuck = tool({ name: 'stuck', execute: () => (started.resolve(), hang) });
  const busy = new ReActAgent({
    name: 'busy',
    model: new ScriptedModel([{ toolCalls: [{ name: 'stuck', input: {} }] }], 'm'),
    tools: [stuck],
    ...quiet,
  });
  const answer = busy.call('Go.');
  await started.promise;
  await busy.interrupt();
  await answer;
  expect(summaryOf(spans.one('execute_tool stuck'))).toMatchObject({
    status: 'ERROR',
    message: 'interrupted',
    attributes: { 'troupe.status': 'interrupted', 'error.type': 'interrupted' },
  });
  expect(summaryOf(spans.one('invoke_agent busy'))).toMatchObject({
    status: 'UNSET', // the agent answered the interrupt
    attributes: { 'troupe.status': 'interrupted' },
  });

  spans.clear();
  const mute = new ScriptedModel([{ text: 'Well', stall: true, stubborn: true }], 'mute');
  const talker = new ReActAgent({ name: 'talker', model: mute, ...quiet });
  const stream = talker.stream('Go.');
  for await (const event of stream) if (event.type === 'text_delta') void talker.interrupt();
  expect(summaryOf(spans.one('chat mute'))).toMatchObject({
    status: 'ERROR',
    attributes: { 'troupe.status': 'interrupted' },
  });
  expect(spans.open).toEqual([]);
});

test('a failed agent call, a denied and a suspended tool call are told apart', async () => {
  using spans = await RecordedSpans.start();
  const failing = new ReActAgent({ name: 'failing', model: new ScriptedModel([], 'm'), ...quiet });
  await expect(failing.call('Go.')).rejects.toThrow('script');
  expect(summaryOf(spans.one('invoke_agent failing'))).toMatchObject({
    status: 'ERROR',
    attributes: { 'error.type': 'script_failed', 'troupe.status': 'error' },
  });
  const script = [{ toolCalls: [{ name: 'pay', input: {} }] }, 'No.'];
  for (const behavior of ['deny', 'ask'] as const) {
    spans.clear();
    const agent = new ReActAgent({
      name: 'payer',
      model: new ScriptedModel(script, 'm'),
      tools: [tool({ name: 'pay', execute: () => 'paid' })],
      permissionPolicy: { decide: () => ({ behavior }) },
      ...quiet,
    });
    await agent.call('Go.');
    const status = behavior === 'deny' ? 'denied' : 'suspended';
    expect(summaryOf(spans.one('execute_tool pay'))).toMatchObject({
      status: 'UNSET',
      attributes: { 'troupe.status': status },
    });
    expect(spans.attributesOf('invoke_agent payer')['troupe.status']).toBe(
      behavior === 'deny' ? 'ok' : 'suspended',
    );
  }
});
