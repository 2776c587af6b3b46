import { createHash, randomUUID } from 'node:crypto';

import { Msg, TroupeError, type JsonObject, type MsgInit, type PendingCall } from 'troupe';
import { traceHeaders } from 'troupe/kernel';

import { copyFiles } from '../files/session-files.ts';
import { writeSteps } from '../journal/journalled-steps.ts';
import { JOURNAL_FORMAT } from '../journal/run-journal.ts';
import type { UserLimiter } from '../limits/user-limits.ts';
import { ServiceFailure } from '../service-failure.ts';
import type { SqlQueries } from '../store/database.ts';
import { repeatConflicts } from '../store/repeat-conflicts.ts';
import type { RunRecord, RunRequest, SessionRecord } from '../store/run-record.ts';
import type { ServiceStore } from '../store/service-store.ts';
import type { RecordedResult } from './durable-runner.ts';
import type { RunScheduler } from './run-scheduler.ts';
import type { AgentTable, OnBusySession } from './served-agent.ts';

export interface RunRequestOptions {
  /** The same key and the same request give the same run. */
  readonly key?: string | undefined;
  /** @default `onBusy` of the agent */
  readonly onBusy?: OnBusySession | undefined;
}

export interface ForkOptions {
  /** Number of steps of the other run that are kept. @default all */
  readonly keepSteps?: number | undefined;
  /** Id of the new session. @default a new one */
  readonly session?: string | undefined;
  readonly title?: string | undefined;
  readonly key?: string | undefined;
}

/** A run that is asked for. `requestKey` is the key of the caller, or one of its own. */
interface NewRequest {
  readonly id: string;
  readonly request: RunRequest;
  readonly requestKey: string;
  readonly fingerprint: string;
  readonly onBusy: OnBusySession | undefined;
}

interface NewFork extends Omit<ForkOptions, 'key'> {
  readonly id: string;
  readonly requestKey: string;
  readonly fingerprint: string;
}

/** The run of a request. `isNew` is false for a repeated request, and for one whose messages went to the running run. */
export interface RequestedRun {
  readonly run: RunRecord;
  readonly isNew: boolean;
}

/** Takes requests about sessions and runs within the limits of users, stores them, and wakes the scheduler. Answers only for the given user. */
export class RunRequests {
  readonly #store: ServiceStore;
  readonly #scheduler: RunScheduler;
  readonly #agents: AgentTable;
  readonly #limiter: UserLimiter;
  readonly #now: () => number;

  constructor(
    store: ServiceStore,
    scheduler: RunScheduler,
    agents: AgentTable,
    limiter: UserLimiter,
    now: () => number,
  ) {
    this.#limiter = limiter;
    this.#store = store;
    this.#scheduler = scheduler;
    this.#agents = agents;
    this.#now = now;
  }

  async addSession(
    user: string,
    {
      agent,
      id = randomUUID(),
      title = '',
    }: { agent: string; id?: string | undefined; title?: string | undefined },
  ): Promise<SessionRecord> {
    if (this.#agents.get(agent) === undefined)
      throw new ServiceFailure(
        'not_found',
        `There is no agent '${agent}'. There are: ${this.#agents.names.join(', ')}.`,
      );
    const createdAt = this.#now();
    if (!(await this.#store.sessions.add({ user, id, agent, title, createdAt })))
      throw new ServiceFailure('session_exists', 'There is, or was, a session with this id.');
    return {
      user,
      id,
      agent,
      title,
      createdAt,
      updatedAt: createdAt,
      activeRun: undefined,
      isTalking: false,
      pending: [],
    };
  }

  /** Adds a session for a run, unless it is there. @throws ServiceFailure without adding it, if the user may not start a run now */
  async ensureSession(user: string, agent: string, id: string): Promise<SessionRecord> {
    const found = await this.#store.sessions.find(user, id);
    if (found !== undefined) return found;
    await this.#limiter.assertRun(user);
    await this.addSession(user, { agent, id }).catch((error: unknown) => {
      if (!(error instanceof ServiceFailure) || error.code !== 'session_exists') throw error;
    });
    return this.session(user, id);
  }

  async session(user: string, id: string): Promise<SessionRecord> {
    const session = await this.#store.sessions.find(user, id);
    if (session === undefined) throw new ServiceFailure('not_found', 'There is no such session.');
    return session;
  }

  async run(user: string, id: string): Promise<RunRecord> {
    const run = await this.#store.runs.find(user, id);
    if (run === undefined) throw new ServiceFailure('not_found', 'There is no such run.');
    return run;
  }

  /** Starts a run, or gives the run that the same key has started. */
  async start(
    user: string,
    sessionId: string,
    asked: RunRequest,
    { key, onBusy }: RunRequestOptions = {},
  ): Promise<RequestedRun> {
    const trace = traceHeaders();
    const request = Object.keys(trace).length === 0 ? asked : { ...asked, trace };
    const id = randomUUID();
    const requestKey = key === undefined ? `run:${id}` : `key:${sessionId}:${storable(key)}`;
    const fingerprint = fingerprintOf(sessionId, request);
    const run = { id, request, requestKey, fingerprint, onBusy };
    return this.#limiter.admit(
      user,
      () => this.#start(user, sessionId, run),
      () => this.#repeated(user, run),
    );
  }

  async #start(
    user: string,
    sessionId: string,
    { id, request, requestKey, fingerprint, onBusy }: NewRequest,
  ): Promise<RequestedRun> {
    await this.#assertDecisions(user, sessionId, request);
    const store = this.#store;
    const start = async (tx: SqlQueries): Promise<RequestedRun | { stop: string; run: RunRecord }> => {
      const session = await store.sessions.touch(tx, user, sessionId, this.#now());
      if (session === undefined) throw new ServiceFailure('not_found', 'There is no such session.');
      if (session.isTalking)
        throw new ServiceFailure('session_busy', 'Somebody talks with the agent of this session.');
      const policy = onBusy ?? this.#agents.get(session.agent)?.onBusy ?? 'reject';
      const active = session.activeRun;
      if (active !== undefined && policy === 'reject')
        throw new ServiceFailure(
          'session_busy',
          'The session has a run. Wait for its end, interrupt it, or choose another `onBusy`.',
        );
      if (active !== undefined && policy === 'steer') {
        const run = await store.runs.find(user, active, tx);
        if (
          !(await store.runs.holdOpen(tx, user, active)) ||
          run === undefined ||
          request.decisions !== undefined
        )
          throw new ServiceFailure('session_busy', 'The session has a run, which can not take decisions.');
        for (const msg of request.msgs) await store.runs.addInput(tx, active, 'steer', msg);
        return { run, isNew: false };
      }
      // Later than the run before it, whatever the clocks of the processes say: runs of a session keep their order.
      const createdAt = Math.max(this.#now(), (await store.runs.newestOf(tx, user, sessionId)) + 1);
      const run = { id, user, session: sessionId, agent: session.agent, request, fingerprint, createdAt };
      if (!(await store.runs.add(tx, run, requestKey))) {
        const other = await store.runs.byKey(user, requestKey, tx);
        if (other === undefined) throw new ServiceFailure('internal', 'The run could not be stored.');
        return repeated(other, fingerprint);
      }
      await store.runs.moveUnread(tx, run);
      const added = { ...EMPTY_RUN, ...run };
      if (active === undefined || policy !== 'interrupt') return { run: added, isNew: true };
      await store.runs.setInterrupt(tx, user, active, []);
      return { run: added, stop: active };
    };
    const started = await repeatConflicts(() => store.database.transaction(start));
    const waiting = 'stop' in started ? started.stop : started.isNew ? undefined : started.run.id;
    if (waiting !== undefined) await this.#scheduler.control(waiting);
    if ('stop' in started || started.isNew) this.#scheduler.wake();
    return 'stop' in started ? { run: started.run, isNew: true } : started;
  }

  /** The finished steps of a run, oldest first. */
  async steps(user: string, id: string): Promise<readonly RecordedResult[]> {
    const run = await this.run(user, id);
    return this.#scheduler.stepsOf(run.id);
  }

  /**
   * Starts a run that begins with the first steps of another one, in a new session, which is as the session of the other run was before
   * it. Steps that are kept are not executed again; the rest is.
   */
  async fork(
    user: string,
    id: string,
    { keepSteps, session, title, key }: ForkOptions = {},
  ): Promise<RequestedRun> {
    const source = await this.run(user, id);
    const forkId = randomUUID();
    const requestKey = key === undefined ? `run:${forkId}` : `fork:${id}:${storable(key)}`;
    const fingerprint = fingerprintOf(`${id} ${keepSteps} ${session}`, source.request);
    const fork = { id: forkId, requestKey, fingerprint, keepSteps, session, title };
    return this.#limiter.admit(
      user,
      () => this.#fork(source, fork),
      () => this.#repeated(user, fork),
    );
  }

  /** The run that the same request has started before. */
  async #repeated(
    user: string,
    { requestKey, fingerprint }: Pick<NewRequest, 'requestKey' | 'fingerprint'>,
  ): Promise<RequestedRun | undefined> {
    const run = await this.#store.runs.byKey(user, requestKey);
    return run && repeated(run, fingerprint);
  }

  async #fork(
    source: RunRecord,
    { id: forkId, requestKey, fingerprint, keepSteps, session, title }: NewFork,
  ): Promise<RequestedRun> {
    const { id, user, baseRevision } = source;
    if (baseRevision === undefined)
      throw new ServiceFailure('invalid_request', 'The run has not begun, so it has no steps.');
    if (source.journalFormat !== JOURNAL_FORMAT)
      throw new ServiceFailure(
        'state_gone',
        'The steps of the run are of a version with another journal, and can not be replayed.',
      );
    const steps = (await this.#scheduler.stepsOf(id)).slice(0, keepSteps);
    const from = await this.session(user, source.session);
    const made = await this.addSession(user, {
      agent: source.agent,
      id: session,
      title: title ?? from.title,
    });
    const store = this.#store;
    try {
      if (baseRevision > 0)
        await store.sessionStates.copy(
          { user, session: from.id },
          { user, session: made.id },
          {
            revision: baseRevision,
          },
        );
      const createdAt = this.#now();
      const { agent, request } = source;
      const run = { id: forkId, user, session: made.id, agent, request, fingerprint, createdAt };
      const inputs = await store.runs.inputs(id);
      const keys = new Set(['', ...steps.map((step) => step.key)]);
      await store.database.transaction(async (tx) => {
        if (!(await store.runs.add(tx, { ...run, forkedFrom: id }, requestKey)))
          throw new ServiceFailure('key_reused', 'A request with this key is being answered.');
        await writeSteps(tx, forkId, steps);
        await copyFiles(tx, user, { from: from.id, to: made.id });
        for (const { kind, msg, n, seenStep } of inputs)
          if (seenStep !== undefined && keys.has(seenStep)) {
            await store.runs.addInput(tx, forkId, kind, msg);
            await store.runs.setInputSeen(tx, forkId, n, seenStep);
          }
      });
      this.#scheduler.wake();
      return { run: { ...EMPTY_RUN, ...run, forkedFrom: id }, isNew: true };
    } catch (error) {
      await this.deleteSession(user, made.id).catch(() => {}); // without a run, nobody needs it
      if (!TroupeError.isInstance(error) || error.code !== 'session_not_found') throw error;
      throw new ServiceFailure(
        'state_gone',
        'The session as it was before this run is no longer stored: only the newest run of a session can be forked.',
      );
    }
  }

  /** Stops a run. Its session goes on with the next. @returns false if it had ended, or was stopped before */
  async interrupt(user: string, id: string, msgs: readonly JsonObject[] = []): Promise<boolean> {
    await this.run(user, id);
    const store = this.#store;
    const isAsked = await store.database.transaction((tx) => store.runs.setInterrupt(tx, user, id, msgs));
    if (isAsked && !(await this.#scheduler.control(id))) this.#scheduler.wake();
    return isAsked;
  }

  /** Hands messages to a running run. */
  async addInput(
    user: string,
    id: string,
    kind: 'steer' | 'follow_up',
    msgs: readonly JsonObject[],
  ): Promise<void> {
    await this.run(user, id);
    await this.#limiter.assertBudget(user);
    const store = this.#store;
    await store.database.transaction(async (tx) => {
      const isOpen = await store.runs.holdOpen(tx, user, id);
      const known = new Set((await store.runs.inputs(id, tx)).map(({ msg }) => msg['id']));
      if (msgs.every((msg) => known.has(msg['id'] ?? null))) return; // the request was repeated
      if (!isOpen)
        throw new ServiceFailure('run_ended', 'The run has ended. Start another one with this message.');
      for (const msg of msgs) await store.runs.addInput(tx, id, kind, msg);
    });
    await this.#scheduler.control(id);
  }

  /** Tool calls of a session that wait for decisions. */
  async pending(user: string, sessionId: string): Promise<readonly PendingCall[]> {
    return (await this.session(user, sessionId)).pending;
  }

  /** Deletes a session. A repeated deletion removes remains of the session that a failure has left. */
  async deleteSession(user: string, id: string): Promise<SessionRecord> {
    const store = this.#store;
    const session = (await store.sessions.findDeleted(user, id)) ?? (await this.session(user, id));
    const runs = await store.runs.idsOf(user, id);
    if (!(await store.database.transaction((tx) => store.sessions.remove(tx, user, id))))
      throw new ServiceFailure('session_busy', 'The session has a run or a conversation. End it first.');
    await this.#scheduler.forget(runs);
    await store.sessionStates.delete({ user, session: id });
    return session;
  }

  /** @throws ServiceFailure if a decision names no pending tool call, or pending tool calls refuse new messages */
  async #assertDecisions(
    user: string,
    sessionId: string,
    { decisions, msgs, closePending }: RunRequest,
  ): Promise<void> {
    const pending = await this.pending(user, sessionId);
    const unknown = (decisions ?? []).find(({ id }) => !pending.some((call) => call.id === id));
    if (unknown !== undefined)
      throw new ServiceFailure('decision_refused', `No tool call is pending with the id '${unknown.id}'.`);
    if (pending.length > 0 && msgs.length > 0 && decisions === undefined && closePending !== true)
      throw new ServiceFailure(
        'pending_calls',
        'Tool calls are pending. Decide about them, or close them with `closePending`.',
      );
  }
}

const EMPTY_RUN = {
  status: 'queued',
  baseRevision: undefined,
  attempt: 0,
  owner: undefined,
  startedAt: undefined,
  endedAt: undefined,
  outcome: undefined,
  usage: undefined,
  interrupt: undefined,
  lastEvent: 0,
  journalFormat: undefined,
  forkedFrom: undefined,
} as const;

function repeated(run: RunRecord, fingerprint: string): RequestedRun {
  if (run.fingerprint !== fingerprint)
    throw new ServiceFailure('key_reused', 'The idempotency key belongs to another request.');
  return { run, isNew: false };
}

/** A key as a database takes it: keys of protocols are chosen by clients, with any characters and length. */
function storable(key: string): string {
  return /^[\x20-\x7e]{1,256}$/.test(key) ? key : createHash('sha256').update(key).digest('hex');
}

/** Hash of a request, without its trace, and without ids and times of messages that the service itself gave. */
function fingerprintOf(session: string, { trace: _trace, ...request }: RunRequest): string {
  const msgs = request.msgs.map(({ id: _id, timestamp: _timestamp, ...rest }) => rest);
  return createHash('sha256')
    .update(JSON.stringify([session, { ...request, msgs }]))
    .digest('hex');
}

/** User messages of a request as they are stored: no caller writes messages of other roles. @throws ServiceFailure for what is no message */
export function toMsgs(input: unknown): readonly JsonObject[] {
  const list = input === undefined ? [] : Array.isArray(input) ? input : [input];
  try {
    return list.map((item: unknown) => {
      if (typeof item === 'string') return Msg.user(item).toJSON();
      const { content, name, id } = item as { content: MsgInit['content']; name?: string; id?: string };
      return Msg.user(content, {
        ...(name !== undefined && { name }),
        ...(id !== undefined && { id }),
      }).toJSON();
    });
  } catch (error) {
    throw new ServiceFailure(
      'invalid_request',
      error instanceof Error ? error.message : 'That is no message.',
    );
  }
}
