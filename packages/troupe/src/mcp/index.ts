/** Model Context Protocol: the tools of servers for our agents, and our tools and agents for others. */
export { McpClient } from './mcp-client.ts';
export type { McpClientOptions } from './mcp-client-options.ts';
export type { McpCallOptions } from './mcp-connection.ts';
export type {
  HttpServer,
  McpAuthProvider,
  McpHeaders,
  McpPrompt,
  McpResource,
  McpResourceTemplate,
  McpTransport,
  StdioServer,
} from './mcp-transport.ts';
export type { McpToolDefinition } from './tool-ledger.ts';
export { registerMcpClient, removeMcpClient, type RegisterMcpClientOptions } from './register-mcp-client.ts';
export { McpServer, type McpListenOptions, type McpServerOptions } from './mcp-server.ts';
export type { AgentSource } from './agent-as-tool.ts';
