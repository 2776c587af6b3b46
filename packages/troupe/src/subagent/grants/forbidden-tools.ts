import type { Tool } from '../../toolkit/tool/tool.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import { permissionsAround } from '../limits/around.ts';
import { bindingOf } from './bound-tools.ts';
import type { PermissionBundle } from './permission-bundle.ts';
import type { SafetyLimits } from '../limits/safety-limits.ts';

type IsForbidden = (tool: Tool) => boolean;

/** What those tools do that each sub-agent may not use. Further down, a copy is known by that, whatever its name. */
const forbiddenDoings = new WeakMap<PermissionBundle, ReadonlySet<Tool['execute']>>();

/** Tells which tools a sub-agent may not use, and those below it: by their names, and whatever does the same under another name. */
export function forbiddenTo(
  permissions: PermissionBundle,
  hostToolkit: Toolkit,
  own: readonly Tool[],
): IsForbidden {
  const around = permissionsAround();
  const isNamed = namedBy(permissions.safetyLimits);
  const does = doingsOf([...toolsOf(hostToolkit), ...own].filter(isNamed));
  for (const execute of (around && forbiddenDoings.get(around)) ?? []) does.add(execute);
  forbiddenDoings.set(permissions, does);
  return (tool) => isNamed(tool) || does.has(tool.execute);
}

/** The names of the tools of a host that are forbidden: further down nobody knows its groups. */
export function forbiddenNames(toolkit: Toolkit, limits: SafetyLimits): readonly string[] {
  const all = toolsOf(toolkit);
  const does = doingsOf(all.filter(namedBy(limits)));
  return all.filter(({ execute }) => does.has(execute)).map(({ name }) => name);
}

/** By the name, by the group, or by what it is called by default if it is a sub-agent. */
function namedBy({ forbiddenTools = [] }: SafetyLimits): IsForbidden {
  return (tool) => {
    const { subagent, toolName } = bindingOf(tool) ?? {};
    const names = [tool.name, tool.group, toolName, subagent && `agent_${subagent}`];
    return names.some((name) => name !== undefined && forbiddenTools.includes(name));
  };
}

function doingsOf(tools: readonly Tool[]): Set<Tool['execute']> {
  return new Set(tools.map(({ execute }) => execute));
}

function toolsOf(toolkit: Toolkit): readonly Tool[] {
  return toolkit.names.flatMap((name) => toolkit.get(name) ?? []);
}
