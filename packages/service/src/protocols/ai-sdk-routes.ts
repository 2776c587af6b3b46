import type { JsonObject, PendingDecision } from 'troupe';

import type { Route, RouteRequest } from '../http/route.ts';
import { sseResponse } from '../http/sse-response.ts';
import { isEnded, type RunRecord } from '../store/run-record.ts';
import { EventReader, outputText, type RunSink } from './event-reader.ts';
import {
  decisionWith,
  isObject,
  partsOf,
  sessionIdOf,
  startProtocolRun,
  textOf,
  textOfPart,
  userMsg,
  type ProtocolParts,
} from './protocol-run.ts';

const UI_MESSAGE = {
  type: 'object',
  properties: { id: { type: 'string', maxLength: 256 }, role: { type: 'string' }, parts: { type: 'array' } },
};
const CHAT = {
  type: 'object',
  properties: {
    id: { type: 'string', minLength: 1, maxLength: 256 },
    messages: { type: 'array', items: UI_MESSAGE, maxItems: 10_000 },
    message: UI_MESSAGE,
    trigger: { type: 'string' },
    messageId: { type: 'string' },
  },
  required: ['id'],
};
const STREAM_HEADER = 'x-vercel-ai-ui-message-stream';

interface UiMessage {
  readonly id?: string;
  readonly role?: string;
  readonly parts?: readonly unknown[];
}

/** Routes for `useChat` of the AI SDK: its UI message stream, with tool approvals, and resuming by a full replay. */
export function aiSdkRoutes(parts: ProtocolParts): readonly Route[] {
  return [
    {
      method: 'post',
      path: '/ai-sdk/{agent}',
      summary: 'Chat by the UI message stream of the AI SDK',
      body: CHAT,
      status: 200,
      mediaType: 'text/event-stream',
      handle: (request) => chat(request, parts),
    },
    {
      method: 'get',
      path: '/ai-sdk/{agent}/{chat}/stream',
      summary: 'Resume the running answer of a chat: all of its chunks again',
      status: 200,
      mediaType: 'text/event-stream',
      handle: async ({ caller, params }) => {
        const none = new Response(null, { status: 204 });
        const session = await parts.requests
          .session(caller.user, sessionIdOf(params['agent'] ?? '', params['chat'] ?? ''))
          .catch(() => undefined);
        if (session?.activeRun === undefined) return none;
        const run = await parts.requests.run(caller.user, session.activeRun).catch(() => undefined);
        return run === undefined || isEnded(run.status) ? none : stream(run, parts, undefined);
      },
    },
  ];
}

async function chat({ caller, params, body }: RouteRequest, parts: ProtocolParts): Promise<Response> {
  const messages = (body['messages'] ?? [body['message']]) as readonly UiMessage[];
  const last = messages.at(-1);
  const isUser = last?.role === 'user';
  const text = partsOf(last?.parts).map(textOfPart).join('');
  const run = await startProtocolRun(parts, {
    user: caller.user,
    agent: params['agent'] ?? '',
    conversation: String(body['id']),
    msgs: isUser && text !== '' ? [userMsg(text, last.id)] : [],
    ...(!isUser && {
      decide: (pending): readonly PendingDecision[] =>
        partsOf(last?.parts).flatMap(
          ({ state, approval, toolCallId, output, errorText }): PendingDecision[] => {
            const waiting = pending.find((one) => one.kind !== 'approval' && one.call.id === toolCallId);
            if (waiting !== undefined && state === 'output-available') return [decisionWith(waiting, output)];
            if (waiting !== undefined && state === 'output-error') {
              const { id, kind } = waiting;
              if (kind === 'question') return [{ id, verdict: 'deny' }];
              return [{ id, verdict: 'result', output: textOf(errorText), status: 'error' }];
            }
            const { id, approved, reason } = isObject(approval) ? approval : {};
            const call = pending.find((one) => one.id === id);
            if (state !== 'approval-responded' || call === undefined) return [];
            return approved === true
              ? [{ id: call.id, verdict: 'allow' }]
              : [{ id: call.id, verdict: 'deny', ...(typeof reason === 'string' && { reason }) }];
          },
        ),
    }),
    key:
      isUser && last.id !== undefined
        ? `ai-sdk:${last.id}:${typeof body['trigger'] === 'string' ? body['trigger'] : ''}`
        : undefined,
  });
  return stream(run, parts, isUser ? undefined : last?.id);
}

/** @param messageId the assistant message that a continuation goes on with */
function stream(run: RunRecord, { log }: ProtocolParts, messageId: string | undefined): Response {
  const chunks = new UiChunks(messageId ?? `msg_${run.id}`);
  const reader = new EventReader(chunks);
  const response = sseResponse(
    (signal) => log.follow(run.id, 0, signal),
    (events) => {
      reader.read(events);
      return chunks.take();
    },
  );
  response.headers.set(STREAM_HEADER, 'v1');
  return response;
}

/** Chunks of the AI SDK's UI message stream. `start-step` comes before each model message: helpers of the client go by it. */
class UiChunks implements RunSink {
  #text = '';
  #isInStep = false;
  #hasPending = false;
  readonly #names = new Map<string, { readonly id: string; readonly name: string }>();

  constructor(messageId: string) {
    this.#add({ type: 'start', messageId });
  }

  /** Frames since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  msg(): void {
    this.#endStep();
    this.#isInStep = true;
    this.#add({ type: 'start-step' });
  }

  open(
    id: string,
    kind: 'text' | 'thinking' | 'tool',
    call?: { readonly id: string; readonly name: string },
  ): void {
    if (kind !== 'tool') return this.#add({ type: kind === 'text' ? 'text-start' : 'reasoning-start', id });
    if (call === undefined) return;
    this.#names.set(id, call);
    this.#add({ type: 'tool-input-start', toolCallId: call.id, toolName: call.name, dynamic: true });
  }

  delta(id: string, text: string): void {
    const call = this.#names.get(id);
    if (call !== undefined)
      this.#add({ type: 'tool-input-delta', toolCallId: call.id, inputTextDelta: text });
    else this.#add({ type: this.#thinking.has(id) ? 'reasoning-delta' : 'text-delta', id, delta: text });
  }

  close(id: string, kind: 'text' | 'thinking' | 'tool', input?: JsonObject): void {
    if (kind !== 'tool') return this.#add({ type: kind === 'text' ? 'text-end' : 'reasoning-end', id });
    const call = this.#names.get(id);
    if (call === undefined) return;
    const tool = { toolCallId: call.id, toolName: call.name, dynamic: true };
    if (input !== undefined) this.#add({ type: 'tool-input-available', ...tool, input });
    else
      this.#add({
        type: 'tool-input-error',
        ...tool,
        input: {},
        errorText: 'The tool call was not finished.',
      });
  }

  result(result: Parameters<RunSink['result']>[0]): void {
    const tool = { toolCallId: result.id, dynamic: true };
    const text = outputText(result);
    if (result.status === 'ok') this.#add({ type: 'tool-output-available', ...tool, output: text });
    else if (result.status === 'denied') this.#add({ type: 'tool-output-denied', toolCallId: result.id });
    else this.#add({ type: 'tool-output-error', ...tool, errorText: text });
  }

  pending({ id, call, kind, reason }: Parameters<RunSink['pending']>[0]): void {
    this.#hasPending = true;
    if (kind !== 'approval') return; // the client gives the output of the tool call
    this.#add({
      type: 'tool-approval-request',
      approvalId: id,
      toolCallId: call.id,
      ...(reason !== undefined && { reason }),
    });
  }

  plan(plan: JsonObject | undefined): void {
    this.#add({ type: 'data-plan', id: 'plan', data: plan ?? {} });
  }

  end({ status, error }: Parameters<RunSink['end']>[0], usage: Parameters<RunSink['end']>[1]): void {
    this.#endStep();
    if (status === 'failed') this.#add({ type: 'error', errorText: error?.message ?? 'The run failed.' });
    else {
      const reason = this.#hasPending ? 'tool-calls' : status === 'interrupted' ? 'interrupted' : 'stop';
      this.#add({
        type: 'finish',
        finishReason: reason,
        ...(usage !== undefined && { messageMetadata: { usage } }),
      });
    }
    this.#text += 'data: [DONE]\n\n';
  }

  readonly #thinking = new Set<string>();

  #endStep(): void {
    if (this.#isInStep) this.#add({ type: 'finish-step' });
    this.#isInStep = false;
  }

  #add(chunk: object): void {
    const { type, id } = chunk as { readonly type: string; readonly id?: string };
    if (type === 'reasoning-start' && id !== undefined) this.#thinking.add(id);
    this.#text += `data: ${JSON.stringify(chunk)}\n\n`;
  }
}
