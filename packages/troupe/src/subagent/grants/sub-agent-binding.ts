import type { Tool } from '../../toolkit/tool/tool.ts';
import type { SubAgentHost } from '../sub-agent-host.ts';

/** Connects a tool to its sub-agent, under any registered name of the tool. */
export interface SubAgentBinding {
  readonly subagent: string;
  /** Default name of the tool. */
  readonly toolName: string;
  /** Identity of the kind of sub-agent: the same object for all its tools. */
  readonly kind: object;
  bind(host: SubAgentHost): Tool;
}

/** By the function of the tool, so that a renamed copy has the same binding. */
const bindings = new WeakMap<Tool['execute'], SubAgentBinding>();

/** Records that a tool runs a sub-agent. */
export function setBinding(tool: Tool, binding: SubAgentBinding): Tool {
  bindings.set(tool.execute, binding);
  return tool;
}

/** The binding of a tool; undefined if the tool runs no sub-agent. */
export function bindingOf(tool: Tool | undefined): SubAgentBinding | undefined {
  return tool === undefined ? undefined : bindings.get(tool.execute);
}

/** Copy of a sub-agent tool, with another host; name and settings stay. Undefined for other tools. */
export function bindTo(tool: Tool | undefined, host: SubAgentHost): Tool | undefined {
  const binding = bindingOf(tool);
  return tool && binding && { ...tool, execute: binding.bind(host).execute };
}

export function isSubAgentTool(tool: Tool | undefined): boolean {
  return bindingOf(tool) !== undefined;
}
