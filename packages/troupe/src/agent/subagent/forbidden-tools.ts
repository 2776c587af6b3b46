import type { Tool } from '../../toolkit/tool.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import { bindingOf } from './bound-tools.ts';
import type { SafetyLimits } from './safety-limits.ts';

/** Whether a tool is forbidden: by its name, by its group, or by what it is called by default if it is a sub-agent. */
export function isForbidden(tool: Tool, { forbiddenTools = [] }: SafetyLimits): boolean {
  const { subagent, toolName } = bindingOf(tool) ?? {};
  const names = [tool.name, tool.group, toolName, subagent && `agent_${subagent}`];
  return names.some((name) => name !== undefined && forbiddenTools.includes(name));
}

/** The names of the tools of a host that are forbidden: further down nobody knows its groups. */
export function forbiddenNames(toolkit: Toolkit, limits: SafetyLimits): readonly string[] {
  const tools = toolkit.names.flatMap((name) => toolkit.get(name) ?? []);
  return tools.filter((tool) => isForbidden(tool, limits)).map(({ name }) => name);
}
