// Random programs that mix features: pipelines, a hub, approvals, questions, a sub-agent, class hooks and hooks that come late, deltas
// in batches, speech, a long-term memory, streams left early, interrupts, aborts, retries, restarts and killed processes. A failure names its seed: SEEDS=<seed> runs that one alone.
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';

import { findHistoryFaults } from '../src/message/history.ts';
import type { PendingCall, PendingDecision } from '../src/message/pending-call.ts';
import { ConversationView } from '../src/event/conversation-view.ts';
import { withRunConfig, type CallOptions, type Msg } from '../src/index.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { validateWith } from '../src/util/schema.ts';
import { digestInTurns } from './digest-in-turns.ts';
import { sampleOf } from './fair-sample.ts';
import { Chronicle, NAMES, nextTurn, NO_COUNTS, type Name } from './random-model.ts';
import { Team } from './random-team.ts';

const FULL = 1_500;
const STEPS = 12;
const Answer = z.object({ answer: z.number() });
let clock: Disposable | undefined;
beforeAll(async () => void (await validateWith({ type: 'object' }, {}))); // is loaded when it is first needed
beforeEach(() => {
  clock = new FakeClock().install(); // stands still: what settles, settles without waiting
  digestInTurns();
});
afterEach(() => {
  vi.restoreAllMocks();
  clock?.[Symbol.dispose]();
});

type Disturbance = 'none' | 'interrupt' | 'abort' | 'leave' | 'kill';

test('random programs keep every promise where features meet', { timeout: 1_700_000 }, async () => {
  const only = process.env['SEEDS']?.split(',').map(Number);
  const seeds =
    only ?? Array.from({ length: sampleOf('random programs that mix features', FULL, 40) }, (_, i) => i + 1);
  const sums = new Map<string, number>();
  for (const seed of seeds) {
    const chronicle = await withRunConfig({ logging: 'silent' }, () => runProgram(seed));
    expect({ seed, faults: [...new Set(chronicle.faults)] }).toEqual({ seed, faults: [] });
    if (seed % 20 === 0) await expectSameProgram(seed, chronicle);
    for (const [what, count] of Object.entries(chronicle.counts))
      sums.set(what, (sums.get(what) ?? 0) + count);
  }
  if (only !== undefined) return;
  for (const what of Object.keys(NO_COUNTS)) expect(sums.get(what), what).toBeGreaterThan(seeds.length / 4);
});

/** A program that failed can be run again alone. */
async function expectSameProgram(seed: number, { counts, told }: Chronicle): Promise<void> {
  const again = await withRunConfig({ logging: 'silent' }, () => runProgram(seed));
  const texts = ({ told }: Pick<Chronicle, 'told'>): string[] => told.map(({ text }) => text);
  expect({ seed, counts: again.counts, told: texts(again) }).toEqual({ seed, counts, told: texts({ told }) });
}

async function runProgram(seed: number): Promise<Chronicle> {
  const chronicle = new Chronicle(seed);
  let team = await Team.start(chronicle);
  for (let step = 0; step < STEPS; step++) {
    const how = chronicle.dice.pick(['none', 'none', 'none', 'interrupt', 'abort', 'leave', 'kill']);
    const isAlive = await act(team, chronicle, how);
    if (isAlive && chronicle.dice.roll(6) > 0) {
      await team.check();
      await checkHistories(team, chronicle);
      continue;
    }
    await (isAlive && chronicle.dice.roll(2) === 0 ? team.end() : team.kill());
    team = await Team.start(chronicle);
  }
  await team.kill();
  return chronicle;
}

async function checkHistories(team: Team, chronicle: Chronicle): Promise<void> {
  for (const [name, agent] of team.agents) {
    const faults = findHistoryFaults(await agent.memory.getMemory());
    if (faults.length > 0) chronicle.faults.push(`${name}: ${faults.join('; ')}`);
    if (agent.isRunning) chronicle.faults.push(`${name} is still running`);
  }
}

/** Calls an agent or the pipeline once, disturbed or not. False if the process was killed meanwhile. */
async function act(team: Team, chronicle: Chronicle, how: Disturbance): Promise<boolean> {
  const { dice } = chronicle;
  const name = dice.pick(NAMES);
  const isPipeline = name !== 'cat' && dice.roll(3) === 0;
  const target = isPipeline ? team.pipeline : team.agent(name);
  const pending = target.pendingCalls;
  const abort = new AbortController();
  const decisions = pending.length > 0 && dice.roll(4) > 0 ? decide(pending, chronicle) : undefined;
  const options: CallOptions = {
    signal: abort.signal,
    ...(decisions !== undefined && { decisions }),
    ...(dice.roll(6) === 0 && !isPipeline && { structuredModel: Answer }),
    ...(dice.roll(6) === 0 && { onPending: 'close' as const }),
    ...(dice.roll(8) === 0 && { isRetry: true }),
  };
  if (options.onPending === 'close') forget(chronicle, pending);
  const input = decisions === undefined && dice.roll(5) > 0 ? `Input ${chronicle.number()}` : undefined;
  team.begin(...(isPipeline ? (['ann', 'bob'] as const) : [name]));
  const call = isPipeline
    ? team.pipeline.call(input, options).then(() => {})
    : how === 'leave' || dice.roll(2) === 0
      ? consume(team, name, input, options, how, chronicle)
      : team.agent(name).call(input, options);
  let isSettled = false;
  const settled = call
    .then(
      (msg) => checkAnswer(chronicle, msg ?? undefined),
      (error: unknown) => checkError(chronicle, error),
    )
    .then(() => void (isSettled = true));
  const others = [
    dice.roll(4) === 0 ? steer(team, dice.pick(NAMES)) : undefined,
    dice.roll(3) === 0 ? team.hookLate(dice.pick(NAMES)) : undefined,
  ];
  if (how === 'interrupt' || how === 'abort' || how === 'kill') {
    for (let left = dice.roll(40); left > 0 && !isSettled; left--) await nextTurn();
    if (how === 'kill') {
      await team.kill();
      abort.abort(new Error('killed'));
      await settled;
      return false;
    }
    if (how === 'abort') abort.abort(new Error('aborted by the caller'));
    else
      for (const one of isPipeline ? (['ann', 'bob'] as const) : [name])
        void team.agent(one).interrupt('Stop.');
  }
  await settled;
  await Promise.all(others);
  return true;
}

async function steer(team: Team, name: Name): Promise<void> {
  await nextTurn();
  team.agent(name).steer('Faster.');
}

async function consume(
  team: Team,
  name: Name,
  input: string | undefined,
  options: CallOptions,
  how: Disturbance,
  { dice, counts, faults }: Chronicle,
): Promise<Msg | undefined> {
  const stream = team.agent(name).stream(input, { ...options, capacity: dice.pick([1, 1, 3, 64]) });
  const view = new ConversationView();
  let left = how === 'leave' ? dice.roll(30) : Infinity;
  let ends = 0;
  for await (const event of stream) {
    view.add(event);
    if (event.type === 'run_end') ends++;
    if (left-- <= 0) return undefined;
    if (dice.roll(3) === 0) await dice.wait(4);
  }
  if (ends !== 1) throw new RangeError(`The stream had ${ends} ends.`);
  const answer = await stream.answer;
  if (how !== 'none' || answer.pending !== undefined) return answer;
  counts.streams++;
  const shown = view.messages.find(({ id }) => id === answer.id)?.content ?? [];
  const text = shown.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  if (text.replaceAll('SECRET', '***') !== answer.text)
    faults.push(`the stream showed '${text}' of ${answer.text}`);
  return answer;
}

function decide(pending: readonly PendingCall[], chronicle: Chronicle): PendingDecision[] {
  const { dice } = chronicle;
  const decided = pending.slice(0, 1 + dice.roll(pending.length));
  forget(chronicle, decided);
  return decided.map(({ id, kind }) => {
    if (dice.roll(3) === 0) return { id, verdict: 'deny' };
    return kind === 'question' ? { id, verdict: 'answer', answer: 'Yes.' } : { id, verdict: 'allow' };
  });
}

function forget({ asked }: Chronicle, pending: readonly PendingCall[]): void {
  for (const { id } of pending) asked.delete(id);
}

function checkAnswer({ faults }: Chronicle, msg: Msg | undefined): void {
  const isQuestion = (msg?.pending?.length ?? 0) > 0;
  if (msg !== undefined && !isQuestion && msg.text.includes('SECRET'))
    faults.push(`a caller got the raw ${msg.text}`);
}

/** Rejections that a program expects: stops, refusals, and the model that is gone at times. */
function checkError({ faults }: Chronicle, error: unknown): void {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (/killed|aborted by the caller|The model is gone|pending|dead|give structured output/.test(text)) return;
  faults.push(`rejected with ${text}`);
}
