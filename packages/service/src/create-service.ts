import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';

import { getRequestListener } from '@hono/node-server';
import { getLogger } from 'troupe';
import { redactKeys } from 'troupe/studio';

import type { Authenticate } from './auth/authenticate.ts';
import { EventLog } from './events/event-log.ts';
import { apiRoutes } from './http/api-routes.ts';
import { agUiRoutes } from './protocols/ag-ui-routes.ts';
import { aiSdkRoutes } from './protocols/ai-sdk-routes.ts';
import { openAiRoutes } from './protocols/openai-routes.ts';
import { responsesRoutes } from './protocols/responses-routes.ts';
import { A2AMount } from './mounts/a2a-mount.ts';
import { McpMount } from './mounts/mcp-mount.ts';
import { fileRoutes } from './files/file-routes.ts';
import { SessionFiles, type SessionFileLimits, type FileOwner } from './files/session-files.ts';
import { ServiceMetrics } from './http/metrics.ts';
import { makeApp } from './http/service-app.ts';
import { UserLimiter, type UserLimits } from './limits/user-limits.ts';
import type { DurableRunner } from './runs/durable-runner.ts';
import { RunRequests } from './runs/run-requests.ts';
import { RunScheduler, type SchedulerOptions } from './runs/run-scheduler.ts';
import { AgentTable, type ServedAgents } from './runs/served-agent.ts';
import { scheduleRoutes } from './schedules/schedule-routes.ts';
import { Schedules } from './schedules/schedules.ts';
import type { SessionRecord } from './store/run-record.ts';
import { ServiceStore, sqliteStorage, type ServiceStorage } from './store/service-store.ts';
import { TalkServer } from './talks/talk-server.ts';

export interface ServiceOptions extends SchedulerOptions {
  /** Functions that make the agents, by name. Each is called for each attempt at a run. */
  readonly agents: ServedAgents;
  /** Where sessions, runs and events are kept: the path of a SQLite file, or a storage. @default in memory, lost at the end */
  readonly store?: string | ServiceStorage | undefined;
  /** Another engine for durable runs, such as `dbosRunner` of `@troupe/service/dbos`. @default the built-in one, in the store */
  readonly runner?: DurableRunner | undefined;
  /** Names the caller of a request. @default nobody is asked, and only this machine is answered */
  readonly auth?: Authenticate | undefined;
  readonly limits?: (UserLimits & SessionFileLimits) | undefined;
  /** @default 1 MiB */
  readonly maxBodyBytes?: number | undefined;
  /** Maximum characters of an event as JSON; texts of longer ones are cut. Messages of sessions stay whole. @default 1 048 576 */
  readonly maxEventChars?: number | undefined;
  /** Origins of web pages that may call the service from a browser. @default none */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Address of the service for its clients, for agent cards, such as behind a proxy. @default that of each request */
  readonly url?: string | undefined;
  /** Maximum wait of `close` for running runs. Runs still running are handed over. @default 10 000 */
  readonly shutdownMs?: number | undefined;
  /** Days after which ended runs are deleted, with their events and journals. Sessions and their messages stay. @default never */
  readonly keepRunsDays?: number | undefined;
  /** Clock in milliseconds. @default `Date.now` */
  readonly now?: (() => number) | undefined;
}

export interface ListenOptions {
  /** @default 4488; 0 chooses a free port */
  readonly port?: number | undefined;
  /** Another address than a loopback one needs `auth`. @default '127.0.0.1' */
  readonly host?: string | undefined;
  /** Maximum time for a whole request to arrive; a quarter of it for its head. @default 60 000 */
  readonly requestTimeoutMs?: number | undefined;
}

/** A service that runs. */
export interface Service extends AsyncDisposable {
  /** Answers a request, in any server that speaks fetch. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Answers an upgrade to a WebSocket, for a Node server of your own: conversations of agents that talk. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Listens by Node's HTTP server. @returns the address */
  listen(options?: ListenOptions): Promise<string>;
  /** Starts the runs of schedules that are due, and deletes old runs. The service does so each second; for programs without timers. */
  tick(): Promise<void>;
  /** Refuses new work, lets running runs end for `shutdownMs`, hands the rest over and closes. */
  close(): Promise<void>;
}

const DEFAULT_PORT = 4488;
const TICK_MS = 1000;
const DAY_MS = 86_400_000;
/** Maximum old runs that one tick deletes. */
const MAX_DELETED = 200;
/** Time for which an idle connection is kept: longer than balancers keep theirs, which would otherwise send into a closed one. */
const IDLE_MS = 75_000;
/** Silence of a connection after which the system asks whether its other end is still there: before the next heartbeat. */
const KEEP_ALIVE_MS = 4000;
const MAX_HEADER_BYTES = 16 * 1024;
const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/**
 * Serves agents over HTTP: sessions, runs that survive the process, and events that a client can resume.
 *
 * Without options it is embedded: everything in this process and in memory, for this machine only. A path as `store` makes runs durable:
 * the next start goes on with runs that were cut off.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 * import { createService } from '@troupe/service';
 *
 * await using service = await createService({
 *   agents: { assistant: () => new ReActAgent({ name: 'assistant', model: new OfflineModel() }) },
 * });
 * const url = await service.listen({ port: 0 });
 * const agents = await (await fetch(`${url}/api/agents`)).json();
 * ```
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { now = Date.now, auth, shutdownMs = 10_000 } = options;
  const fileLimits = options.limits ?? {};
  const filesOf = (owner: FileOwner): SessionFiles => new SessionFiles(storage.database, owner, fileLimits);
  const agents = new AgentTable(options.agents, filesOf);
  const storage =
    typeof options.store === 'object' ? options.store : sqliteStorage(options.store ?? ':memory:');
  const store = await ServiceStore.open(storage);
  const log = new EventLog(store);
  const limiter = new UserLimiter(options.limits ?? {}, store, now);
  const metrics = new ServiceMetrics({
    troupe_runs_running: () => scheduler.running,
    troupe_event_readers: () => log.readers,
  });
  const scheduler: RunScheduler = new RunScheduler(
    {
      store,
      log,
      agents,
      now,
      maxEventChars: options.maxEventChars ?? 1024 * 1024,
      onEnd: ({ status }) => metrics.countRun(status),
    },
    options,
    options.runner,
  );
  const requests = new RunRequests(store, scheduler, agents, limiter, now);
  const schedules = new Schedules(store, requests, now);
  const closing = new AbortController();
  const protocolParts = { requests, log };
  const maxBodyBytes = options.maxBodyBytes ?? 1024 * 1024;
  const mountParts = {
    ...protocolParts,
    agents,
    states: store.sessionStates,
    maxBodyBytes,
    url: options.url,
    isOpen: auth === undefined,
    closing: closing.signal,
  };
  const [a2a, mcp] = [new A2AMount(mountParts), new McpMount(mountParts)];
  const onDeleted = (session: SessionRecord): Promise<void> =>
    a2a.forget(session.user, session.agent, session.id);
  const corsOrigins = [...(options.corsOrigins ?? []), ...(options.url ? [new URL(options.url).origin] : [])];
  const talks = new TalkServer({
    store,
    agents,
    requests,
    limiter,
    owner: scheduler.owner,
    authenticate: auth,
    maxBodyBytes,
    corsOrigins,
    now,
  });
  const upgrade = talks.upgrade.bind(talks);
  const app = makeApp({
    routes: [
      ...apiRoutes({ store, log, agents, requests, closing: closing.signal, onDeleted }),
      ...fileRoutes({ requests, filesOf, limits: fileLimits }),
      ...scheduleRoutes(schedules),
      ...aiSdkRoutes(protocolParts),
      ...agUiRoutes(protocolParts),
      ...openAiRoutes(protocolParts, agents),
      ...responsesRoutes(protocolParts),
      ...a2a.routes,
      ...mcp.routes,
    ],
    authenticate: auth,
    limiter,
    metrics,
    maxBodyBytes,
    corsOrigins,
    isReady: async () =>
      !closing.signal.aborted && (await store.database.query('SELECT 1 AS one')).length === 1,
  });
  await scheduler.start();
  const deleteEnded = async (before: number): Promise<void> => {
    const ids = await store.runs.endedBefore(before, MAX_DELETED);
    await scheduler.forget(ids);
    await store.runs.delete(ids);
  };
  const tick = async (): Promise<void> => {
    if (closing.signal.aborted) return;
    await talks.freeSessions();
    await schedules.tick();
    if (options.keepRunsDays !== undefined) await deleteEnded(now() - options.keepRunsDays * DAY_MS);
  };
  const ticking = setInterval(() => void tick().catch(logFailure), TICK_MS);
  ticking.unref();

  const servers: Server[] = [];
  const close = async (): Promise<void> => {
    closing.abort();
    clearInterval(ticking);
    await talks.close(shutdownMs);
    const closed = servers.map((server) => {
      const done = once(server, 'close');
      server.close();
      return done;
    });
    await scheduler.close(shutdownMs);
    await Promise.all([a2a.close(), mcp.close()]);
    for (const server of servers) server.closeAllConnections();
    await Promise.all(closed);
    metrics.close();
    await store.close();
  };
  let closed: Promise<void> | undefined;
  const closeOnce = (): Promise<void> => (closed ??= close());
  return {
    fetch: async (request) => app.fetch(request),
    upgrade,
    listen: async ({ port = DEFAULT_PORT, host = '127.0.0.1', requestTimeoutMs = 60_000 } = {}) => {
      if (auth === undefined && !LOOPBACK.includes(host))
        throw new TypeError(
          `A service on ${host} can be reached from other machines. It needs the option auth.`,
        );
      const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
      const server = createServer(
        {
          maxHeaderSize: MAX_HEADER_BYTES,
          requestTimeout: requestTimeoutMs,
          headersTimeout: requestTimeoutMs / 4,
          connectionsCheckingInterval: Math.min(5000, requestTimeoutMs / 4),
          keepAliveTimeout: IDLE_MS,
          keepAlive: true,
          keepAliveInitialDelay: KEEP_ALIVE_MS,
          // Java's client offers HTTP/2 (`h2c`) and takes HTTP/1.1. Node before 24.9 ignores the option.
          shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
        },
        (request, response) => void answer(request, response),
      );
      server.on('upgrade', upgrade);
      servers.push(server);
      server.listen(port, host);
      await once(server, 'listening');
      const bound = server.address();
      const name = host === '::1' ? '[::1]' : host;
      return `http://${name}:${typeof bound === 'object' && bound !== null ? bound.port : port}`;
    },
    tick,
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

function logFailure(error: unknown): void {
  getLogger().log('warn', `The schedules could not be looked at: ${redactKeys(String(error))}`);
}
