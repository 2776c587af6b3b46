import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import { ToolSuspension } from '../toolkit/tool/tool-suspension.ts';
import { tool, type Tool, type ToolContext, type ToolSettings } from '../toolkit/tool/tool.ts';
import type { JsonObject } from '../util/json.ts';
import type { AgentBase } from '../agent/agent-base.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { currentControl } from '../agent/current-turn.ts';
import { stepsInBackground } from './limits/counted-steps.ts';

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
    execute: async ({ query }, context) => {
      const answer = await ask(agent, typeof query === 'string' ? query : '', context);
      const { pending } = answer;
      if (pending === undefined) return answer.text;
      if (context.isBackground !== true) {
        if (agent instanceof ReActAgent) agent.askThrough();
        throw new ToolSuspension(undefined, { pending, state: null }); // it keeps its own
      }
      await closePending(agent);
      throw new Error(`It needs somebody to decide, who can't be asked from the background: ${answer.text}`);
    },
  });
}

/** Asks the agent, or goes on where it waited. */
async function ask(agent: AgentBase, query: string, context: ToolContext): Promise<Msg> {
  const { call, resume, signal, isBackground = false } = context;
  const inBackground =
    isBackground && ({ lifetime: 'background', signal, runStep: stepsInBackground() } as const);
  const options = { onBusy: 'queue', onPending: 'refuse', ...inBackground } as const;
  if (!(agent instanceof ReActAgent)) {
    const input = resume === undefined ? query : undefined;
    return agent.call(input, { ...options, decisions: resume?.decisions });
  }
  if (resume !== undefined && agent.openCallOwner.at(-1) === call.id) {
    const ids = new Set(agent.pendingCalls.map(({ id }) => id));
    const decisions = resume.decisions.filter(({ id }) => ids.has(id)); // some may have reached it before the program ended
    return agent.call(undefined, { ...options, decisions });
  }
  try {
    return await agent.call(query, options);
  } catch (error) {
    const { openCallOwner: owner, pendingCalls: pending } = agent;
    if (!TroupeError.isInstance(error) || error.code !== 'pending_calls' || owner.length === 0) throw error;
    if (currentControl()?.hasOpenToolCall(owner))
      throw new ToolSuspension(undefined, { pending, state: null }); // its turn comes after that call
    await agent.closePending(); // the call that it waited in is over
    return agent.call(query, options);
  }
}

async function closePending(agent: AgentBase): Promise<void> {
  if (agent instanceof ReActAgent) await agent.closePending();
}
