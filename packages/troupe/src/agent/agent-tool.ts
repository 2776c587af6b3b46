import type { Msg } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import { ToolSuspension } from '../toolkit/tool-suspension.ts';
import { tool, type Tool, type ToolSettings } from '../toolkit/tool.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';
import type { AgentBase } from './agent-base.ts';

export interface AgentToolOptions extends ToolSettings {
  /** What the model is told about it: what it can be asked. */
  readonly description: string;
  /** @default the agent's own name */
  readonly name?: string | undefined;
}

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'What to ask. The agent knows nothing of this conversation.' },
  },
  required: ['query'],
};

/**
 * An agent as a tool: what it answers is the result. It stops with the call. It is one agent, with one memory: calls that
 * come while it is busy wait for their turn.
 */
export function agentTool(agent: AgentBase, options: AgentToolOptions): Tool {
  const { name = agent.name, ...settings } = options;
  return tool({
    timeoutMs: Infinity, // it has limits of its own
    ...settings,
    name,
    schema: SCHEMA,
    module: agent,
    execute: async ({ query }, { resume }) => {
      const input = resume === undefined && typeof query === 'string' ? query : undefined;
      const answer = await agent.call(input, { onBusy: 'queue', decisions: resume?.decisions });
      const pending = pendingIn(answer);
      if (pending !== undefined) throw new ToolSuspension(undefined, { pending, state: null }); // it keeps its own
      return answer.text;
    },
  });
}

/** The calls that an answer waits for, if it does. */
export function pendingIn(answer: Msg): readonly PendingCall[] | undefined {
  const { _end_reason: reason, _pending: pending } = answer.metadata;
  return reason === 'tool_suspended' ? (pending as JsonValue & readonly PendingCall[]) : undefined;
}
