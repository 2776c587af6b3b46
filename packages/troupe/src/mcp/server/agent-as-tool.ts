import type { AgentBase } from '../../agent/agent-base.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import type { Msg } from '../../message/msg.ts';
import type { PendingCall } from '../../message/pending-call.ts';
import { endNote, withNote } from '../../subagent/end-note.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import { tool, type ToolContext } from '../../toolkit/tool/tool.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import type { JsonObject } from '../../util/json.ts';
import { KeyedQueue } from '../../util/async/keyed-queue.ts';
import { toolName } from '../protocol/tool-name.ts';
import { decideByClient } from './decide-by-client.ts';
import type { McpServerOptions } from './mcp-server-options.ts';
import { mcpRequestOf, type McpToolRequest } from './mcp-tool-request.ts';

/** Agent, or a function called for a new agent in each tool call. */
export type AgentSource = AgentBase | (() => AgentBase);

const SCHEMA: JsonObject = {
  type: 'object',
  properties: { message: { type: 'string', description: 'What to say to the agent.' } },
  required: ['message'],
};

/**
 * Makes a toolkit with an agent as its only tool. The agent's text is reported as progress, and its answer is
 * the result. Pending tool calls of the agent are put to the person at the client if `onPending` says so and the client can ask;
 * otherwise they are closed before the next tool call, and the result is an error.
 */
export function agentToolkit(
  source: AgentSource,
  { description, onPending }: Pick<McpServerOptions, 'description' | 'onPending'>,
): Toolkit {
  const { name } = typeof source === 'function' ? source() : source;
  const queue = new KeyedQueue();
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(
    tool({
      name: toolName(name),
      description: description ?? `Talks to the agent ${name}.`,
      schema: SCHEMA,
      timeoutMs: Infinity, // the agent limits its own time
      execute: ({ message }, context) => {
        const agent = typeof source === 'function' ? source() : source;
        const client = onPending === 'elicit' ? mcpRequestOf(context) : undefined;
        const text = typeof message === 'string' ? message : '';
        return queue.run(agent.id, () => converse(agent, text, context, client));
      },
    }),
  );
  return toolkit;
}

/** Calls the agent, and again with decisions as long as the client decides about pending tool calls. */
async function converse(
  agent: AgentBase,
  message: string,
  context: ToolContext,
  client: McpToolRequest | undefined,
): Promise<ToolResponse> {
  let msg = await ask(agent.stream(message, { signal: context.signal, onBusy: 'queue' }), context);
  try {
    while (msg.pending !== undefined && client?.canElicit === true) {
      const decisions = await decideByClient(client, agent.name, msg.pending);
      const { signal } = context;
      msg = await ask(agent.stream(undefined, { signal, onBusy: 'queue', decisions }), context);
    }
    return answerOf(agent, msg);
  } finally {
    // also when the client fails or cancels: the next tool call starts anew
    if (agent instanceof ReActAgent && agent.pendingCalls.length > 0) await agent.closePending();
  }
}

async function ask(events: ReturnType<AgentBase['stream']>, { emit }: ToolContext): Promise<Msg> {
  let [msgId, text] = ['', ''];
  for (;;) {
    const { done, value } = await events.next();
    if (done) return value;
    // text of nested agents is not part of the answer
    if (value.type !== 'text_delta' || value.agentPath.length > 1) continue;
    text = value.msgId === msgId ? text + value.text : value.text;
    msgId = value.msgId;
    emit(text);
  }
}

function answerOf(agent: AgentBase, msg: Msg): ToolResponse {
  const { pending, endReason } = msg;
  if (pending !== undefined) return new ToolResponse(refusalOf(agent, pending), { status: 'error' });
  const blocks = msg.getContentBlocks(['text', 'image', 'audio', 'video', 'file']);
  const content = blocks.every(({ type }) => type === 'text') ? msg.text : blocks;
  const note = endNote(agent.name, msg);
  return new ToolResponse(withNote(content, note), {
    status: endReason === 'error' ? 'error' : 'ok',
    ...(note && { metadata: { end_reason: note.reason } }),
  });
}

function refusalOf({ name }: AgentBase, pending: readonly PendingCall[]): string {
  const needs = pending.map(({ kind, call }) => {
    const others = kind === 'question' ? 'an answer of a person' : 'a result from outside';
    const what = kind === 'approval' ? 'an approval' : others;
    return `its tool call '${call.name}' needs ${what}`;
  });
  return `${name} can't continue: ${needs.join(', ')}, and nobody can give it here.`;
}
