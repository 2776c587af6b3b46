import { statSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

import type {
  AgentInfo,
  PromptDetail,
  Project,
  RunEntry,
  Span,
  StudioRun,
  UsageSum,
  Waiting,
} from '../protocol.ts';
import { RUN_TABLES } from './database.ts';
import { readStored } from './json-text.ts';

/** A prompt as stored: without its parts, which are looked up by hash. */
export type StoredPrompt = Omit<PromptDetail, 'parts'> & {
  readonly toolHashes: readonly string[];
  readonly messageHashes: readonly string[];
};

/** One model call or tool call, for charts. */
export interface StoredCall {
  readonly at: number;
  readonly project: string;
  readonly kind: 'model' | 'tool';
  readonly name: string;
  readonly agent: string;
  readonly isError: boolean;
  readonly durationMs: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cost: number;
}

/** An agent call of a conversation: the state before, and the results of its steps. */
export interface StoredTurn {
  readonly callId: string;
  readonly seq: number;
  readonly state: Uint8Array | undefined;
  readonly steps: Uint8Array | undefined;
}

export interface RunQuery {
  readonly project?: string | undefined;
  readonly statuses: readonly string[];
  readonly source?: string | undefined;
  readonly text?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface StoredFile {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

type Row = Record<string, unknown>;

/** Characters of messages of one run that a search looks through. */
const MAX_SEARCH_CHARS = 20_000;
/** Characters of one message by which its run is found. */
const MAX_TEXT_CHARS = 2000;

/** Typed reading and writing of the Studio's database. Folder `store`: start here. */
export class StudioStore {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
  }

  close(): void {
    this.#db.close();
  }

  /** Runs writes together: all of them, or none. */
  transaction<T>(body: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = body();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /** Size of the database with its log. */
  get bytes(): number {
    if (this.#path === ':memory:') return this.#pageBytes;
    return ['', '-wal'].reduce((sum, ending) => sum + sizeOf(this.#path + ending), 0);
  }

  /** Bytes in use: without pages that were freed. */
  get #pageBytes(): number {
    const number = (pragma: string): number => Number(Object.values(this.#get(`PRAGMA ${pragma}`) ?? {})[0]);
    return (number('page_count') - number('freelist_count')) * number('page_size');
  }

  get usedBytes(): number {
    return this.#pageBytes;
  }

  /** Gives freed pages back to the file system. */
  compact(): void {
    this.#db.exec('PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)');
  }

  meta(key: string, make: () => string): string {
    const found = this.#get('SELECT value FROM meta WHERE key = ?', key)?.['value'];
    if (typeof found === 'string') return found;
    const value = make();
    this.#run('INSERT INTO meta (key, value) VALUES (?, ?)', key, value);
    return value;
  }

  // Runs

  putRun(run: StudioRun): void {
    this.#run(
      `INSERT INTO runs (id, project, name, status, source, updated_at, fork_of, session_id, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET project = excluded.project, name = excluded.name, status = excluded.status,
       source = excluded.source, updated_at = excluded.updated_at, session_id = excluded.session_id, data = excluded.data`,
      run.id,
      run.project,
      run.name,
      run.status,
      run.source,
      run.updatedAt,
      run.forkOf?.runId ?? null,
      run.sessionId ?? null,
      JSON.stringify(run),
    );
  }

  /** Adds a text by which a run is found. @param before an earlier form of the text, whose place it takes */
  addRunText(id: string, text: string, before = ''): void {
    const [added, removed] = [text.slice(0, MAX_TEXT_CHARS), before.slice(0, MAX_TEXT_CHARS)];
    if (added === removed) return;
    this.#run(
      `UPDATE runs SET texts = substr(replace(texts, ?, '') || ?, 1, ${MAX_SEARCH_CHARS}) WHERE id = ?`,
      removed === '' ? '' : `${removed}\n`,
      `${added}\n`,
      id,
    );
  }

  run(id: string): StudioRun | undefined {
    const row = this.#get('SELECT data FROM runs WHERE id = ?', id);
    return row && readStored(row['data']);
  }

  runOfSession(sessionId: string): StudioRun | undefined {
    const row = this.#get(
      'SELECT data FROM runs WHERE session_id = ? ORDER BY updated_at DESC LIMIT 1',
      sessionId,
    );
    return row && readStored(row['data']);
  }

  branchesOf(id: string): StudioRun[] {
    return this.#all('SELECT data FROM runs WHERE fork_of = ? ORDER BY updated_at', id).map(({ data }) =>
      readStored(data),
    );
  }

  /** Runs with one of these statuses. */
  runsWithStatus(statuses: readonly string[]): StudioRun[] {
    const marks = statuses.map(() => '?').join();
    return this.#all(`SELECT data FROM runs WHERE status IN (${marks})`, ...statuses).map(({ data }) =>
      readStored(data),
    );
  }

  queryRuns({ project, statuses, source, text, cursor, limit }: RunQuery): {
    runs: StudioRun[];
    total: number;
    next?: string;
  } {
    const where = ['1'];
    const values: SQLInputValue[] = [];
    const add = (sql: string, ...args: SQLInputValue[]): void => {
      where.push(sql);
      values.push(...args);
    };
    if (project !== undefined) add('project = ?', project);
    if (source !== undefined) add('source = ?', source);
    if (statuses.length > 0) add(`status IN (${statuses.map(() => '?').join()})`, ...statuses);
    if (text !== undefined && text !== '') {
      const pattern = `%${text.slice(0, 200).replace(/[\\%_]/g, '\\$&')}%`;
      const columns = ['name', 'project', 'texts', `json_extract(data, '$.rootAgent')`];
      add(
        `(${columns.map((column) => `${column} LIKE ? ESCAPE '\\'`).join(' OR ')})`,
        ...columns.map(() => pattern),
      );
    }
    const total = Number(
      this.#get(`SELECT count(*) AS n FROM runs WHERE ${where.join(' AND ')}`, ...values)?.['n'],
    );
    const [time, id] = cursor?.split('~') ?? [];
    if (time !== undefined && id !== undefined)
      add('(updated_at < ? OR (updated_at = ? AND id > ?))', time, time, id);
    const rows = this.#all(
      `SELECT id, updated_at, data FROM runs WHERE ${where.join(' AND ')} ORDER BY updated_at DESC, id LIMIT ?`,
      ...values,
      limit + 1,
    );
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1) : undefined;
    return {
      runs: shown.map(({ data }) => readStored(data)),
      total,
      ...(last && { next: `${String(last['updated_at'])}~${String(last['id'])}` }),
    };
  }

  projects(): Project[] {
    const sum = (field: keyof UsageSum): string => `sum(json_extract(data, '$.usage.${field}')) AS ${field}`;
    return this.#all(
      `SELECT project, count(*) AS runs, sum(status IN ('running', 'waiting')) AS running, max(updated_at) AS lastAt,
       ${(['modelCalls', 'inputTokens', 'outputTokens', 'cachedTokens', 'cost'] as const).map(sum).join()}
       FROM runs GROUP BY project ORDER BY lastAt DESC LIMIT 1000`,
    ).map((row) => ({
      name: String(row['project']),
      runs: Number(row['runs']),
      running: Number(row['running']),
      lastAt: String(row['lastAt']),
      usage: {
        modelCalls: Number(row['modelCalls']),
        inputTokens: Number(row['inputTokens']),
        outputTokens: Number(row['outputTokens']),
        cachedTokens: Number(row['cachedTokens']),
        cost: Number(row['cost']),
      },
    }));
  }

  runIdsOfProject(project: string): string[] {
    return this.#all('SELECT id FROM runs WHERE project = ?', project).map(({ id }) => String(id));
  }

  countRuns(): number {
    return Number(this.#get('SELECT count(*) AS n FROM runs')?.['n']);
  }

  deleteRun(id: string): boolean {
    for (const table of RUN_TABLES) this.#run(`DELETE FROM ${table} WHERE run_id = ?`, id);
    this.#run('DELETE FROM spans WHERE run_id = ?', id);
    return this.#run('DELETE FROM runs WHERE id = ?', id) > 0;
  }

  /** Ids of ended runs, the oldest first, optionally of runs before a time only. */
  oldestEndedRuns(before: string | undefined, limit: number): string[] {
    const ended = `status NOT IN ('running', 'waiting') AND NOT json_extract(data, '$.isConnected')`;
    const rows =
      before === undefined
        ? this.#all(`SELECT id FROM runs WHERE ${ended} ORDER BY updated_at LIMIT ?`, limit)
        : this.#all(
            `SELECT id FROM runs WHERE ${ended} AND updated_at < ? ORDER BY updated_at LIMIT ?`,
            before,
            limit,
          );
    return rows.map(({ id }) => String(id));
  }

  // Entries

  deleteEntry(runId: string, seq: number): void {
    this.#run('DELETE FROM entries WHERE run_id = ? AND seq = ?', runId, seq);
  }

  putEntry(runId: string, entry: RunEntry): void {
    this.#run(
      'INSERT INTO entries (run_id, seq, data) VALUES (?, ?, ?)',
      runId,
      entry.seq,
      JSON.stringify(entry),
    );
  }

  entries(runId: string, after: number, before: number, limit: number): RunEntry[] {
    return this.#all(
      'SELECT data FROM entries WHERE run_id = ? AND seq > ? AND seq < ? ORDER BY seq LIMIT ?',
      runId,
      after,
      before,
      limit,
    ).map(({ data }) => readStored(data));
  }

  lastEntries(runId: string, before: number, limit: number): RunEntry[] {
    return this.#all(
      'SELECT data FROM entries WHERE run_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
      runId,
      before,
      limit,
    )
      .map(({ data }) => readStored<RunEntry>(data))
      .toReversed();
  }

  /** Removes entries with their snapshots and turns. */
  deleteEntriesUpTo(runId: string, seq: number): void {
    for (const table of ['entries', 'insides', 'turns'])
      this.#run(`DELETE FROM ${table} WHERE run_id = ? AND seq <= ?`, runId, seq);
    this.#run(`DELETE FROM prompts WHERE run_id = ? AND json_extract(data, '$.seq') <= ?`, runId, seq);
  }

  // Agents, records that wait, prompts, insides

  putAgent(runId: string, agent: AgentInfo): void {
    this.#run(
      `INSERT INTO agents (run_id, id, data)
       VALUES (?, ?, json_set(?, '$.order', (SELECT count(*) FROM agents WHERE run_id = ?)))
       ON CONFLICT (run_id, id) DO UPDATE SET data = json_set(excluded.data, '$.order', data -> '$.order')`,
      runId,
      agent.id,
      JSON.stringify(agent),
      runId,
    );
  }

  /** Agents of a run, in the order in which they were put first. */
  agents(runId: string): AgentInfo[] {
    return this.#all(
      `SELECT data FROM agents WHERE run_id = ? ORDER BY data ->> '$.order', id LIMIT 1000`,
      runId,
    ).map(({ data }) => readStored(data));
  }

  deleteAgents(runId: string): void {
    this.#run('DELETE FROM agents WHERE run_id = ?', runId);
  }

  /** Copies the tape of a run before an entry, with everything that its entries name, to another run. */
  copyTape(from: string, to: string, before: number): void {
    const copies = [
      'INSERT INTO entries (run_id, seq, data) SELECT ?, seq, data FROM entries WHERE run_id = ? AND seq < ?',
      'INSERT INTO turns (run_id, call_id, seq, state, steps) SELECT ?, call_id, seq, state, steps FROM turns WHERE run_id = ? AND seq < ?',
      `INSERT INTO prompts (run_id, n, data) SELECT ?, n, data FROM prompts WHERE run_id = ? AND json_extract(data, '$.seq') < ?`,
    ];
    for (const sql of copies) this.#run(sql, to, from, before);
    this.#run(
      'INSERT INTO parts (run_id, hash, data) SELECT ?, hash, data FROM parts WHERE run_id = ?',
      to,
      from,
    );
    this.#run(
      'INSERT INTO files (run_id, id, media_type, bytes) SELECT ?, id, media_type, bytes FROM files WHERE run_id = ?',
      to,
      from,
    );
  }

  /** @param agentId agent that takes the decision */
  putWaiting(waiting: Waiting, agentId: string): void {
    this.#run(
      'INSERT OR REPLACE INTO waiting (run_id, id, is_open, asked_at, agent_id, data) VALUES (?, ?, ?, ?, ?, ?)',
      waiting.runId,
      waiting.id,
      waiting.state === 'waiting' || waiting.state === 'sent' ? 1 : 0,
      waiting.askedAt,
      agentId,
      JSON.stringify(waiting),
    );
  }

  waiting(runId: string, id: string): { waiting: Waiting; agentId: string } | undefined {
    const row = this.#get('SELECT data, agent_id FROM waiting WHERE run_id = ? AND id = ?', runId, id);
    return row && { waiting: readStored(row['data']), agentId: String(row['agent_id']) };
  }

  openWaiting(runId?: string): { waiting: Waiting; agentId: string }[] {
    const rows =
      runId === undefined
        ? this.#all('SELECT data, agent_id FROM waiting WHERE is_open = 1 ORDER BY asked_at LIMIT 1000')
        : this.#all(
            'SELECT data, agent_id FROM waiting WHERE run_id = ? AND is_open = 1 ORDER BY asked_at',
            runId,
          );
    return rows.map((row) => ({ waiting: readStored(row['data']), agentId: String(row['agent_id']) }));
  }

  putPrompt(runId: string, prompt: StoredPrompt): void {
    this.#run(
      'INSERT OR REPLACE INTO prompts (run_id, n, data) VALUES (?, ?, ?)',
      runId,
      prompt.n,
      JSON.stringify(prompt),
    );
  }

  prompt(runId: string, n: number): StoredPrompt | undefined {
    const row = this.#get('SELECT data FROM prompts WHERE run_id = ? AND n = ?', runId, n);
    return row && readStored(row['data']);
  }

  prompts(runId: string): StoredPrompt[] {
    return this.#all('SELECT data FROM prompts WHERE run_id = ? ORDER BY n', runId).map(({ data }) =>
      readStored(data),
    );
  }

  putPart(runId: string, hash: string, json: string): void {
    this.#run('INSERT OR IGNORE INTO parts (run_id, hash, data) VALUES (?, ?, ?)', runId, hash, json);
  }

  part(runId: string, hash: string): string | undefined {
    const row = this.#get('SELECT data FROM parts WHERE run_id = ? AND hash = ?', runId, hash);
    return row && String(row['data']);
  }

  putInside(runId: string, agentId: string, seq: number, json: string): void {
    this.#run(
      'INSERT OR REPLACE INTO insides (run_id, agent_id, seq, data) VALUES (?, ?, ?, ?)',
      runId,
      agentId,
      seq,
      json,
    );
  }

  inside(runId: string, agentId: string, at: number): { seq: number; json: string } | undefined {
    const row = this.#get(
      'SELECT seq, data FROM insides WHERE run_id = ? AND agent_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 1',
      runId,
      agentId,
      at,
    );
    return row && { seq: Number(row['seq']), json: String(row['data']) };
  }

  // Charts

  addCall(runId: string, call: StoredCall): void {
    this.#run(
      `INSERT INTO calls (run_id, at, project, kind, name, agent, is_error, duration, input, output, cached, cost)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      runId,
      call.at,
      call.project,
      call.kind,
      call.name,
      call.agent,
      call.isError ? 1 : 0,
      call.durationMs,
      call.input,
      call.output,
      call.cached,
      call.cost,
    );
  }

  calls(
    from: number,
    to: number,
    kind: 'model' | 'tool',
    project: string | undefined,
    limit: number,
  ): StoredCall[] {
    return this.#all(
      `SELECT * FROM calls WHERE at >= ? AND at < ? AND kind = ? AND (? IS NULL OR project = ?) ORDER BY at DESC LIMIT ?`,
      from,
      to,
      kind,
      project ?? null,
      project ?? null,
      limit,
    ).map((row) => ({
      at: Number(row['at']),
      project: String(row['project']),
      kind,
      name: String(row['name']),
      agent: String(row['agent']),
      isError: row['is_error'] === 1,
      durationMs: Number(row['duration']),
      input: Number(row['input']),
      output: Number(row['output']),
      cached: Number(row['cached']),
      cost: Number(row['cost']),
    }));
  }

  // Spans of tracers

  putSpan(span: Span, runId: string | undefined, service: string): void {
    this.#run(
      'INSERT OR REPLACE INTO spans (trace_id, id, run_id, start_ms, service, data) VALUES (?, ?, ?, ?, ?, ?)',
      span.traceId,
      span.id,
      runId ?? null,
      span.startMs,
      service,
      JSON.stringify(span),
    );
  }

  /** Spans of a run: all spans of the traces in which one span names the run. */
  spansOfRun(runId: string, limit: number): Span[] {
    return this.#all(
      `SELECT data FROM spans WHERE trace_id IN (SELECT DISTINCT trace_id FROM spans WHERE run_id = ?) ORDER BY start_ms LIMIT ?`,
      runId,
      limit,
    ).map(({ data }) => readStored(data));
  }

  countSpansOfRun(runId: string): number {
    return Number(
      this.#get(
        'SELECT count(*) AS n FROM spans WHERE trace_id IN (SELECT DISTINCT trace_id FROM spans WHERE run_id = ?)',
        runId,
      )?.['n'],
    );
  }

  spansOfTrace(traceId: string, limit: number): Span[] {
    return this.#all(
      'SELECT data FROM spans WHERE trace_id = ? ORDER BY start_ms LIMIT ?',
      traceId,
      limit,
    ).map(({ data }) => readStored(data));
  }

  /** Ids of the latest traces that began before a time, and that have a text in a span or in the name of their service. */
  traceIds(
    before: number,
    limit: number,
    text = '',
  ): { traceId: string; startMs: number; service: string; runId?: string }[] {
    return this.#all(
      `SELECT trace_id, min(start_ms) AS start, max(service) AS service, max(run_id) AS run FROM spans
       WHERE ?1 = '' OR trace_id IN (SELECT trace_id FROM spans WHERE instr(lower(data), ?1) > 0 OR instr(lower(service), ?1) > 0)
       GROUP BY trace_id HAVING start < ?2 ORDER BY start DESC LIMIT ?3`,
      text.toLowerCase(),
      before,
      limit,
    ).map((row) => ({
      traceId: String(row['trace_id']),
      startMs: Number(row['start']),
      service: String(row['service']),
      ...(typeof row['run'] === 'string' && { runId: row['run'] }),
    }));
  }

  /** Deletes the oldest spans of no run. @returns their number */
  deleteOldestSpans(limit: number): number {
    return this.#run(
      `DELETE FROM spans WHERE (trace_id, id) IN (
         SELECT trace_id, id FROM spans WHERE run_id IS NULL OR run_id NOT IN (SELECT id FROM runs) ORDER BY start_ms LIMIT ?)`,
      limit,
    );
  }

  deleteSpansBefore(startMs: number): void {
    this.#run('DELETE FROM spans WHERE start_ms < ?', startMs);
  }

  // Files and turns

  putFile(runId: string, id: string, mediaType: string, bytes: Uint8Array): void {
    this.#run(
      'INSERT OR IGNORE INTO files (run_id, id, media_type, bytes) VALUES (?, ?, ?, ?)',
      runId,
      id,
      mediaType,
      bytes,
    );
  }

  file(id: string): StoredFile | undefined {
    const row = this.#get('SELECT media_type, bytes FROM files WHERE id = ? LIMIT 1', id);
    return row && { mediaType: String(row['media_type']), bytes: row['bytes'] as Uint8Array };
  }

  putTurn(runId: string, { callId, seq, state, steps }: StoredTurn): void {
    this.#run(
      'INSERT OR REPLACE INTO turns (run_id, call_id, seq, state, steps) VALUES (?, ?, ?, ?, ?)',
      runId,
      callId,
      seq,
      state ?? null,
      steps ?? null,
    );
  }

  turns(runId: string): StoredTurn[] {
    return this.#all('SELECT * FROM turns WHERE run_id = ? ORDER BY seq', runId).map((row) => ({
      callId: String(row['call_id']),
      seq: Number(row['seq']),
      state: (row['state'] as Uint8Array | null) ?? undefined,
      steps: (row['steps'] as Uint8Array | null) ?? undefined,
    }));
  }

  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  #get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values);
  }

  #all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      if (this.#statements.size < 200) this.#statements.set(sql, statement);
    }
    return statement;
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}
