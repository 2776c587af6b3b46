import { TroupeError } from '../../errors.ts';
import { bindingOf, isSubAgentTool } from './sub-agent-binding.ts';
import { boundToFiles } from './granted-files.ts';
import { assertToolsExist, grantedTools } from './granted-tools.ts';
import { forbiddenNames } from './forbidden-tools.ts';
import { hostLimits, type ResourceGrant } from './granted-resources.ts';
import type { SubAgentPermissions } from './permission-bundle.ts';

/**
 * Finds configuration errors, which no retry can fix: unknown tools, tools without files, a name in use, too few
 * levels.
 * @param kind see `SubAgentBinding`
 * @throws TroupeError
 */
export function assertSpecFitsHost(
  grant: ResourceGrant,
  permissions: SubAgentPermissions,
  kind: object,
): void {
  const { host, spec } = grant;
  const { name, toolsAllowlist, tools = [] } = spec;
  assertToolsExist(spec, host.toolkit, host.name);
  const { names } = grantedTools(host.toolkit, toolsAllowlist);
  const { forbiddenTools = [] } = permissions.safetyLimits;
  for (const one of names.filter((granted) => !forbiddenTools.includes(granted))) {
    const granted = host.toolkit.get(one);
    if (granted !== undefined) boundToFiles(granted, name, permissions);
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
  { filesystem, home, logger }: SubAgentPermissions,
): void {
  const { name, tools = [], fileGrants = [], resources } = spec;
  if (filesystem === undefined && fileGrants.length > 0 && resources?.filesystem !== 'off') {
    const advice = 'Pass registerSubAgent a filesystem: new FileSystemHandle(…).';
    logger.log('warn', `The sub-agent '${name}' has fileGrants, but there are no files to grant. ${advice}`);
  }
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
