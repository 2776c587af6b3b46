import type { Step, StepRunner } from '../event/step.ts';
import { Msg } from '../message/msg.ts';
import { ReActAgent } from '../react/react-agent.ts';
import type { ContractCase } from './chat-model-contract.ts';
import { check, checkSame, soon, thrownBy } from './contract-checks.ts';
import { ScriptedModel } from './scripted-model.ts';
import {
  checkHistories,
  historyOf,
  makeScenarioAgents,
  noting,
  playScenario,
  SCENARIO_RUNS,
  type Effects,
  type ScenarioAgents,
} from './step-scenario.ts';

/** One run, tried once or more: each call begins the next attempt, which replays the steps that earlier attempts recorded. */
export type BeginAttempt = () => StepRunner | Promise<StepRunner>;

export interface StepRunnerContractOptions {
  /** Whether the runner records results and replays them in the next attempt. @default false */
  readonly isDurable?: boolean | undefined;
}

interface Case {
  readonly name: string;
  readonly isForDurable?: true;
  readonly run: (openRun: () => Promise<BeginAttempt>) => Promise<void>;
}

/**
 * The cases that every step runner has to pass, for any test runner:
 * `for (const { name, run } of stepRunnerContract(openRun)) test(name, run)`.
 *
 * @param openRun opens a new run, with nothing recorded
 * @example
 * ```ts
 * import { StepJournal, stepRunnerContract } from 'troupe/testing';
 *
 * const openRun = () => {
 *   const journal = new StepJournal();
 *   return () => journal.attempt();
 * };
 * for (const { run } of stepRunnerContract(openRun, { isDurable: true })) await run();
 * ```
 */
export function stepRunnerContract(
  openRun: () => BeginAttempt | Promise<BeginAttempt>,
  { isDurable = false }: StepRunnerContractOptions = {},
): readonly ContractCase[] {
  return CASES.filter(({ isForDurable = false }) => isDurable || !isForDurable).map(({ name, run }) => ({
    name,
    run: () => run(async () => openRun()),
  }));
}

class Fault extends Error {
  override readonly name = 'Fault';
}

function step(name: string, kind: Step['kind'] = 'other'): Step {
  return { kind, name, key: `${kind}:${name}#1` };
}

/** Runs of one scenario, and the effects of all attempts. */
class Attempts {
  readonly effects: Effects = [];
  readonly #runs: readonly BeginAttempt[];
  /** Keys of the steps that earlier attempts have finished, by run. */
  readonly #finished: readonly Set<string>[];
  #count = 0;

  private constructor(runs: readonly BeginAttempt[]) {
    this.#runs = runs;
    this.#finished = runs.map(() => new Set());
  }

  static async open(openRun: () => Promise<BeginAttempt>): Promise<Attempts> {
    return new Attempts(await Promise.all(Array.from({ length: SCENARIO_RUNS }, () => openRun())));
  }

  /**
   * Plays the scenario with new agents. Steps that run in parallel start in another order in each attempt.
   * @param disturb put around the body of every step
   * @throws Error if a step runs again that an earlier attempt has finished
   */
  async play(disturb: Disturbance = new Disturbance()): Promise<Attempt> {
    const agents = makeScenarioAgents(this.effects);
    const steps: Step[][] = this.#runs.map(() => []);
    const repeated: string[] = [];
    const attempt = ++this.#count;
    const runners: StepRunner[] = [];
    for (const [run, begin] of this.#runs.entries()) {
      const runStep = await begin();
      const before = new Set(this.#finished[run]);
      const watched: StepRunner = async (step, body) => {
        for (let tick = delayOf(step, attempt); tick > 0; tick--) await undefined;
        const result = await runStep(step, () => {
          if (before.has(step.key) && step.kind !== 'write') repeated.push(step.key);
          return disturb.around(body);
        });
        await disturb.untilDead();
        this.#finished[run]?.add(step.key);
        return result;
      };
      runners.push(noting(steps[run] ?? [], watched));
    }
    const outcome = playScenario(agents, runners).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error }),
    );
    const settled = await soon(Promise.race([outcome, disturb.died.then(() => ({}))]), 'The end of the run');
    checkSame(repeated, [], 'The finished steps that ran again');
    for (const [run, { length }] of steps.entries()) {
      const keys = new Set(steps[run]?.map(({ key }) => key));
      checkSame(keys.size, length, `The number of different keys of run ${run + 1}`);
    }
    return { agents, steps, ...settled };
  }
}

interface Attempt {
  readonly agents: ScenarioAgents;
  /** The steps that were taken, by run. */
  readonly steps: readonly (readonly Step[])[];
  /** The structured output; undefined if the attempt failed or was cut. */
  readonly answer?: unknown;
  readonly error?: unknown;
}

/** Something that happens to a body of the scenario: nothing, a fault, or the end of the process. */
class Disturbance {
  readonly died: Promise<void>;
  readonly #kind: 'fault' | 'cut' | undefined;
  readonly #point: number;
  #bodies = 0;
  #isDead = false;
  #die = (): void => {};

  /** @param point 2n for the moment before the n-th body, 2n + 1 for the moment after */
  constructor(kind?: 'fault' | 'cut', point = -1) {
    this.#kind = kind;
    this.#point = point;
    this.died = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  /** Whether the point was beyond the end of the scenario. */
  get isBeyond(): boolean {
    return this.#bodies * 2 <= this.#point;
  }

  async around<T>(body: () => Promise<T>): Promise<T> {
    await this.untilDead();
    const point = this.#bodies++ * 2;
    await this.#at(point);
    const result = await body();
    await this.#at(point + 1);
    await this.untilDead();
    return result;
  }

  /** Never resolves once the process has ended. */
  async untilDead(): Promise<void> {
    if (this.#isDead) await new Promise<never>(() => {});
  }

  async #at(point: number): Promise<void> {
    if (point !== this.#point) return;
    if (this.#kind === 'fault') throw new Fault(`at point ${point}`);
    this.#isDead = true;
    this.#die();
    await this.untilDead();
  }
}

/** Disturbs the scenario at every point, and looks at what comes of it. @throws Error if there was nothing to disturb */
async function disturbAtEvery(
  kind: 'fault' | 'cut',
  openRun: () => Promise<BeginAttempt>,
  look: (attempt: Attempt, attempts: Attempts, point: number) => Promise<void>,
): Promise<void> {
  for (let point = 0; ; point++) {
    const attempts = await Attempts.open(openRun);
    const disturbance = new Disturbance(kind, point);
    const attempt = await attempts.play(disturbance);
    if (disturbance.isBeyond) {
      check(point >= 20, `The scenario should have at least 10 steps, not ${point / 2}.`);
      return;
    }
    await look(attempt, attempts, point);
  }
}

const CASES: readonly Case[] = [
  {
    name: 'a step resolves to the result of its body',
    async run(openRun) {
      const runStep = await (await openRun())();
      for (const [i, value] of [1, 'text', null, [{ a: [] }], { a: { b: false } }].entries())
        checkSame(await runStep(step(`${i}`), async () => value), value, `The result of step ${i}`);
      const nothing = await runStep<unknown>(step('nothing'), async () => undefined);
      check(nothing === undefined || nothing === null, 'A result of undefined should be undefined or null.');
    },
  },
  {
    name: 'a body is called once, and only in its step',
    async run(openRun) {
      const runStep = await (await openRun())();
      let calls = 0;
      await runStep(step('once'), async () => ++calls);
      await runStep(step('another'), async () => null);
      checkSame(calls, 1, 'The number of calls');
    },
  },
  {
    name: 'an error of a body is passed on as it is, and the step can be tried again',
    async run(openRun) {
      const begin = await openRun();
      const fault = new Fault('thrown by the body');
      const failing = (await begin())(step('fails'), () => Promise.reject(fault));
      const thrown = await thrownBy(failing, 'A step whose body throws');
      check(
        thrown === fault,
        `The step should reject with the error of the body, not with ${String(thrown)}.`,
      );
      checkSame(await (await begin())(step('fails'), async () => 'well'), 'well', 'The second attempt');
    },
  },
  {
    name: 'steps run in parallel and inside of each other',
    async run(openRun) {
      const runStep = await (await openRun())();
      const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
      const inner = (name: string, mine: typeof first, other: typeof first) =>
        runStep(step(name), async () => {
          await runStep(step(`in ${name}`), async () => mine.resolve(name));
          return other.promise;
        });
      const both = Promise.all([inner('one', first, second), inner('two', second, first)]);
      checkSame(await soon(both, 'The end of steps that wait for each other'), ['two', 'one'], 'The results');
    },
  },
  {
    name: 'a run with parallel tools, a nested agent, an approval and structured output ends, with unique keys',
    async run(openRun) {
      const attempts = await Attempts.open(openRun);
      const { answer, error, steps, agents } = await attempts.play();
      checkSame(answer, { total: 3 }, `The answer (${String(error)})`);
      checkSame(attempts.effects.toSorted(), ['count', 'look "a"', 'look "b"', 'sign'], 'The tools that ran');
      const kinds = new Set(steps.flat().map(({ kind }) => kind));
      checkSame([...kinds].toSorted(), ['id', 'model', 'tool', 'write'], 'The kinds of steps');
      await checkHistories(agents);
    },
  },
  {
    name: 'an interrupted run ends at once, and its writes are done though a step hangs',
    async run(openRun) {
      const agent = new ReActAgent({
        name: 'host',
        model: new ScriptedModel([{ text: 'Half of', stall: true }]),
        console: false,
      });
      const hanging = Promise.withResolvers<void>();
      const runStep = await (await openRun())();
      agent.registerInstanceHook('reasoningChunk', 'tell', () => hanging.resolve());
      const call = agent.call('Go.', { runStep });
      await hanging.promise;
      await soon(agent.interrupt(Msg.user('Stop.')), 'The end of the interrupt');
      await soon(call, 'The answer');
      const texts = (await agent.memory.getMemory()).map(({ text }) => text);
      checkSame(texts.slice(0, 3), ['Go.', 'Half of', 'Stop.'], 'The history');
    },
  },
  {
    name: 'a run that fails in any step leaves whole histories',
    async run(openRun) {
      await disturbAtEvery('fault', openRun, async ({ answer, error, agents }, _, point) => {
        check(
          answer !== undefined || error instanceof Fault,
          `At point ${point} the run should end in an answer or in the fault, not in ${String(error)}.`,
        );
        await checkHistories(agents);
      });
    },
  },
  {
    name: 'a replayed run calls no model and no tool, and has the same keys',
    isForDurable: true,
    async run(openRun) {
      const attempts = await Attempts.open(openRun);
      const first = await attempts.play();
      const effects = [...attempts.effects];
      for (const name of ['second', 'third']) {
        const again = await attempts.play();
        checkSame(again.answer, first.answer, `The answer of the ${name} attempt (${String(again.error)})`);
        const outer = first.steps.map((steps) => steps.filter(({ key }) => !key.includes('/')));
        checkSame(again.steps.map(keysOf), outer.map(keysOf), `The keys of the ${name} attempt`);
      }
      checkSame(attempts.effects, effects, 'The tools that ran');
    },
  },
  {
    name: 'a run that failed in any step is finished by the next attempt',
    isForDurable: true,
    async run(openRun) {
      await disturbAtEvery('fault', openRun, async ({ answer }, attempts, point) => {
        const again = await attempts.play();
        const expected = answer ?? { total: 3 };
        checkSame(again.answer, expected, `The answer after point ${point} (${String(again.error)})`);
        await checkHistories(again.agents);
      });
    },
  },
  {
    name: 'a run that was cut at any step is finished by the next attempt, with the same keys',
    isForDurable: true,
    async run(openRun) {
      const whole = await (await Attempts.open(openRun)).play();
      const expected = await historyOf(whole.agents);
      await disturbAtEvery('cut', openRun, async (_, attempts, point) => {
        const { answer, error, agents, steps } = await attempts.play();
        checkSame(answer, { total: 3 }, `The answer after point ${point} (${String(error)})`);
        checkSame(await historyOf(agents), expected, `The history after point ${point}`);
        const known = new Set(whole.steps.flat().map(({ key }) => withoutOwnIds(key)));
        const unknown = steps.flat().filter(({ key }) => !known.has(withoutOwnIds(key)));
        checkSame(unknown, [], `The steps after point ${point} with keys of their own`);
        for (const effect of new Set(attempts.effects)) {
          const times = attempts.effects.filter((other) => other === effect).length;
          check(times <= 2, `'${effect}' ran ${times} times.`);
        }
      });
    },
  },
];

/** A few ticks: other ones for each step, and for the same step in each attempt. */
function delayOf({ key }: Step, attempt: number): number {
  return (Array.from(key, (letter) => letter.charCodeAt(0)).reduce((a, b) => a + b, 0) * attempt) % 7;
}

function keysOf(steps: readonly Step[]): readonly string[] {
  return steps.map(({ key }) => key).toSorted();
}

/** A key without the id that the library made for a tool call to which the model gave none. */
function withoutOwnIds(key: string): string {
  return /^tool:call_\d#/.test(key) ? key : key.replace(/^tool:[^/]*#/, 'tool:#');
}
