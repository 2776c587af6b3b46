import type { AgentEvent, EventError, JsonObject, RunStatus } from 'troupe';
import { ConversationView } from 'troupe/events';

import type { ActionRecord, PromptInfo, RunEntry, Waiting } from '../../../src/protocol.ts';

/** First and last entry of a message or a tool call. */
export interface Place {
  readonly seq: number;
  readonly at: string;
  lastSeq: number;
  lastAt: string;
}

export interface ToolTimes extends Place {
  isRunning: boolean;
  durationMs?: number;
}

/** The tool call under which the messages of a reply are folded. */
export interface ReplyParent {
  readonly parentPath: readonly string[];
  readonly toolCallId: string;
}

/** A line in the conversation that is no message. */
export type Notice = { readonly seq: number; readonly at: string } & (
  | { readonly kind: 'action'; readonly action: ActionRecord }
  | { readonly kind: 'error'; readonly error: EventError; readonly agentPath: readonly string[] }
  | {
      readonly kind: 'compression';
      readonly agentPath: readonly string[];
      readonly count: number;
      readonly before: number;
      readonly after: number | undefined;
    }
  | { readonly kind: 'dropped'; readonly count: number }
  | { readonly kind: 'gap'; readonly from: number; readonly to: number }
  | { readonly kind: 'program'; readonly state: 'ended' | 'lost'; readonly reason: string | undefined }
  | { readonly kind: 'ended'; readonly status: RunStatus; readonly agentPath: readonly string[] }
);

export type NoticeKind = Notice['kind'];

/** An agent that has appeared in the run, in the order of appearance. */
export interface CastMember {
  readonly key: string;
  readonly path: readonly string[];
  /** Number of the colour, from 0. The same name has the same colour. */
  readonly colour: number;
  isRunning: boolean;
  /** Status of the last reply. */
  status: RunStatus | undefined;
  /** Tool that runs, or `model`. */
  doing: string | undefined;
  agentId: string | undefined;
}

/** One frame of the tape: an entry at which the page can stop to look. */
export interface Frame {
  readonly seq: number;
  readonly at: string;
  readonly kind: 'input' | 'message' | 'tool' | 'result' | 'failed' | 'wait' | 'action' | 'end';
  readonly colour: number;
  /** Whether a turn of the outermost agent begins here. */
  readonly isTurn: boolean;
}

const NO_COLOUR = -1;

export function keyOf(path: readonly string[]): string {
  return path.join(' › ');
}

export function callKeyOf(path: readonly string[], toolCallId: string): string {
  return `${keyOf(path)}:${toolCallId}`;
}

/**
 * Folds the entries of a run into everything the page shows of it. Messages are folded by the library's `ConversationView`; the rest here is
 * about places, notices, agents and frames. Constant time for each entry.
 */
export class TapeFold {
  readonly conversation = new ConversationView();
  /** By message id. */
  readonly places = new Map<string, Place>();
  /** By `callKeyOf`. */
  readonly tools = new Map<string, ToolTimes>();
  /** By reply id. */
  readonly parents = new Map<string, ReplyParent>();
  readonly notices: Notice[] = [];
  readonly waiting = new Map<string, Waiting>();
  readonly cast = new Map<string, CastMember>();
  readonly prompts: PromptInfo[] = [];
  readonly frames: Frame[] = [];
  /** Last plan by agent. */
  readonly plans = new Map<string, JsonObject | null>();
  /** Number of the last model call by message id. */
  readonly promptOfMsg = new Map<string, number>();
  lastSeq = 0;
  lastAt = '';
  readonly #colours = new Map<string, number>();
  readonly #openPrompts = new Map<string, number>();
  #firstSeq: number | undefined;

  /** Number of the first entry that was added. */
  get firstSeq(): number {
    return this.#firstSeq ?? 0;
  }

  add(entry: RunEntry): void {
    this.#firstSeq ??= entry.seq;
    this.lastSeq = entry.seq;
    this.lastAt = entry.at;
    switch (entry.kind) {
      case 'event':
        return this.#event(entry.event, entry);
      case 'input':
        return this.#input(entry);
      case 'message': {
        const { msg, replyName } = entry;
        this.conversation.addMsg({ ...msg, agentPath: msg.role === 'user' ? [] : [replyName] });
        if (msg.role !== 'user') this.#member([replyName]);
        if (this.#place(msg.id, entry)) this.#frame(entry, 'message', msg.role === 'user' ? [] : [replyName]);
        return;
      }
      case 'waiting': {
        const { waiting } = entry;
        if (!this.waiting.has(waiting.id)) this.#frame(entry, 'wait', waiting.agentPath);
        return void this.waiting.set(waiting.id, waiting);
      }
      case 'action':
        this.#frame(entry, 'action', []);
        return void this.notices.push({ seq: entry.seq, at: entry.at, kind: 'action', action: entry.action });
      case 'prompt':
        this.prompts.push(entry.prompt);
        return void this.#openPrompts.set(keyOf(entry.prompt.agentPath), entry.prompt.n);
      case 'dropped':
        return void this.notices.push({ seq: entry.seq, at: entry.at, kind: 'dropped', count: entry.count });
      case 'program': {
        const { seq, at, state, reason } = entry;
        if (state === 'lost') for (const member of this.cast.values()) member.isRunning = false;
        if (state !== 'connected') this.notices.push({ seq, at, kind: 'program', state, reason });
        return;
      }
      case 'snapshot':
      default: // kinds of later versions
    }
  }

  /** Notes that entries are missing. */
  addGap(from: number, to: number): void {
    this.notices.push({ seq: to, at: this.lastAt, kind: 'gap', from, to });
  }

  colourOf(path: readonly string[]): number {
    const name = path.at(-1);
    return name === undefined ? NO_COLOUR : (this.#colours.get(name) ?? NO_COLOUR);
  }

  #input(entry: Extract<RunEntry, { kind: 'input' }>): void {
    const { agentPath, toolCallId, replyId, messages, agentId } = entry;
    this.#member(agentPath).agentId = agentId;
    if (toolCallId !== undefined) {
      this.parents.set(replyId, { parentPath: agentPath.slice(0, -1), toolCallId });
      return;
    }
    let isNew = false;
    for (const msg of messages) {
      if (this.places.has(msg.id)) continue; // printed by another agent before
      const agentPathOfMsg = msg.role === 'assistant' ? [msg.name] : [];
      if (msg.role === 'assistant') this.#member(agentPathOfMsg);
      this.conversation.addMsg({ ...msg, agentPath: agentPathOfMsg });
      isNew = this.#place(msg.id, entry) || isNew;
    }
    if (isNew) this.frames.push({ seq: entry.seq, at: entry.at, kind: 'input', colour: -1, isTurn: true });
  }

  #event(event: AgentEvent, { seq, at, agentId }: Extract<RunEntry, { kind: 'event' }>): void {
    this.conversation.add(event);
    const { agentPath } = event;
    const member = this.#member(agentPath);
    member.agentId ??= agentId;
    const where = { seq, at };
    switch (event.type) {
      case 'reply_start':
        member.isRunning = true;
        member.status = undefined;
        return;
      case 'reply_end':
      case 'run_end':
        member.isRunning = false;
        member.doing = undefined;
        member.status = event.status;
        if (event.type === 'run_end') this.#endRun(event, where);
        return;
      case 'model_start':
        member.isRunning = true;
        return void (member.doing = 'model');
      case 'model_end':
        return void (member.doing = undefined);
      case 'block_start':
      case 'text_delta':
      case 'thinking_delta':
      case 'tool_input_delta':
      case 'audio_delta':
      case 'block_end': {
        if (!this.#place(event.msgId, where)) return;
        this.#frame(where, 'message', agentPath);
        const prompt = this.#openPrompts.get(member.key);
        if (prompt !== undefined) this.promptOfMsg.set(event.msgId, prompt);
        return;
      }
      case 'tool_start':
        member.doing = event.call.name;
        this.tools.set(callKeyOf(agentPath, event.call.id), {
          ...where,
          lastSeq: seq,
          lastAt: at,
          isRunning: true,
        });
        return this.#frame(where, 'tool', agentPath);
      case 'tool_result': {
        member.doing = undefined;
        const key = callKeyOf(agentPath, event.call.id);
        const times = this.tools.get(key) ?? { ...where, lastSeq: seq, lastAt: at, isRunning: false };
        Object.assign(times, {
          isRunning: false,
          durationMs: event.durationMs,
          lastSeq: seq,
          lastAt: at,
        } satisfies Partial<ToolTimes>);
        this.tools.set(key, times);
        const isBad = event.result.status === 'error' || event.result.status === 'unavailable';
        return this.#frame(where, isBad ? 'failed' : 'result', agentPath);
      }
      case 'error':
        return void this.notices.push({ ...where, kind: 'error', error: event.error, agentPath });
      case 'compression':
        if (event.phase === 'end')
          this.notices.push({
            ...where,
            kind: 'compression',
            agentPath,
            count: event.compressedMessageCount,
            before: event.tokensBefore,
            after: event.tokensAfter,
          });
        return;
      case 'plan_change':
        return void this.plans.set(member.key, event.plan);
      default: // events that the page takes from other records
    }
  }

  #endRun(event: Extract<AgentEvent, { type: 'run_end' }>, where: { seq: number; at: string }): void {
    const { status, error, agentPath, msg } = event;
    if (msg !== undefined) this.#place(msg.id, where);
    if (error !== undefined) this.notices.push({ ...where, kind: 'error', error, agentPath });
    else if (status === 'interrupted' || status === 'aborted')
      this.notices.push({ ...where, kind: 'ended', status, agentPath });
    this.#frame(where, status === 'failed' ? 'failed' : 'end', agentPath);
  }

  /** Notes an entry of a message. Returns true for the first. */
  #place(id: string, { seq, at }: { seq: number; at: string }): boolean {
    const place = this.places.get(id);
    if (place === undefined) this.places.set(id, { seq, at, lastSeq: seq, lastAt: at });
    else {
      place.lastSeq = seq;
      place.lastAt = at;
    }
    return place === undefined;
  }

  #frame({ seq, at }: { seq: number; at: string }, kind: Frame['kind'], path: readonly string[]): void {
    this.frames.push({ seq, at, kind, colour: this.colourOf(path), isTurn: false });
  }

  #member(path: readonly string[]): CastMember {
    const key = keyOf(path);
    const known = this.cast.get(key);
    if (known !== undefined) return known;
    const name = path.at(-1) ?? '';
    const colour = this.#colours.get(name) ?? this.#colours.size;
    this.#colours.set(name, colour);
    const member: CastMember = {
      key,
      path,
      colour,
      isRunning: false,
      status: undefined,
      doing: undefined,
      agentId: undefined,
    };
    this.cast.set(key, member);
    return member;
  }
}
