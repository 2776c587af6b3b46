/** Agent2Agent protocol: client for remote agents, and server for local agents. */
export { A2AAgent, type A2AAgentOptions } from './client/a2a-agent.ts';
export { A2AError, type A2AErrorDetails, type A2AFailure } from './protocol/a2a-error.ts';
export type { A2AHeaders } from './client/limited-fetch.ts';
export type { AgentCardResolver, FoundCard } from './client/agent-card-resolver.ts';
export type { CardKey, CardSigning } from './protocol/card-signature.ts';
export { dataBlock, dataIn } from './protocol/data-block.ts';
export { FileAgentCardResolver } from './client/file-agent-card-resolver.ts';
export {
  WellKnownAgentCardResolver,
  type WellKnownAgentCardResolverOptions,
} from './client/well-known-agent-card-resolver.ts';
export { serveA2A, type A2AListenOptions, type A2AServer } from './server/a2a-server.ts';
export type { A2AServerOptions } from './server/a2a-server-options.ts';
export type { A2ACard, A2ASkill } from './server/server-card.ts';
export type { A2AContext } from './server/saved-context.ts';
export type { A2AAgentSource } from './server/open-contexts.ts';
