import { createHash } from 'node:crypto';

import type { AgentEvent, JsonObject, PendingCall } from 'troupe';
import { redactKeys, type ProgramIdentity, type ProgramItem, type PromptFacts } from 'troupe/studio';

import type {
  AgentInfo,
  ApprovalWaiting,
  EntryBody,
  MsgJson,
  PromptInfo,
  RunEntry,
  StudioRun,
  Waiting,
  WaitingState,
} from '../protocol.ts';
import { readStored } from '../store/json-text.ts';
import type { StudioStore } from '../store/studio-store.ts';
import { firstLine, LiveRun, textOf } from './live-run.ts';
import { withoutMedia } from './stored-media.ts';

/** Hears of every change, after it is stored. */
export interface HubListener {
  onEntries(runId: string, entries: readonly RunEntry[]): void;
  onRun(run: StudioRun): void;
  onRunsDeleted(ids: readonly string[]): void;
  onWaiting(): void;
  /** Called after each stored change, spans included. */
  onStored?(): void;
}

/** Fields of a new run. */
type NewRun = Pick<StudioRun, 'id' | 'project' | 'name' | 'source'> & Partial<StudioRun>;

const MAX_TEXT = 200;
/** Messages of a run that may still grow, and characters of each by which its run is found. */
const MAX_PUSHED = 200;
const MAX_PUSHED_CHARS = 2000;
const OPEN: readonly WaitingState[] = ['waiting', 'sent'];

/**
 * All runs: takes items of programs, numbers and stores them as entries of a tape, keeps the record of each run, and tells listeners. What
 * a listener hears is stored. Folder `runs`: start here.
 */
export class RunHub {
  readonly store: StudioStore;
  readonly #now: () => number;
  readonly #runs = new Map<string, LiveRun>();
  readonly #listeners = new Set<HubListener>();
  /** Entries and runs of the current transaction, told after it. */
  #told: { entries: Map<string, RunEntry[]>; runs: Set<string>; hasWaiting: boolean } | undefined;

  constructor(store: StudioStore, now: () => number) {
    this.store = store;
    this.#now = now;
  }

  listen(listener: HubListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  run(id: string): StudioRun | undefined {
    return this.#runs.get(id)?.record ?? this.store.run(id);
  }

  isBusy(id: string): boolean {
    return this.#runs.get(id)?.isBusy ?? false;
  }

  isAgentRunning(runId: string, agentId: string): boolean {
    return this.#runs.get(runId)?.isAgentRunning(agentId) ?? false;
  }

  /** Stores changes together, then tells the listeners. Nothing is told if storing fails. */
  change<T>(body: () => T): T {
    if (this.#told !== undefined) return body();
    const told = { entries: new Map<string, RunEntry[]>(), runs: new Set<string>(), hasWaiting: false };
    this.#told = told;
    let result: T;
    try {
      result = this.store.transaction(() => {
        const value = body();
        for (const id of told.runs) {
          const live = this.#runs.get(id);
          if (live !== undefined) this.store.putRun(live.record);
        }
        return value;
      });
    } catch (error) {
      this.#runs.clear(); // memory may differ from the database now: runs are read again
      throw error;
    } finally {
      this.#told = undefined;
    }
    for (const listener of this.#listeners) {
      for (const [runId, entries] of told.entries) listener.onEntries(runId, entries);
      for (const id of told.runs) {
        const run = this.run(id);
        if (run !== undefined) listener.onRun(run);
      }
      if (told.hasWaiting) listener.onWaiting();
      listener.onStored?.();
    }
    return result;
  }

  /** Opens a run, or changes its fields. */
  openRun({ id, project, name, source, ...fields }: NewRun): void {
    this.change(() => {
      const live = this.#live(id);
      const shown = { project: project.slice(0, MAX_TEXT), name: name.slice(0, MAX_TEXT) };
      if (live?.record.source === 'otlp' && source !== 'otlp') {
        // The run was known from its spans alone, until its program told of it.
        live.setEnded(false);
        live.change({ source });
      }
      if (live !== undefined) live.change({ ...shown, ...fields });
      else this.#runs.set(id, LiveRun.create({ id, source, createdAt: this.#time(), ...shown, ...fields }));
      this.#mark(id);
    });
  }

  updateRun(id: string, changes: Partial<StudioRun>): void {
    this.change(() => {
      this.#live(id)?.change(changes);
      this.#mark(id);
    });
  }

  /** Takes items of a program. Items of unknown runs are ignored. */
  ingest(program: ProgramIdentity, items: readonly ProgramItem[], dropped: number): void {
    this.change(() => {
      const seen = new Set<string>();
      for (const item of items) {
        if (item.kind === 'run') this.#openProgramRun(program, item);
        const live = this.#live(item.runId);
        if (live === undefined) continue;
        seen.add(item.runId);
        this.#take(live, item);
        this.#mark(item.runId);
      }
      const [first] = seen;
      if (dropped > 0 && first !== undefined) {
        const live = this.#live(first);
        live?.change({ dropped: live.record.dropped + dropped });
        this.addEntry(first, { kind: 'dropped', count: dropped });
      }
    });
  }

  /** Adds an entry to the tape of a run. @returns its number */
  addEntry(runId: string, body: EntryBody): number {
    return this.change(() => {
      const live = this.#live(runId);
      if (live === undefined) return 0;
      const seq = live.record.lastSeq + 1;
      const at = this.#time();
      const kept = withoutMedia(body, ({ id, mediaType, bytes }) =>
        this.store.putFile(runId, id, mediaType, bytes),
      );
      const text = JSON.stringify({ ...(kept as EntryBody), seq, at });
      const entry = readStored<RunEntry>(redactKeys(text)); // once, whoever sent it
      live.change({ lastSeq: seq, updatedAt: at });
      this.store.putEntry(runId, entry);
      this.#mark(runId);
      const told = this.#told?.entries.get(runId);
      if (told === undefined) this.#told?.entries.set(runId, [entry]);
      else told.push(entry);
      return seq;
    });
  }

  /**
   * Adds a message of an AgentScope program. While it grows, the program sends it whole each time: the recording keeps its first form and its
   * newest one.
   */
  addMessage(runId: string, reply: { id: string; name: string; role: string }, msg: MsgJson): void {
    this.change(() => {
      const live = this.#live(runId);
      if (live === undefined) return;
      const text = redactKeys(textOf(msg.content));
      const known = live.pushed.get(msg.id);
      live.change({
        messages: live.record.messages + (known === undefined ? 1 : 0),
        preview: firstLine(text),
        rootAgent: live.record.rootAgent ?? reply.name,
      });
      this.store.addRunText(runId, text, known?.text);
      if (known?.seq !== undefined) this.store.deleteEntry(runId, known.seq);
      const seq = this.addEntry(runId, {
        kind: 'message',
        replyId: reply.id,
        replyName: reply.name,
        replyRole: reply.role,
        msg,
      });
      live.pushed.delete(msg.id);
      live.pushed.set(msg.id, {
        seq: known === undefined ? undefined : seq,
        text: text.slice(0, MAX_PUSHED_CHARS),
      });
      if (live.pushed.size > MAX_PUSHED) live.pushed.delete(live.pushed.keys().next().value ?? '');
    });
  }

  /** Sets whether a program is there. Without it, nothing of its runs goes on, and nothing can be decided. */
  setConnected(runIds: Iterable<string>, isConnected: boolean, reason?: string): void {
    this.change(() => {
      for (const runId of runIds) {
        const live = this.#live(runId);
        if (live === undefined || live.record.isConnected === isConnected) continue;
        const wasOver = live.record.status === 'done' || live.record.status === 'failed';
        const can = { ...live.record.can, stepIn: isConnected, send: isConnected };
        if (!isConnected) {
          live.stopAll();
          this.#endWaiting(runId, () => true, 'gone', 'the program has left');
        }
        live.change({ isConnected, can });
        if (isConnected) this.addEntry(runId, { kind: 'program', state: 'connected' });
        else if (!wasOver)
          this.addEntry(runId, { kind: 'program', state: 'lost', ...(reason && { reason }) });
        this.#mark(runId);
      }
    });
  }

  endRun(runId: string): void {
    this.change(() => {
      const live = this.#live(runId);
      if (live === undefined) return;
      this.#endWaiting(runId, () => true, 'gone', 'the run has ended');
      live.setEnded(true);
      this.addEntry(runId, { kind: 'program', state: 'ended' });
    });
  }

  /** Marks a run as unfinished, with a connected program. */
  reopenRun(runId: string): void {
    this.change(() => {
      const live = this.#live(runId);
      if (live === undefined) return;
      const isNew = !live.record.isConnected || live.record.status === 'done';
      live.setEnded(false);
      live.change({ isConnected: true });
      this.#mark(runId);
      if (isNew) this.addEntry(runId, { kind: 'program', state: 'connected' });
    });
  }

  deleteRuns(ids: readonly string[]): number {
    const deleted = this.change(() => ids.filter((id) => this.store.deleteRun(id)));
    for (const id of deleted) this.#runs.delete(id);
    if (deleted.length === 0) return 0;
    for (const listener of this.#listeners) {
      listener.onRunsDeleted(deleted);
      listener.onWaiting();
    }
    return deleted.length;
  }

  /** Adds a question or an approval, or changes its state. @param agentId agent that takes the decision */
  putWaiting(waiting: Waiting, agentId: string): void {
    this.change(() => {
      this.store.putWaiting(waiting, agentId);
      this.addEntry(waiting.runId, { kind: 'waiting', waiting });
      const open = this.store.openWaiting(waiting.runId).length;
      this.#live(waiting.runId)?.change({ waiting: open });
      if (this.#told !== undefined) this.#told.hasWaiting = true;
    });
  }

  /** Changes the state of a record that waits. */
  setWaitingState(
    { waiting, agentId }: { waiting: Waiting; agentId: string },
    state: WaitingState,
    details: Partial<Pick<ApprovalWaiting, 'outcome' | 'decidedBy' | 'editedInput'>> = {},
  ): void {
    this.change(() => {
      const changedAt = this.#time();
      if (OPEN.includes(waiting.state) && !OPEN.includes(state)) {
        const waited = Math.max(0, Date.parse(changedAt) - Date.parse(waiting.askedAt));
        this.#live(waiting.runId)?.addWait(waited);
      }
      this.putWaiting({ ...waiting, ...details, state, changedAt }, agentId);
    });
  }

  #openProgramRun(program: ProgramIdentity, { runId, run }: ProgramItem & { kind: 'run' }): void {
    const { library, protocol, pid, host } = program;
    const known = this.#live(runId)?.record.source;
    const at = Date.parse(run.createdAt);
    this.openRun({
      id: runId,
      project: run.project,
      name: run.name,
      source: known === undefined || known === 'otlp' ? 'program' : known,
      ...(known === undefined &&
        Number.isFinite(at) && { createdAt: new Date(at).toISOString(), updatedAt: this.#time() }),
      program: { library, protocol, ...(pid !== undefined && { pid }), ...(host !== undefined && { host }) },
    });
  }

  #take(live: LiveRun, item: ProgramItem): void {
    const { runId } = item;
    switch (item.kind) {
      case 'run':
        return;
      case 'run_end':
        return this.endRun(runId);
      case 'agent':
        return this.store.putAgent(runId, {
          ...item.agent,
          hubs: item.agent.hubs ?? [],
          isRunning: false,
          isReachable: true,
        } satisfies AgentInfo);
      case 'input': {
        const messages = item.input.messages as readonly object[] as readonly MsgJson[];
        if (item.input.agentPath.length === 1) {
          live.change({ messages: live.record.messages + messages.length });
          for (const { content } of messages) this.store.addRunText(runId, redactKeys(textOf(content)));
        }
        this.addEntry(runId, { kind: 'input', ...item.input, messages });
        return;
      }
      case 'event':
        return this.#takeEvent(live, item.event, item.agentId);
      case 'prompt':
        return this.#takePrompt(live, item.prompt);
      case 'inside': {
        const { agentId, data, leftOut } = item.inside;
        const seq = this.addEntry(runId, { kind: 'snapshot', agentId });
        return this.store.putInside(runId, agentId, seq, redactKeys(JSON.stringify({ ...data, leftOut })));
      }
      case 'pending':
        return this.#takePending(runId, item);
      case 'question': {
        const { question } = item;
        if (this.store.waiting(runId, question.id)?.waiting.state === 'waiting') return;
        const at = this.#time();
        const { id, agentId, agentName, agentPath, about, schema } = question;
        const base = { id, runId, runName: live.record.name, agentPath, askedAt: at, changedAt: at } as const;
        return this.putWaiting(
          {
            ...base,
            kind: 'question',
            state: 'waiting',
            agentId,
            agentName,
            ...(about !== undefined && { about }),
            schema,
          },
          agentId,
        );
      }
      case 'question_end':
        return this.#endWaiting(
          runId,
          ({ id }) => id === item.id,
          item.outcome === 'answered' ? 'decided' : 'gone',
          item.outcome,
        );
    }
  }

  #takeEvent(live: LiveRun, event: AgentEvent, agentId: string): void {
    const runId = live.record.id;
    live.addEvent(event, agentId, redactKeys);
    this.addEntry(runId, { kind: 'event', event, agentId });
    const agent = event.agentPath.at(-1) ?? '';
    const { project } = live.record;
    const at = this.#now();
    if (event.type === 'run_end' && event.msg !== undefined)
      this.store.addRunText(runId, redactKeys(textOf(event.msg.content)));
    if (event.type === 'model_end') {
      this.#endPrompt(live, event);
      const { usage, durationMs, modelName, status } = event;
      const tokens = {
        input: usage?.inputTokens ?? 0,
        output: usage?.outputTokens ?? 0,
        cached: usage?.cachedTokens ?? 0,
        cost: usage?.cost ?? 0,
      };
      const isError = status === 'failed';
      this.store.addCall(runId, {
        at,
        project,
        kind: 'model',
        name: modelName,
        agent,
        isError,
        durationMs,
        ...tokens,
      });
    } else if (event.type === 'tool_result') {
      const isError = event.result.status === 'error';
      const { durationMs } = event;
      const tokens = { input: 0, output: 0, cached: 0, cost: 0 };
      this.store.addCall(runId, {
        at,
        project,
        kind: 'tool',
        name: event.call.name,
        agent,
        isError,
        durationMs,
        ...tokens,
      });
    }
  }

  #takePrompt(live: LiveRun, facts: PromptFacts): void {
    const runId = live.record.id;
    for (const [hash, part] of Object.entries(facts.parts))
      this.store.putPart(runId, hash, redactKeys(JSON.stringify(part)));
    if (live.prompts === 0) live.prompts = this.store.prompts(runId).at(-1)?.n ?? 0;
    const n = ++live.prompts;
    const { callId, replyId, agentId, agentPath, purpose, modelName, messages, tools, settings } = facts;
    const bytes = [...tools, ...messages].reduce(
      (sum, hash) => sum + (this.store.part(runId, hash)?.length ?? 0),
      0,
    );
    const counts = { messages: messages.length, tools: tools.length, bytes };
    const info: PromptInfo = { n, callId, agentId, agentPath, purpose, modelName, ...counts };
    const seq = this.addEntry(runId, { kind: 'prompt', prompt: info });
    live.openPrompts.set(replyId, n);
    const hashes = { toolHashes: tools, messageHashes: messages };
    this.store.putPrompt(runId, { ...info, seq, at: this.#time(), settings, ...hashes });
  }

  #endPrompt(live: LiveRun, event: AgentEvent & { type: 'model_end' }): void {
    const n = live.openPrompts.get(event.replyId);
    const prompt = n === undefined ? undefined : this.store.prompt(live.record.id, n);
    if (prompt === undefined) return;
    live.openPrompts.delete(event.replyId);
    const { usage, durationMs, status, msgId } = event;
    this.store.putPrompt(live.record.id, {
      ...prompt,
      durationMs,
      status,
      ...(usage && { usage }),
      ...(msgId && { msgId }),
    });
  }

  #takePending(runId: string, { agentId, pending, schemas }: ProgramItem & { kind: 'pending' }): void {
    const ids = new Set(pending.map(({ id }) => id));
    const isOver = (waiting: Waiting, owner: string): boolean =>
      waiting.kind === 'approval' && owner === agentId && !ids.has(waiting.id);
    this.#endWaiting(runId, isOver, 'decided', 'decided in the program');
    const runName = this.run(runId)?.name ?? '';
    for (const call of pending) {
      const known = this.store.waiting(runId, call.id);
      if (known?.waiting.state === 'waiting') {
        if (known.agentId !== agentId) this.store.putWaiting(known.waiting, agentId); // the agent was made anew
        continue;
      }
      const at = this.#time();
      const schema = schemas[call.call.name] as JsonObject | undefined;
      const { agentPath } = call;
      const base = { id: call.id, runId, runName, agentPath, askedAt: at, changedAt: at } as const;
      const argsHash = argumentsHash(call);
      this.putWaiting(
        { ...base, kind: 'approval', state: 'waiting', pending: call, argsHash, ...(schema && { schema }) },
        agentId,
      );
    }
  }

  /** Ends open records. A record that was sent keeps its own outcome. */
  #endWaiting(
    runId: string,
    isMeant: (waiting: Waiting, agentId: string) => boolean,
    state: 'decided' | 'gone',
    outcome: string,
  ): void {
    for (const record of this.store.openWaiting(runId)) {
      if (!isMeant(record.waiting, record.agentId)) continue;
      this.setWaitingState(record, state, { outcome: record.waiting.outcome ?? outcome });
    }
  }

  #live(id: string): LiveRun | undefined {
    const known = this.#runs.get(id);
    if (known !== undefined) return known;
    const stored = this.store.run(id);
    if (stored === undefined) return undefined;
    const live = new LiveRun(stored);
    this.#runs.set(id, live);
    return live;
  }

  #mark(id: string): void {
    this.#told?.runs.add(id);
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}

/** Hash of the tool, the arguments and the question that a person sees. */
export function argumentsHash({ call, question }: PendingCall): string {
  return createHash('sha256')
    .update(JSON.stringify([call.name, call.input, question]))
    .digest('hex')
    .slice(0, 32);
}
