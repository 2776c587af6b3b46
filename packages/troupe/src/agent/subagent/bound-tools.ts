import type { Tool } from '../../toolkit/tool.ts';
import type { SubAgentHost } from './sub-agent-host.ts';

type Bind = (host: SubAgentHost) => Tool;

/** How the tools that are sub-agents are made for another host, by what they execute. */
const binds = new WeakMap<Tool['execute'], Bind>();

/** Notes that a tool stands for a sub-agent. */
export function noteBinding(tool: Tool, bind: Bind): Tool {
  binds.set(tool.execute, bind);
  return tool;
}

/** The tool of a sub-agent, as one that works for this host; undefined if it is any other tool. */
export function boundTo(tool: Tool | undefined, host: SubAgentHost): Tool | undefined {
  return tool && binds.get(tool.execute)?.(host);
}

export function isSubAgentTool(tool: Tool | undefined): boolean {
  return tool !== undefined && binds.has(tool.execute);
}
