import { Hono, type Context } from 'hono';

import type {
  AgentInfo,
  AgentInside,
  Comparison,
  EntryPage,
  RunDetail,
  RunEntry,
  SpanPage,
  StudioInfo,
  TraceInfo,
  TurnInfo,
} from '../protocol.ts';
import type { Conversations } from '../conversations/conversations.ts';
import type { Actions } from '../runs/actions.ts';
import { chartsOf } from '../runs/charts.ts';
import { compactEntries } from '../runs/compact-entries.ts';
import { spansOf } from '../runs/event-spans.ts';
import type { Programs } from '../runs/programs.ts';
import { promptDetail, promptDiff } from '../runs/prompts.ts';
import type { RunHub } from '../runs/run-hub.ts';
import { traceInfo } from '../runs/trace-info.ts';
import { turnsOf } from '../runs/turns.ts';
import { isRecord, readStored } from '../store/json-text.ts';
import { ApiFailure } from './api-failure.ts';
import { readJsonBody } from './request-body.ts';

export interface ApiRoutesOptions {
  readonly hub: RunHub;
  readonly programs: Programs;
  readonly actions: Actions;
  readonly conversations: Conversations;
  readonly info: () => StudioInfo;
  readonly now: () => number;
  readonly maxBodyBytes: number;
}

const MAX_ENTRIES = 5000;
const MAX_SPANS = 5000;
const MAX_TAPE_ENTRIES = 200_000;
const MAX_CALLS = 100_000;
const MAX_SEARCH_CHARS = 200;
const DAY_MS = 86_400_000;
/** Media types that a browser shows inline: none can run code. */
const SHOWN_TYPES = /^(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/(?:mp4|webm))$/;

/** Routes of the page. The caller has checked cookie, Origin and content type. */
export function apiRoutes(options: ApiRoutesOptions): Hono {
  const { hub, programs, actions, conversations, info, now, maxBodyBytes } = options;
  const { store } = hub;
  const app = new Hono();
  const body = (c: Context): Promise<unknown> => readJsonBody(c, maxBodyBytes);

  const runOf = (c: Context): NonNullable<ReturnType<RunHub['run']>> => {
    const run = hub.run(c.req.param('id') ?? '');
    if (run === undefined) throw new ApiFailure('not_found', 'There is no such run.');
    return run;
  };
  const agentsOf = (runId: string, isConnected: boolean): AgentInfo[] =>
    store.agents(runId).map((agent) => ({
      ...agent,
      isRunning: hub.isAgentRunning(runId, agent.id),
      isReachable: isConnected,
    }));
  const tapeOf = (runId: string): RunEntry[] =>
    store.entries(runId, 0, Number.MAX_SAFE_INTEGER, MAX_TAPE_ENTRIES);
  const turnsOfRun = (runId: string): TurnInfo[] =>
    turnsOf(tapeOf(runId), conversations.turnAbilities(runId));

  app.get('/info', (c) => c.json(info()));
  app.get('/projects', (c) => c.json({ projects: store.projects() }));
  app.post('/projects/delete', async (c) => {
    const names = readTexts(await body(c), 'names');
    return c.json({ deleted: hub.deleteRuns(names.flatMap((name) => store.runIdsOfProject(name))) });
  });

  app.get('/runs', (c) => {
    const { runs, total, next } = store.queryRuns({
      project: c.req.query('project'),
      statuses: c.req.queries('status') ?? [],
      source: c.req.query('source'),
      text: c.req.query('q') ?? c.req.query('agent'),
      cursor: c.req.query('cursor'),
      limit: numberIn(c, 'limit', 50, 1, 200),
    });
    return c.json({ runs, total, ...(next !== undefined && { next }) });
  });
  app.post('/runs/delete', async (c) => {
    const ids = readTexts(await body(c), 'ids');
    for (const id of ids) await conversations.forget(id);
    return c.json({ deleted: hub.deleteRuns(ids) });
  });
  app.get('/runs/:id', (c) => {
    const run = runOf(c);
    return c.json({
      run,
      agents: agentsOf(run.id, run.isConnected),
      waiting: store.openWaiting(run.id).map(({ waiting }) => waiting),
      branches: store.branchesOf(run.id),
    } satisfies RunDetail);
  });
  app.post('/runs/:id/rename', async (c) => {
    const run = runOf(c);
    const { name } = asRecord(await body(c));
    if (typeof name !== 'string' || name.trim() === '') throw new ApiFailure('invalid', 'A name is missing.');
    hub.updateRun(run.id, { name: name.trim().slice(0, 200) });
    return c.json(hub.run(run.id));
  });
  app.get('/runs/:id/entries', (c) => {
    const run = runOf(c);
    const limit = numberIn(c, 'limit', 1000, 1, MAX_ENTRIES);
    const after = numberIn(c, 'after', 0, 0, Number.MAX_SAFE_INTEGER);
    const before = numberIn(c, 'before', Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER);
    const isTail =
      c.req.query('tail') === '1' ||
      (c.req.query('before') !== undefined && c.req.query('after') === undefined);
    const found = isTail
      ? store.lastEntries(run.id, before, limit + 1)
      : store.entries(run.id, after, before, limit + 1);
    const hasMore = found.length > limit;
    const kept = hasMore ? (isTail ? found.slice(1) : found.slice(0, limit)) : found;
    const entries = c.req.query('compact') === '1' ? compactEntries(kept) : kept;
    return c.json({
      entries,
      lastSeq: run.lastSeq,
      hasMore,
      removedUpTo: run.removedUpTo,
    } satisfies EntryPage);
  });
  app.post('/runs/:id/actions', async (c) => {
    const run = runOf(c);
    if (run.source === 'conversation') await conversations.open(run.id);
    return c.json(await actions.perform(run.id, await body(c)));
  });

  app.get('/runs/:id/spans', (c) => {
    const run = runOf(c);
    const limit = numberIn(c, 'limit', MAX_SPANS, 1, MAX_SPANS);
    const traced = store.countSpansOfRun(run.id);
    const sources = [
      ...(run.source === 'otlp' ? [] : ['events' as const]),
      ...(traced > 0 ? ['otlp' as const] : []),
    ];
    const wanted = c.req.query('source');
    const source = sources.find((one) => one === wanted) ?? sources[0] ?? 'events';
    if (source === 'otlp')
      return c.json({
        spans: store.spansOfRun(run.id, limit),
        sources,
        source,
        total: traced,
      } satisfies SpanPage);
    const all = spansOf(tapeOf(run.id));
    return c.json({ spans: all.slice(0, limit), sources, source, total: all.length } satisfies SpanPage);
  });
  app.get('/traces', (c) => {
    const limit = numberIn(c, 'limit', 50, 1, 200);
    const before = Number(c.req.query('cursor') ?? Number.MAX_SAFE_INTEGER);
    const found = store.traceIds(
      Number.isFinite(before) ? before : Number.MAX_SAFE_INTEGER,
      limit + 1,
      c.req.query('q')?.slice(0, MAX_SEARCH_CHARS),
    );
    const traces: TraceInfo[] = found
      .slice(0, limit)
      .map((one) => traceInfo(one, store.spansOfTrace(one.traceId, MAX_SPANS)));
    const last = found.length > limit ? traces.at(-1) : undefined;
    return c.json({ traces, ...(last && { next: String(last.startMs) }) });
  });
  app.get('/traces/:traceId', (c) => {
    const spans = store.spansOfTrace(c.req.param('traceId'), MAX_SPANS);
    if (spans.length === 0) throw new ApiFailure('not_found', 'There is no such trace.');
    return c.json({ spans, sources: ['otlp'], source: 'otlp', total: spans.length } satisfies SpanPage);
  });

  app.get('/runs/:id/prompts', (c) => {
    const run = runOf(c);
    const agentId = c.req.query('agentId');
    const prompts = store
      .prompts(run.id)
      .filter((prompt) => agentId === undefined || prompt.agentId === agentId)
      .map(({ toolHashes: _tools, messageHashes: _messages, settings: _settings, ...info }) => info);
    return c.json({ prompts });
  });
  const promptOf = (runId: string, n: number): ReturnType<typeof promptDetail> => {
    const prompt = store.prompt(runId, n);
    if (prompt === undefined) throw new ApiFailure('not_found', 'There is no such model call.');
    return promptDetail(store, runId, prompt);
  };
  app.get('/runs/:id/prompts/:n', (c) => c.json(promptOf(runOf(c).id, Number(c.req.param('n')))));
  app.get('/runs/:id/prompts/:n/diff', (c) => {
    const run = runOf(c);
    const after = promptOf(run.id, Number(c.req.param('n')));
    const to = c.req.query('to');
    const other = c.req.query('run') ?? run.id;
    if (to !== undefined) return c.json(promptDiff(promptOf(other, Number(to)), after));
    const previous = store
      .prompts(run.id)
      .findLast(({ n, agentId }) => n < after.n && agentId === after.agentId);
    return c.json(promptDiff(previous && promptDetail(store, run.id, previous), after));
  });

  app.get('/runs/:id/agents/:agentId', async (c) => {
    const run = runOf(c);
    const agentId = c.req.param('agentId');
    const agent = agentsOf(run.id, run.isConnected).find(({ id }) => id === agentId);
    if (agent === undefined) throw new ApiFailure('not_found', 'There is no such agent in this run.');
    if (c.req.query('refresh') === '1') await programs.command(run.id, { type: 'inside', agentId });
    const at = numberIn(c, 'at', Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER);
    const found = store.inside(run.id, agentId, at);
    if (found === undefined) throw new ApiFailure('not_found', 'This agent was not read yet.');
    const [entry] = store.entries(run.id, found.seq - 1, found.seq + 1, 1);
    const data = readStored<Omit<AgentInside, 'agent' | 'readAt' | 'seq'>>(found.json);
    return c.json({
      ...data,
      hooks: data.hooks ?? [],
      agent,
      readAt: entry?.at ?? run.updatedAt,
      seq: found.seq,
    } satisfies AgentInside);
  });

  app.get('/runs/:id/turns', (c) => c.json({ turns: turnsOfRun(runOf(c).id) }));
  app.post('/runs/:id/branch', async (c) => c.json(await conversations.branch(runOf(c).id, await body(c))));
  app.post('/runs/:id/replay', async (c) => c.json(await conversations.replay(runOf(c).id, await body(c))));
  app.post('/conversations', async (c) => c.json(await conversations.start(await body(c))));
  app.get('/compare', (c) => {
    const [a, b] = [hub.run(c.req.query('a') ?? ''), hub.run(c.req.query('b') ?? '')];
    if (a === undefined || b === undefined) throw new ApiFailure('not_found', 'There is no such run.');
    const [left, right] = [turnsOfRun(a.id), turnsOfRun(b.id)];
    const key = ({ input, answer }: TurnInfo): string =>
      JSON.stringify([input.map(({ content }) => content), answer]);
    const rows = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => {
      const [one, other] = [left[i], right[i]];
      const isSame = one !== undefined && other !== undefined && key(one) === key(other);
      const isShared = isSame && one?.callId === other?.callId;
      return { ...(one && { a: one }), ...(other && { b: other }), isSame, isShared };
    });
    const firstDifferent = rows.findIndex(({ isSame }) => !isSame);
    return c.json({ a, b, rows, ...(firstDifferent >= 0 && { firstDifferent }) } satisfies Comparison);
  });

  app.get('/sessions', async (c) =>
    c.json(await conversations.sessions(numberIn(c, 'limit', 50, 1, 200), c.req.query('cursor'))),
  );
  app.post('/sessions/import', async (c) => c.json(await conversations.importSession(await body(c))));
  app.post('/sessions/delete', async (c) =>
    c.json({ deleted: await conversations.deleteSessions(readTexts(await body(c), 'ids')) }),
  );
  app.post('/sessions/:id/resume', async (c) => c.json(await conversations.resumeSession(c.req.param('id'))));
  app.post('/sessions/:id/branch', async (c) => c.json(await conversations.branchSession(c.req.param('id'))));
  app.get('/sessions/:id/export', async (c) => {
    const file = await conversations.exportSession(c.req.param('id'));
    c.header('content-disposition', 'attachment; filename="session.json"');
    return c.json(file);
  });

  app.get('/waiting', (c) => c.json({ waiting: store.openWaiting().map(({ waiting }) => waiting) }));
  app.get('/charts', (c) => {
    const to = timeIn(c, 'to', now());
    const from = timeIn(c, 'from', to - DAY_MS);
    const by = c.req.query('by');
    const shown = by === 'agent' || by === 'tool' ? by : 'model';
    const kind = shown === 'tool' ? 'tool' : 'model';
    return c.json(chartsOf(store.calls(from, to, kind, c.req.query('project'), MAX_CALLS), from, to, shown));
  });
  app.get('/files/:id', (c) => {
    const id = c.req.param('id');
    const file = /^[0-9a-f]{64}$/.test(id) ? store.file(id) : undefined;
    if (file === undefined) throw new ApiFailure('not_found', 'There is no such file.');
    const isShown = SHOWN_TYPES.test(file.mediaType);
    return c.body(new Uint8Array(file.bytes), 200, {
      'content-type': isShown ? file.mediaType : 'application/octet-stream',
      'content-disposition': isShown ? 'inline' : 'attachment; filename="file"',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, max-age=31536000, immutable',
    });
  });
  return app;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value;
  throw new ApiFailure('invalid', 'The body must be an object.');
}

function readTexts(value: unknown, key: string): string[] {
  const list = asRecord(value)[key];
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string') || list.length > 1000)
    throw new ApiFailure('invalid', `${key} must be a list of texts.`);
  return list;
}

function numberIn(c: Context, key: string, fallback: number, least: number, most: number): number {
  const text = c.req.query(key);
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isSafeInteger(value)) throw new ApiFailure('invalid', `${key} must be a whole number.`);
  return Math.min(most, Math.max(least, value));
}

function timeIn(c: Context, key: string, fallback: number): number {
  const text = c.req.query(key);
  const value = text === undefined ? fallback : Date.parse(text);
  if (!Number.isFinite(value)) throw new ApiFailure('invalid', `${key} must be a time.`);
  return value;
}
