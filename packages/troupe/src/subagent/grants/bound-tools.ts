import type { Tool } from '../../toolkit/tool/tool.ts';
import type { SubAgentHost } from '../sub-agent-host.ts';

/** The sub-agent that a tool stands for, under whatever name the tool is registered. */
export interface SubAgentBinding {
  readonly subagent: string;
  /** What the tool is called unless somebody gives it another name. */
  readonly toolName: string;
  /** Which kind of sub-agent it is: the same object for all tools of one kind. */
  readonly kind: object;
  bind(host: SubAgentHost): Tool;
}

/** By what the tools execute: a copy of a tool with another name is the same sub-agent. */
const bindings = new WeakMap<Tool['execute'], SubAgentBinding>();

/** Notes that a tool stands for a sub-agent. */
export function noteBinding(tool: Tool, binding: SubAgentBinding): Tool {
  bindings.set(tool.execute, binding);
  return tool;
}

/** Undefined if the tool is any other. */
export function bindingOf(tool: Tool | undefined): SubAgentBinding | undefined {
  return tool === undefined ? undefined : bindings.get(tool.execute);
}

/** The tool of a sub-agent, as one that works for this host, with the name and the settings that it has; undefined if it is any other tool. */
export function boundTo(tool: Tool | undefined, host: SubAgentHost): Tool | undefined {
  const binding = bindingOf(tool);
  return tool && binding && { ...tool, execute: binding.bind(host).execute };
}

export function isSubAgentTool(tool: Tool | undefined): boolean {
  return bindingOf(tool) !== undefined;
}
