import { getLogger } from 'troupe';
import { redactKeys } from 'troupe/studio';

import type { NoticeKind } from '../store/store-notices.ts';
import { FencedError } from '../store/run-table.ts';
import { isEnded, type RunRecord } from '../store/run-record.ts';
import { finishedSteps, withoutEnd } from '../journal/journalled-steps.ts';
import type { DurableRunner, RecordedResult, StepResults } from './durable-runner.ts';
import { OwnerWatch } from './owner-watch.ts';
import { RunExecution, type ExecutionParts } from './run-execution.ts';

export interface SchedulerOptions {
  /** Maximum runs of this process at the same time. 0 makes it a gateway: it answers requests, and other processes run. @default 1000 */
  readonly maxRuns?: number | undefined;
  /** Time without a sign of life after which the runs of a process that still has its connection are taken over. @default 5000 */
  readonly takeOverMs?: number | undefined;
}

const BEAT_MS = 1000;
/** Interval of looking for processes whose lock in the database is free. */
const LOCK_LOOK_MS = 200;
const CONTROL_POLL_MS = 100;
/** Interval with a store that sends notices: finds the messages of lost notices. */
const SLOW_POLL_MS = 1000;
/** Maximum runs that one look takes from a list. */
const PAGE = 500;
/** Maximum wait at the end for agents that do not stop. */
const LAST_WAIT_MS = 1000;
/** Interval of asking an engine for runs of processes that died between taking a run and beginning it. */
const WORKER_LOOK_MS = 5000;
const MAX_LEFT_BEHIND = 10_000;
/** Marks notices of work that a dead process has left. */
const LEFT = 'left';

/**
 * Runs the queued runs, one for each session at a time, over all processes that share the database. The runs of a process that died are
 * taken over; how that is known: `OwnerWatch`. With a `DurableRunner` it hands runs to that engine, which executes them by `RunWorker`.
 */
export class RunScheduler {
  readonly #parts: ExecutionParts;
  readonly #watch: OwnerWatch;
  readonly #maxRuns: number;
  readonly #runner: DurableRunner | undefined;
  readonly #running = new Map<string, { readonly execution: RunExecution; readonly done: Promise<void> }>();
  readonly #timers: NodeJS.Timeout[] = [];
  #isClosing = false;
  #looking: Promise<void> | undefined;
  #wantsLook = false;
  /** Whether the next look is for runs of dead processes too. */
  #wantsLeft = false;

  constructor(
    parts: ExecutionParts,
    { maxRuns = 1000, takeOverMs = 5000 }: SchedulerOptions = {},
    runner?: DurableRunner,
  ) {
    this.#parts = parts;
    this.#runner = runner;
    this.#watch = new OwnerWatch(parts.store, takeOverMs, parts.now);
    this.#maxRuns = maxRuns;
  }

  /** Number of runs in this process. */
  get running(): number {
    return this.#running.size;
  }

  /** Id of the process in the table of owners. */
  get owner(): string {
    return this.#watch.owner;
  }

  /** Frees the sessions of talks whose process is dead. */
  async freeTalks(): Promise<void> {
    const { sessions } = this.#parts.store;
    const others = (await sessions.talkOwners()).filter((owner) => owner !== this.owner);
    if (others.length === 0) return;
    const alive = await this.#watch.alive();
    for (const owner of others) if (!alive.has(owner)) await sessions.freeTalksOf(owner);
  }

  /** Begins to run, and goes on with what an earlier process left. */
  async start(): Promise<void> {
    await this.#watch.beat();
    const runner = this.#runner;
    if (runner !== undefined) {
      await runner.start({
        id: this.#watch.owner,
        maxRuns: this.#maxRuns,
        execute: (runId, results) => this.#executeFor(runId, results),
      });
      if (this.#maxRuns > 0) this.#every(WORKER_LOOK_MS, () => this.#takeOverWorkers(runner));
    }
    await this.freeTalks();
    await this.look(true);
    this.#every(BEAT_MS, async () => {
      await this.#watch.beat();
      await this.freeTalks();
      await this.look(true);
    });
    const { notices } = this.#parts.store;
    if (notices !== undefined && this.#maxRuns > 0)
      this.#every(LOCK_LOOK_MS, async () => {
        if (await this.#watch.removeDead()) this.wake(true);
      });
    this.#every(notices === undefined ? CONTROL_POLL_MS : SLOW_POLL_MS, () => this.#deliverRemote());
    notices?.listen((kind, id) => this.#noticed(kind, id));
  }

  /** Has the waiting runs looked at, here and in the other processes. */
  wake(forLeft = false): void {
    this.look(forLeft).catch(() => {}); // looked again with the next beat
    this.#parts.store.notices?.send('work', forLeft ? LEFT : undefined);
  }

  /** Hands new messages and interrupts to a run, wherever it runs. @returns false if it does not run here */
  async control(runId: string): Promise<boolean> {
    const isHere = await this.deliver(runId);
    if (!isHere) this.#parts.store.notices?.send('control', runId);
    return isHere;
  }

  /** Looks for runs that wait. Calls during a look share the next one. @param forLeft whether also for runs of dead processes */
  look(forLeft = false): Promise<void> {
    this.#wantsLook = true;
    this.#wantsLeft ||= forLeft;
    this.#looking ??= this.#lookAll().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /** Hands new messages and interrupts to a run of this process. @returns false if the run is elsewhere */
  async deliver(runId: string): Promise<boolean> {
    const running = this.#running.get(runId);
    if (running === undefined) return false;
    await running.execution.deliver();
    return true;
  }

  /** Finished steps of a run, oldest first: of the journal, then of the engine. */
  async stepsOf(runId: string): Promise<readonly RecordedResult[]> {
    const own = await finishedSteps(this.#parts.store, runId);
    return [...own, ...withoutEnd((await this.#runner?.resultsOf(runId)) ?? [])];
  }

  /** Has an engine delete its data of ended runs. */
  async forget(runIds: readonly string[]): Promise<void> {
    if (runIds.length > 0) await this.#runner?.forget(runIds);
  }

  /** Waits for running runs for `graceMs`, with signs of life and interrupts as before, then hands the rest over. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    await this.#looking;
    const all = Promise.all([...this.#running.values()].map(({ done }) => done));
    await within(all, graceMs);
    for (const { execution } of this.#running.values()) execution.handOver();
    await within(all, LAST_WAIT_MS);
    for (const timer of this.#timers) clearInterval(timer);
    await this.#runner?.close();
    await this.#watch.leave();
  }

  #every(ms: number, work: () => Promise<void>): void {
    let isBusy = false;
    const tick = async (): Promise<void> => {
      if (isBusy) return;
      isBusy = true;
      try {
        await work();
      } catch (error) {
        if (!this.#isClosing)
          getLogger().log('warn', `The service could not look for work: ${redactKeys(String(error))}`);
      } finally {
        isBusy = false;
      }
    };
    const timer = setInterval(() => void tick(), ms);
    timer.unref();
    this.#timers.push(timer);
  }

  async #lookAll(): Promise<void> {
    if (this.#maxRuns === 0 && this.#runner === undefined) return;
    while (this.#wantsLook && !this.#isClosing) {
      this.#wantsLook = false;
      const { runs } = this.#parts.store;
      const wantsLeft = this.#wantsLeft;
      this.#wantsLeft = false;
      const [left, queued] = [wantsLeft ? await this.#leftBehind() : [], await runs.ready(PAGE)];
      const sessions = new Set<string>(); // the oldest of each session comes first, the others wait
      for (const run of [...left, ...queued]) {
        const session = JSON.stringify([run.user, run.session]);
        if (sessions.has(session)) continue;
        sessions.add(session);
        if (this.#runner !== undefined) {
          if (run.status === 'queued') await this.#runner.enqueue(run.id);
          else if (run.owner !== undefined) await this.#runner.takeOver(run.owner);
          continue;
        }
        if (this.#running.size >= this.#maxRuns || this.#isClosing) return;
        if (this.#running.has(run.id)) continue;
        await this.#begin(run);
        await new Promise((resolve) => setImmediate(resolve)); // an embedded database answers without a pause
      }
    }
  }

  /** Takes over runs of dead processes that an engine names. */
  async #takeOverWorkers(runner: DurableRunner): Promise<void> {
    const others = (await runner.workers()).filter((id) => id !== this.#watch.owner);
    if (others.length === 0) return;
    const alive = await this.#watch.alive();
    for (const id of others) if (!alive.has(id)) await runner.takeOver(id);
  }

  /** Runs whose process is gone, and runs of this process that were cut off while the database was away. */
  async #leftBehind(): Promise<readonly RunRecord[]> {
    const { runs } = this.#parts.store;
    const { owner: self } = this.#watch;
    const owners = await runs.runningOwners();
    const left: RunRecord[] = [];
    const others = owners.filter((owner) => owner !== self);
    if (others.length > 0) {
      const alive = await this.#watch.alive();
      const dead = others.filter((owner) => owner === undefined || !alive.has(owner));
      if (dead.length > 0)
        left.push(...(await runs.runningOf(dead.filter(isDefined).slice(0, PAGE), MAX_LEFT_BEHIND)));
    }
    if (this.#runner !== undefined || !owners.includes(self)) return left;
    for (const id of await runs.runningIds(self)) {
      const run = this.#running.has(id) ? undefined : await runs.get(id);
      if (run?.status === 'running' && run.owner === self) left.push(run);
    }
    return left;
  }

  /** Begins the next attempt at a run. @returns undefined if another process was faster, or the session has another run */
  async #claim(run: RunRecord): Promise<RunRecord | undefined> {
    const { store, now } = this.#parts;
    return store.database
      .transaction(async (tx) => {
        if (!(await store.sessions.occupy(tx, run.user, run.session, run.id))) return undefined;
        const begun = await store.runs.beginAttempt(tx, run, this.#watch.owner, now());
        if (begun === undefined) throw new FencedError(run.id);
        return begun;
      })
      .catch((error: unknown) => {
        if (error instanceof FencedError) return undefined;
        throw error;
      });
  }

  async #begin(run: RunRecord): Promise<void> {
    const claimed = await this.#claim(run);
    if (claimed === undefined) return;
    const execution = new RunExecution(claimed, this.#parts);
    const done = this.#execute(execution);
    this.#running.set(claimed.id, { execution, done });
  }

  /** Executes an attempt for an engine: `RunWorker.execute`. */
  async #executeFor(runId: string, results: StepResults): Promise<boolean> {
    if (this.#isClosing) return new Promise<never>(() => {}); // another process executes it
    try {
      const run = await this.#parts.store.runs.get(runId);
      if (run === undefined || isEnded(run.status)) return true;
      const claimed = await this.#claim(run);
      if (claimed === undefined) return false;
      const execution = new RunExecution(claimed, this.#parts, results);
      const done = execution.execute();
      const settled = done.catch(() => {});
      this.#running.set(runId, { execution, done: settled });
      await done.finally(() => this.#running.delete(runId));
      void this.look().catch(() => {}); // looked again with the next beat
      return true;
    } catch (error) {
      if (error instanceof FencedError) throw error;
      if (this.#isClosing) return new Promise<never>(() => {}); // handed over: the engine must not see an end
      getLogger().log('error', `The run ${runId} was cut off: ${redactKeys(String(error))}`);
      return false;
    }
  }

  async #execute(execution: RunExecution): Promise<void> {
    const { id } = execution.run;
    let isLookWanted = true;
    await Promise.resolve(); // registered before it ends
    try {
      await execution.execute();
    } catch (error) {
      if (!(error instanceof FencedError)) {
        isLookWanted = false; // tried again with the next beat
        const { store } = this.#parts;
        await store.database
          .transaction(async (tx) => {
            await store.runs.assertAttempt(tx, id, execution.run.attempt);
            await store.runs.release(tx, id);
          })
          .catch(() => {}); // found by its missing owner
        if (!this.#isClosing)
          getLogger().log('error', `The run ${id} was cut off: ${redactKeys(String(error))}`);
      }
    } finally {
      this.#running.delete(id);
      if (isLookWanted && !this.#isClosing) void this.look().catch(() => {});
    }
  }

  #noticed(kind: NoticeKind, id?: string): void {
    if (this.#isClosing) return;
    const failed = (): void => {}; // looked again with the next beat
    if (kind === 'events') this.#parts.log.noticed(id);
    else if (kind === 'lock') {
      this.#watch.lockChanged();
      void this.#watch.beat().catch(failed);
    } else if (kind === 'work') void this.look(id !== undefined).catch(failed);
    else void (id === undefined ? this.#deliverRemote() : this.deliver(id)).catch(failed);
  }

  /** Delivers messages and interrupts that other processes have stored. */
  async #deliverRemote(): Promise<void> {
    if (this.#running.size === 0) return;
    const rows = await this.#parts.store.database.query(
      `SELECT id FROM service_runs WHERE owner = ? AND status = 'running' AND (interrupt IS NOT NULL
       OR id IN (SELECT run_id FROM service_inputs WHERE seen_step IS NULL))`,
      [this.#watch.owner],
    );
    for (const { id } of rows) await this.deliver(String(id));
  }
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** Waits for a promise, at most `ms`. */
export async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([promise, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}
