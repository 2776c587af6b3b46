import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import { cancelSuspendedWork } from '../toolkit/tool/suspended-work.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { ToolSuspension } from '../toolkit/tool/tool-suspension.ts';
import { tool, type Tool, type ToolContext, type ToolSettings } from '../toolkit/tool/tool.ts';
import type { JsonObject } from '../util/json.ts';
import type { AgentBase } from '../agent/agent-base.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { isUnfinishedAround } from '../agent/turn/current-turn.ts';
import { endNote, withNote } from './end-note.ts';
import { stepsInBackground } from './limits/counted-steps.ts';

export interface AgentToolOptions extends ToolSettings {
  /** Purpose of the agent, for the model. */
  readonly description: string;
  /** Name of the tool. @default the agent's own name */
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
 * Makes a tool from an agent; the answer is the result. An interrupt of the tool call stops the agent. All
 * tool calls share one agent with one memory: a tool call waits while the agent is busy.
 *
 * @example
 * ```ts
 * import { agentTool, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const expert = new ReActAgent({ name: 'expert', model: new OfflineModel(), console: false });
 * const tools = [agentTool(expert, { description: 'Answers questions about law.' })];
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), tools });
 * console.log(agent.toolkit.has('expert')); // true
 * ```
 */
export function agentTool(agent: AgentBase, options: AgentToolOptions): Tool {
  const { name = agent.name, ...settings } = options;
  return tool({
    timeoutMs: Infinity, // the agent limits its own time
    ...settings,
    name,
    schema: SCHEMA,
    module: agent,
    onAbandoned: () => cancelSuspendedWork(agent.stateDict()), // the agent keeps its own state
    execute: async ({ query }, context) => {
      const answer = await ask(agent, typeof query === 'string' ? query : '', context);
      const { pending } = answer;
      if (pending === undefined) return toResult(agent.name, answer);
      if (context.isBackground !== true) {
        if (agent instanceof ReActAgent) agent.leaveDecisionsToOwner();
        throw new ToolSuspension(undefined, { pending, state: null }); // the agent keeps its own state
      }
      await closePending(agent);
      throw new Error(`It needs a decision, and a background task can't ask for one: ${answer.text}`);
    },
  });
}

/** The text of the answer; with a note and its reason if it is not a plain one. */
function toResult(agentName: string, answer: Msg): string | ToolResponse {
  const note = endNote(agentName, answer);
  if (note === undefined) return answer.text;
  return new ToolResponse(withNote(answer.text, note), { metadata: { end_reason: note.reason } });
}

/** Calls the agent with the query, or resumes its pending tool calls with the decisions. */
async function ask(agent: AgentBase, query: string, context: ToolContext): Promise<Msg> {
  const { call, resume, signal, isBackground = false } = context;
  const inBackground =
    isBackground && ({ lifetime: 'background', signal, runStep: stepsInBackground() } as const);
  const options = { onBusy: 'queue', onPending: 'refuse', ...inBackground } as const;
  if (!(agent instanceof ReActAgent)) {
    const input = resume === undefined ? query : undefined;
    return agent.call(input, { ...options, decisions: resume?.decisions });
  }
  if (resume !== undefined && agent.unfinishedCallOwner.at(-1) === call.id) {
    const ids = new Set(agent.pendingCalls.map(({ id }) => id));
    // some decisions may have been applied before the program ended
    const decisions = resume.decisions.filter(({ id }) => ids.has(id));
    return agent.call(undefined, { ...options, decisions });
  }
  try {
    return await agent.call(query, options);
  } catch (error) {
    const { unfinishedCallOwner: owner, pendingCalls: pending } = agent;
    if (!TroupeError.isInstance(error) || error.code !== 'pending_calls' || owner.length === 0) throw error;
    if (isUnfinishedAround(owner)) throw new ToolSuspension(undefined, { pending, state: null }); // pending in another tool call, which comes first
    await agent.closePending(); // their tool call has ended
    return agent.call(query, options);
  }
}

async function closePending(agent: AgentBase): Promise<void> {
  if (agent instanceof ReActAgent) await agent.closePending();
}
