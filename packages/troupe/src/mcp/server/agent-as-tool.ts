import type { AgentBase } from '../../agent/agent-base.ts';
import { pendingIn } from '../../approval/suspension-msg.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import type { Msg } from '../../message/msg.ts';
import type { PendingCall } from '../../message/pending-call.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import { tool, type ToolContext } from '../../toolkit/tool/tool.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import type { JsonObject } from '../../util/json.ts';
import { KeyedQueue } from '../../util/async/keyed-queue.ts';
import { toolName } from '../protocol/tool-name.ts';

/** An agent, or what makes one. */
export type AgentSource = AgentBase | (() => AgentBase);

const SCHEMA: JsonObject = {
  type: 'object',
  properties: { message: { type: 'string', description: 'What to say to the agent.' } },
  required: ['message'],
};

/**
 * A toolkit whose one tool is an agent. Its text is shown while it is written; its answer is the result. Nobody can be asked for a
 * permission here: calls of the agent that wait for somebody are closed before the next client has its turn, and the result is an error.
 */
export function served(source: AgentSource, description: string | undefined): Toolkit {
  const { name } = typeof source === 'function' ? source() : source;
  const queue = new KeyedQueue();
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(
    tool({
      name: toolName(name),
      description: description ?? `Talks to the agent ${name}.`,
      schema: SCHEMA,
      timeoutMs: Infinity, // it has limits of its own
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
    if (value.type !== 'text_delta' || value.agentPath.length > 1) continue; // what its own agents say is its affair
    text = value.msgId === msgId ? text + value.text : value.text;
    msgId = value.msgId;
    emit(text);
  }
}

async function answerOf(agent: AgentBase, msg: Msg): Promise<ToolResponse> {
  const pending = pendingIn(msg);
  if (pending !== undefined) {
    if (agent instanceof ReActAgent) await agent.closePending();
    return new ToolResponse(refusalOf(agent, pending), { status: 'error' });
  }
  const blocks = msg.getContentBlocks(['text', 'image', 'audio', 'video', 'file']);
  const content = blocks.every(({ type }) => type === 'text') ? msg.text : blocks;
  return new ToolResponse(content, { status: msg.metadata['_end_reason'] === 'error' ? 'error' : 'ok' });
}

function refusalOf({ name }: AgentBase, pending: readonly PendingCall[]): string {
  const needs = pending.map(({ kind, call }) => {
    const what = kind === 'approval' ? 'a permission' : 'a result from outside';
    return `its call of '${call.name}' needs ${what}`;
  });
  return `${name} can not go on: ${needs.join(', ')}, and nobody can give it here.`;
}
