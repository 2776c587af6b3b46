import type { AgentBase } from '../../agent/agent-base.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import type { Msg } from '../../message/msg.ts';
import type { PendingCall } from '../../message/pending-call.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import { tool, type ToolContext } from '../../toolkit/tool/tool.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import type { JsonObject } from '../../util/json.ts';
import { KeyedQueue } from '../../util/async/keyed-queue.ts';
import { toolName } from '../protocol/tool-name.ts';

/** Agent, or a function called for a new agent in each tool call. */
export type AgentSource = AgentBase | (() => AgentBase);

const SCHEMA: JsonObject = {
  type: 'object',
  properties: { message: { type: 'string', description: 'What to say to the agent.' } },
  required: ['message'],
};

/**
 * Makes a toolkit with an agent as its only tool. The agent's text is reported as progress, and its answer is
 * the result. MCP has no approvals: pending tool calls of the agent are closed before the next tool call, and
 * the result is an error.
 */
export function agentToolkit(source: AgentSource, description: string | undefined): Toolkit {
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
        return queue.run(agent.id, () => ask(agent, typeof message === 'string' ? message : '', context));
      },
    }),
  );
  return toolkit;
}

async function ask(agent: AgentBase, message: string, { signal, emit }: ToolContext): Promise<ToolResponse> {
  const events = agent.stream(message, { signal, onBusy: 'queue' });
  let [msgId, text] = ['', ''];
  for (;;) {
    const { done, value } = await events.next();
    if (done) return answerOf(agent, value);
    // text of nested agents is not part of the answer
    if (value.type !== 'text_delta' || value.agentPath.length > 1) continue;
    text = value.msgId === msgId ? text + value.text : value.text;
    msgId = value.msgId;
    emit(text);
  }
}

async function answerOf(agent: AgentBase, msg: Msg): Promise<ToolResponse> {
  const { pending, endReason } = msg;
  if (pending !== undefined) {
    if (agent instanceof ReActAgent) await agent.closePending();
    return new ToolResponse(refusalOf(agent, pending), { status: 'error' });
  }
  const blocks = msg.getContentBlocks(['text', 'image', 'audio', 'video', 'file']);
  const content = blocks.every(({ type }) => type === 'text') ? msg.text : blocks;
  return new ToolResponse(content, { status: endReason === 'error' ? 'error' : 'ok' });
}

function refusalOf({ name }: AgentBase, pending: readonly PendingCall[]): string {
  const needs = pending.map(({ kind, call }) => {
    const others = kind === 'question' ? 'an answer of a person' : 'a result from outside';
    const what = kind === 'approval' ? 'an approval' : others;
    return `its tool call '${call.name}' needs ${what}`;
  });
  return `${name} can't continue: ${needs.join(', ')}, and nobody can give it here.`;
}
