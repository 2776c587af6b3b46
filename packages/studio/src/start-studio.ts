import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';

import type { Session } from 'troupe';

import { agentScopeRoutes } from './agentscope/agentscope-routes.ts';
import { AgentScopeSocket } from './agentscope/agentscope-socket.ts';
import { Conversations } from './conversations/conversations.ts';
import type { OfferedAgents } from './conversations/offered-agent.ts';
import { otlpRoutes } from './otlp/otlp-routes.ts';
import { STUDIO_PROTOCOL, type StudioInfo } from './protocol.ts';
import { Actions } from './runs/actions.ts';
import { Programs } from './runs/programs.ts';
import { RunHub } from './runs/run-hub.ts';
import { RunningStudio } from './running-studio.ts';
import { Access, newSecret } from './server/access.ts';
import { apiRoutes } from './server/api-routes.ts';
import { makeHttpServer } from './server/http-server.ts';
import { LiveServer } from './server/live-server.ts';
import { readPage } from './server/page-files.ts';
import { programRoutes } from './server/program-routes.ts';
import { openDatabase } from './store/database.ts';
import { Retention, type RetentionLimits } from './store/retention.ts';
import { StudioStore } from './store/studio-store.ts';

export interface StudioOptions {
  /** Agents with which people start conversations from the page. @default none: the Studio shows other programs */
  readonly agents?: OfferedAgents | undefined;
  /** Where conversations are saved, so that they go on after a restart. @default nowhere */
  readonly session?: Session | undefined;
  /** @default 4477; 0 chooses a free port */
  readonly port?: number | undefined;
  /** Address to listen on. Another address than a loopback one needs `publicUrl` and `token`. @default '127.0.0.1' */
  readonly host?: string | undefined;
  /** Address of the page as browsers see it, such as that of a proxy with TLS. Needed beyond this machine. */
  readonly publicUrl?: string | undefined;
  /** Token for logging in. @default a new one at each start */
  readonly token?: string | undefined;
  /** Folder for the database. @default `TROUPE_STUDIO_DIR`, or `.troupe/studio` in the home folder */
  readonly dir?: string | undefined;
  /** Folder in which programs of the same user find the token. @default `TROUPE_STUDIO_DIR`, or `.troupe/studio` in the home folder */
  readonly tokenDir?: string | undefined;
  /** Lets AgentScope programs and tracers of this machine write without a key. @default false */
  readonly openReceivers?: boolean | undefined;
  /** Project of conversations. @default 'conversations' */
  readonly project?: string | undefined;
  /** Days after which ended runs are deleted; null: never. @default 30 */
  readonly keepDays?: number | null | undefined;
  /** Maximum size of the database. @default 1 GiB */
  readonly maxBytes?: number | undefined;
  /** Maximum entries of one run. @default 200000 */
  readonly maxRunEntries?: number | undefined;
  /** Receives messages for people. @default standard error */
  readonly log?: ((line: string) => void) | undefined;
}

/** A Studio that runs. */
export interface Studio extends AsyncDisposable {
  /** Address without the token, for `init({ studioUrl })`. */
  readonly url: string;
  /** Address with the token in its fragment, for a browser. */
  readonly loginUrl: string;
  readonly token: string;
  /** Address for AgentScope programs, with a key that can only write. */
  readonly agentscopeUrl: string;
  /** Interrupts the agents of the Studio, saves their sessions and closes. */
  close(): Promise<void>;
}

export const STUDIO_VERSION = '0.1.0';

const DEFAULT_PORT = 4477;
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const RETENTION_MS = 10 * 60_000;
const LOST_AFTER_MS = 5000;
const COMMAND_TIMEOUT_MS = 10_000;
const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/**
 * Starts a Studio: a local server with a page that shows what agents do, and lets a person step in.
 *
 * Listens on this machine only, unless told otherwise, and lets nobody in without the token. Runs of programs (`init({ studioUrl })`) and
 * conversations with `agents` are kept in a database of the folder `dir`, within limits.
 */
export async function startStudio(options: StudioOptions = {}): Promise<Studio> {
  const {
    host = '127.0.0.1',
    token = newSecret(),
    log = (line) => void process.stderr.write(`${line}\n`),
  } = options;
  assertReachable(options);
  const userDir = process.env['TROUPE_STUDIO_DIR'] || join(homedir(), '.troupe', 'studio');
  const { dir = userDir, tokenDir = userDir } = options;
  for (const folder of [dir, tokenDir]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(dir, 'studio.sqlite');
  const { db, setAside } = openDatabase(path, Date.now());
  if (setAside !== undefined)
    log(`The database could not be read. It was set aside as ${setAside}, and a new one was made.`);
  const store = new StudioStore(db, path);
  const hub = new RunHub(store, () => Date.now());
  forgetConnections(hub);
  const limits: RetentionLimits = {
    keepDays: options.keepDays === undefined ? 30 : options.keepDays,
    maxBytes: options.maxBytes ?? 1024 ** 3,
    maxRunEntries: options.maxRunEntries ?? 200_000,
  };
  const startedAt = new Date().toISOString();
  const live = new LiveServer(hub, { startedAt, startTimer });
  const onProblem = (error: unknown): void => {
    const message = error instanceof Error ? error.message : String(error);
    log(`The Studio failed: ${message}`);
    if (isStorageFailure(error)) live.setProblem(`Nothing is being written to ${path}: ${message}`);
  };
  const programs = new Programs(hub, {
    startTimer,
    lostAfterMs: LOST_AFTER_MS,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
  });
  const conversations = new Conversations({
    hub,
    programs,
    agents: options.agents ?? {},
    session: options.session,
    project: options.project ?? 'conversations',
    startTimer,
    onProblem,
  });
  const agentScopeSocket = await AgentScopeSocket.load(hub);
  const actions = new Actions(hub, programs, (runId, questionId, content, structured) => {
    if (hub.run(runId)?.source !== 'agentscope') return false;
    agentScopeSocket?.answer(runId, questionId, content, structured);
    return true;
  });

  const listening: { access?: Access } = {};
  const needAccess = (): Access => {
    if (listening.access === undefined) throw new Error('The Studio does not listen yet.');
    return listening.access;
  };
  const ingestKey = store.meta('ingest_key', newSecret);
  const addresses = (): StudioInfo['connect'] => {
    const { origin } = needAccess();
    return {
      studioUrl: origin,
      agentscopeUrl: `${origin}/as/${ingestKey}`,
      otlpUrl: `${origin}/as/${ingestKey}/v1/traces`,
    };
  };
  const info = (): StudioInfo => ({
    protocol: STUDIO_PROTOCOL,
    version: STUDIO_VERSION,
    startedAt,
    agents: conversations.offered,
    hasSessions: conversations.hasSessions,
    storage: {
      path,
      bytes: store.bytes,
      maxBytes: limits.maxBytes,
      runs: store.countRuns(),
      keepDays: limits.keepDays,
      ...(setAside !== undefined && { setAside }),
      ...(live.problem !== undefined && { problem: live.problem }),
    },
    limits: { maxBodyBytes: MAX_BODY_BYTES, maxFileBytes: Math.floor(MAX_BODY_BYTES * 0.7) },
    connect: addresses(),
  });
  const server = makeHttpServer({
    access: needAccess,
    page: readPage(),
    live,
    api: apiRoutes({
      hub,
      programs,
      actions,
      conversations,
      info,
      now: () => Date.now(),
      maxBodyBytes: MAX_BODY_BYTES,
    }),
    programs: programRoutes({
      programs,
      instance: conversations.instance,
      version: STUDIO_VERSION,
      maxBatchBytes: MAX_BODY_BYTES,
      startTimer,
    }),
    agentScope: agentScopeRoutes(hub, () => Date.now()),
    otlp: otlpRoutes(hub),
    agentScopeSocket,
    hasOpenReceivers: options.openReceivers ?? false,
    onFailure: onProblem,
  });
  try {
    server.listen(options.port ?? DEFAULT_PORT, host);
    await once(server, 'listening');
  } catch (error) {
    live.close();
    await conversations.close();
    programs.close();
    store.close();
    throw error;
  }
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  listening.access = new Access({
    ...hostsOf(options, host, port),
    token,
    ingestKey,
    secret: store.meta('secret', newSecret),
  });

  const tokenFile = join(tokenDir, `token-${port}`);
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  const retention = new Retention(hub, limits, () => Date.now());
  let stopRetention = (): void => {};
  const keepSmall = (): void => {
    stopRetention();
    try {
      retention.enforce();
      live.setProblem(undefined);
    } catch (error) {
      onProblem(error);
    }
    stopRetention = startTimer(RETENTION_MS, keepSmall);
  };
  const stopTrimming = retention.watch(keepSmall);
  keepSmall();

  const close = async (): Promise<void> => {
    stopRetention();
    stopTrimming();
    await conversations.close();
    live.close();
    programs.close();
    await agentScopeSocket?.close();
    const closed = new Promise((resolve) => void server.close(resolve));
    server.closeAllConnections();
    await closed;
    store.close();
    rmSync(tokenFile, { force: true });
  };
  const { origin } = needAccess();
  return new RunningStudio({ origin, token, agentscopeUrl: addresses().agentscopeUrl }, close);
}

/** A timer that does not keep the program running. */
function startTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

/** @throws Error if the Studio would be reachable from elsewhere without protection */
function assertReachable({ host = '127.0.0.1', publicUrl, token }: StudioOptions): void {
  if (LOOPBACK.includes(host)) return;
  const missing = [
    ...(publicUrl === undefined || !publicUrl.startsWith('https://')
      ? ['publicUrl (an https address, such as that of a proxy)']
      : []),
    ...(token === undefined || token.length < 16 ? ['token (16 characters at least)'] : []),
  ];
  if (missing.length === 0) return;
  throw new Error(`A Studio on ${host} can be reached from other machines. It needs: ${missing.join(', ')}.`);
}

function hostsOf(
  { publicUrl }: StudioOptions,
  host: string,
  port: number,
): { hosts: string[]; scheme: 'http' | 'https' } {
  if (publicUrl !== undefined) {
    const url = new URL(publicUrl);
    return { hosts: [url.host], scheme: url.protocol === 'https:' ? 'https' : 'http' };
  }
  const name = host === '::1' ? '[::1]' : '127.0.0.1';
  return { hosts: [`${name}:${port}`, `localhost:${port}`], scheme: 'http' };
}

/** Marks runs of an earlier start: nobody is connected now. Programs connect again by themselves. */
function forgetConnections(hub: RunHub): void {
  for (const run of hub.store.runsWithStatus(['running', 'waiting', 'idle', 'failed'])) {
    if (!run.isConnected) continue;
    if (run.source !== 'conversation') hub.setConnected([run.id], false, 'the Studio was restarted');
    else
      hub.change(() => {
        hub.updateRun(run.id, { isConnected: false });
        if (run.status === 'running')
          hub.addEntry(run.id, { kind: 'program', state: 'lost', reason: 'the Studio was restarted' });
      });
  }
}

function isStorageFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR';
}
