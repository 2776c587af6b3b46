import type { ToolOutputBlock } from '../../message/blocks.ts';
import type { PendingCall } from '../../message/pending-call.ts';
import type { ModelEvent } from './model-event.ts';

interface AgentPart {
  readonly agent_id: string;
  readonly agent_name: string;
}

/** An event of a model, as the event of its agent. */
type OfAgent<Event> = Event extends { readonly type: `model_${infer Name}` }
  ? Omit<Event, 'type'> & AgentPart & { readonly type: `agent_${Name}` }
  : never;

/** Event for a front end. The names and fields are those of AgentScope; the last six are additions. */
export type ServerEvent =
  | {
      readonly type: 'server_session_created' | 'server_session_updated' | 'server_session_ended';
      readonly session_id: string;
    }
  | ({ readonly type: 'agent_ready' } & AgentPart)
  | ({ readonly type: 'agent_ended' } & AgentPart)
  | OfAgent<Exclude<ModelEvent, { readonly type: 'model_session_created' | 'model_session_ended' }>>
  | ({
      readonly type: 'agent_response_tool_result';
      readonly tool_result: {
        readonly type: 'tool_result';
        readonly id: string;
        readonly name: string;
        readonly output: string | readonly ToolOutputBlock[];
      };
    } & AgentPart)
  /** The sound stops at once, and may go on: keep the sound that was not played. */
  | ({ readonly type: 'agent_paused' } & AgentPart)
  | ({ readonly type: 'agent_resumed' } & AgentPart)
  /** The answer was interrupted: drop the sound that was not played. */
  | ({ readonly type: 'agent_cut'; readonly response_id: string; readonly heard: string } & AgentPart)
  | ({ readonly type: 'agent_approval_needed'; readonly pending: readonly PendingCall[] } & AgentPart)
  | ({ readonly type: 'agent_reconnecting' } & AgentPart)
  | ({ readonly type: 'agent_reconnected' } & AgentPart);

/** The event of a model as the event of its agent. */
export function toServerEvent(
  event: ModelEvent,
  agent: { readonly id: string; readonly name: string },
): ServerEvent {
  const part: AgentPart = { agent_id: agent.id, agent_name: agent.name };
  if (event.type === 'model_session_created') return { type: 'agent_ready', ...part };
  if (event.type === 'model_session_ended') return { type: 'agent_ended', ...part };
  const type = event.type.replace('model_', 'agent_');
  return { ...event, ...part, type } as ServerEvent;
}
