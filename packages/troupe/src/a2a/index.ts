/** The Agent2Agent protocol: remote agents for our programs, and our agents for others. */
export { A2AAgent, type A2AAgentOptions } from './a2a-agent.ts';
export { A2AError, type A2AErrorDetails, type A2AFailure } from './a2a-error.ts';
export type { A2AHeaders } from './limited-fetch.ts';
export type { AgentCardResolver, FoundCard } from './agent-card-resolver.ts';
export type { CardKey, CardSigning } from './card-signature.ts';
export { dataBlock, dataIn } from './data-block.ts';
export { FileAgentCardResolver } from './file-agent-card-resolver.ts';
export {
  WellKnownAgentCardResolver,
  type WellKnownAgentCardResolverOptions,
} from './well-known-agent-card-resolver.ts';
export { serveA2A, type A2AListenOptions, type A2AServer, type A2AServerOptions } from './a2a-server.ts';
export type { A2ACard, A2ASkill } from './server-card.ts';
export type { A2AContext } from './context-keeper.ts';
export type { A2AAgentSource } from './context-shelf.ts';
