// Needs its own process: counts the timers of a fake clock, which also sees connections that other tests left open.
// Stopping a remote agent: the caller is answered at once, the remote task is canceled afterwards, and
// nothing is left running.

import { expect, test } from 'vitest';

import type { A2AAgent } from '../../src/a2a/index.ts';
import { InMemorySession } from '../../src/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { eventsOf, remoteAgent } from './a2a-agents.ts';
import { artifact, FakeRemote, IDS, status, task, type Behaviour } from './fake-remote.ts';

/** Never ends. */
const endless: Behaviour = (call) => {
  if (call.method === 'CancelTask') return call.reply((task('CANCELED') as { task: object }).task);
  call.send(task('WORKING'));
  call.send(status('WORKING', 'Let me see.'));
  for (const word of ['One', ', two', ', three']) call.send(artifact(word, word !== 'One'));
};

const count = (remote: FakeRemote, method: string): number =>
  remote.calls.filter((call) => call.method === method).length;

test('a stopped call settles before anything is asked of the server', async () => {
  await using remote = await FakeRemote.listen(endless);
  const order: string[] = [];
  const headers = () => {
    order.push('request');
    return {};
  };
  const agent = remoteAgent(remote.url, { headers });
  const stream = agent.stream('Hi');
  for (let step = await stream.next(); !step.done && step.value.type !== 'text_delta';)
    step = await stream.next();
  const settled = eventsOf(stream).then(() => order.push('settled'));
  await agent.interrupt();
  await settled;
  expect(order).toEqual(['request', 'settled']);
  await agent[Symbol.asyncDispose]();
  expect(order).toEqual(['request', 'settled', 'request']);
  expect(remote.calls.at(-1)).toMatchObject({ method: 'CancelTask', params: { id: IDS.taskId } });
});

test('nothing is sent for who has stopped before it was', async () => {
  await using remote = await FakeRemote.listen(endless);
  const asked = Promise.withResolvers<void>();
  const token = Promise.withResolvers<Record<string, string>>();
  const headers = (): Promise<Record<string, string>> => {
    asked.resolve();
    return token.promise;
  };
  const agent = remoteAgent(remote.url, { headers });
  const call = agent.call('Pay');
  await asked.promise;
  await agent.interrupt();
  expect((await call).metadata).toMatchObject({ _is_interrupted: true });
  token.resolve({});
  await agent[Symbol.asyncDispose]();
  expect(remote.calls).toEqual([]);
  expect(agent.stateDict()).toMatchObject({ observed: [{ content: 'Pay' }] }); // sent with the next call
});

const ways: readonly [string, (agent: A2AAgent, stop: AbortController, leave: () => unknown) => unknown][] = [
  ['an interrupt', (agent) => agent.interrupt('Stop')],
  ['an abort', (_, stop) => stop.abort(new Error('enough'))],
  ['leaving the stream', (_, _stop, leave) => leave()],
];

test.each(ways)('%s at any event leaves a free agent, and cancels what was begun, once', async (_, act) => {
  let begun = 0;
  for (let point = 1; point <= 8; point++) {
    await using remote = await FakeRemote.listen(endless);
    const agent = remoteAgent(remote.url);
    const stop = new AbortController();
    const stream = agent.stream('Hi', { capacity: 1, signal: stop.signal });
    for (let seen = 0; seen < point; seen++) await stream.next();
    const acted = act(agent, stop, () => stream.return());
    await eventsOf(stream).catch((error: unknown) => expect(error).toMatchObject({ message: 'enough' }));
    await acted;
    expect([agent.isRunning, agent.abandonedReplies]).toEqual([false, 0]);
    const state = agent.stateDict();
    expect(state).toMatchObject({ openTask: null });
    await agent[Symbol.asyncDispose]();
    const sent = count(remote, 'SendStreamingMessage');
    expect(count(remote, 'CancelTask')).toBe(sent);
    begun += sent;
  }
  expect(begun).toBeGreaterThanOrEqual(5);
});

test('a remote agent that hangs is abandoned after two seconds: a cancellation, and a task that never becomes known', async () => {
  for (const isKnown of [true, false]) {
    await using remote = await FakeRemote.listen((call) => {
      if (isKnown && call.method !== 'CancelTask') call.send(task('WORKING'));
    });
    const agent = remoteAgent(remote.url, { card: remote.card as never });
    const clock = new FakeClock();
    using _ = clock.install();
    const stream = agent.stream('Hi');
    await stream.next();
    const rest = eventsOf(stream);
    const sent = await remote.called('SendStreamingMessage');
    if (isKnown) while (agent.stateDict()['contextId'] === null) await new Promise(setImmediate);
    await agent.interrupt();
    await rest;
    const gone = new Promise((resolve) => void sent.response.once('close', resolve));
    const idle = agent[Symbol.asyncDispose]();
    if (isKnown) await remote.called('CancelTask');
    await clock.advance(2000);
    await Promise.all([idle, gone]);
    expect([clock.pendingTimers, count(remote, 'CancelTask')]).toEqual([0, isKnown ? 1 : 0]);
  }
});

test('a cancellation that did not get there is sent again', async () => {
  await using remote = await FakeRemote.listen((call) => {
    if (call.method === 'CancelTask' && count(remote, 'CancelTask') < 3) return void call.response.destroy();
    endless(call);
  });
  const agent = remoteAgent(remote.url);
  const call = agent.call('Hi');
  await remote.called('SendStreamingMessage');
  await agent.interrupt();
  await call;
  await agent[Symbol.asyncDispose]();
  expect(count(remote, 'CancelTask')).toBe(3);
});

test('a resolver that listens to nobody stops no interrupt, no deadline and no later call', async () => {
  await using remote = await FakeRemote.listen((call) => {
    call.send(task('COMPLETED'));
    call.end();
  });
  let asked = 0;
  const card = {
    resolve: () =>
      ++asked <= 2 ? new Promise<never>(() => {}) : Promise.resolve({ card: remote.card as never }),
  };
  const agent = remoteAgent('http://unused.example', { card, timeoutMs: 1000 });
  const first = agent.call('Hi');
  await agent.interrupt();
  expect((await first).metadata).toMatchObject({ _is_interrupted: true });
  const clock = new FakeClock();
  {
    using _ = clock.install();
    const second = agent.call('Hello?');
    second.catch(() => {});
    await clock.advance(1000);
    await expect(second).rejects.toMatchObject({ failure: 'timed_out' });
  }
  expect((await agent.call('Again')).text).toBe('Done.');
  expect([asked, agent.abandonedReplies]).toEqual([3, 0]);
});

test('a conversation goes on after a task that failed, and after an interrupt', async () => {
  await using remote = await FakeRemote.listen((call) => {
    if (call.method !== 'SendStreamingMessage' || count(remote, 'SendStreamingMessage') === 2)
      return endless(call);
    call.send(task('WORKING'));
    call.send(status(remote.calls.length === 1 ? 'FAILED' : 'COMPLETED', 'So.'));
    call.end();
  });
  const agent = remoteAgent(remote.url);
  await expect(agent.call('I am Ann')).rejects.toMatchObject({ failure: 'failed' });
  const stream = agent.stream('Who am I?');
  for (let step = await stream.next(); !step.done && step.value.type !== 'text_delta';)
    step = await stream.next();
  await agent.interrupt();
  await eventsOf(stream);
  await agent.call('And now?');
  const sent = remote.calls.filter(({ method }) => method === 'SendStreamingMessage');
  expect(sent.map(({ params }) => params.message.contextId)).toEqual([
    undefined,
    IDS.contextId,
    IDS.contextId,
  ]);
});

test('an agent that is saved with an open task, in the middle of a call, goes on with it elsewhere', async () => {
  await using remote = await FakeRemote.listen((call) => {
    const sent = count(remote, 'SendStreamingMessage');
    if (call.method !== 'SendStreamingMessage' || sent === 2) return endless(call);
    call.send(task('WORKING'));
    call.send(sent === 1 ? status('INPUT_REQUIRED', 'Where to?') : status('COMPLETED', 'Booked.'));
    call.end();
  });
  const session = new InMemorySession();
  const agent = remoteAgent(remote.url);
  await agent.call('Book');
  const stream = agent.stream('Oslo');
  await stream.next();
  while (count(remote, 'SendStreamingMessage') < 2) await new Promise(setImmediate);
  await session.save('s', { agent });
  const later = remoteAgent(remote.url);
  await session.load('s', { agent: later });
  await stream.return();
  expect((await later.call('Bergen')).text).toBe('Booked.');
  expect(remote.calls.at(-1)?.params.message).toMatchObject({ ...IDS, parts: [{ text: 'Bergen' }] });
});
