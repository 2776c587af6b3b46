import {
  addUsage,
  Msg,
  SessionManager,
  TroupeError,
  type AgentBase,
  type AgentEvent,
  type EventError,
  type Step,
  type Usage,
} from 'troupe';
import { continueTrace } from 'troupe/kernel';
import { redactKeys } from 'troupe/studio';

import { eventWithin } from '../events/event-within.ts';
import type { EventLog } from '../events/event-log.ts';
import type { EventWriter } from '../events/event-writer.ts';
import { beginEffect } from '../journal/idempotency-key.ts';
import { JOURNAL_FORMAT, ReplayError, RunJournal, type JournalledOutcome } from '../journal/run-journal.ts';
import type { RunOutcome, RunRecord } from '../store/run-record.ts';
import type { ServiceStore } from '../store/service-store.ts';
import type { StepResults } from './durable-runner.ts';
import type { AgentTable } from './served-agent.ts';
import { answerUnread } from './unread-inputs.ts';

export interface ExecutionParts {
  readonly store: ServiceStore;
  readonly log: EventLog;
  readonly agents: AgentTable;
  readonly now: () => number;
  /** Maximum characters of an event as JSON. */
  readonly maxEventChars: number;
  /** Called when a run has ended and this is committed. */
  readonly onEnd: (outcome: RunOutcome) => void;
}

const COMPONENT = 'agent';
/** Attempts after which a run that ends its process again and again is given up. */
const MAX_ATTEMPTS = 20;

/** Loads and saves the state of an agent in its session. */
export function managerOf(
  store: ServiceStore,
  { user, session }: Pick<RunRecord, 'user' | 'session'>,
  agent: AgentBase,
): SessionManager {
  const manager = SessionManager.forSessionId(session).forUser(user).withSession(store.sessionStates);
  return manager.addComponent(COMPONENT, agent);
}

/**
 * One attempt at a run: the session as it was when the run began, and the journal of the steps that earlier attempts have finished.
 *
 * The end of a run is told in this order: journal, session, then run and events in one commit. A process that dies in between leaves an
 * attempt that the next one completes. Folder `runs`: start here, then `run-scheduler.ts`.
 */
export class RunExecution {
  readonly run: RunRecord;
  readonly #parts: ExecutionParts;
  readonly #results: StepResults | undefined;
  readonly #events: EventWriter;
  readonly #stop = new AbortController();
  #agent: AgentBase | undefined;
  #usage: Usage | undefined;
  /** Key of the last model step that has started. */
  #modelStep = '';
  #nextInput = 1;
  #delivering: Promise<void> | undefined;
  #wantsDelivery = false;
  #isInterrupted = false;
  #isLive = false;
  /** Whether this attempt tells its events from the beginning. One that only completes the end goes on behind those of the last. */
  #isTold = false;

  /** @param results where an engine keeps results of steps */
  constructor(run: RunRecord, parts: ExecutionParts, results?: StepResults) {
    this.run = run;
    this.#parts = parts;
    this.#results = results;
    this.#events = parts.log.writer(run.id, run.attempt, (error) => this.#stop.abort(error));
  }

  /** Stops without an outcome, so that another process, or the next start, goes on with the run. */
  handOver(): void {
    this.#stop.abort(new Error('The process is closing.'));
  }

  /** Hands new messages and a requested interrupt to the agent. Calls during a delivery share the next one. */
  async deliver(): Promise<void> {
    if (this.#agent === undefined) return;
    this.#wantsDelivery = true;
    this.#delivering ??= this.#deliverAll().finally(() => (this.#delivering = undefined));
    await this.#delivering;
  }

  async #deliverAll(): Promise<void> {
    while (this.#wantsDelivery) {
      this.#wantsDelivery = false;
      await this.#handInputs();
      const run = await this.#parts.store.runs.get(this.run.id);
      if (run?.interrupt !== undefined) this.#interrupt(run);
    }
  }

  /** Runs to an outcome. @throws FencedError if the run goes on elsewhere; the reason of `handOver`; a failure of the store */
  async execute(): Promise<void> {
    try {
      await this.#execute();
    } finally {
      this.#events.close();
    }
  }

  async #execute(): Promise<void> {
    const { store } = this.#parts;
    const { run } = this;
    const journal = await RunJournal.open(store, run, this.#results);
    const key = { user: run.user, session: run.session };
    const revision = await store.sessionStates.revisionOf(key);
    const recorded = journal.outcome;
    if (run.baseRevision !== undefined && run.baseRevision !== revision) {
      // The session was saved: by this run, if its journal has the end.
      if (recorded !== undefined) return this.#end(recorded);
      return this.#end(failure({ message: CHANGED_SESSION, code: 'session_conflict' }, this.run));
    }
    if (run.baseRevision === undefined)
      await store.commits.add(async (tx) => {
        await store.runs.assertAttempt(tx, run.id, run.attempt);
        await store.runs.setBase(tx, run.id, revision, JOURNAL_FORMAT);
      });
    if (run.journalFormat !== undefined && run.journalFormat !== JOURNAL_FORMAT)
      return this.#end(failure({ message: `${OTHER_FORMAT} ${CANT_REPLAY}`, code: 'invalid_state' }, run));
    if (run.interrupt !== undefined && journal.size === 0) return this.#end(neverStarted(run));
    this.#isTold = true;
    if (run.attempt > 1) void this.#events.add(attemptEvent(run, this.#parts.now()));

    if (run.attempt > MAX_ATTEMPTS) return this.#end(failure({ message: TOO_MANY_ATTEMPTS }, run));
    let agent: AgentBase;
    let manager: SessionManager;
    try {
      agent = await this.#parts.agents.make(run.agent, { ...key, run: run.id });
      manager = managerOf(store, run, agent);
    } catch (error) {
      return this.#end(failure(toError(error), run));
    }
    try {
      await manager.loadIfExists();
    } catch (error) {
      if (!TroupeError.isInstance(error) || error.code === 'store_failed') throw error; // another attempt may load it
      return this.#end(failure(toError(error), run));
    }
    this.#agent = agent;
    agent.onCheckpoint(beginEffect);
    const { trace } = run.request;
    const end = await continueTrace(
      (name) => trace?.[name],
      () => this.#call(agent, journal),
    );
    this.#stop.signal.throwIfAborted();
    await this.#events.flushed();
    await journal.setOutcome(end);
    await manager.saveSession();
    await this.#end(end);
  }

  async #call(agent: AgentBase, journal: RunJournal): Promise<JournalledOutcome> {
    const { request } = this.run;
    const held: AgentEvent[] = [];
    try {
      await this.#handInputs('');
      const stream = agent.stream(
        request.msgs.length === 0 ? undefined : request.msgs.map((msg) => Msg.from(msg)),
        {
          nested: true,
          lifetime: 'detached', // a tool of another agent may have started the run
          signal: this.#stop.signal,
          runStep: journal.runner({
            onStep: (step, isRecorded) => this.#onStep(step, isRecorded),
            onFailure: (error) => this.#stop.abort(error),
          }),
          ...(request.decisions !== undefined && { decisions: request.decisions }),
          ...(request.closePending === true && { onPending: 'close' }),
        },
      );
      for await (const event of stream) {
        if (event.type === 'usage') this.#usage = addUsage(this.#usage, event.usage);
        // The end is told after it is saved; a question is part of the end.
        if (held.length > 0 || event.type === 'approval_needed' || isRunEnd(event)) held.push(event);
        else await this.#events.add(this.#json(event));
      }
    } catch (error) {
      if (this.#stop.signal.aborted) throw this.#stop.signal.reason;
      if (error instanceof ReplayError)
        return failure({ message: `${error.message} ${CANT_REPLAY}`, code: 'invalid_state' }, this.run);
      if (!held.some(isRunEnd)) return failure(toError(error), this.run);
    }
    const end = held.findLast(isRunEnd);
    if (end?.type !== 'run_end') return failure({ message: 'The run has no end.' }, this.run);
    const status = end.status === 'aborted' ? 'failed' : end.status;
    const outcome: RunOutcome = {
      status,
      isSaved: true,
      ...(end.msg !== undefined && { msg: end.msg.toJSON() }),
      ...(end.error !== undefined && { error: withoutKeys(end.error) }),
      ...(agent.pendingCalls.length > 0 && { pending: agent.pendingCalls }),
    };
    return { outcome, usage: this.#usage, events: held.map((event) => this.#json(event)) };
  }

  /** The event as JSON of limited length, with the id of the run that clients know. */
  #json(event: AgentEvent): string {
    const error = 'error' in event && event.error !== undefined ? { error: withoutKeys(event.error) } : {};
    return eventWithin({ ...event, ...error, runId: this.run.id }, this.#parts.maxEventChars);
  }

  #onStep(step: Step, isRecorded: boolean): void {
    if (!isRecorded && !this.#isLive) {
      this.#isLive = true;
      if (this.run.interrupt !== undefined) this.#interrupt(this.run);
    }
    if (step.kind !== 'model' || step.key.includes('/')) return;
    this.#modelStep = step.key;
    this.#handInputs(isRecorded ? step.key : undefined).catch(() => {}); // the attempt was ended
  }

  /** Hands messages to the agent. A failure of the store ends the attempt. @param seenStep in a replay: only messages behind this step */
  async #handInputs(seenStep?: string): Promise<void> {
    try {
      await this.#handStoredInputs(seenStep);
    } catch (error) {
      this.#stop.abort(error);
      throw error;
    }
  }

  async #handStoredInputs(seenStep: string | undefined): Promise<void> {
    const agent = this.#agent;
    if (agent === undefined) return;
    const { store } = this.#parts;
    for (const input of await store.runs.inputs(this.run.id)) {
      if (input.n < this.#nextInput) continue;
      if (seenStep !== undefined && input.seenStep !== seenStep) return;
      const msg = Msg.from(input.msg);
      const isTaken = input.kind === 'steer' ? agent.steer(msg) : agent.followUp(msg);
      if (!isTaken) return;
      this.#nextInput = input.n + 1;
      const step = this.#modelStep;
      if (input.seenStep === undefined)
        await store.commits.add((tx) => store.runs.setInputSeen(tx, this.run.id, input.n, step));
    }
  }

  #interrupt({ interrupt = [] }: RunRecord): void {
    if (this.#isInterrupted || this.#agent === undefined) return;
    this.#isInterrupted = true;
    void this.#agent.interrupt(interrupt.map((msg) => Msg.from(msg)));
  }

  async #end({ outcome, usage, events }: JournalledOutcome): Promise<void> {
    const { store, log, now, onEnd } = this.#parts;
    const { run } = this;
    await this.#events.flushed();
    let first = 0;
    await store.commits.add(async (tx) => {
      await store.runs.assertAttempt(tx, run.id, run.attempt);
      const attempt = this.#isTold ? run.attempt : await store.events.lastAttempt(tx, run.id);
      first = await store.events.append(tx, run.id, attempt, events);
      await store.runs.end(tx, run.id, { outcome, usage, now: now() });
      if (outcome.isSaved === true)
        await store.sessions.setPending(tx, run.user, run.session, outcome.pending ?? []);
      await store.sessions.leave(tx, run.user, run.session, run.id);
      if (usage !== undefined) await store.usage.add(tx, run.user, usage, now());
      await answerUnread(tx, store, run, outcome, now());
    });
    const told = events.map((data, index) => ({ n: first + index, data }));
    log.tell(run.id, told, true);
    onEnd(outcome);
    store.notices?.send('work');
  }
}

const CHANGED_SESSION =
  'The run was cut off, and its session has changed since it began, so it was not continued. The session is as it was saved last.';
const TOO_MANY_ATTEMPTS = `The run was given up after ${MAX_ATTEMPTS} attempts that were all cut off.`;
const OTHER_FORMAT = 'The run was cut off under a version of this library with another journal.';
const CANT_REPLAY = 'The run was not continued. The session is as it was saved last.';

function isRunEnd(event: AgentEvent): boolean {
  return event.type === 'run_end' && event.agentPath.length === 1;
}

function toError(error: unknown): EventError {
  if (TroupeError.isInstance(error)) return withoutKeys({ message: error.message, code: error.code });
  return withoutKeys({ message: error instanceof Error ? error.message : String(error) });
}

/** Errors of programs may quote keys and headers. */
function withoutKeys(error: EventError): EventError {
  return { ...error, message: redactKeys(error.message) };
}

/** The origin of an event that the service itself sends. */
function origin(run: RunRecord, timestamp: number): object {
  const at = new Date(timestamp).toISOString();
  return {
    id: `${run.id}.${run.attempt}`,
    runId: run.id,
    replyId: '',
    agentPath: [run.agent],
    seq: 0,
    timestamp: at,
  };
}

/** Says that the events of the run begin anew: a client drops the events of earlier attempts. */
function attemptEvent(run: RunRecord, now: number): string {
  const body = { type: 'custom', name: 'attempt', data: { attempt: run.attempt } };
  return JSON.stringify({ ...body, ...origin(run, now) });
}

function failure(error: EventError, run: RunRecord): JournalledOutcome {
  const end = { type: 'run_end', status: 'failed', error, durationMs: 0, ...origin(run, run.startedAt ?? 0) };
  return { outcome: { status: 'failed', error }, events: [JSON.stringify(end)] };
}

/** The end of a run interrupted in the queue. */
function neverStarted(run: RunRecord): JournalledOutcome {
  const end = { type: 'run_end', status: 'interrupted', durationMs: 0, ...origin(run, run.startedAt ?? 0) };
  return { outcome: { status: 'interrupted' }, events: [JSON.stringify(end)] };
}
