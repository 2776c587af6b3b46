/**
 * Cost of the kernel against the same work written by hand, in one process and one run.
 * `npm run bench`
 */
import { AgentBase, Msg, type Turn } from 'troupe';
import { MsgDraft } from 'troupe/kernel';

import { measureConfinement } from './confinement.ts';
import { fastest, row } from './measure.ts';
import { measureAnswers, measureHistory } from './models.ts';
import { measureRounds } from './rounds.ts';
import { measureSessions } from './sessions.ts';
import { measureTracing } from './tracing.ts';

const DELTAS = 20_000;
const CALLS = 10_000;

class Talker extends AgentBase {
  async reply(_msgs: readonly Msg[], _turn: Turn): Promise<Msg> {
    const draft = new MsgDraft(this.name);
    for (let i = 0; i < DELTAS; i++) {
      draft.add({ type: 'text', text: 'word ' });
      await this.print(draft.snapshot(), false);
    }
    const msg = draft.finish();
    await this.print(msg);
    return msg;
  }
}

class Echo extends AgentBase {
  async reply(msgs: readonly Msg[], _turn: Turn): Promise<Msg> {
    return Msg.assistant(msgs[0]?.text ?? '', { name: this.name });
  }
}

class Waiter extends AgentBase {
  async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    return turn.step({ kind: 'other', name: 'wait' }, () => new Promise<never>(() => {}));
  }
}

/** Baseline for streaming: deltas through a plain async generator. */
async function* talkByHand(): AsyncGenerator<{ type: 'text_delta'; text: string }, string, void> {
  let text = '';
  for (let i = 0; i < DELTAS; i++) {
    text += 'word ';
    yield { type: 'text_delta', text: 'word ' };
  }
  return text;
}

/** Baseline for an agent call: a plain async function that makes a plain object. */
async function echoByHand(text: string): Promise<{ role: string; content: string }> {
  return { role: 'assistant', content: text };
}

function silent<Agent extends AgentBase>(agent: Agent): Agent {
  agent.setConsoleOutputEnabled(false);
  return agent;
}

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of items);
}

async function measureStreaming(): Promise<void> {
  const floor = await fastest(7, () => drain(talkByHand()));
  const stream = await fastest(7, () => drain(silent(new Talker({ name: 'talker' })).stream('go')));
  row(`a delta through stream()`, (stream / DELTAS) * 1000, (floor / DELTAS) * 1000, 'us');

  const hooked = silent(new Talker({ name: 'talker' }));
  let count = 0;
  hooked.registerInstanceHook('prePrint', 'count', () => void count++);
  const withHook = await fastest(7, () => drain(hooked.stream('go')));
  row(`a delta through stream() and a hook`, (withHook / DELTAS) * 1000, (floor / DELTAS) * 1000, 'us');
}

async function measureCalls(): Promise<void> {
  const agents = Array.from({ length: CALLS }, () => silent(new Echo({ name: 'echo' })));
  const ours = await fastest(7, () => Promise.all(agents.map((agent) => agent.call('hi'))));
  const floor = await fastest(7, () => Promise.all(agents.map(() => echoByHand('hi'))));
  row(`one of ${CALLS} concurrent calls`, (ours / CALLS) * 1000, (floor / CALLS) * 1000, 'us');
}

/** Cost of hooks without registered hooks: a woven method against the same method without weaving. */
async function measureHooks(): Promise<void> {
  const agent = silent(new Echo({ name: 'echo' }));
  const plain = Echo.prototype.observe.bind(agent);
  const observe = async (method: (msgs: readonly Msg[]) => Promise<void>): Promise<void> => {
    const msgs = [Msg.user('hi')];
    for (let i = 0; i < DELTAS; i++) await method(msgs);
  };
  const woven = await fastest(15, () => observe((msgs) => agent.observe(msgs)));
  const floor = await fastest(15, () => observe(plain));
  row('a method that could be hooked, but is not', (woven / DELTAS) * 1000, (floor / DELTAS) * 1000, 'us');
}

async function measureMemory(): Promise<void> {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const agents = Array.from({ length: CALLS }, () => silent(new Waiter({ name: 'waiter' })));
  const calls = agents.map((agent) => agent.call('hi'));
  globalThis.gc?.();
  const live = process.memoryUsage().heapUsed;
  row(`a live agent with a running call`, (live - before) / CALLS / 1000, 0, 'kB');
  await Promise.all(agents.map((agent) => agent.interrupt()));
  await Promise.all(calls);
}

async function measureInterrupt(): Promise<void> {
  const agent = silent(new Waiter({ name: 'waiter' }));
  const times: number[] = [];
  for (let i = 0; i < 2000; i++) {
    const call = agent.call('hi');
    const start = performance.now();
    await agent.interrupt();
    await call;
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  row('an interrupt until the call settles, p50', times[1000] ?? 0, 0, 'ms');
  row('an interrupt until the call settles, p99', times[1980] ?? 0, 0, 'ms');
}

console.log(`Node ${process.version}\n${''.padEnd(58)} ${'troupe'.padStart(9)} ${'by hand'.padStart(9)}`);
await measureStreaming();
await measureCalls();
await measureHooks();
await measureMemory();
await measureInterrupt();
await measureHistory();
await measureAnswers();
await measureRounds();
await measureSessions();
await measureConfinement();
await measureTracing();
