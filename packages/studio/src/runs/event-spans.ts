import type { AgentEvent } from 'troupe';

import type { RunEntry, Span } from '../protocol.ts';

type OpenSpan = { -readonly [key in keyof Span]: Span[key] };

/**
 * Makes spans of the events of a run: agent calls, model calls, tool calls, and the time in which a person was asked. A tool call that is
 * suspended ends with its reply; the reply that resumes it has a second span of it.
 */
export function spansOf(entries: readonly RunEntry[]): Span[] {
  const builder = new SpanBuilder();
  for (const entry of entries) builder.add(entry);
  return builder.spans;
}

class SpanBuilder {
  readonly spans: OpenSpan[] = [];
  /** Open spans, by what they are about. */
  readonly #open = new Map<string, OpenSpan>();
  /** Tool calls of agents, by reply: where nested agents belong. */
  readonly #toolCallOfReply = new Map<string, string>();
  /** Names of tool calls, by the path of their agent and their id. */
  readonly #toolNames = new Map<string, string>();
  /** Ids of open replies, by agent call and the path of their agent. */
  readonly #replies = new Map<string, string>();

  add(entry: RunEntry): void {
    if (entry.kind === 'event') this.#addEvent(entry.event, entry.seq);
    else if (entry.kind === 'input' && entry.toolCallId !== undefined)
      this.#toolCallOfReply.set(entry.replyId, entry.toolCallId);
    else if (entry.kind === 'waiting') {
      const { id, state, agentPath } = entry.waiting;
      const key = `wait ${id}`;
      const at = Date.parse(entry.at);
      if (state === 'waiting' && !this.#open.has(key)) {
        const name = entry.waiting.kind === 'approval' ? entry.waiting.pending.call.name : 'question';
        this.#start(key, { traceId: 'waiting', name, kind: 'wait', startMs: at, agentPath, seq: entry.seq });
      } else if (state === 'decided' || state === 'gone') this.#end(key, at, 'ok');
    } else if (entry.kind === 'program' && entry.state !== 'connected') {
      for (const key of this.#open.keys()) this.#end(key, Date.parse(entry.at), 'interrupted');
    }
  }

  #addEvent(event: AgentEvent, seq: number): void {
    const { runId: traceId, replyId, agentPath } = event;
    const at = Date.parse(event.timestamp);
    const path = agentPath.join('/');
    const reply = `reply ${replyId}`;
    const start = { traceId, startMs: at, agentPath, seq };
    switch (event.type) {
      case 'reply_start': {
        const toolCall = this.#toolCallOfReply.get(replyId);
        const outer = agentPath.slice(0, -1);
        const parentId = toolCall === undefined ? undefined : this.#toolSpan(start, outer, toolCall)?.id;
        this.#replies.set(`${traceId} ${path}`, replyId);
        this.#start(reply, { ...start, name: event.name, kind: 'agent', ...(parentId && { parentId }) });
        return;
      }
      case 'reply_end': {
        const status = statusOf(event.status);
        const id = this.#open.get(reply)?.id;
        for (const [key, { parentId }] of this.#open)
          if (id !== undefined && parentId === id) this.#end(key, at, status);
        this.#replies.delete(`${traceId} ${path}`);
        return this.#end(reply, at, status, event.msgId === undefined ? {} : { msgId: event.msgId });
      }
      case 'run_end':
        if (event.error !== undefined) this.#end(reply, at, 'error', { error: event.error.message });
        return;
      case 'model_start': {
        const parentId = this.#open.get(reply)?.id;
        const details = { name: event.purpose, kind: 'model', modelName: event.modelName } as const;
        this.#start(`model ${replyId} ${event.purpose}`, {
          ...start,
          ...details,
          ...(parentId && { parentId }),
        });
        return;
      }
      case 'model_end':
        return this.#end(`model ${replyId} ${event.purpose}`, at, statusOf(event.status), {
          ...(event.usage && { usage: event.usage }),
          ...(event.msgId && { msgId: event.msgId }),
          ...(event.error && { error: event.error.message }),
        });
      case 'tool_start': {
        const parentId = this.#open.get(reply)?.id;
        const { name, id: toolCallId } = event.call;
        const details = { name, kind: 'tool', toolName: name, toolCallId } as const;
        this.#toolNames.set(`${path} ${toolCallId}`, name);
        this.#start(`tool ${traceId} ${path} ${toolCallId}`, {
          ...start,
          ...details,
          ...(parentId && { parentId }),
        });
        return;
      }
      case 'tool_result': {
        const { status } = event.result;
        const shown = status === 'ok' ? 'ok' : status === 'interrupted' ? 'interrupted' : 'error';
        this.#toolSpan(start, agentPath, event.call.id);
        return this.#end(`tool ${traceId} ${path} ${event.call.id}`, at, shown);
      }
      default:
    }
  }

  /** The open span of a tool call. One of an earlier agent call gets a new span, from the start of the reply that resumes it. */
  #toolSpan(
    start: Pick<OpenSpan, 'traceId' | 'startMs' | 'seq'>,
    agentPath: readonly string[],
    toolCallId: string,
  ): OpenSpan | undefined {
    const path = agentPath.join('/');
    const key = `tool ${start.traceId} ${path} ${toolCallId}`;
    const name = this.#toolNames.get(`${path} ${toolCallId}`);
    const reply = this.#open.get(`reply ${this.#replies.get(`${start.traceId} ${path}`) ?? ''}`);
    if (this.#open.has(key) || name === undefined || reply === undefined) return this.#open.get(key);
    const details = { name, kind: 'tool', toolName: name, toolCallId, parentId: reply.id } as const;
    this.#start(key, { ...start, startMs: reply.startMs, agentPath, ...details }, 't');
    return this.#open.get(key);
  }

  #start(key: string, span: Omit<OpenSpan, 'id' | 'status' | 'attributes' | 'events'>, mark = ''): void {
    const made: OpenSpan = {
      ...span,
      id: `e${span.seq ?? 0}${mark}`,
      status: 'running',
      attributes: {},
      events: [],
    };
    this.spans.push(made);
    this.#open.set(key, made);
  }

  #end(key: string, endMs: number, status: Span['status'], details: Partial<Span> = {}): void {
    const span = this.#open.get(key);
    if (span === undefined) return;
    this.#open.delete(key);
    Object.assign(span, { endMs, status }, details);
  }
}

function statusOf(status: string): Span['status'] {
  if (status === 'finished') return 'ok';
  if (status === 'suspended' || status === 'interrupted') return status;
  return status === 'aborted' ? 'interrupted' : 'error';
}
