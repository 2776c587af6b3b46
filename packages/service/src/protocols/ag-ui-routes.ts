import type { JsonObject, PendingCall, PendingDecision } from 'troupe';

import type { Route, RouteRequest } from '../http/route.ts';
import { sseResponse } from '../http/sse-response.ts';
import { EventReader, outputText, type RunSink } from './event-reader.ts';
import {
  decisionWith,
  isObject,
  startProtocolRun,
  textOf,
  userMsg,
  type ProtocolParts,
} from './protocol-run.ts';

const RUN_INPUT = {
  type: 'object',
  properties: {
    threadId: { type: 'string', minLength: 1, maxLength: 256 },
    runId: { type: 'string', minLength: 1, maxLength: 256 },
    messages: {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: { type: 'string', maxLength: 256 }, role: { type: 'string' } },
      },
      maxItems: 10_000,
    },
    protocolVersion: { type: ['string', 'null'] },
    resume: {
      type: ['array', 'null'],
      items: {
        type: 'object',
        properties: {
          interruptId: { type: 'string' },
          status: { enum: ['resolved', 'cancelled'] },
          payload: { type: ['object', 'null'] },
        },
        required: ['interruptId', 'status'],
      },
    },
  },
  required: ['threadId', 'runId', 'messages'],
};

interface AgUiMessage {
  readonly id?: string;
  readonly role?: string;
  readonly content?: unknown;
}

interface Resume {
  readonly interruptId?: string;
  readonly status?: string;
  readonly payload?: JsonObject | null;
}

/** Route for clients of AG-UI, 1.0 and the 0.0 line: a request without `protocolVersion` gets only what the old line knows. */
export function agUiRoutes(parts: ProtocolParts): readonly Route[] {
  return [
    {
      method: 'post',
      path: '/ag-ui/{agent}',
      summary: 'Run an agent by AG-UI',
      body: RUN_INPUT,
      status: 200,
      mediaType: 'text/event-stream',
      handle: (request) => runAgent(request, parts),
    },
  ];
}

async function runAgent({ caller, params, body }: RouteRequest, parts: ProtocolParts): Promise<Response> {
  const messages = body['messages'] as readonly AgUiMessage[];
  const resume = (body['resume'] ?? []) as readonly Resume[];
  const [threadId, runId] = [String(body['threadId']), String(body['runId'])];
  const fresh = messages.slice(
    messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool') + 1,
  );
  const run = await startProtocolRun(parts, {
    user: caller.user,
    agent: params['agent'] ?? '',
    conversation: threadId,
    msgs: fresh
      .filter(({ role }) => role === 'user')
      .map(({ content, id }) => userMsg(textOf(content), id))
      .filter(({ content }) => content !== ''),
    ...(resume.length > 0 && { decide: (pending) => decisionsOf(resume, pending) }),
    key: `ag-ui:${runId}`,
  });
  const isOld = typeof body['protocolVersion'] !== 'string';
  const events = new AgUiEvents(threadId, runId, isOld);
  const reader = new EventReader(events);
  return sseResponse(
    (signal) => parts.log.follow(run.id, 0, signal),
    (stored) => {
      reader.read(stored);
      return events.take();
    },
  );
}

/** Decisions about tool calls that are pending; others are left out, as the protocol wants. */
function decisionsOf(resume: readonly Resume[], pending: readonly PendingCall[]): readonly PendingDecision[] {
  return resume.flatMap(({ interruptId: id, status, payload }): PendingDecision[] => {
    const call = pending.find((one) => one.id === id);
    if (id === undefined || call === undefined) return [];
    const { approved, reason, input, output, answer } = payload ?? {};
    if (call.kind !== 'approval' && status === 'resolved')
      return [decisionWith(call, call.kind === 'question' ? answer : output)];
    if (status === 'resolved' && approved === true)
      return [{ id, verdict: 'allow', ...(isObject(input) && { input }) }];
    return [{ id, verdict: 'deny', ...(typeof reason === 'string' && { reason }) }];
  });
}

/** Reasons of interrupts by the kind of pending tool call. */
const REASONS = { approval: 'tool_approval', external: 'tool_result', question: 'question' } as const;

/** Events of AG-UI. Everything that was opened is closed before the run ends: a client throws otherwise. */
class AgUiEvents implements RunSink {
  readonly #ids: { readonly threadId: string; readonly runId: string };
  readonly #isOld: boolean;
  readonly #blocks = new Map<string, { readonly kind: 'text' | 'thinking' | 'tool'; readonly id: string }>();
  readonly #interrupts: JsonObject[] = [];
  #text = '';

  constructor(threadId: string, runId: string, isOld: boolean) {
    this.#ids = { threadId, runId };
    this.#isOld = isOld;
    this.#add({ type: 'RUN_STARTED', ...this.#ids });
  }

  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  msg(): void {}

  open(
    id: string,
    kind: 'text' | 'thinking' | 'tool',
    call?: { readonly id: string; readonly name: string },
  ): void {
    this.#blocks.set(id, { kind, id: call?.id ?? id });
    if (kind === 'text') this.#add({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' });
    else if (kind === 'thinking')
      this.#add({ type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' });
    else this.#add({ type: 'TOOL_CALL_START', toolCallId: call?.id, toolCallName: call?.name });
  }

  delta(id: string, delta: string): void {
    const block = this.#blocks.get(id);
    if (block?.kind === 'text') this.#add({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta });
    else if (block?.kind === 'thinking')
      this.#add({ type: 'REASONING_MESSAGE_CONTENT', messageId: id, delta });
    else if (block !== undefined) this.#add({ type: 'TOOL_CALL_ARGS', toolCallId: block.id, delta });
  }

  close(id: string, kind: 'text' | 'thinking' | 'tool'): void {
    const block = this.#blocks.get(id);
    if (kind === 'text') this.#add({ type: 'TEXT_MESSAGE_END', messageId: id });
    else if (kind === 'thinking') this.#add({ type: 'REASONING_MESSAGE_END', messageId: id });
    else if (block !== undefined) this.#add({ type: 'TOOL_CALL_END', toolCallId: block.id });
  }

  result(result: Parameters<RunSink['result']>[0]): void {
    const content = outputText(result);
    this.#add({
      type: 'TOOL_CALL_RESULT',
      messageId: `result_${result.id}`,
      toolCallId: result.id,
      content,
      role: 'tool',
    });
  }

  pending({ id, call, kind, reason, question }: Parameters<RunSink['pending']>[0]): void {
    const message = question?.message ?? reason;
    this.#interrupts.push({
      id,
      reason: REASONS[kind],
      toolCallId: call.id,
      ...(message !== undefined && { message }),
      ...(question !== undefined && { metadata: { question: { ...question } } }),
    });
  }

  plan(plan: JsonObject | undefined): void {
    this.#add({ type: 'STATE_SNAPSHOT', snapshot: plan === undefined ? {} : { plan } });
  }

  end({ status, error }: Parameters<RunSink['end']>[0], spent: Parameters<RunSink['end']>[1]): void {
    if (status === 'failed')
      return this.#add({
        type: 'RUN_ERROR',
        message: error?.message ?? 'The run failed.',
        ...(error?.code !== undefined && { code: error.code }),
      });
    const outcome =
      this.#interrupts.length > 0
        ? { type: 'interrupt', interrupts: this.#interrupts }
        : status === 'interrupted'
          ? this.#isOld
            ? undefined
            : { type: 'cancelled' }
          : { type: 'success' };
    const { inputTokens = 0, outputTokens = 0 } = spent ?? {};
    const usage = [{ inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }];
    this.#add({
      type: 'RUN_FINISHED',
      ...this.#ids,
      ...(outcome !== undefined && { outcome }),
      ...(spent !== undefined && { usage }),
    });
  }

  #add(event: object): void {
    this.#text += `data: ${JSON.stringify(event)}\n\n`;
  }
}
