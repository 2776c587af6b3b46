import type { RunRecord } from '../store/run-record.ts';
import type { RunSink } from './event-reader.ts';

type Kind = 'text' | 'thinking' | 'tool';

interface OpenItem {
  readonly kind: Kind;
  readonly id: string;
  readonly index: number;
  text: string;
}

/**
 * A run as events of OpenAI's Responses, and as one response object. Messages and thinking are items; tools of the agent run on the
 * server and are not shown; a pending tool call is an item `mcp_approval_request`.
 */
export class ResponseEvents implements RunSink {
  readonly #response: Record<string, unknown>;
  readonly #agent: string;
  readonly #open = new Map<string, OpenItem>();
  readonly #output: object[] = [];
  #items = 0;
  #frames: string[] = [];
  #sequence = 0;

  constructor({ id, createdAt, agent }: RunRecord) {
    this.#agent = agent;
    this.#response = {
      id: `resp_${id}`,
      object: 'response',
      created_at: Math.floor(createdAt / 1000),
      model: agent,
      status: 'in_progress',
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      parallel_tool_calls: true,
      tool_choice: 'auto',
      tools: [],
      temperature: null,
      top_p: null,
      output: this.#output,
    };
    this.#add('response.created', { response: { ...this.#response, output: [] } });
    this.#add('response.in_progress', { response: { ...this.#response, output: [] } });
  }

  /** Frames since the last call, without those up to the number `after`. */
  take(after: number): string {
    const first = this.#sequence - this.#frames.length;
    const frames = this.#frames.slice(Math.max(0, after + 1 - first));
    this.#frames = [];
    return frames.join('');
  }

  whole(): object {
    return this.#response;
  }

  msg(): void {}

  open(id: string, kind: Kind): void {
    if (kind === 'tool') return;
    const item = { kind, id: `${kind === 'text' ? 'msg' : 'rs'}_${id}`, index: this.#items++, text: '' };
    this.#open.set(id, item);
    this.#add('response.output_item.added', { output_index: item.index, item: itemOf(item, 'in_progress') });
    if (kind === 'text') this.#add('response.content_part.added', { ...placeOf(item), part: partOf('') });
    else this.#add('response.reasoning_summary_part.added', { ...placeOf(item), part: summaryOf('') });
  }

  delta(id: string, delta: string): void {
    const item = this.#open.get(id);
    if (item === undefined) return;
    item.text += delta;
    if (item.kind === 'text')
      this.#add('response.output_text.delta', { ...placeOf(item), delta, logprobs: [] });
    else this.#add('response.reasoning_summary_text.delta', { ...placeOf(item), delta });
  }

  close(id: string): void {
    const item = this.#open.get(id);
    if (item === undefined) return;
    this.#open.delete(id);
    const { kind, text } = item;
    if (kind === 'text') {
      this.#add('response.output_text.done', { ...placeOf(item), text, logprobs: [] });
      this.#add('response.content_part.done', { ...placeOf(item), part: partOf(text) });
    } else {
      this.#add('response.reasoning_summary_text.done', { ...placeOf(item), text });
      this.#add('response.reasoning_summary_part.done', { ...placeOf(item), part: summaryOf(text) });
    }
    this.#done(item.index, itemOf(item, 'completed'));
  }

  result(): void {}

  pending({ id, call, kind }: Parameters<RunSink['pending']>[0]): void {
    const index = this.#items++;
    const called = { name: call.name, arguments: JSON.stringify(call.input) };
    if (kind !== 'approval') {
      const item = { id: `fc_${call.id}`, type: 'function_call', call_id: call.id, ...called };
      const place = { output_index: index, item_id: item.id };
      const start = { ...item, arguments: '', status: 'in_progress' };
      this.#add('response.output_item.added', { output_index: index, item: start });
      this.#add('response.function_call_arguments.delta', { ...place, delta: called.arguments });
      this.#add('response.function_call_arguments.done', { ...place, ...called });
      return this.#done(index, { ...item, status: 'completed' });
    }
    const item = {
      id,
      type: 'mcp_approval_request',
      ...called,
      server_label: this.#agent,
    };
    this.#add('response.output_item.added', { output_index: index, item });
    this.#done(index, item);
  }

  end({ status, error }: Parameters<RunSink['end']>[0], usage: Parameters<RunSink['end']>[1]): void {
    if (usage !== undefined) {
      const { inputTokens, outputTokens } = usage;
      this.#response['usage'] = {
        input_tokens: inputTokens,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: outputTokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: inputTokens + outputTokens,
      };
    }
    if (status === 'failed') {
      this.#response['error'] = { code: 'server_error', message: error?.message ?? 'The run failed.' };
      return this.#end('failed');
    }
    if (status !== 'interrupted') return this.#end('completed');
    this.#response['incomplete_details'] = { reason: 'interrupted' };
    this.#end('incomplete');
  }

  #end(status: 'completed' | 'incomplete' | 'failed'): void {
    this.#response['status'] = status;
    this.#add(`response.${status}`, { response: this.#response });
  }

  #done(index: number, item: object): void {
    this.#output[index] = item;
    this.#add('response.output_item.done', { output_index: index, item });
  }

  #add(type: string, event: object): void {
    const json = JSON.stringify({ type, sequence_number: this.#sequence++, ...event });
    this.#frames.push(`event: ${type}\ndata: ${json}\n\n`);
  }
}

function placeOf({ kind, id, index }: OpenItem): object {
  const inner = kind === 'text' ? { content_index: 0 } : { summary_index: 0 };
  return { item_id: id, output_index: index, ...inner };
}

function partOf(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function summaryOf(text: string): object {
  return { type: 'summary_text', text };
}

function itemOf({ kind, id, text }: OpenItem, status: 'in_progress' | 'completed'): object {
  const isDone = status === 'completed';
  return kind === 'text'
    ? { id, type: 'message', status, role: 'assistant', content: isDone ? [partOf(text)] : [] }
    : { id, type: 'reasoning', summary: isDone ? [summaryOf(text)] : [] };
}
