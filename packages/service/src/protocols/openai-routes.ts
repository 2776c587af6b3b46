import { Msg, type JsonObject } from 'troupe';

import type { Route, RouteRequest } from '../http/route.ts';
import { sseResponse } from '../http/sse-response.ts';
import type { AgentTable } from '../runs/served-agent.ts';
import { ServiceFailure } from '../service-failure.ts';
import type { RunRecord } from '../store/run-record.ts';
import { EventReader, type RunSink } from './event-reader.ts';
import { newConversation, startProtocolRun, textOf, type ProtocolParts } from './protocol-run.ts';

const COMPLETION = {
  type: 'object',
  properties: {
    model: { type: 'string', minLength: 1 },
    messages: { type: 'array', items: { type: 'object' }, minItems: 1, maxItems: 10_000 },
    stream: { type: ['boolean', 'null'] },
    stream_options: { type: ['object', 'null'] },
    metadata: { type: ['object', 'null'] },
  },
  required: ['model', 'messages'],
};

interface ChatMessage {
  readonly role?: unknown;
  readonly content?: unknown;
}

/**
 * Routes for programs that speak to OpenAI: the agent is the model. The header `x-session-id`, or `session_id` in `metadata`, binds
 * requests to a session, which then has the history; without one each request has a session of its own, with the messages it sends.
 * Tools of the agent run on the server and are not shown: a client would try to run them.
 */
export function openAiRoutes(parts: ProtocolParts, agents: AgentTable): readonly Route[] {
  return [
    {
      method: 'get',
      path: '/v1/models',
      summary: 'List the agents as models',
      status: 200,
      answer: { type: 'object' },
      failure: openAiFailure,
      handle: async () => ({
        object: 'list',
        data: agents.names.map((id) => ({ id, object: 'model', created: 0, owned_by: 'troupe' })),
      }),
    },
    {
      method: 'post',
      path: '/v1/chat/completions',
      summary: 'Run an agent as a chat completion',
      body: COMPLETION,
      status: 200,
      answer: { type: 'object' },
      failure: openAiFailure,
      handle: (request) => complete(request, parts),
    },
  ];
}

async function complete(
  { caller, body, headers, signal }: RouteRequest,
  parts: ProtocolParts,
): Promise<Response | object> {
  const messages = body['messages'] as readonly ChatMessage[];
  const metadata = (body['metadata'] ?? {}) as { readonly session_id?: unknown };
  const bound =
    headers.get('x-session-id') ??
    (typeof metadata.session_id === 'string' ? metadata.session_id : undefined);
  const model = String(body['model']);
  const fresh =
    bound === undefined
      ? messages
      : messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const key = headers.get('idempotency-key') ?? undefined;
  const run = await startProtocolRun(parts, {
    user: caller.user,
    agent: model,
    conversation: bound ?? newConversation('completion', model, key),
    msgs: fresh.flatMap(toMsg),
    key,
  });
  const options = (body['stream_options'] ?? {}) as { readonly include_usage?: boolean };
  const chunks = new CompletionChunks(run, model, options.include_usage === true);
  const reader = new EventReader(chunks);
  if (body['stream'] === true)
    return sseResponse(
      (signal) => parts.log.follow(run.id, 0, signal),
      (events) => {
        reader.read(events);
        return chunks.take();
      },
    );
  for await (const events of parts.log.follow(run.id, 0, signal)) reader.read(events);
  return chunks.whole();
}

/** A message of the client. Instructions of the client are left out: the agent has its own. */
export function toMsg({ role, content }: ChatMessage): JsonObject[] {
  const text = textOf(content);
  if (text === '') return [];
  if (role === 'user') return [Msg.user(text).toJSON()];
  return role === 'assistant' ? [Msg.assistant(text).toJSON()] : [];
}

/** A failure as the client of OpenAI reads it. `x-should-retry` keeps it from starting a run again that was refused or has failed. */
export function openAiFailure({ status, code, message, retryAfter }: ServiceFailure): Response {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  const headers: Record<string, string> = { 'x-should-retry': String(status === 429 || code === 'closing') };
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  return Response.json({ error: { message, type, param: null, code } }, { status, headers });
}

/** Chunks of a chat completion: the text of all model messages, thinking as `reasoning_content`, a question as text. */
class CompletionChunks implements RunSink {
  readonly #base: { readonly id: string; readonly created: number; readonly model: string };
  readonly #includesUsage: boolean;
  readonly #thinking = new Set<string>();
  #frames = '';
  #answer = '';
  #question = '';
  #usage: object = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  #failure: ServiceFailure | undefined;

  constructor({ id, createdAt }: RunRecord, model: string, includesUsage: boolean) {
    this.#base = { id: `chatcmpl-${id}`, created: Math.floor(createdAt / 1000), model };
    this.#includesUsage = includesUsage;
    this.#chunk({ role: 'assistant', content: '' });
  }

  take(): string {
    const frames = this.#frames;
    this.#frames = '';
    return frames;
  }

  /** The completion without streaming. @throws ServiceFailure if the run failed */
  whole(): object {
    if (this.#failure !== undefined) throw this.#failure;
    const message = { role: 'assistant', content: this.#answer, refusal: null };
    const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }];
    return { ...this.#base, object: 'chat.completion', choices, usage: this.#usage };
  }

  msg(): void {
    if (this.#answer !== '') this.#say('\n\n');
  }

  open(id: string, kind: 'text' | 'thinking' | 'tool'): void {
    if (kind === 'thinking') this.#thinking.add(id);
    else if (kind === 'tool') this.#tools.add(id);
  }

  delta(id: string, text: string): void {
    if (this.#tools.has(id)) return;
    if (this.#thinking.has(id)) this.#chunk({ reasoning_content: text });
    else this.#say(text);
  }

  close(): void {}

  result(): void {}

  pending({ call, reason }: Parameters<RunSink['pending']>[0]): void {
    this.#question += `\nApproval is needed for ${call.name}${reason === undefined ? '' : `: ${reason}`}. Decide in a client that shows approvals.`;
  }

  end({ status, error }: Parameters<RunSink['end']>[0], usage: Parameters<RunSink['end']>[1]): void {
    if (usage !== undefined) {
      const { inputTokens, outputTokens } = usage;
      this.#usage = {
        prompt_tokens: inputTokens,
        completion_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
      };
    }
    if (status === 'failed') {
      this.#failure = new ServiceFailure('run_failed', error?.message ?? 'The run failed.');
      const problem = {
        message: this.#failure.message,
        type: 'server_error',
        param: null,
        code: error?.code ?? null,
      };
      this.#frames += `data: ${JSON.stringify({ error: problem })}\n\n`;
      return;
    }
    if (this.#question !== '') this.#say(this.#question);
    this.#chunk({}, 'stop');
    if (this.#includesUsage)
      this.#frame({ ...this.#base, object: 'chat.completion.chunk', choices: [], usage: this.#usage });
    this.#frames += 'data: [DONE]\n\n';
  }

  readonly #tools = new Set<string>();

  #say(text: string): void {
    this.#answer += text;
    this.#chunk({ content: text });
  }

  #chunk(delta: object, finishReason: string | null = null): void {
    const choices = [{ index: 0, delta, finish_reason: finishReason, logprobs: null }];
    this.#frame({ ...this.#base, object: 'chat.completion.chunk', choices });
  }

  #frame(value: object): void {
    this.#frames += `data: ${JSON.stringify(value)}\n\n`;
  }
}
