/** Entry `@troupe/studio`. */

export type { AgentChoice, AgentOffer, OfferedAgents } from './conversations/offered-agent.ts';
export { openInBrowser } from './open-browser.ts';
export { FILE_SCHEME, STUDIO_HEADER, STUDIO_PROTOCOL, type Suggestion } from './protocol.ts';
export { startStudio, STUDIO_VERSION, type Studio, type StudioOptions } from './start-studio.ts';
