import type { AgentEvent, JsonObject, PendingCall, ToolResultBlock, Usage } from 'troupe';

import type { StoredEvent } from '../store/event-table.ts';

/** Receives a run as protocols show it: blocks of the outermost agent, tool results, questions and the end. */
export interface RunSink {
  /** A model message begins. */
  msg(msgId: string): void;
  open(
    id: string,
    kind: 'text' | 'thinking' | 'tool',
    call?: { readonly id: string; readonly name: string },
  ): void;
  delta(id: string, text: string): void;
  /** A block ends. `input`: arguments of a tool call; undefined if the tool call is void. */
  close(id: string, kind: 'text' | 'thinking' | 'tool', input?: JsonObject): void;
  result(result: ToolResultBlock): void;
  pending(call: PendingCall): void;
  /** The plan of the agent has changed; undefined: it has none any more. */
  plan?(plan: JsonObject | undefined): void;
  end(event: Extract<AgentEvent, { type: 'run_end' }>, usage: Usage | undefined): void;
}

/**
 * Reads stored events and tells a sink each thing once. After a second attempt at a run, blocks and results that were told are left out,
 * and blocks of the cut-off attempt are closed. The text of a question for an approval is left out: the protocol shows the tool call.
 */
export class EventReader {
  readonly #sink: RunSink;
  readonly #open = new Map<string, { readonly kind: 'text' | 'thinking' | 'tool'; text: string }>();
  readonly #told = new Set<string>();
  #msg: string | undefined;
  #isAsking = false;
  #usage: Usage | undefined;

  constructor(sink: RunSink) {
    this.#sink = sink;
  }

  read(events: readonly StoredEvent[]): void {
    for (const { data } of events) this.#read(JSON.parse(data) as AgentEvent);
  }

  #read(event: AgentEvent): void {
    if (event.type === 'custom' && event.name === 'attempt') return this.#closeAll();
    if (event.type === 'approval_needed') {
      this.#isAsking = true;
      return this.#sink.pending(event.pending);
    }
    if (event.agentPath.length !== 1) return;
    if (event.type === 'run_end') {
      this.#closeAll();
      return this.#sink.end(event, this.#usage);
    }
    if (event.type === 'plan_change') return this.#sink.plan?.(event.plan ?? undefined);
    if (event.type === 'usage') this.#usage = sum(this.#usage, event.usage);
    if (event.type === 'tool_result' && this.#isNew(`result ${event.call.id}`))
      this.#sink.result(event.result);
    if (this.#isAsking) return;
    if (event.type === 'block_start') this.#start(event);
    else if (event.type === 'text_delta') this.#delta(event, event.text);
    else if (event.type === 'thinking_delta') this.#delta(event, event.thinking);
    else if (event.type === 'tool_input_delta') this.#delta(event, event.json);
    else if (event.type === 'block_end')
      this.#end(idOf(event), event.block?.type === 'tool_use' ? event.block.input : undefined);
    else if (event.type === 'msg_reset') this.#closeAll();
  }

  #start(event: Extract<AgentEvent, { type: 'block_start' }>): void {
    const { blockType, toolCallId, name, msgId } = event;
    const kind = blockType === 'tool_use' ? 'tool' : blockType;
    const id = idOf(event);
    if ((kind !== 'text' && kind !== 'thinking' && kind !== 'tool') || event.sender?.role === 'user') return;
    const call = toolCallId === undefined || name === undefined ? undefined : { id: toolCallId, name };
    if ((kind === 'tool' && call === undefined) || !this.#isNew(call === undefined ? id : `call ${call.id}`))
      return;
    if (msgId !== this.#msg) this.#sink.msg(msgId);
    this.#msg = msgId;
    this.#open.set(id, { kind, text: '' });
    this.#sink.open(id, kind, call);
  }

  #delta(event: { readonly msgId: string; readonly index: number }, text: string): void {
    const block = this.#open.get(idOf(event));
    if (block === undefined) return;
    if (block.kind === 'tool') block.text += text;
    this.#sink.delta(idOf(event), text);
  }

  #end(id: string, input: JsonObject | undefined): void {
    const block = this.#open.get(id);
    if (block === undefined) return;
    this.#open.delete(id);
    this.#sink.close(id, block.kind, block.kind === 'tool' ? (input ?? parsed(block.text)) : undefined);
  }

  #closeAll(): void {
    for (const [id, { kind }] of this.#open) this.#sink.close(id, kind);
    this.#open.clear();
  }

  #isNew(what: string): boolean {
    if (this.#told.has(what)) return false;
    this.#told.add(what);
    return true;
  }
}

function idOf({ msgId, index }: { readonly msgId: string; readonly index: number }): string {
  return `${msgId}.${index}`;
}

function parsed(text: string): JsonObject | undefined {
  try {
    return JSON.parse(text === '' ? '{}' : text) as JsonObject;
  } catch {
    return undefined;
  }
}

function sum(a: Usage | undefined, b: Usage): Usage {
  return a === undefined
    ? b
    : { inputTokens: a.inputTokens + b.inputTokens, outputTokens: a.outputTokens + b.outputTokens };
}

/** The text of a tool result. */
export function outputText({ output }: ToolResultBlock): string {
  if (typeof output === 'string') return output;
  return output.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
}
