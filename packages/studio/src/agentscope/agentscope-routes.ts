import { Hono } from 'hono';
import type { JsonObject, JsonValue } from 'troupe';
import { fromAgentScopeBlocks } from 'troupe/studio';

import type { MsgJson } from '../protocol.ts';
import type { RunHub } from '../runs/run-hub.ts';
import { isRunId } from '../server/program-items.ts';
import { readJsonBody } from '../server/request-body.ts';
import { isRecord } from '../store/json-text.ts';

const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** A procedure that a program calls. @throws RefusedCall */
type Procedure = (hub: RunHub, input: Readonly<Record<string, unknown>>, now: () => number) => void;

/** An input that a procedure does not take, with the reason for the program. */
class RefusedCall extends Error {}

/** The replies that programs have registered: names and roles by id, for messages that come without. */
const MAX_REPLIES = 10_000;

/** The procedures of AgentScope's Studio that programs call: `POST /trpc/<name>`, as its server answers them. */
export function agentScopeRoutes(hub: RunHub, now: () => number): Hono {
  const replies = new Map<string, { name: string; role: string }>();
  const procedures: Readonly<Record<string, Procedure>> = {
    registerRun,
    requestUserInput,
    registerReply: (runs, input) => {
      knownRun(runs, input);
      if (replies.size >= MAX_REPLIES) replies.clear();
      replies.set(text(input, 'replyId'), { name: text(input, 'replyName'), role: text(input, 'replyRole') });
    },
    pushMessage: (runs, input) => {
      const runId = knownRun(runs, input);
      const msg = withSpeech(readMsg(input['msg']), input['speech']);
      const replyId = typeof input['replyId'] === 'string' ? input['replyId'] : msg.id;
      const known = replies.get(replyId) ?? { name: msg.name, role: msg.role };
      const named = (first: string, second: string, fallback: string): string => {
        const value = input[first] ?? input[second];
        return typeof value === 'string' ? value : fallback;
      };
      const name = named('replyName', 'name', known.name);
      const role = named('replyRole', 'role', known.role);
      runs.addMessage(runId, { id: replyId, name, role }, msg);
    },
  };
  const app = new Hono();
  app.post('/:procedure', async (c) => {
    const name = c.req.param('procedure');
    const procedure = Object.hasOwn(procedures, name) ? procedures[name] : undefined;
    if (procedure === undefined)
      return c.json(refusal(name, 'NOT_FOUND', 404, `No procedure found on path "${name}"`), 404);
    const input = await readJsonBody(c, MAX_BODY_BYTES);
    try {
      procedure(hub, isRecord(input) ? input : {}, now);
      return c.json({ result: {} });
    } catch (error) {
      if (error instanceof RefusedCall) return c.json(refusal(name, 'BAD_REQUEST', 400, error.message), 400);
      throw error;
    }
  });
  return app;
}

function refusal(path: string, code: string, httpStatus: number, message: string): object {
  return {
    error: { message, code: code === 'NOT_FOUND' ? -32004 : -32600, data: { code, httpStatus, path } },
  };
}

function registerRun(hub: RunHub, input: Readonly<Record<string, unknown>>): void {
  const id = text(input, 'id');
  const { pid, status } = input;
  const known = hub.run(id);
  if (known !== undefined && known.source !== 'agentscope' && known.source !== 'otlp')
    throw new RefusedCall(`The run ${id} is of another kind.`);
  hub.openRun({
    id,
    project: text(input, 'project'),
    name: text(input, 'name'),
    source: 'agentscope',
    program: { library: 'agentscope', protocol: 1, ...(typeof pid === 'number' && { pid }) },
  });
  if (status === 'done') hub.endRun(id);
  else hub.reopenRun(id);
}

function requestUserInput(hub: RunHub, input: Readonly<Record<string, unknown>>, now: () => number): void {
  const runId = knownRun(hub, input);
  const { structuredInput } = input;
  if (structuredInput !== null && !isRecord(structuredInput))
    throw new RefusedCall('structuredInput must be an object or null.');
  const agentName = text(input, 'agentName');
  const agentId = text(input, 'agentId');
  const at = new Date(now()).toISOString();
  const id = text(input, 'requestId');
  hub.putWaiting(
    {
      id,
      runId,
      runName: hub.run(runId)?.name ?? '',
      agentPath: [agentName],
      askedAt: at,
      changedAt: at,
      state: 'waiting',
      kind: 'question',
      agentId,
      agentName,
      schema: structuredInput as JsonObject | null,
    },
    agentId,
  );
}

function knownRun(hub: RunHub, input: Readonly<Record<string, unknown>>): string {
  const runId = text(input, 'runId');
  if (hub.run(runId)?.source !== 'agentscope') throw new RefusedCall(`Run with id ${runId} does not exist`);
  return runId;
}

function text(input: Readonly<Record<string, unknown>>, key: string): string {
  const value = input[key];
  if (!isRunId(value)) throw new RefusedCall(`${key} must be a text.`);
  return value;
}

/** The message with the sound that was made of it: one audio block, or a list. */
function withSpeech(msg: MsgJson, speech: unknown): MsgJson {
  if (speech === undefined || speech === null) return msg;
  const blocks = fromAgentScopeBlocks((Array.isArray(speech) ? speech : [speech]) as JsonValue);
  const sounds = typeof blocks === 'string' ? [] : blocks.filter(({ type }) => type === 'audio');
  const said = typeof msg.content === 'string' ? [{ type: 'text' as const, text: msg.content }] : msg.content;
  return { ...msg, content: [...said, ...sounds] };
}

function readMsg(value: unknown): MsgJson {
  if (!isRecord(value)) throw new RefusedCall('msg must be a message.');
  const { role, content, metadata, timestamp, name } = value;
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw new RefusedCall('msg.role is not known.');
  if (typeof content !== 'string' && !Array.isArray(content))
    throw new RefusedCall('msg.content must be a text or a list.');
  return {
    id: text(value, 'id'),
    name: typeof name === 'string' ? name : role,
    role,
    content: fromAgentScopeBlocks(content as JsonValue),
    ...(isRecord(metadata) && { metadata: metadata as JsonObject }),
    ...(typeof timestamp === 'string' && { timestamp }),
  };
}
