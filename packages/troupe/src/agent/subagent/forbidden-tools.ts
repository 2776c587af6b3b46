import type { Tool } from '../../toolkit/tool.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import { bindingOf } from './bound-tools.ts';
import type { SafetyLimits } from './safety-limits.ts';

/** Tells which tools are forbidden: by the name, by the group, or by what it is called by default if it is a sub-agent. So are other names of those. */
export function forbiddenBy(
  { forbiddenTools = [] }: SafetyLimits,
  toolkit: Toolkit,
  others: readonly Tool[] = [],
): (tool: Tool) => boolean {
  const isNamed = (tool: Tool): boolean => {
    const { subagent, toolName } = bindingOf(tool) ?? {};
    const names = [tool.name, tool.group, toolName, subagent && `agent_${subagent}`];
    return names.some((name) => name !== undefined && forbiddenTools.includes(name));
  };
  const does = new Set([...toolsOf(toolkit), ...others].filter(isNamed).map(({ execute }) => execute));
  return (tool) => isNamed(tool) || does.has(tool.execute);
}

/** The names of the tools of a host that are forbidden: further down nobody knows its groups. */
export function forbiddenNames(toolkit: Toolkit, limits: SafetyLimits): readonly string[] {
  return toolsOf(toolkit)
    .filter(forbiddenBy(limits, toolkit))
    .map(({ name }) => name);
}

function toolsOf(toolkit: Toolkit): readonly Tool[] {
  return toolkit.names.flatMap((name) => toolkit.get(name) ?? []);
}
