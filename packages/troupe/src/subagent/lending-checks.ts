import { TroupeError } from '../errors.ts';
import { bindingOf, isSubAgentTool } from './grants/bound-tools.ts';
import { allowedTools } from './export-agent.ts';
import { forbiddenNames } from './grants/forbidden-tools.ts';
import { hostLimits, type Lending } from './grants/lending.ts';
import type { PermissionBundle } from './grants/permission-bundle.ts';

/** What is wrong here will always be. @param kind see `SubAgentBinding` @throws TroupeError */
export function assertFits(lending: Lending, kind: object): void {
  const { host, spec } = lending;
  const { name, toolsAllowlist, tools = [] } = spec;
  const { names, unknown } = allowedTools(host.toolkit, toolsAllowlist);
  if (unknown.length > 0) {
    const shown = unknown.map((one) => `'${one.slice(0, 64)}'`).join(', ');
    throw new TroupeError(
      'invalid_config',
      `The sub-agent '${name}' is allowed ${shown}, which ${host.name} has not. Register it first, or put it into 'tools'.`,
    );
  }
  assertOnlyOne(lending, kind);
  const given = [...names.map((one) => host.toolkit.get(one)), ...(typeof tools === 'function' ? [] : tools)];
  const { maxDepth = 0 } = hostLimits(lending);
  if (maxDepth < 2 && given.some(isSubAgentTool)) {
    throw new TroupeError(
      'invalid_config',
      `The sub-agent '${name}' has sub-agents of its own. Allow that by safetyLimits.maxDepth of the host.`,
    );
  }
}

/** @throws TroupeError if the host has another kind of sub-agent by the same name. */
export function assertOnlyOne({ host, spec: { name } }: Lending, kind: object): void {
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

/** Says what is probably not meant. */
export function warnOf(
  { host: { name: hostName, toolkit }, spec, limits }: Lending,
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
