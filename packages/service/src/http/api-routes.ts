import { randomUUID } from 'node:crypto';

import type { Msg, PendingDecision } from 'troupe';

import type { EventLog } from '../events/event-log.ts';
import { copyFiles } from '../files/session-files.ts';
import { managerOf } from '../runs/run-execution.ts';
import { toMsgs, type RunRequests } from '../runs/run-requests.ts';
import type { AgentTable, OnBusySession } from '../runs/served-agent.ts';
import { ServiceFailure } from '../service-failure.ts';
import { isEnded, type RunRecord, type SessionRecord } from '../store/run-record.ts';
import type { ServiceStore } from '../store/service-store.ts';
import { fromCursor, toCursor } from './cursor.ts';
import type { Route, RouteRequest } from './route.ts';
import * as schemas from './schemas.ts';
import { sseResponse } from './sse-response.ts';

export interface ApiParts {
  readonly store: ServiceStore;
  readonly log: EventLog;
  readonly agents: AgentTable;
  readonly requests: RunRequests;
  /** Aborted when the service closes. */
  readonly closing: AbortSignal;
  /** Called with a deleted session: deletes its tasks of A2A. */
  readonly onDeleted: (session: SessionRecord) => Promise<void>;
}

const PAGE = { limit: schemas.LIMIT, cursor: schemas.CURSOR };
const KEY_HEADER = { 'idempotency-key': { type: 'string', minLength: 1, maxLength: 256 } };

/** The operations of the service's own API. Each takes the user of the caller into every lookup. */
export function apiRoutes(parts: ApiParts): readonly Route[] {
  return [...sessionRoutes(parts), ...runRoutes(parts)];
}

function sessionRoutes({ store, agents, requests, onDeleted }: ApiParts): readonly Route[] {
  return [
    {
      method: 'get',
      path: '/api/agents',
      summary: 'List the agents',
      status: 200,
      answer: schemas.listOf(schemas.AGENT),
      handle: async () => ({
        data: agents.names.map((name) => {
          const { description, onBusy = 'reject' } = agents.get(name) ?? {};
          return { name, onBusy, ...(description !== undefined && { description }) };
        }),
      }),
    },
    {
      method: 'post',
      path: '/api/sessions',
      summary: 'Make a session with an agent',
      body: schemas.NEW_SESSION,
      status: 201,
      answer: schemas.SESSION,
      handle: async ({ caller, body }) =>
        sessionView(
          await requests.addSession(caller.user, {
            agent: String(body['agent']),
            id: optionalText(body['id']),
            title: optionalText(body['title']),
          }),
        ),
    },
    {
      method: 'get',
      path: '/api/sessions',
      summary: 'List the sessions, last used first',
      query: PAGE,
      status: 200,
      answer: schemas.listOf(schemas.SESSION),
      handle: async ({ caller, query }) => {
        const cursor = fromCursor(query['cursor']);
        const limit = limitOf(query);
        const after = cursor && { updatedAt: cursor.time, id: cursor.id };
        const sessions = await store.sessions.list(caller.user, limit, after);
        return page(sessions.map(sessionView), limit, sessions.at(-1), ({ updatedAt, id }) =>
          toCursor(updatedAt, id),
        );
      },
    },
    {
      method: 'get',
      path: '/api/sessions/{session}',
      summary: 'Show a session',
      status: 200,
      answer: schemas.SESSION,
      handle: async ({ caller, params }) =>
        sessionView(await requests.session(caller.user, of(params, 'session'))),
    },
    {
      method: 'delete',
      path: '/api/sessions/{session}',
      summary: 'Delete a session with its runs, events and state',
      status: 204,
      handle: async ({ caller, params }) => {
        await onDeleted(await requests.deleteSession(caller.user, of(params, 'session')));
        return undefined;
      },
    },
    {
      method: 'get',
      path: '/api/sessions/{session}/messages',
      summary: 'List the messages of a session, newest page first, oldest message of a page first',
      query: PAGE,
      status: 200,
      answer: schemas.listOf(schemas.MSG),
      handle: async ({ caller, params, query }) => {
        const session = await requests.session(caller.user, of(params, 'session'));
        const before = fromCursor(query['cursor']);
        const msgs = await messagesOf(session, store, agents);
        const end = before === undefined ? msgs.length : msgs.findIndex(({ id }) => id === before.id);
        if (end < 0) throw new ServiceFailure('invalid_request', 'The message of the cursor is gone.');
        const start = Math.max(0, end - limitOf(query));
        const data = msgs.slice(start, end).map((msg) => msg.toJSON());
        const first = msgs[start];
        return { data, ...(start > 0 && first !== undefined && { next: toCursor(start, first.id) }) };
      },
    },
    {
      method: 'get',
      path: '/api/sessions/{session}/pending',
      summary: 'List the pending tool calls of a session',
      status: 200,
      answer: schemas.listOf(schemas.PENDING),
      handle: async ({ caller, params }) => ({
        data: await requests.pending(caller.user, of(params, 'session')),
      }),
    },
    {
      method: 'post',
      path: '/api/sessions/{session}/branch',
      summary: 'Copy a session, as it was saved last, to a new one',
      body: schemas.BRANCH,
      status: 201,
      answer: schemas.SESSION,
      handle: async ({ caller: { user }, params, body }) => {
        const from = await requests.session(user, of(params, 'session'));
        if (from.activeRun !== undefined || from.isTalking)
          throw new ServiceFailure('session_busy', 'The session has a run or a conversation.');
        const title = optionalText(body['title']) ?? from.title;
        const id = optionalText(body['id']) ?? randomUUID();
        const made = await requests.addSession(user, { agent: from.agent, id, title });
        const [source, target] = [
          { user, session: from.id },
          { user, session: id },
        ];
        if (await store.sessionStates.exists(source)) await store.sessionStates.copy(source, target);
        await copyFiles(store.database, user, { from: from.id, to: id });
        if (from.pending.length > 0)
          await store.commits.add((tx) => store.sessions.setPending(tx, user, id, from.pending));
        return sessionView(made);
      },
    },
  ];
}

function runRoutes({ store, log, requests, closing }: ApiParts): readonly Route[] {
  const withRun = (request: RouteRequest): Promise<RunRecord> =>
    requests.run(request.caller.user, of(request.params, 'run'));
  return [
    {
      method: 'post',
      path: '/api/sessions/{session}/runs',
      summary: 'Start a run: with messages, or with decisions about pending tool calls',
      headers: KEY_HEADER,
      body: schemas.NEW_RUN,
      status: 202,
      answer: schemas.RUN,
      handle: async ({ caller, params, body, headers }) => {
        if (closing.aborted) throw new ServiceFailure('closing', 'The service is closing.', 1);
        const request = {
          msgs: toMsgs(body['input']),
          ...(body['decisions'] !== undefined && {
            decisions: body['decisions'] as readonly PendingDecision[],
          }),
          ...(body['closePending'] === true && { closePending: true }),
        };
        const options = { key: keyOf(headers), onBusy: body['onBusy'] as OnBusySession | undefined };
        const { run } = await requests.start(caller.user, of(params, 'session'), request, options);
        return runView(run);
      },
    },
    {
      method: 'get',
      path: '/api/sessions/{session}/runs',
      summary: 'List the runs of a session, newest first',
      query: PAGE,
      status: 200,
      answer: schemas.listOf(schemas.RUN),
      handle: async ({ caller, params, query }) => {
        const session = await requests.session(caller.user, of(params, 'session'));
        const cursor = fromCursor(query['cursor']);
        const limit = limitOf(query);
        const before = cursor && { createdAt: cursor.time, id: cursor.id };
        const runs = await store.runs.ofSession(caller.user, session.id, limit, before);
        return page(runs.map(runView), limit, runs.at(-1), ({ createdAt, id }) => toCursor(createdAt, id));
      },
    },
    {
      method: 'get',
      path: '/api/runs/{run}',
      summary: 'Show a run: status, answer, pending tool calls, usage',
      status: 200,
      answer: schemas.RUN,
      handle: async (request) => runView(await withRun(request)),
    },
    {
      method: 'get',
      path: '/api/runs/{run}/events',
      summary: 'Read the events of a run as server-sent events: stored ones, then live ones',
      query: { after: schemas.EVENT_NUMBER },
      headers: { 'last-event-id': schemas.EVENT_NUMBER },
      status: 200,
      mediaType: 'text/event-stream',
      handle: async (request) => {
        const run = await withRun(request);
        const after = Number(request.headers.get('last-event-id') ?? request.query['after'] ?? 0);
        // A browser's EventSource connects again after a regular end, until it gets this status.
        if (isEnded(run.status) && after >= run.lastEvent) return new Response(null, { status: 204 });
        return sseResponse((signal) => log.follow(run.id, after, signal));
      },
    },
    {
      method: 'get',
      path: '/api/runs/{run}/steps',
      summary: 'List the finished steps of a run, oldest first',
      status: 200,
      answer: schemas.listOf(schemas.STEP),
      handle: async ({ caller, params }) => ({
        data: (await requests.steps(caller.user, of(params, 'run'))).map(({ key, kind }, index) => ({
          n: index + 1,
          key,
          kind,
        })),
      }),
    },
    {
      method: 'post',
      path: '/api/runs/{run}/fork',
      summary: 'Start a run with the first steps of another one, in a new session',
      headers: KEY_HEADER,
      body: schemas.FORK,
      status: 202,
      answer: schemas.RUN,
      handle: async ({ caller, params, body, headers }) => {
        if (closing.aborted) throw new ServiceFailure('closing', 'The service is closing.', 1);
        const options = {
          keepSteps: body['keepSteps'] as number | undefined,
          session: optionalText(body['session']),
          title: optionalText(body['title']),
          key: keyOf(headers),
        };
        const { run } = await requests.fork(caller.user, of(params, 'run'), options);
        return runView(run);
      },
    },
    {
      method: 'post',
      path: '/api/runs/{run}/interrupt',
      summary: 'Stop a run',
      body: schemas.INTERRUPT,
      status: 202,
      answer: schemas.DONE,
      handle: async ({ caller, params, body }) => ({
        done: await requests.interrupt(caller.user, of(params, 'run'), toMsgs(body['input'])),
      }),
    },
    {
      method: 'post',
      path: '/api/runs/{run}/steer',
      summary: 'Hand messages to a running run, which reads them before its next model call',
      body: schemas.MSGS,
      status: 202,
      answer: schemas.DONE,
      handle: async ({ caller, params, body }) => {
        await requests.addInput(caller.user, of(params, 'run'), 'steer', toMsgs(body['input']));
        return { done: true };
      },
    },
    {
      method: 'post',
      path: '/api/runs/{run}/follow-up',
      summary: 'Have messages answered by a running run, after its answer',
      body: schemas.MSGS,
      status: 202,
      answer: schemas.DONE,
      handle: async ({ caller, params, body }) => {
        await requests.addInput(caller.user, of(params, 'run'), 'follow_up', toMsgs(body['input']));
        return { done: true };
      },
    },
  ];
}

/** The messages in the memory of a session's agent. */
async function messagesOf(
  { user, id, agent: name }: SessionRecord,
  store: ServiceStore,
  agents: AgentTable,
): Promise<readonly Msg[]> {
  const agent = await agents.make(name, { user, session: id, run: undefined });
  try {
    await managerOf(store, { user, session: id }, agent).loadIfExists();
    const memory: unknown = Reflect.get(agent, 'memory');
    return isReadable(memory) ? await memory.getMemory() : [];
  } finally {
    await agent[Symbol.asyncDispose]();
  }
}

function isReadable(value: unknown): value is { getMemory(): Promise<readonly Msg[]> } {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'getMemory') === 'function';
}

function sessionView({ id, agent, title, createdAt, updatedAt, activeRun }: SessionRecord): object {
  return { id, agent, title, createdAt, updatedAt, ...(activeRun !== undefined && { activeRun }) };
}

/** A run as callers see it. */
export function runView(run: RunRecord): object {
  const { id, session, agent, status, attempt, createdAt, startedAt, endedAt, outcome, usage, lastEvent } =
    run;
  const { msg, error, pending } = outcome ?? {};
  const { forkedFrom } = run;
  const optional = { startedAt, endedAt, msg, error, pending, usage, forkedFrom };
  const known = Object.entries(optional).filter(([, value]) => value !== undefined);
  return { id, session, agent, status, attempt, createdAt, lastEvent, ...Object.fromEntries(known) };
}

function page<T>(
  data: readonly object[],
  limit: number,
  last: T | undefined,
  cursorOf: (last: T) => string,
): object {
  return { data, ...(data.length === limit && last !== undefined && { next: cursorOf(last) }) };
}

function limitOf(query: Readonly<Record<string, string>>): number {
  return Math.min(200, Number(query['limit'] ?? 50));
}

/** The idempotency key: bare, or as a structured-field string in quotes. */
function keyOf(headers: Headers): string | undefined {
  return headers.get('idempotency-key')?.replace(/^"(.*)"$/, '$1');
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function of(params: Readonly<Record<string, string>>, name: string): string {
  return params[name] ?? '';
}
