import { TroupeError } from '../errors.ts';
import { bindingOf, isSubAgentTool } from './grants/sub-agent-binding.ts';
import { grantedTools } from './export-agent.ts';
import { forbiddenNames } from './grants/forbidden-tools.ts';
import { hostLimits, type ResourceGrant } from './grants/granted-resources.ts';
import type { PermissionBundle } from './grants/permission-bundle.ts';

/**
 * Finds configuration errors, which no retry can fix: unknown tools, a name in use, too few levels.
 * @param kind see `SubAgentBinding`
 * @throws TroupeError
 */
export function assertSpecFitsHost(grant: ResourceGrant, kind: object): void {
  const { host, spec } = grant;
  const { name, toolsAllowlist, tools = [] } = spec;
  const { names, unknown } = grantedTools(host.toolkit, toolsAllowlist);
  if (unknown.length > 0) {
    const shown = unknown.map((one) => `'${one.slice(0, 64)}'`).join(', ');
    throw new TroupeError(
      'invalid_config',
      `The sub-agent '${name}' is allowed ${shown}, but ${host.name} has no such tool. Register it first, or put it into 'tools'.`,
    );
  }
  assertNameIsFree(grant, kind);
  const given = [...names.map((one) => host.toolkit.get(one)), ...(typeof tools === 'function' ? [] : tools)];
  const { maxDepth = 0 } = hostLimits(grant);
  if (maxDepth < 2 && given.some(isSubAgentTool)) {
    throw new TroupeError(
      'invalid_config',
      `The sub-agent '${name}' has sub-agents of its own. Allow that by safetyLimits.maxDepth of the host.`,
    );
  }
}

/** @throws TroupeError if the host has another kind of sub-agent with the same name. */
export function assertNameIsFree({ host, spec: { name } }: ResourceGrant, kind: object): void {
  const namesake = host.toolkit.names
    .map((one) => bindingOf(host.toolkit.get(one)))
    .find((other) => other?.subagent === name && other.kind !== kind);
  if (namesake !== undefined) {
    throw new TroupeError(
      'invalid_config',
      `${host.name} has a sub-agent '${name}' already. Give this one another name: files and earlier tasks go by it.`,
    );
  }
}

/** Logs warnings for settings that are allowed but probably mistakes. */
export function warnOfLikelyMistakes(
  { host: { name: hostName, toolkit }, spec, limits }: ResourceGrant,
  { filesystem, home, logger }: PermissionBundle,
): void {
  const { name, tools = [] } = spec;
  if (filesystem !== undefined && !filesystem.can('write', `${home}/file`)) {
    const advice = `Let the host's handle reach '${home}/', or set resources.filesystem to 'off'.`;
    logger.log('warn', `The sub-agent '${name}' has no folder of its own. ${advice}`);
  }
  const own = typeof tools === 'function' ? [] : tools.map((tool) => tool.name);
  for (const forbidden of limits.forbiddenTools ?? []) {
    const isKnown =
      own.includes(forbidden) ||
      toolkit.hasToolGroup(forbidden) ||
      forbiddenNames(toolkit, { forbiddenTools: [forbidden] }).length > 0;
    if (!isKnown) logger.log('warn', `'${forbidden}' is forbidden, but ${hostName} has no such tool.`);
  }
}
