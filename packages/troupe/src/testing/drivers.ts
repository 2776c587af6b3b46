import type { AgentBase } from '../agent/agent-base.ts';
import type { StepRunner } from '../event/step.ts';
import type { Msg, MsgInput } from '../message/msg.ts';

/** How one run of a scenario ended. */
export interface Outcome {
  /** At which point it was disturbed: the n-th tick, event or step. */
  readonly point: number;
  /** The answer, if there was one. */
  readonly msg: Msg | undefined;
  /** What the call threw, if it did. */
  readonly error: unknown;
}

/** A run that a driver disturbs. Everything in it is made anew for each run. */
export interface Scenario {
  readonly agent: AgentBase;
  readonly input: MsgInput;
  /** Throws if anything is not as it should be after the run. */
  check(outcome: Outcome): void | Promise<void>;
}

/** What a driver did. */
export interface DriverReport {
  /** How many points it found; it disturbed one run at each. */
  readonly points: number;
}

export interface DriverOptions {
  /** Distance between the points that are disturbed, for a sample of a long scenario. @default 1: every point */
  readonly stride?: number;
}

/** The fault that `failAtEvery` throws. */
export class InjectedFault extends Error {
  override readonly name = 'InjectedFault';
}

/** A run that takes more ticks than this waits for something outside: move a fake clock instead. */
const MAX_TICKS = 20_000;

/**
 * Interrupts a scenario at every point at which it can wait: run after run, one tick
 * of the microtask queue later each time, until a run ends before its interrupt.
 */
export function interruptAtEvery(
  scenario: () => Scenario | Promise<Scenario>,
  options: DriverOptions = {},
): Promise<DriverReport> {
  return disturbAtEveryTick(scenario, (agent) => void agent.interrupt('stop'), options);
}

/** The same with the caller's own signal. */
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

/** Leaves the stream of a scenario after every event. */
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
 * Throws a fault in every step of a scenario, once before the step does its work and
 * once after. Steps are what goes through `turn.step`.
 */
export async function failAtEvery(
  scenario: () => Scenario | Promise<Scenario>,
  { stride = 1 }: DriverOptions = {},
): Promise<DriverReport> {
  for (let point = 0; ; point += stride) {
    let steps = 0;
    const runStep: StepRunner = async ({ name }, body) => {
      const place = steps;
      steps += 2;
      if (place === point) throw new InjectedFault(`before ${name}`);
      const result = await body();
      if (place + 1 === point) throw new InjectedFault(`after ${name}`);
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

/** A run that needs more than promises to end could not be disturbed tick by tick. */
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

/** @throws Error if nothing was disturbed: such a test would prove nothing. */
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
