import type { AgentBase } from '../agent/agent-base.ts';
import type { StepRunner } from '../event/step.ts';
import type { Msg, MsgInput } from '../message/msg.ts';

/** Result of one run of a scenario. */
export interface Outcome {
  /** Point of the disturbance: the n-th tick, event or step. */
  readonly point: number;
  /** Answer of the agent call, if any. */
  readonly msg: Msg | undefined;
  /** Error of the agent call, if any. */
  readonly error: unknown;
}

/** Run to be disturbed by a driver. Made anew for every run. */
export interface Scenario {
  readonly agent: AgentBase;
  readonly input: MsgInput;
  /** Throws if the state after the run is wrong. */
  check(outcome: Outcome): void | Promise<void>;
}

/** Summary of a driver. */
export interface DriverReport {
  /** Number of points found; one run was disturbed at each. */
  readonly points: number;
}

export interface DriverOptions {
  /** Distance between disturbed points, for a sample of a long scenario. @default 1: every point */
  readonly stride?: number;
}

/** Fault thrown by `failAtEvery`. */
export class InjectedFault extends Error {
  override readonly name = 'InjectedFault';
}

/** Maximum ticks of a run. A longer run waits for something outside; use a fake clock for timers. */
const MAX_TICKS = 20_000;

/**
 * Interrupts a scenario at every point where it can wait: run after run, each time one tick of the microtask
 * queue later, until a run ends before its interrupt.
 */
export function interruptAtEvery(
  scenario: () => Scenario | Promise<Scenario>,
  options: DriverOptions = {},
): Promise<DriverReport> {
  return disturbAtEveryTick(scenario, (agent) => void agent.interrupt('stop'), options);
}

/** Like `interruptAtEvery`, with the caller's signal. */
export function abortAtEvery(
  scenario: () => Scenario | Promise<Scenario>,
  options: DriverOptions = {},
): Promise<DriverReport> {
  return disturbAtEveryTick(
    scenario,
    (_agent, caller) => caller.abort(new InjectedFault('the caller left')),
    options,
  );
}

/** Abandons the stream of a scenario after every event. */
export async function leaveAtEvery(
  scenario: () => Scenario | Promise<Scenario>,
  { stride = 1 }: DriverOptions = {},
): Promise<DriverReport> {
  for (let point = 0; ; point += stride) {
    const { agent, input, check } = await scenario();
    let events = 0;
    for await (const _event of agent.stream(input)) {
      if (events++ === point) break;
    }
    await check({ point, msg: undefined, error: undefined });
    if (events <= point) return report(point);
  }
}

/**
 * Throws a fault in every step of a scenario (every `turn.step`), once before and once after the work of the
 * step.
 */
export async function failAtEvery(
  scenario: () => Scenario | Promise<Scenario>,
  { stride = 1 }: DriverOptions = {},
): Promise<DriverReport> {
  for (let point = 0; ; point += stride) {
    let steps = 0;
    const runStep: StepRunner = async ({ name }, body) => {
      const index = steps;
      steps += 2;
      if (index === point) throw new InjectedFault(`before ${name}`);
      const result = await body();
      if (index + 1 === point) throw new InjectedFault(`after ${name}`);
      return result;
    };
    const { agent, input, check } = await scenario();
    await check({ point, ...(await settled(agent.call(input, { runStep }))) });
    if (steps <= point) return report(point);
  }
}

async function disturbAtEveryTick(
  scenario: () => Scenario | Promise<Scenario>,
  disturb: (agent: AgentBase, caller: AbortController) => void,
  { stride = 1 }: DriverOptions,
): Promise<DriverReport> {
  await assertEndsByItself(await scenario());
  for (let point = 0; ; point += stride) {
    const { agent, input, check } = await scenario();
    const caller = new AbortController();
    const outcome = settled(agent.call(input, { signal: caller.signal }));
    await ticks(point, agent);
    const hasEnded = !agent.isRunning;
    if (!hasEnded) disturb(agent, caller);
    await check({ point, ...(await outcome) });
    if (hasEnded) return report(point);
  }
}

/** Checks that a run needs only promises to end; otherwise ticks can't disturb it. */
async function assertEndsByItself({ agent, input }: Scenario): Promise<void> {
  const outcome = settled(agent.call(input));
  await ticks(MAX_TICKS, agent);
  if (agent.isRunning) {
    await agent.interrupt();
    throw new Error(
      `The scenario did not end within ${MAX_TICKS} ticks. Does it wait for a timer? Use a FakeClock.`,
    );
  }
  await outcome;
}

async function ticks(count: number, agent: AgentBase): Promise<void> {
  for (let tick = 0; tick < count && agent.isRunning; tick++) await undefined;
}

/** @throws Error if nothing was disturbed, because such a test proves nothing. */
function report(points: number): DriverReport {
  if (points === 0) throw new Error('The scenario ended before it could be disturbed.');
  return { points };
}

async function settled(call: Promise<Msg>): Promise<{ msg: Msg | undefined; error: unknown }> {
  try {
    return { msg: await call, error: undefined };
  } catch (error) {
    return { msg: undefined, error };
  }
}
