import type { Tool } from '../../toolkit/tool/tool.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import { permissionsAround } from '../limits/delegation-scope.ts';
import { bindingOf } from './sub-agent-binding.ts';
import type { SubAgentPermissions } from './permission-bundle.ts';
import type { SafetyLimits } from '../limits/safety-limits.ts';

type IsForbidden = (tool: Tool) => boolean;

/**
 * Functions of forbidden tools, by sub-agent. Matched by function identity, so a renamed copy stays forbidden
 * in nested sub-agents.
 */
const forbiddenFunctions = new WeakMap<SubAgentPermissions, ReadonlySet<Tool['execute']>>();

/**
 * Makes a predicate for tools that a sub-agent and its nested sub-agents may not use: forbidden by name, or
 * with the function of a forbidden tool.
 */
export function forbiddenTo(
  permissions: SubAgentPermissions,
  hostToolkit: Toolkit,
  own: readonly Tool[],
): IsForbidden {
  const around = permissionsAround();
  const isNamed = namedBy(permissions.safetyLimits);
  const functions = functionsOf([...toolsOf(hostToolkit), ...own].filter(isNamed));
  for (const execute of (around && forbiddenFunctions.get(around)) ?? []) functions.add(execute);
  forbiddenFunctions.set(permissions, functions);
  return (tool) => isNamed(tool) || functions.has(tool.execute);
}

/**
 * Names of the host's forbidden tools. Groups are resolved to names here, because nested sub-agents don't
 * know the host's groups. A forbidden file tool is named twice if it was renamed: sub-agents get file tools under
 * the original names.
 */
export function forbiddenNames(toolkit: Toolkit, limits: SafetyLimits): readonly string[] {
  const all = toolsOf(toolkit);
  const functions = functionsOf(all.filter(namedBy(limits)));
  return all
    .filter(({ execute }) => functions.has(execute))
    .flatMap(({ name, files }) => [name, ...(files === undefined ? [] : [files.tool.name])]);
}

/** Matches the name of the tool, its group, or the default tool name if the tool is a sub-agent. */
function namedBy({ forbiddenTools = [] }: SafetyLimits): IsForbidden {
  return (tool) => {
    const { subagent, toolName } = bindingOf(tool) ?? {};
    const names = [tool.name, tool.group, toolName, subagent && `agent_${subagent}`];
    return names.some((name) => name !== undefined && forbiddenTools.includes(name));
  };
}

function functionsOf(tools: readonly Tool[]): Set<Tool['execute']> {
  return new Set(tools.map(({ execute }) => execute));
}

function toolsOf(toolkit: Toolkit): readonly Tool[] {
  return toolkit.names.flatMap((name) => toolkit.get(name) ?? []);
}
