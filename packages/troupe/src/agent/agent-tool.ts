import { tool, type Tool, type ToolSettings } from '../toolkit/tool.ts';
import type { JsonObject } from '../util/json.ts';
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
    execute: async ({ query }) =>
      (await agent.call(typeof query === 'string' ? query : '', { onBusy: 'queue' })).text,
  });
}
