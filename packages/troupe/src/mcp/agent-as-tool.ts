import type { AgentBase } from '../agent/agent-base.ts';
import type { ToolOutputBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import { tool, type ToolContext } from '../toolkit/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import type { JsonObject } from '../util/json.ts';
import { toolName } from './mcp-tool.ts';

/** An agent, or what makes one. */
export type AgentSource = AgentBase | (() => AgentBase);

const SCHEMA: JsonObject = {
  type: 'object',
  properties: { message: { type: 'string', description: 'What to say to the agent.' } },
  required: ['message'],
};

/** A toolkit whose one tool is an agent. Its text is shown while it is written; its answer is the result. */
export function served(source: AgentSource, description: string | undefined): Toolkit {
  const { name } = typeof source === 'function' ? source() : source;
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(
    tool({
      name: toolName(name),
      description: description ?? `Talks to the agent ${name}.`,
      schema: SCHEMA,
      timeoutMs: Infinity, // it has limits of its own
      execute: ({ message }, context) =>
        ask(
          typeof source === 'function' ? source() : source,
          typeof message === 'string' ? message : '',
          context,
        ),
    }),
  );
  return toolkit;
}

async function ask(agent: AgentBase, message: string, { signal, emit }: ToolContext): Promise<unknown> {
  const events = agent.stream(message, { signal, onBusy: 'queue' });
  let [msgId, text] = ['', ''];
  for (;;) {
    const { done, value } = await events.next();
    if (done) return answerOf(value);
    if (value.type !== 'text_delta' || value.agentPath.length > 1) continue; // what its own agents say is its affair
    text = value.msgId === msgId ? text + value.text : value.text;
    msgId = value.msgId;
    emit(text);
  }
}

function answerOf(msg: Msg): string | readonly ToolOutputBlock[] {
  const blocks = msg.getContentBlocks(['text', 'image', 'audio', 'video', 'file']);
  return blocks.every(({ type }) => type === 'text') ? msg.text : blocks;
}
