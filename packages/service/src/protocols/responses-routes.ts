import type { JsonObject, PendingCall, PendingDecision } from 'troupe';

import type { Route, RouteRequest } from '../http/route.ts';
import { sseResponse } from '../http/sse-response.ts';
import { ServiceFailure } from '../service-failure.ts';
import type { RunRecord } from '../store/run-record.ts';
import { EventReader } from './event-reader.ts';
import { openAiFailure, toMsg } from './openai-routes.ts';
import {
  decisionWith,
  isObject,
  newConversation,
  partsOf,
  startProtocolRun,
  type ProtocolParts,
} from './protocol-run.ts';
import { ResponseEvents } from './response-events.ts';

const NEW_RESPONSE = {
  type: 'object',
  properties: {
    model: { type: 'string', minLength: 1 },
    input: {
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', items: { type: 'object' }, minItems: 1, maxItems: 10_000 },
      ],
    },
    previous_response_id: { type: ['string', 'null'] },
    conversation: { anyOf: [{ type: ['string', 'null'] }, { type: 'object', required: ['id'] }] },
    stream: { type: ['boolean', 'null'] },
    background: { type: ['boolean', 'null'] },
  },
  required: ['model', 'input'],
};
const PREFIX = 'resp_';
const NUMBER = { type: 'string', pattern: '^[0-9]{1,9}$' };

/**
 * Routes for programs that use OpenAI's Responses: a response is a run. `previous_response_id` or `conversation` goes on with a session;
 * an approval is asked for by an item `mcp_approval_request`, and answered by `mcp_approval_response`.
 */
export function responsesRoutes(parts: ProtocolParts): readonly Route[] {
  const one = (summary: string): Pick<Route, 'summary' | 'status' | 'answer' | 'failure'> => ({
    summary,
    status: 200,
    answer: { type: 'object' },
    failure: openAiFailure,
  });
  return [
    {
      method: 'post',
      path: '/v1/responses',
      ...one('Run an agent as a response'),
      body: NEW_RESPONSE,
      handle: async (request) => {
        const run = await start(request, parts);
        const { stream, background } = request.body;
        if (stream === true) return streamed(run, parts, -1);
        return background === true ? new ResponseEvents(run).whole() : wholeOf(run, parts, request.signal);
      },
    },
    {
      method: 'get',
      path: '/v1/responses/{response}',
      ...one('Show a response, or read its events again behind `starting_after`'),
      query: { stream: { enum: ['true', 'false'] }, starting_after: NUMBER },
      handle: async ({ caller, params, query }) => {
        const run = await parts.requests.run(caller.user, runIdOf(params['response']));
        if (query['stream'] === 'true') return streamed(run, parts, Number(query['starting_after'] ?? -1));
        return storedOf(run, parts);
      },
    },
    {
      method: 'post',
      path: '/v1/responses/{response}/cancel',
      ...one('Stop a response'),
      handle: async ({ caller, params, signal }) => {
        const id = runIdOf(params['response']);
        await parts.requests.interrupt(caller.user, id);
        return wholeOf(await parts.requests.run(caller.user, id), parts, signal);
      },
    },
  ];
}

async function start({ caller, body, headers }: RouteRequest, parts: ProtocolParts): Promise<RunRecord> {
  const { input } = body;
  const items: readonly JsonObject[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : partsOf(input);
  const approvals = items.filter(({ type }) => type === 'mcp_approval_response');
  const outputs = items.filter(({ type }) => type === 'function_call_output');
  const agent = String(body['model']);
  const key = headers.get('idempotency-key') ?? undefined;
  const bound = await conversationOf(caller.user, body, parts);
  const fresh =
    bound === undefined ? items : items.slice(items.findLastIndex(({ role }) => role === 'assistant') + 1);
  return startProtocolRun(parts, {
    user: caller.user,
    agent,
    conversation: bound ?? newConversation('response', agent, key),
    msgs: fresh.flatMap((item) => toMsg(item)),
    ...(approvals.length + outputs.length > 0 && {
      decide: (pending: readonly PendingCall[]) => [
        ...outputs.flatMap(({ call_id: id, output }): PendingDecision[] => {
          const waiting = pending.find(({ kind, call }) => kind !== 'approval' && call.id === id);
          return waiting === undefined ? [] : [decisionWith(waiting, output)];
        }),
        ...approvals.flatMap(({ approval_request_id: id, approve, reason }): PendingDecision[] => {
          const call = pending.find((waiting) => waiting.id === id);
          if (call === undefined) return [];
          if (approve === true) return [{ id: call.id, verdict: 'allow' }];
          return [{ id: call.id, verdict: 'deny', ...(typeof reason === 'string' && { reason }) }];
        }),
      ],
    }),
    key,
  });
}

/** Session of the response before this request, or of its conversation; undefined for a request without a history. */
async function conversationOf(
  user: string,
  { previous_response_id: previous, conversation }: RouteRequest['body'],
  { requests }: ProtocolParts,
): Promise<string | undefined> {
  if (typeof previous === 'string') return (await requests.run(user, runIdOf(previous))).session;
  if (typeof conversation === 'string') return conversation;
  if (isObject(conversation) && typeof conversation['id'] === 'string') return conversation['id'];
  return undefined;
}

function runIdOf(response = ''): string {
  if (!response.startsWith(PREFIX)) throw new ServiceFailure('not_found', 'There is no such response.');
  return response.slice(PREFIX.length);
}

/** Events behind `after`: those of a response are numbered, and come out the same each time. */
function streamed(run: RunRecord, { log }: ProtocolParts, after: number): Response {
  const events = new ResponseEvents(run);
  const reader = new EventReader(events);
  return sseResponse(
    (signal) => log.follow(run.id, 0, signal),
    (stored) => {
      reader.read(stored);
      return events.take(after);
    },
  );
}

async function wholeOf(run: RunRecord, { log }: ProtocolParts, signal: AbortSignal): Promise<object> {
  const events = new ResponseEvents(run);
  const reader = new EventReader(events);
  for await (const stored of log.follow(run.id, 0, signal)) reader.read(stored);
  return events.whole();
}

/** The response as far as it is stored. */
async function storedOf(run: RunRecord, { log }: ProtocolParts): Promise<object> {
  const events = new ResponseEvents(run);
  const reader = new EventReader(events);
  for await (const stored of log.stored(run.id)) reader.read(stored);
  return events.whole();
}
