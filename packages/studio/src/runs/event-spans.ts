import type { AgentEvent } from 'troupe';

import type { RunEntry, Span } from '../protocol.ts';

type OpenSpan = { -readonly [key in keyof Span]: Span[key] };

/** Makes spans of the events of a run: agent calls, model calls, tool calls, and the time in which a person was asked. */
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
        const outer = agentPath.slice(0, -1).join('/');
        const parent =
          toolCall === undefined ? undefined : this.#open.get(`tool ${traceId} ${outer} ${toolCall}`);
        this.#start(reply, {
          ...start,
          name: event.name,
          kind: 'agent',
          ...(parent && { parentId: parent.id }),
        });
        return;
      }
      case 'reply_end':
        return this.#end(
          reply,
          at,
          statusOf(event.status),
          event.msgId === undefined ? {} : { msgId: event.msgId },
        );
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
        return this.#end(`tool ${traceId} ${path} ${event.call.id}`, at, shown);
      }
      default:
    }
  }

  #start(key: string, span: Omit<OpenSpan, 'id' | 'status' | 'attributes' | 'events'>): void {
    const made: OpenSpan = {
      ...span,
      id: `e${span.seq ?? 0}`,
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
