/**
 * Cost of what only agents do: hooks, delegation, hubs, many runs at once, and work over a long time, in one process and one run.
 * The model answers from this process. `npm run bench -- --scenarios`; `--soak MINUTES` for the last one alone.
 */
import {
  ChatModelBase,
  makeSubagentTool,
  MsgHub,
  ReActAgent,
  TaskSubAgent,
  tool,
  type ModelRequest,
} from 'troupe';
import type { ModelDelta } from 'troupe/provider';

import { soakAgents, soakRound } from '../packages/troupe/test/soak-round.ts';
import { row } from './measure.ts';

const RUNS = 10_000;
const DELTAS = 200;
const HUB_AGENTS = 20;
const HUB_TURNS = 50;

/** A model that calls its tool once, then answers with `deltas` deltas. */
class BusyModel extends ChatModelBase {
  readonly #deltas: number;

  constructor(deltas: number) {
    super('busy');
    this.#deltas = deltas;
  }

  async *stream({ messages, tools = [] }: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const [offered] = tools;
    if (offered !== undefined && messages.at(-1)?.hasContentBlocks('tool_result') !== true) {
      yield { type: 'tool_use_start', index: 0, name: offered.name };
      yield { type: 'tool_input', index: 0, json: '{"task":"Look."}' };
      yield { type: 'tool_use_end', index: 0 };
      return yield { type: 'finish', reason: 'tool_calls' };
    }
    for (let i = 0; i < this.#deltas; i++) yield { type: 'text', text: 'word ' };
    yield { type: 'finish', reason: 'stop' };
  }
}

const newAgent = (deltas: number, name = 'Friday'): ReActAgent =>
  new ReActAgent({ name, model: new BusyModel(deltas), console: false });

/** Smallest CPU time of some rounds, in milliseconds. */
async function cpuOf(work: () => Promise<unknown>, rounds = 7): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < rounds; i++) {
    const start = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

async function measureHooks(): Promise<void> {
  const plain = newAgent(DELTAS);
  const hooked = newAgent(DELTAS);
  for (const type of ['preReply', 'preReasoning', 'postReasoning', 'prePrint', 'reasoningChunk'] as const)
    hooked.registerInstanceHook(type, 'look', () => undefined);
  const ask = async (agent: ReActAgent): Promise<void> => {
    for (let i = 0; i < 20; i++) await agent.call('Go.');
    await agent.memory.clear();
  };
  const [ours, floor] = [await cpuOf(() => ask(hooked)), await cpuOf(() => ask(plain))];
  row(`a call with ${DELTAS} deltas: five hooks, against none`, ours / 20, floor / 20, 'ms CPU');
}

async function measureDelegation(): Promise<void> {
  const ask = async (host: ReActAgent): Promise<void> => {
    for (let i = 0; i < 20; i++) await host.call('Go.');
    await host.memory.clear();
  };
  const delegating = newAgent(1);
  const spec = { name: 'helper', description: 'Looks.', modelOverride: new BusyModel(1) };
  delegating.toolkit.registerToolFunction(await makeSubagentTool(TaskSubAgent, spec, { host: delegating }));
  const calling = newAgent(1);
  calling.toolkit.registerToolFunction(tool({ name: 'look', execute: () => 'word ' }));
  const [ours, floor] = [await cpuOf(() => ask(delegating)), await cpuOf(() => ask(calling))];
  row('a call with one delegation, against one with a plain tool', ours / 20, floor / 20, 'ms CPU');
}

async function measureHub(): Promise<void> {
  const talk = async (size: number): Promise<void> => {
    const participants = Array.from({ length: size }, (_, i) => newAgent(1, `agent_${i}`));
    await using hub = await MsgHub.open({ participants, announcement: 'Hello.' });
    for (let turn = 0; turn < HUB_TURNS; turn++) await hub.participants[turn % size]?.call();
  };
  const [ours, floor] = [await cpuOf(() => talk(HUB_AGENTS), 3), await cpuOf(() => talk(1), 3)];
  row(
    `a turn in a hub of ${HUB_AGENTS}, against an agent alone`,
    ours / HUB_TURNS,
    floor / HUB_TURNS,
    'ms CPU',
  );
}

async function measureRuns(): Promise<void> {
  const run = (agents: number): Promise<unknown> =>
    Promise.all(Array.from({ length: agents }, (_, i) => newAgent(1, `agent_${i}`).call('Go.')));
  const many = await cpuOf(() => run(RUNS), 3);
  const few = await cpuOf(() => run(100), 7);
  row(`one of ${RUNS} runs at once, against one of 100`, many / RUNS, few / 100, 'ms CPU');
}

/** Runs agents for a time, and fails if the heap at the end is not about that after the first tenth. */
export async function soak(minutes: number): Promise<void> {
  const end = performance.now() + minutes * 60_000;
  const heap = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const agents = soakAgents(20);
  const program = new AbortController();
  let [early, calls] = [0, 0];
  while (performance.now() < end) {
    calls += await soakRound(agents, program.signal);
    if (early === 0 && end - performance.now() < minutes * 54_000) early = heap();
  }
  const late = heap();
  row(`heap after ${calls} calls, against the first tenth`, late, early, 'MB');
  if (late > 1.2 * early + 2) process.exitCode = 1;
}

export async function measureScenarios(): Promise<void> {
  await measureHooks();
  await measureDelegation();
  await measureHub();
  await measureRuns();
  await soak(0.2);
}
