/** Model Context Protocol: the tools of servers for our agents, and our tools and agents for others. */
export { McpClient } from './client/mcp-client.ts';
export type { McpClientOptions } from './client/mcp-client-options.ts';
export type { McpCallOptions } from './client/mcp-connection.ts';
export type {
  HttpServer,
  McpAuthProvider,
  McpHeaders,
  McpPrompt,
  McpResource,
  McpResourceTemplate,
  McpRoot,
  McpTransport,
  StdioServer,
} from './client/mcp-transport.ts';
export type { McpAnswer, McpQuestionHandler } from './client/requests/server-question.ts';
export type { McpSamplingOptions } from './client/requests/mcp-sampling.ts';
export type { McpToolDefinition } from './client/accepted-tools.ts';
export {
  registerMcpClient,
  removeMcpClient,
  type RegisterMcpClientOptions,
} from './client/register-mcp-client.ts';
export { McpServer, type McpListenOptions } from './server/mcp-server.ts';
export type { McpServerOptions } from './server/mcp-server-options.ts';
export type { AgentSource } from './server/agent-as-tool.ts';
export {
  mcpRequestOf,
  type McpElicited,
  type McpElicitOptions,
  type McpSampleOptions,
  type McpToolRequest,
} from './server/mcp-tool-request.ts';
export type {
  McpComplete,
  McpReadContext,
  McpResourceContent,
  McpServedArgument,
  McpServedPrompt,
  McpServedResource,
  McpServedTemplate,
} from './server/served-content.ts';
